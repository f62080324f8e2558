"""Steps of the simplex method on the program of `rlsuite.planning.pomdp.pruning_kernels`, whose letters these are.

A basis has m = S + 1 columns. ``basis[p]`` is i for the weight of the vector i, -1 - s for sigma_s, and -m for theta,
which never leaves it. Its multipliers, which are the belief and minus the height of the surface there, are then simply
the row of theta in the inverse.
"""

import numpy as np

from rlsuite.compilation import compiled
from rlsuite.models.aliases import FloatArray, IndexArray


@compiled(in_place=True)
def invert(kept: FloatArray, basis: IndexArray, table: FloatArray, inverse: FloatArray) -> bool:
    """Fill the inverse of the basis by elimination with row pivots; False if it is singular."""
    m = basis.size
    for p in range(m):
        for r in range(m):
            inverse[r, p] = 1.0 if r == p else 0.0
            table[r, p] = 0.0
        code = basis[p]
        if code >= 0:
            for s in range(m - 1):
                table[s, p] = kept[s, code]
            table[m - 1, p] = 1.0
        elif code == -m:
            for s in range(m - 1):
                table[s, p] = 1.0
        else:
            table[-1 - code, p] = -1.0
    for p in range(m):
        chosen = p
        for r in range(p + 1, m):
            if abs(table[r, p]) > abs(table[chosen, p]):
                chosen = r
        if abs(table[chosen, p]) < 1e-13:
            return False
        if chosen != p:
            for k in range(m):
                table[p, k], table[chosen, k] = table[chosen, k], table[p, k]
                inverse[p, k], inverse[chosen, k] = inverse[chosen, k], inverse[p, k]
        scale = 1.0 / table[p, p]
        for k in range(m):
            table[p, k] *= scale
            inverse[p, k] *= scale
        for r in range(m):
            factor = table[r, p]
            if r != p and factor != 0.0:
                for k in range(m):
                    table[r, k] -= factor * table[p, k]
                    inverse[r, k] -= factor * inverse[p, k]
    return True


@compiled(in_place=True)
def rise(target: FloatArray, kept: FloatArray, basis: IndexArray, x: FloatArray) -> float:
    """Return how far the target rises above the mean that the basis stands for, at most: max_s (v - lambda w)(s)."""
    n_states = kept.shape[0]
    total = 0.0
    for p in range(basis.size):
        if basis[p] >= 0 and x[p] > 0.0:
            total += x[p]
    if not total > 0.0:
        return np.inf
    worst = -np.inf
    for s in range(n_states):
        covered = 0.0
        for p in range(basis.size):
            if basis[p] >= 0 and x[p] > 0.0:
                covered += x[p] * kept[s, basis[p]]
        worst = max(worst, target[s] - covered / total)
    return worst


@compiled(in_place=True)
def begin(
    target: FloatArray,
    kept: FloatArray,
    n_kept: int,
    basis: IndexArray,
    inverse: FloatArray,
    x: FloatArray,
    values: FloatArray,
) -> int:
    """Set up the basis of the one vector that covers the target best; return the position of theta in it."""
    n_states = kept.shape[0]
    for k in range(n_kept):
        values[k] = -np.inf
    for s in range(n_states):
        for k in range(n_kept):
            values[k] = max(values[k], target[s] - kept[s, k])
    cover = 0
    for k in range(n_kept):
        if values[k] < values[cover]:
            cover = k
    theta_at = 0
    for s in range(n_states):
        if target[s] - kept[s, cover] > target[theta_at] - kept[theta_at, cover]:
            theta_at = s
    for p in range(n_states + 1):
        for r in range(n_states + 1):
            inverse[p, r] = 0.0
    for p in range(n_states):
        inverse[p, theta_at] = 1.0
        basis[p] = -1 - p
        inverse[p, n_states] = kept[p, cover] - kept[theta_at, cover]
        x[p] = (target[theta_at] - kept[theta_at, cover]) - (target[p] - kept[p, cover])
        if p != theta_at:
            inverse[p, p] = -1.0
    basis[theta_at] = -n_states - 1
    inverse[theta_at, n_states] = -kept[theta_at, cover]
    x[theta_at] = target[theta_at] - kept[theta_at, cover]
    basis[n_states] = cover
    inverse[n_states, n_states] = 1.0
    x[n_states] = 1.0
    return theta_at
