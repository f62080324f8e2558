"""n-step TD on the walk of nineteen states (S&B2 Fig 7.2): the number of rewards before the bootstrap.

Neither one step nor whole episodes are best. Ten runs, the same walks for all; the book has a hundred. Run as
``python examples/12_n_step.py [figure.png]``.
"""

import copy
import sys

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

walk = gymnasium.make("rlsuite/RandomWalk-v0", n=19, left_reward=-1.0)
true_value = np.arange(1, 20) / 10 - 1
largest_rate = {1: 1.0, 2: 1.0, 4: 1.0, 8: 0.6, 16: 0.36, 32: 0.2, 64: 0.11, 128: 0.07, 256: 0.06, 512: 0.06}


def mean_error(agent, seed):
    """Root mean square error over the states, averaged over the first ten episodes."""
    errors = []
    for episode in range(10):
        agent.learn(walk, episodes=1, seed=None if episode else seed)
        errors.append(np.sqrt(np.mean((agent.value_[1:20] - true_value) ** 2)))
    return np.mean(errors)


samples = {}
for value, largest in largest_rate.items():
    rates = np.linspace(0, largest, 12)[1:]
    agents = [rl.NStepTD(gamma=1.0, n=value, learning_rate=float(rate)) for rate in rates]
    samples[f"n = {value}"] = rates, [[mean_error(copy.copy(agent), seed) for agent in agents] for seed in range(10)]
look = {"xlabel": "step size", "ylabel": "RMS error over the states", "ylim": (0.22, 0.56), "figsize": (7.5, 4.4)}
note = "Error: mean of the first 10 episodes."
ax = plotting.mean_curves(samples, notes=[note], title="Random walk of nineteen states: n-step TD", **look)
plotting.save(ax, (sys.argv[1:] or ["12_n_step.png"])[0])
