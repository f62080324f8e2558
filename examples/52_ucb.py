"""Upper confidence bounds (S&B2 Fig. 2.4): a bonus for uncertainty, c sqrt(ln t / N(a)).

2,000 bandits are played side by side, each a state of its own. Run as ``python examples/52_ucb.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

BANDITS, PULLS = 2_000, 1_000
env = contextual_bandit(np.random.default_rng(0).standard_normal((BANDITS, 10)), order="in turn").to_env()
mean = rl.Inverse(1.0, per="visits")
agents = {
    "UCB, c = 2": rl.SampleAverage(exploration=rl.UpperConfidence(2.0)),
    "UCB, c = 1": rl.SampleAverage(exploration=rl.UpperConfidence(1.0)),
    "epsilon-greedy, epsilon 0.1": rl.QLearning(gamma=0.0, learning_rate=mean, exploration=rl.EpsilonGreedy(0.1)),
}
figure = Figure(figsize=(7.5, 4), dpi=150, layout="constrained")
axes = figure.subplots()
for label, agent in agents.items():
    agent.learn(env, steps=BANDITS * PULLS, seed=7, record_every=BANDITS)
    rewards = np.diff(agent.record_.cumulative_reward, prepend=0.0) / BANDITS
    axes.plot(range(1, PULLS + 1), rewards, color=plotting.Palette(agents)[label].colour, label=label)
axes.set(xlabel="pulls", ylabel="average reward", xlim=(-10, PULLS), ylim=(-0.1, 1.6))
axes.set_title(f"Upper confidence bounds, mean over {BANDITS:,} bandits")
axes.legend(frameon=False, loc="lower right")
plotting.save(figure, (sys.argv[1:] or ["52_ucb.png"])[0])
