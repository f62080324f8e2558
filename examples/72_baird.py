"""Baird's star: off-policy semi-gradient TD diverges, and gradient-TD does not (S&B2 Figures 11.2 and 11.5).

All rewards are 0. Left: the weights of semi-gradient TD(0). Middle: those of TDC, from the same beginning. Right: the
projected Bellman error (PBE) of TDC, which it minimises, goes to 0, although its values are not 0 yet.
Run as ``python examples/72_baird.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import TDC, SemiGradientTD

star = gymnasium.make("rlsuite/BairdStar-v0")
env = rl.VectorObservation(star, star.unwrapped.features)
x, beginning = env.vectors, np.array([1.0, 1, 1, 1, 1, 1, 10, 1])
common = {"gamma": 0.99, "policy_to_follow": [6 / 7, 1 / 7], "policy_to_evaluate": [0, 1], "initial_weight": beginning}
agents = [SemiGradientTD(learning_rate=0.01, **common), TDC(learning_rate=0.005, error_rate=0.05, **common)]

figure, axes = plt.subplots(1, 3, figsize=(15, 5.2), layout="constrained")
steps = {"x": np.arange(201) * 5, "xlabel": "steps"}
for ax, agent in zip(axes, agents, strict=False):
    weights = [beginning] + [agent.learn(env, steps=5, seed=None if i else 7).weights_.copy() for i in range(200)]
    lines = {f"w{number}": line for number, line in enumerate(np.transpose(weights), start=1)}
    plotting.mean_curves(lines, title=f"{type(agent).__name__}: weights", ylabel="weight", ax=ax, **steps)
values = np.array(weights) @ x.T  # those of TDC
errors = 0.99 * values[:, [6]] - values
projected = errors @ np.linalg.pinv(x).T @ x.T
roots = {f"{name} error": np.sqrt((error**2).mean(axis=1)) for name, error in (("value", values), ("PBE", projected))}
title, y_label = "TDC: errors", "root mean square over the states"
plotting.mean_curves(roots, title=title, ylabel=y_label, ylim=(0, None), ax=axes[2], **steps)
plotting.save(figure, (sys.argv[1:] or ["72_baird.png"])[0])
