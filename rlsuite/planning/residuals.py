"""TV - V to twice the working precision: what is left of the error bound where rounding would be most of it.

Near the optimum TV - V is the small difference of large numbers. Computed in double precision it is off by up to
(n + 4) u M (`Lookahead.rounding`), and the bound on the error of V divides that by 1 - gamma. Products and sums whose
rounding errors are computed, too, and added up on the side (Dekker 1971; the dot product of Ogita, Rump & Oishi 2005,
algorithm 5.3) are as accurate as if they were computed with u^2 in the place of u, and rounded once.
"""

import numpy as np

from rlsuite.core.interpretation import one_pass
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.kernels import LONG, ONE, THREE, TWO, ZERO, Index, Rows, successors_at
from rlsuite.planning.operators import EPS, TINY, Lookahead

SPLIT = 134_217_729.0
"""2**27 + 1: a number times this, less that product less the number, are its first 26 bits."""

LARGEST = 1e280
"""Larger numbers overflow when they are split."""


@one_pass
def product_error(a: float, b: float, product: float) -> float:
    """Return a b - product, exactly, for the rounded product of two numbers (Dekker 1971)."""
    scaled = SPLIT * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = SPLIT * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


@one_pass
def sum_error(a: float, b: float, total: float) -> float:
    """Return a + b - total, exactly, for the rounded sum of two numbers (Knuth 1969)."""
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual)


@one_pass
def added(total: float, error: float, a: float, b: float) -> tuple[float, float]:
    """Return total + a * b, and the error so far and that of these two operations; it is inlined."""
    term = a * b
    after = total + term
    return after, error + (product_error(a, b, term) + sum_error(total, term, after))


@one_pass
def residual(rows: Rows, row: Index, ahead: FloatArray, here: float) -> float:
    """Return r(s, a) + gamma sum_s' c(s' | s, a) V(s') - here of the pair with the number `row`.

    As in `kernels.expected`, four sums of a long row need not wait for each other.
    """
    first, weight, successor = rows.indptr[row], rows.weight, rows.successor
    at, length = successors_at(rows, first), rows.indptr[row + ONE] - first
    quarters = length >> TWO if length >= LONG else ZERO
    total, error = 0.0, 0.0
    second, third, fourth, error_2, error_3, error_4 = total, total, total, error, error, error
    for k in range(quarters):
        i, j = first + (k << TWO), at + (k << TWO)
        total, error = added(total, error, float(weight[i]), float(ahead[successor[j]]))
        second, error_2 = added(second, error_2, float(weight[i + ONE]), float(ahead[successor[j + ONE]]))
        third, error_3 = added(third, error_3, float(weight[i + TWO]), float(ahead[successor[j + TWO]]))
        fourth, error_4 = added(fourth, error_4, float(weight[i + THREE]), float(ahead[successor[j + THREE]]))
    if quarters > ZERO:
        error += error_2 + (error_3 + error_4)
        for other in (second, third, fourth):
            after = total + other
            error += sum_error(total, other, after)
            total = after
    for k in range(quarters << TWO, length):
        total, error = added(total, error, float(weight[first + k]), float(ahead[successor[at + k]]))
    follows = rows.gamma * total
    error = rows.gamma * error + product_error(rows.gamma, total, follows)
    after = follows + rows.reward[row]
    error += sum_error(follows, rows.reward[row], after)
    difference = after - here
    return difference + (error + sum_error(after, -here, difference))


@one_pass
def precise_backup(
    begin: int,
    end: int,
    rows: Rows,
    q: FloatArray,
    ahead: FloatArray,
    tolerance: float,
    tie: float,
    value: FloatArray,
    policy: IndexArray,
) -> tuple[float, float, float, float]:
    """Fill TV and the first action within `tie` of the best; the others as `greedy_backup` does.

    Only actions within `tolerance`, two rounding errors, of the best of QV, `q` (S, A), can be the best ones. Return
    the least change by the policy, the greatest by any action, the largest |change|, and by how much the policy's may
    fall short of the best, over the states that are not terminal.
    """
    least, greatest, size, gap = np.inf, -np.inf, 0.0, 0.0
    for s in range(np.uint64(begin), np.uint64(end)):
        best = -np.inf
        for a in range(rows.n_actions):
            best = max(best, q[s, a])
        value[s] = 0.0
        policy[s] = -1
        if best == -np.inf:
            continue
        change, chosen, by_policy = -np.inf, -1, -np.inf
        for a in range(rows.n_actions):
            row = s * np.uint64(rows.n_actions) + np.uint64(a)
            if q[s, a] >= best - tolerance:
                found = residual(rows, row, ahead, ahead[s])
                if found > change + tie:
                    chosen, by_policy = a, found
                change = max(change, found)
        value[s] = ahead[s] + change
        policy[s] = chosen
        if not rows.terminal[s]:
            least = min(least, by_policy)
            greatest = max(greatest, change)
            size = max(size, abs(change), abs(by_policy))
            gap = max(gap, change - by_policy)
    return least, greatest, size, gap


def rounding_of_residuals(lookahead: Lookahead, value: FloatArray, size: float) -> float:
    """Return a bound on the error of every `residual` of `value` (S,), none of which is larger than `size`.

    That is 2 u times the residual for its own rounding; for the errors of the errors 2 (n + 6)^2 u^2 M, as in Ogita,
    Rump & Oishi, Proposition 5.5, with M the sum of the absolute values of all terms and room for higher orders; what
    underflow may take; and, where mean rewards were computed from rewards of transitions, their rounding.
    """
    n, unit = lookahead.longest_row + 6, 0.5 * EPS
    largest = float(max(value.max(initial=0.0), -value.min(initial=0.0)))
    magnitude = lookahead.reward_size + (lookahead.modulus + 1.0) * largest
    means = 0.0 if lookahead.mdp.reward_per_pair else n * unit * lookahead.reward_size
    return 2.0 * unit * size + 2.0 * (n * unit) ** 2 * magnitude + n * TINY + means
