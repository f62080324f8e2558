"""Baird's star: off-policy semi-gradient TD diverges, and gradient-TD does not (S&B2 Figures 11.2 and 11.5).

All rewards are 0. Left: the weights of semi-gradient TD(0). Middle: those of TDC, from the same beginning. Right: the
projected Bellman error of TDC, which it minimises, goes to 0, although its values are not 0 yet.
Run as ``python examples/72_baird.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib.figure import Figure

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import TDC, SemiGradientTD

star = gymnasium.make("rlsuite/BairdStar-v0")
env = rl.VectorObservation(star, star.unwrapped.features)
x, beginning = env.vectors, np.array([1.0, 1, 1, 1, 1, 1, 10, 1])
common = {"gamma": 0.99, "policy_to_follow": [6 / 7, 1 / 7], "policy_to_evaluate": [0, 1], "initial_weight": beginning}
agents = [SemiGradientTD(learning_rate=0.01, **common), TDC(learning_rate=0.005, error_rate=0.05, **common)]

axes = Figure(figsize=(13, 4.2), dpi=120, layout="constrained").subplots(1, 3)
for ax, agent in zip(axes, agents, strict=False):
    weights = [beginning] + [agent.learn(env, steps=5, seed=None if i else 7).weights_.copy() for i in range(200)]
    for number, line in enumerate(np.transpose(weights), start=1):
        ax.plot(np.arange(201) * 5, line, lw=1, label=f"$w_{number}$")
    ax.set(xlabel="steps", title=type(agent).__name__)
    ax.legend(fontsize="small", ncol=2)
values = np.array(weights) @ x.T  # those of TDC
errors = 0.99 * values[:, [6]] - values
projected = errors @ np.linalg.pinv(x).T @ x.T
for name, error, colour in (("value", values, "#d55e00"), ("projected Bellman", projected, "#0072b2")):
    axes[2].plot(np.arange(201) * 5, np.sqrt((error**2).mean(axis=1)), color=colour, label=f"{name} error")
axes[2].set(xlabel="steps", title="TDC, root mean square over the states", ylim=0)
axes[2].legend()
plotting.save(axes[0], (sys.argv[1:] or ["72_baird.png"])[0])
