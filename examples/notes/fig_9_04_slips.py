"""The grid with slips (lecture notes, Fig. 9.4): Left and Right only, and one move in ten goes diagonally.

A row is changed by slipping alone. So in front of a wall it is best to go Left and to hope for a slip: there the
optimal policy has its other colour in the notes. Run as ``python examples/notes/fig_9_04_slips.py [figure.png]``.
"""

import sys

import gymnasium

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

env = gymnasium.make("rlsuite/SlipperyObstacleGrid-v0")
model = rl.MDP.from_env(env, gamma=0.9)
best = rl.solve(model)
layout = env.unwrapped.layout
left = layout.cells[(best.policy == model.action_labels.index("Left")) & (layout.cells[:, 1] < layout.n_columns - 1)]
assert sorted(map(tuple, left.tolist())) == [(0, 3), (1, 1), (2, 1), (3, 1), (4, 4)]
assert all(layout.walls[row, column + 1] for row, column in left)  # only right before a wall

ax = plotting.value_map(env, best, title="Optimal policy with slips, gamma = 0.9 (Fig. 9.4)")
plotting.save(ax, (sys.argv[1:] or ["fig_9_04_slips.png"])[0])
