"""The ten-armed testbed (S&B2 Fig. 2.2): greedy and epsilon-greedy, 2,000 bandits played side by side.

Each bandit is a state of its own, and an agent keeps its statistics for each state on its own: one run is the whole
figure. Run as ``python examples/50_testbed.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
from rlsuite import plotting
from rlsuite_envs.bandits import contextual_bandit

BANDITS, PULLS = 2_000, 1_000
means = np.random.default_rng(0).standard_normal((BANDITS, 10))
env = contextual_bandit(means, order="in turn").to_env()
best = (np.arange(BANDITS), means.argmax(axis=1))
samples = {"reward": {}, "optimal": {}}
for epsilon, label in ((0.0, "greedy"), (0.01, "epsilon 0.01"), (0.1, "epsilon 0.1")):
    sample_average = rl.Inverse(1.0, per="visits")
    agent = rl.QLearning(gamma=0.0, learning_rate=sample_average, exploration=rl.EpsilonGreedy(epsilon))
    sums, counts = [[0.0]], [np.zeros(BANDITS)]
    for pull in range(PULLS):
        agent.learn(env, steps=BANDITS, record_every=1, seed=None if pull else 7)
        sums.append(agent.record_.cumulative_reward)
        counts.append(agent.visits_[best])
    samples["reward"][label] = np.diff(np.concatenate(sums)).reshape(PULLS, BANDITS).T
    samples["optimal"][label] = 100 * np.diff(np.transpose(counts))
figure, (reward, optimal) = plt.subplots(2, 1, figsize=(7.5, 7.5), layout="constrained")
look = {"of": "bandits", "xlabel": "pulls"}
plotting.mean_curves(samples["reward"], title="Ten-armed testbed", ylabel="average reward", ax=reward, **look)
plotting.mean_curves(samples["optimal"], ylabel="optimal pulls in percent", ylim=(0, 100), ax=optimal, **look)
plotting.save(figure, (sys.argv[1:] or ["50_testbed.png"])[0])
