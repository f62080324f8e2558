"""The compiled sweep of the fast informed bound."""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray


@compiled(in_place=True)
def informed_sweep(
    n_states: int,
    n_actions: int,
    n_symbols: int,
    gamma: float,
    row: IndexArray,
    successor: StateArray,
    weight: FloatArray,
    seen: IndexArray,
    symbol: StateArray,
    chance: FloatArray,
    reward: FloatArray,
    q: FloatArray,
    sums: FloatArray,
    out: FloatArray,
) -> float:
    """Fill HQ into `out`, both (S * A,), and return the largest fall Q - HQ."""
    fall = 0.0
    for z in range(n_symbols * n_actions):
        sums[z] = 0.0
    for s in range(n_states):
        for a in range(n_actions):
            if reward[s * n_actions + a] == -np.inf:
                out[s * n_actions + a] = -np.inf
                continue
            total = 0.0
            for r in range(row[s * n_actions + a], row[s * n_actions + a + 1]):
                s2 = np.int64(successor[r])
                ahead = q[s2 * n_actions : (s2 + 1) * n_actions]
                for o in range(seen[a * n_states + s2], seen[a * n_states + s2 + 1]):
                    w = weight[r] * chance[o]
                    if w == 0.0:  # by underflow; times minus infinity, of an illegal action, it would be NaN
                        continue
                    into = sums[symbol[o] * n_actions : (symbol[o] + 1) * n_actions]
                    for b in range(n_actions):
                        into[b] += w * ahead[b]
            for r in range(row[s * n_actions + a], row[s * n_actions + a + 1]):
                s2 = np.int64(successor[r])
                for o in range(seen[a * n_states + s2], seen[a * n_states + s2 + 1]):
                    into = sums[symbol[o] * n_actions : (symbol[o] + 1) * n_actions]
                    best = into[0]
                    into[0] = 0.0
                    for b in range(1, n_actions):
                        best = max(best, into[b])
                        into[b] = 0.0
                    total += best
            value = reward[s * n_actions + a] + (gamma * total if gamma > 0.0 else 0.0)  # total may be -inf
            fall = max(fall, q[s * n_actions + a] - value)
            out[s * n_actions + a] = value
    return fall
