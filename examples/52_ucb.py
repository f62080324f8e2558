"""Upper confidence bounds (S&B2 Fig. 2.4): a bonus for uncertainty, c sqrt(ln t / N(a)).

2,000 bandits are played side by side, each a state of its own. Run as ``python examples/52_ucb.py [figure.png]``.
"""

import sys

import numpy as np

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
samples = {}
for label, agent in agents.items():
    agent.learn(env, steps=BANDITS * PULLS, seed=7, record_every=1)
    samples[label] = np.diff(agent.record_.cumulative_reward, prepend=0.0).reshape(PULLS, BANDITS).T
look = {"xlabel": "pulls", "ylabel": "average reward", "xlim": (-10, PULLS), "ylim": (-0.1, 1.6), "figsize": (7.0, 3.4)}
ax = plotting.mean_curves(samples, of="bandits", title="Upper confidence bounds", **look)
plotting.save(ax, (sys.argv[1:] or ["52_ucb.png"])[0])
