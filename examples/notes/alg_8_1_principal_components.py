"""PCA (lecture notes, Alg. 8.1): pictures of the 2 x 3 grid have 24 pixels, and two components are the row and column.

Each square has two by two pixels, and the agent is a bright spot. Fitted Q iteration on two components finds the
optimum of the grid; on one, which is the column, it does not. Run as
``python examples/notes/alg_8_1_principal_components.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt
from sklearn.tree import DecisionTreeRegressor

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import Batch, FittedQ
from rlsuite.reference import principal_components

grid = gymnasium.make("rlsuite/GridGoal-v0")
model, rng = rl.MDP.from_env(grid, gamma=0.9), np.random.default_rng(0)
rows, columns = np.mgrid[0:4, 0:6] / 2 - 0.25  # the middles of the pixels, in squares
cells = grid.unwrapped.layout.cells
pictures = np.array([np.exp(-((rows - r) ** 2 + (columns - c) ** 2)).ravel() for r, c in cells])
mean, directions, variance = principal_components(pictures, m=5)
assert np.isclose(variance[5:].sum(), 0, atol=1e-12)  # six pictures lie in five dimensions

learned = {}
for m in (1, 2):
    codes = (pictures - mean) @ directions[:, :m]
    env = rl.VectorObservation(grid, codes)
    agent = FittedQ(DecisionTreeRegressor(), gamma=0.9, iterations=30)
    agent.learn(Batch.collect(env, steps=400, seed=0), seed=0)
    learned[f"{m} of 24 components, {variance[:m].sum() / variance.sum():.0%}"] = agent.q(codes)
    assert np.allclose(agent.q(codes).max(axis=1)[:5], [81, 90, 100, 90, 100]) == (m == 2)
plotting.value_maps(grid, learned, title="Numbers that see a picture, and their share of the variance")
plotting.save(plt.gcf(), (sys.argv[1:] or ["alg_8_1_principal_components.png"])[0])
