"""AdaBoost (lecture notes, Alg. 5.3): stumps that test one number clone an expert, together better than alone.

The expert is the optimal policy of the obstacle grid, asked one question: Right or not? Row and column are
all they see. Run as ``python examples/notes/alg_5_3_ada_boost.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.reference import ada_boost

env = gymnasium.make("rlsuite/ObstacleGrid-v0")
model, layout = rl.MDP.from_env(env, gamma=0.9), env.unwrapped.layout
inside = layout.cells[:, 1] < layout.n_columns - 1
right = rl.solve(model).optimal_actions[inside, model.action_labels.index("Right")]
X, t = layout.cells[inside].astype(float), np.where(right, 1.0, -1.0)

stumps, alpha = ada_boost(X, t, rounds=60)
votes = np.cumsum([a * stump(X) for stump, a in zip(stumps, alpha, strict=True)], axis=0)
lines = {
    "all stumps so far": (np.sign(votes) != t).mean(axis=1),
    "the newest stump alone": [(stump(X) != t).mean() for stump in stumps],
    "exponential error": np.exp(-t * votes / 2).mean(axis=1),
}
assert lines["all stumps so far"][-1] < lines["all stumps so far"][0] == 0.25
assert np.all(np.diff(lines["exponential error"]) < 0)
title = "Right or not? Optimal moves on the obstacle grid"
labels, notes = (
    {"xlabel": "stumps", "ylabel": "share of squares that are wrong"},
    ["n = 28 squares.", "Exponential error: mean of exp(-vote / 2)."],
)
ax = plotting.mean_curves(lines, x=range(1, 61), of="", notes=notes, title=title, **labels)
plotting.save(ax, (sys.argv[1:] or ["alg_5_3_ada_boost.png"])[0])
