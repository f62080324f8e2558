"""Maximization bias (S&B2 Figure 6.5): how often the first step goes left, where the mean reward is negative.

Five hundred seeds (the book: ten thousand). The maximum of ten noisy estimates is too large, which biases Q-learning,
but not double Q-learning. Run as ``python examples/22_maximization_bias.py [figure.png]``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

axes = Figure(figsize=(6.4, 4.0), layout="constrained").add_subplot()
for kind in (rl.QLearning, rl.DoubleQLearning):
    agent = kind(gamma=1.0, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.1))
    runs = rl.train(agent, "rlsuite/MaximizationBias-v0", episodes=300, seeds=500, record_every=300, regret=False)
    went_left = np.mean([run.episode_length == 2 for run in runs.records], axis=0)
    axes.plot(np.arange(1, 301), 100 * went_left, label=runs.agent)
axes.axhline(5, color="black", linestyle="--", label="optimum")
axes.set(title="MaximizationBias-v0", xlabel="episodes", ylabel="% left from A", xlim=(1, 300), ylim=(0, 100))
axes.legend(frameon=False)
plotting.save(axes, (sys.argv[1:] or ["22_maximization_bias.png"])[0])
