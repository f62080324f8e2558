"""The grid with obstacles (lecture notes, Fig. 9.3): to the right-most column, four moves, black squares stop them.

Reaching the column pays 1,000 and a hit costs 10, so the best way is the shortest one around: 1,000 times 0.9 for each
step but the last. Run as ``python examples/notes/fig_9_03_obstacle_grid.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

env = gymnasium.make("rlsuite/ObstacleGrid-v0")
best = rl.solve(rl.MDP.from_env(env, gamma=0.9))
steps_left = 1 + np.log(best.value[best.value > 0] / 1000) / np.log(0.9)
assert np.allclose(steps_left, steps_left.round())
assert steps_left.round().max() == 11

ax = plotting.value_map(env, best, title="Optimal policy with obstacles, gamma = 0.9 (Fig. 9.3)")
plotting.save(ax, (sys.argv[1:] or ["fig_9_03_obstacle_grid.png"])[0])
