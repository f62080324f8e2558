"""K-means (lecture notes, Alg. 7.1): groups of squares take the place of states, and how many are enough.

Fitted Q iteration with a value for each group and action, on the obstacle grid. With as many groups as squares it is a
table; with few, squares that need different moves share one. Run as
``python examples/notes/alg_7_1_k_means.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import Batch, Clusters, FittedQ

grid = gymnasium.make("rlsuite/ObstacleGrid-v0")
env, model = rl.VectorObservation.coordinates(grid), rl.MDP.from_env(grid, gamma=0.9)
batch, best = Batch.collect(env, steps=3_000, seed=0), rl.solve(model)
learned = {}
for n in (4, 12, 28):
    regressor = make_pipeline(Clusters(n, seed=0), Ridge(1e-6, fit_intercept=False))
    agent = FittedQ(regressor, gamma=0.9, iterations=25).learn(batch, seed=0)
    value = rl.planning.evaluate_policy(model, agent.policy(env.vectors))
    learned[f"{n} groups"] = agent.q(env.vectors)
    assert np.isclose(model.start @ value, model.start @ best.value) == (n == 28)
plotting.value_maps(grid, learned)
plotting.save(plt.gcf(), (sys.argv[1:] or ["alg_7_1_k_means.png"])[0])
