"""Maximization bias (S&B2 Figure 6.5): how often the first step goes left, where the mean reward is negative.

Five hundred seeds (the book: ten thousand). The maximum of ten noisy estimates is too large, which biases Q-learning,
but not double Q-learning. Run as ``python examples/22_maximization_bias.py [figure.png]``.
"""

import sys

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

samples = {}
for kind in (rl.QLearning, rl.DoubleQLearning):
    agent = kind(gamma=1.0, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.1))
    runs = rl.train(agent, "rlsuite/MaximizationBias-v0", episodes=300, seeds=500, record_every=300, regret=False)
    samples[runs.agent] = [100.0 * (run.episode_length == 2) for run in runs.records]
look = {"xlabel": "episodes", "ylabel": "left from A in percent", "ylim": (0, 100)}
ax = plotting.mean_curves(samples, of="seeds", references={"optimum": 5.0}, title="MaximizationBias-v0", **look)
plotting.save(ax, (sys.argv[1:] or ["22_maximization_bias.png"])[0])
