"""The grid whose moves to the right may lead two squares on (lecture notes, Fig. 9.10), in three readings.

The notes print no values. If both squares are equally likely, S0 is worth 85.5; if two squares are an action of their
own, 90; if a move that would leave the grid is lost, 81.8. Run as
``python examples/notes/fig_9_10_two_squares.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

readings = {
    "A": ("one square or two, if there are two", [85.5, 90, 100, 95, 100, 0]),
    "B": ("two squares are an action", [90, 90, 100, 100, 100, 0]),
    "D": ("two squares, or nothing at the wall", [900 / 11, 900 / 11, 100, 1000 / 11, 1000 / 11, 0]),
}
figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
for ax, (reading, (words, value)) in zip(axes, readings.items(), strict=True):
    env = gymnasium.make("rlsuite/NondeterministicGridGoal-v0", reading=reading)
    best = rl.solve(rl.MDP.from_env(env, gamma=0.9))
    assert np.allclose(best.value, value)
    plotting.value_map(env, best, title=f"{reading}: {words}", ax=ax)
plotting.save(figure, (sys.argv[1:] or ["fig_9_10_two_squares.png"])[0])
