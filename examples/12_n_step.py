"""n-step TD on the walk of nineteen states (S&B2 Fig 7.2): the number of rewards before the bootstrap.

Neither one step nor whole episodes are best. Ten runs, the same walks for all; the book has a hundred. Run as
``python examples/12_n_step.py [figure.png]``.
"""

import sys

import gymnasium
import matplotlib
import numpy as np
from matplotlib.figure import Figure

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


ax = Figure(figsize=(8, 5), dpi=150, layout="constrained").subplots()
colours = matplotlib.colormaps["plasma"](np.linspace(0, 0.9, len(largest_rate)))
for colour, (value, largest) in zip(colours, largest_rate.items(), strict=True):
    rates = np.linspace(0, largest, 12)[1:]
    errors = [
        [mean_error(rl.NStepTD(gamma=1.0, n=value, learning_rate=float(rate)), seed) for seed in range(10)]
        for rate in rates
    ]
    ax.plot(rates, np.mean(errors, axis=1), ".-", color=colour, label=f"n = {value}")
ax.set(xlabel="step size", ylabel="RMS error, first 10 episodes, mean of 10 runs", ylim=(0.22, 0.56))
ax.set_title("Random walk of nineteen states: n-step TD")
ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
plotting.save(ax, (sys.argv[1:] or ["12_n_step.png"])[0])
