"""The table of the 2 x 3 grid replaced (lecture notes, Algs. 2.1, 5.1, 5.2, 6.2): tree, neighbours, bases, network.

Fitted Q iteration learns from 400 random moves; row and column are the inputs. Tree, neighbour and local planes give
the optimum, 81 90 100 90 100. Two radial bases cannot, but their policy is optimal too. Run as
``python examples/notes/alg_5_1_replace_the_table.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.approximation import Batch, FittedQ, LocallyWeightedRegression, RadialBasis

grid = gymnasium.make("rlsuite/GridGoal-v0")
env, model = rl.VectorObservation.coordinates(grid), rl.MDP.from_env(grid, gamma=0.9)
batch, best = Batch.collect(env, steps=400, seed=0), rl.solve(model)
regressors = {
    "tree": DecisionTreeRegressor(),
    "nearest neighbour": KNeighborsRegressor(1),
    "local planes": LocallyWeightedRegression(n_neighbors=3),
    "two radial bases": make_pipeline(RadialBasis([[1, 0], [0, 2]], width=1.5), LinearRegression()),
    "network of ten units": MLPRegressor(hidden_layer_sizes=[10], solver="lbfgs", max_iter=2_000),
}
learned = {}
for name, regressor in regressors.items():
    agent = FittedQ(regressor, gamma=0.9, iterations=30).learn(batch, seed=0)
    learned[name] = agent.q(env.vectors)
    assert best.optimal_actions[np.arange(5), learned[name][:5].argmax(axis=1)].all()
    if name in ("tree", "nearest neighbour", "local planes"):
        assert np.allclose(learned[name].max(axis=1)[:5], [81, 90, 100, 90, 100])
plotting.value_maps(grid, learned)
plotting.save(plt.gcf(), (sys.argv[1:] or ["alg_5_1_replace_the_table.png"])[0])
