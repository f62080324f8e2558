"""The off-line lambda-return on the walk of nineteen states (S&B2 Fig 12.3).

The mean of all n-step returns does as well as the best of them. Ten runs, the same walks for all. Run as
``python examples/13_lambda_return.py [figure.png]``.
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
largest_rate = {0.0: 1.0, 0.4: 1.0, 0.8: 1.0, 0.9: 0.7, 0.95: 0.5, 0.975: 0.3, 0.99: 0.15, 1.0: 0.06}


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
    agents = [rl.OfflineLambdaReturn(gamma=1.0, lambda_=value, learning_rate=float(rate)) for rate in rates]
    errors = [[mean_error(copy.copy(agent), seed) for agent in agents] for seed in range(10)]
    samples[f"lambda = {value}"] = rates, errors
look = {"xlabel": "step size", "ylabel": "RMS error over the states", "ylim": (0.22, 0.56), "figsize": (7.5, 4.4)}
title = "Random walk of nineteen states: off-line lambda-return"
ax = plotting.mean_curves(samples, notes=["Error: mean of the first 10 episodes."], title=title, **look)
plotting.save(ax, (sys.argv[1:] or ["13_lambda_return.png"])[0])
