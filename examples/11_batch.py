"""Batch learning on the walk of five states (S&B2 Fig 6.2): all experience is presented until the values converge.

Monte Carlo fits the returns of the data best, and TD(0) future returns: it converges to the values of the most likely
model. Fifty runs, the book has a hundred. Run as ``python examples/11_batch.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

walk = gymnasium.make("rlsuite/RandomWalk-v0")
true_value = np.arange(1, 6) / 6


def error_after_each_episode(agent, seed):
    """Root mean square error over the states."""
    errors = []
    for episode in range(100):
        agent.learn(walk, episodes=1, seed=None if episode else seed)
        errors.append(np.sqrt(np.mean((agent.value_[1:6] - true_value) ** 2)))
    return errors


samples = {
    kind.__name__: [error_after_each_episode(kind(gamma=1.0, initial_value=0.5), seed) for seed in range(50)]
    for kind in (rl.BatchMonteCarlo, rl.BatchTD)
}
look = {"xlabel": "episodes", "ylabel": "RMS error over the states", "ylim": (0, 0.25)}
ax = plotting.mean_curves(samples, title="Random walk of five states, batch learning", **look)
plotting.save(ax, (sys.argv[1:] or ["11_batch.png"])[0])
