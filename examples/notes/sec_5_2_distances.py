"""Distances (lecture notes, 5.2): near in rows and columns is not near on foot, and a kernel knows the difference.

The kernel of the obstacle grid is the pseudo-inverse of its graph's Laplacian: squares have a small distance if many
short ways join them. Where ten values are known, the nearest square by this distance tells the others better. Run as
``python examples/notes/sec_5_2_distances.py [figure.png]``.
"""

import sys

import gymnasium
import numpy as np
from matplotlib import pyplot as plt

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting
from rlsuite.reference import kernel_distances, nearest_neighbours

env = gymnasium.make("rlsuite/ObstacleGrid-v0")
model, cells = rl.MDP.from_env(env, gamma=0.9), env.unwrapped.layout.cells.astype(float)
value = rl.solve(model).value
inside = np.flatnonzero(value > 0)
moves = np.zeros((len(cells), len(cells)))
for state, action in np.argwhere(model.legal):
    ((_, after, _, _),) = model.P[state][action]
    moves[state, after] = moves[after, state] = after != state
joined = np.linalg.pinv(np.diag(moves.sum(axis=1)) - moves)
kernels = {"rows and columns": cells @ cells.T, "ways": joined}
distances = {name: kernel_distances(k.diagonal(), k, k.diagonal()) for name, k in kernels.items()}
errors, rng = dict.fromkeys(kernels, 0.0), np.random.default_rng(0)
for _ in range(200):
    new, known = np.split(rng.permutation(inside), [-10])
    for name, d in distances.items():
        guess = nearest_neighbours(d[np.ix_(new, known)], value[known], k=1)
        errors[name] += np.abs(guess - value[new]).mean() / 200
assert np.allclose(distances["rows and columns"][0], np.hypot(*(cells - cells[0]).T))
assert errors["ways"] < errors["rows and columns"]
figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
for ax, (name, d) in zip(axes, distances.items(), strict=True):
    of = f"distance from the corner; mean error of the nearest neighbour's value, n = 200 splits: {errors[name]:.0f}"
    plotting.value_map(env, d[inside[0]], of=of, title=f"Distance by {name}", ax=ax)
plotting.save(figure, (sys.argv[1:] or ["sec_5_2_distances.png"])[0])
