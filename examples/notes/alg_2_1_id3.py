"""ID3 (lecture notes, Alg. 2.1): the optimal policy of the obstacle grid as a decision tree, eight rules.

The attributes are what an agent can see: is the square in each direction free or a wall, in which row is it, and
in which half? Run as ``python examples/notes/alg_2_1_id3.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.reference import class_probabilities, id3, tree_rules

env = gymnasium.make("rlsuite/ObstacleGrid-v0")
model, layout = rl.MDP.from_env(env, gamma=0.9), env.unwrapped.layout
best = rl.solve(model)
around = np.pad(np.where(layout.walls, "wall", "free"), 1, constant_values="edge")
sides = [[around[r + 1 + dr, c + 1 + dc] for dr, dc in layout.arrows] for r, c in layout.cells]
where = [[f"row {r}", "right" if c > 2 else "left"] for r, c in layout.cells]
inside, actions = layout.cells[:, 1] < layout.n_columns - 1, np.array(model.action_labels)
X = np.array(np.hstack([sides, where]))
tree = id3(X[inside], actions[best.policy[inside]])
policy = np.array([class_probabilities(tree, x, actions).argmax() for x in X])
share = best.optimal_actions[np.arange(len(X)), policy][inside].mean()
assert share == 1
assert len(tree_rules(tree)) < inside.sum()

title = f"{len(tree_rules(tree))} rules for {inside.sum()} squares"
ax = plotting.value_map(env, rl.planning.evaluate_policy(model, policy), policy, title=title)
plotting.save(plt.gcf(), (sys.argv[1:] or ["alg_2_1_id3.png"])[0])
