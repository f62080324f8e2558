"""Temporal differences against Monte Carlo on the walk of five states (S&B2 Example 6.2, right).

Learning from the value of the next state has a smaller error than waiting for the end, at all step sizes of the book.
Twenty-five runs, the book has a hundred. Run as ``python examples/10_random_walk.py [figure.png]``.
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


families = {
    "TD(0)": (rl.TD, (0.05, 0.1, 0.15)),
    "Monte Carlo": (rl.EveryVisitMonteCarlo, (0.01, 0.02, 0.03, 0.04)),
}
samples = {
    f"{name}, step size {rate}": [
        error_after_each_episode(kind(gamma=1.0, learning_rate=rate, initial_value=0.5), seed) for seed in range(25)
    ]
    for name, (kind, rates) in families.items()
    for rate in rates
}
look = {"xlabel": "episodes", "ylabel": "RMS error over the states", "ylim": (0, None), "figsize": (7.5, 4.4)}
ax = plotting.mean_curves(samples, title="Random walk of five states", **look)
plotting.save(ax, (sys.argv[1:] or ["10_random_walk.png"])[0])
