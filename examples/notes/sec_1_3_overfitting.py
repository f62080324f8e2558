"""Overfitting (lecture notes, 1.2 and 1.3): a deeper tree is better on what it has seen, and worse on what it has not.

Trees learn the values of the obstacle grid from 60 noisy returns; row and column are the inputs. The true values are
known here, and so is the depth at which a tree should be pruned. Run as
``python examples/notes/sec_1_3_overfitting.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from sklearn.tree import DecisionTreeRegressor

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

env = gymnasium.make("rlsuite/ObstacleGrid-v0")
value, cells = rl.solve(rl.MDP.from_env(env, gamma=0.9)).value, env.unwrapped.layout.cells
inside, depths = np.flatnonzero(value > 0), range(1, 11)
sample, others = np.empty((2, 30, len(depths)))
for seed in range(30):
    rng = np.random.default_rng(seed)
    seen = rng.choice(inside, size=60)
    returns = value[seen] + rng.normal(scale=200.0, size=60)
    for column, depth in enumerate(depths):
        tree = DecisionTreeRegressor(max_depth=depth, random_state=seed).fit(cells[seen], returns)
        sample[seed, column] = np.sqrt(np.mean((tree.predict(cells[seen]) - returns) ** 2))
        others[seed, column] = np.sqrt(np.mean((tree.predict(cells[inside]) - value[inside]) ** 2))
assert np.all(np.diff(sample) <= 1e-9)  # a deeper tree knows its own sample at least as well
best = others.mean(axis=0).argmin()
assert 0 < best < len(depths) - 1
assert others.mean(axis=0)[best] < others.mean(axis=0)[-1] - 10

lines = {"from the returns of the sample": sample, "from the true values": others}
look = {"title": "Values from noisy returns", "xlabel": "depth of the tree", "ylabel": "root mean squared error"}
ax = plotting.mean_curves(lines, x=depths, **look)
plotting.save(ax, (sys.argv[1:] or ["sec_1_3_overfitting.png"])[0])
