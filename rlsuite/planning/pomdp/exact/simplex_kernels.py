"""Steps of the simplex method on the program of `pruning_kernels`, whose letters these are.

A basis holds theta, which never leaves it, `a` of the weights lambda, and sigma_s of all states but `a`. Those a states
are the support of the belief of the basis. The columns of the sigmas are unit vectors, so that all
there is to invert is the *core*: of the a + 1 equations of these states and of the sum of the weights, the columns of
theta and of the weights. A belief on few states, or a small set of vectors, makes a small core, however many states
there are.

The equation of the sum and theta have the number 0 in the core, states and weights follow. Row 0 of its inverse holds
the multipliers: minus the height of the surface, and the belief on the states of the core.
"""

from typing import NamedTuple, Self

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, IndexArray

PIVOT = 1e-9
"""Least size of a pivot."""
TIE = 1e-14
"""Steps that differ by no more than this count as equally long."""
ALIKE = 1e-13
"""Differences that do not count where the simplex method chooses: the first of equals continues, on every processor."""


class Basis(NamedTuple):
    """A basis and what is computed from it, for c = the largest core: at most S + 1, and the number of vectors + 1."""

    size: IndexArray
    """(2,): a, or 0 if there is no basis; pivots done for the present target"""
    weight: IndexArray
    """(c,): which lambda has this number in the core; 0 has none"""
    state: IndexArray
    """(c,): which state has"""
    position: IndexArray
    """(S,): the number of a state in the core, or -1 where sigma_s is in the basis"""
    inverse: FloatArray
    """(c, c): of the core"""
    table: FloatArray
    """(c, c): memory"""
    x: FloatArray
    """(c,): theta and the weights"""
    sigma: FloatArray
    """(S,), where in the basis"""
    x_falls: FloatArray
    """(c,): how much x falls with each unit of what enters"""
    sigma_falls: FloatArray
    """(S,): how much sigma does"""
    row: FloatArray
    """(c,): memory"""
    target: FloatArray
    """(S,): v"""
    belief: FloatArray
    """(S,)"""
    values: FloatArray
    """(n,): memory for a value of each vector"""

    @classmethod
    def of(cls, n_states: int, n_vectors: int, n_values: int) -> Self:
        """Return memory for a set of at most `n_vectors`; `n_values` is no smaller."""
        c = min(n_states, n_vectors) + 1
        size: IndexArray = np.zeros(2, dtype=np.int64)
        weight, state, position = (np.full(n, -1, dtype=np.int64) for n in (c, c, n_states))
        square, core, states = (c, c), (c,), (n_states,)
        return cls(
            size, weight, state, position, np.empty(square), np.empty(square), np.empty(core), np.empty(states),
            np.empty(core), np.empty(states), np.empty(core), np.empty(states), np.empty(states), np.empty(n_values),
        )  # fmt: skip


@compiled(in_place=True)
def begin(basis: Basis, retained: FloatArray, n_retained: int) -> None:
    """Set up the basis of the one vector that covers the target best."""
    values, target = basis.values, basis.target
    # how far the target rises above each vector, max_s (v - w_k)(s); the vector above which it rises least
    for k in range(n_retained):
        values[k] = -np.inf
    for s in range(target.size):
        for k in range(n_retained):
            values[k] = max(values[k], target[s] - retained[s, k])
    cover, top = 0, 0
    for k in range(n_retained):
        if values[k] < values[cover] - ALIKE:
            cover = k
    for s in range(target.size):
        if target[s] - retained[s, cover] > target[top] - retained[top, cover]:
            top = s
    # That vector has all the weight, and theta is the rise, which the state `top` attains: its sigma is 0, and not in
    # the basis. The core is ((0, 1), (1, w(top))), and its inverse ((-w(top), 1), (1, 0)).
    basis.x[0], basis.x[1] = target[top] - retained[top, cover], 1.0
    for s in range(target.size):
        basis.position[s] = -1
        basis.sigma[s] = basis.x[0] - (target[s] - retained[s, cover])
    basis.size[0] = 1
    basis.weight[1], basis.state[1], basis.position[top] = cover, top, 1
    basis.inverse[0, 0], basis.inverse[0, 1] = -retained[top, cover], 1.0
    basis.inverse[1, 0], basis.inverse[1, 1] = 1.0, 0.0


@compiled(in_place=True)
def locate(basis: Basis, retained: FloatArray) -> None:
    """Compute x and sigma from the inverse."""
    a, inverse, x = basis.size[0], basis.inverse, basis.x
    for p in range(a + 1):
        x[p] = inverse[p, 0]
        for r in range(1, a + 1):
            x[p] += inverse[p, r] * basis.target[basis.state[r]]
    for s in range(basis.sigma.size):
        if basis.position[s] < 0:
            total = x[0]
            for p in range(1, a + 1):
                total += x[p] * retained[s, basis.weight[p]]
            basis.sigma[s] = total - basis.target[s]


@compiled(in_place=True)
def invert(basis: Basis, retained: FloatArray) -> bool:
    """Compute the inverse again, by elimination with row pivots; False if the core is singular."""
    n, table, inverse = basis.size[0] + 1, basis.table, basis.inverse
    # the core: row 0 says that the weights add up to 1, column 0 is theta's
    for r in range(n):
        for p in range(n):
            inverse[r, p] = 1.0 if r == p else 0.0
            if r == 0 or p == 0:
                table[r, p] = 0.0 if r == p else 1.0
            else:
                table[r, p] = retained[basis.state[r], basis.weight[p]]
    # Gauss and Jordan, column by column, with the largest entry as the pivot.
    for p in range(n):
        chosen = p
        for r in range(p + 1, n):
            if abs(table[r, p]) > abs(table[chosen, p]):
                chosen = r
        if abs(table[chosen, p]) < 1e-13:
            return False
        if chosen != p:
            for k in range(n):
                table[p, k], table[chosen, k] = table[chosen, k], table[p, k]
                inverse[p, k], inverse[chosen, k] = inverse[chosen, k], inverse[p, k]
        scale = 1.0 / table[p, p]
        for k in range(n):
            table[p, k] *= scale
            inverse[p, k] *= scale
        for r in range(n):
            factor = table[r, p]
            if r != p and factor != 0.0:
                for k in range(n):
                    table[r, k] -= factor * table[p, k]
                    inverse[r, k] -= factor * inverse[p, k]
    return True


@compiled(in_place=True)
def rise(basis: Basis, retained: FloatArray) -> float:
    """Return how far the target rises above the mean that the weights stand for, at most: max_s (v - lambda w)(s)."""
    a, total = basis.size[0], 0.0
    for p in range(1, a + 1):
        total += max(basis.x[p], 0.0)
    if not total > 0.0:
        return np.inf
    worst = -np.inf
    for s in range(basis.target.size):
        covered = 0.0
        for p in range(1, a + 1):
            if basis.x[p] > 0.0:
                covered += basis.x[p] * retained[s, basis.weight[p]]
        worst = max(worst, basis.target[s] - covered / total)
    return worst


@compiled(in_place=True)
def leaving(basis: Basis, retained: FloatArray, entering: int) -> int:
    """Compute what falls as lambda_k enters (k >= 0) or sigma_s (-1 - s); return what is the first to come to zero.

    That is the number of a weight in the core, or -1 - s for sigma_s; 0, which is theta, if nothing falls.
    """
    a, inverse, falls = basis.size[0], basis.inverse, basis.x_falls
    # the column that enters, times the inverse: how fast theta and the weights fall
    for p in range(a + 1):
        if entering < 0:
            falls[p] = -inverse[p, basis.position[-1 - entering]]
        else:
            falls[p] = inverse[p, 0]
            for r in range(1, a + 1):
                falls[p] += inverse[p, r] * retained[basis.state[r], entering]
    # The ratio test: what comes to zero first leaves; of equals, what falls fastest, as the largest pivot rounds least.
    first, steepest, ratio = 0, 0.0, np.inf
    for p in range(1, a + 1):
        if falls[p] > PIVOT:
            now = max(basis.x[p], 0.0) / falls[p]
            if now < ratio - TIE or (now <= ratio + TIE and falls[p] > steepest + ALIKE):
                first, steepest, ratio = p, falls[p], min(now, ratio)
    for s in range(basis.sigma.size):
        if basis.position[s] >= 0:
            continue
        # sigma_s = theta + lambda w(s) - v(s), so its fall follows from theirs
        fall = falls[0]
        for p in range(1, a + 1):
            fall += falls[p] * retained[s, basis.weight[p]]
        if entering >= 0:
            fall -= retained[s, entering]
        basis.sigma_falls[s] = fall
        if fall > PIVOT:
            now = max(basis.sigma[s], 0.0) / fall
            if now < ratio - TIE or (now <= ratio + TIE and fall > steepest + ALIKE):
                first, steepest, ratio = -1 - s, fall, min(now, ratio)
    return first


@compiled(in_place=True)
def exchange(basis: Basis, retained: FloatArray, entering: int, first: int) -> None:
    """Exchange two columns of the basis, both numbered as in `leaving`, which has been called just before.

    A pivot subtracts the product of what falls and the equation of what leaves, in multiples of its own fall.
    """
    a, inverse, falls, row = basis.size[0], basis.inverse, basis.x_falls, basis.row
    state, other = -1 - first, -1 - entering
    if first > 0:
        pivot = falls[first]
        step = max(basis.x[first], 0.0) / pivot
        for c in range(a + 1):
            row[c] = inverse[first, c] / pivot
    else:  # the row of sigma follows from those of theta and the weights
        pivot = basis.sigma_falls[state]
        step = max(basis.sigma[state], 0.0) / pivot
        for c in range(a + 1):
            row[c] = inverse[0, c] / pivot
        for p in range(1, a + 1):
            value = retained[state, basis.weight[p]] / pivot
            for c in range(a + 1):
                row[c] += value * inverse[p, c]
        if entering < 0:
            row[basis.position[other]] -= 1.0 / pivot
    # The entering variable rises from 0 to `step`; each basic variable falls by `step` times its rate.
    for p in range(a + 1):
        basis.x[p] -= step * falls[p]
        for c in range(a + 1):
            inverse[p, c] -= falls[p] * row[c]
    for s in range(basis.sigma.size):
        if basis.position[s] < 0:
            basis.sigma[s] -= step * basis.sigma_falls[s]

    if entering >= 0 and first > 0:  # one weight replaces another
        for c in range(a + 1):
            inverse[first, c] = row[c]
        basis.weight[first], basis.x[first] = entering, step
    elif entering >= 0:  # the core grows by the state whose sigma leaves
        for c in range(a + 1):
            inverse[a + 1, c] = row[c]
            inverse[c, a + 1] = falls[c] / pivot
        inverse[a + 1, a + 1] = -1.0 / pivot
        basis.size[0] = a + 1
        basis.weight[a + 1], basis.x[a + 1] = entering, step
        basis.state[a + 1], basis.position[state] = state, a + 1
    elif first > 0:  # it loses the state whose sigma enters; the last weight and the last state close the gaps
        r = basis.position[other]
        for c in range(a + 1):
            inverse[first, c] = inverse[a, c]
        for p in range(a):
            inverse[p, r] = inverse[p, a]
        basis.size[0] = a - 1
        basis.weight[first], basis.x[first] = basis.weight[a], basis.x[a]
        basis.state[r] = basis.state[a]
        basis.position[basis.state[r]] = r
        basis.position[other], basis.sigma[other] = -1, step
    else:  # one state takes the place of another
        r = basis.position[other]
        basis.state[r], basis.position[state] = state, r
        basis.position[other], basis.sigma[other] = -1, step
