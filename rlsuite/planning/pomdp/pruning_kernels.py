"""The inner loop of exact planning, compiled: which vectors of a sum of two sets are the best anywhere.

A vector v matters beside a set W if it rises above the set in some belief: if

    maximise  v . b - t   subject to   w . b <= t for each w in W,   sum_s b(s) = 1,   b >= 0

is positive (KLC98 section 4.4; the program of White 1991 and Lark). It is solved from its dual side, which has S + 1
rows and one column per vector of W:

    minimise  theta   subject to   theta + sum_i lambda_i w_i(s) - sigma_s = v(s),   sum_i lambda_i = 1,
    lambda, sigma >= 0.

The simplex method begins with the one w that covers v best, and prices all others at the belief b that the basis stands
for. Both answers come early. As soon as theta <= epsilon, the weights lambda prove that v is never more than epsilon
above the set; they are checked against the vectors themselves, so that nothing rests on the arithmetic of the simplex
method. As soon as v is more than epsilon above the set at b, b is a witness. What the program leaves undecided,
because rounding got the better of it, is kept, which is always right.

All sets are stored state by state, as (S, n): the sums over vectors then run along contiguous memory.
"""

import numpy as np

from rlsuite.compilation import compiled
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.pomdp.simplex_kernels import begin, invert, rise

PURGE, FIND, MEASURE = 0, 1, 2
"""What `sift` does: keep what matters; stop at the first witness; find the largest rise above the set."""

TOLERANCE = 1e-13
"""Of probabilities, and of values relative to their scale."""
PIVOT = 1e-9
"""Least size of a pivot."""
REFRESH = 64
"""Pivots after which the inverse is computed anew."""

DOMINATED, MATTERS, UNDECIDED, FULL = 0, 1, 2, 3
"""How the program of a pair ended."""


@compiled(in_place=True)
def best_at(vectors: FloatArray, belief: FloatArray, tie: float, values: FloatArray) -> int:
    """Return the first column that is best at a belief, or is below the best by no more than `tie`."""
    n_states, n = vectors.shape
    for i in range(n):
        values[i] = 0.0
    for s in range(n_states):
        if belief[s] > 0.0:
            for i in range(n):
                values[i] += belief[s] * vectors[s, i]
    most = -np.inf
    for i in range(n):
        most = max(most, values[i])
    for i in range(n):
        if values[i] >= most - tie:
            return i
    return 0


@compiled(in_place=True)
def sift(
    task: int,
    left: FloatArray,
    right: FloatArray,
    taken: BoolArray,
    kept: FloatArray,
    origin: IndexArray,
    points: FloatArray,
    n_kept: int,
    position: int,
    epsilon: float,
    tie: float,
    scale: float,
    work_limit: float,
    largest: float,
    basis: IndexArray,
    inverse: FloatArray,
    table: FloatArray,
    x: FloatArray,
    direction: FloatArray,
    target: FloatArray,
    belief: FloatArray,
    values: FloatArray,
) -> tuple[int, int, float, bool]:
    """Go through the pairs of `left` (S, n) and `right` (S, k) from `position` on, and put those that matter to `kept`.

    A pair (i, j) has the number i * k + j and stands for left[:, i] + right[:, j]. `kept` (S, capacity) holds `n_kept`
    vectors, at least one; those put there are marked in `taken` (n * k,), with their numbers in `origin` and a belief
    in which each is best in `points` (capacity, S). The rest is memory to work in: m = S + 1 for the simplex method,
    which goes on from the basis of the pair before if it can; ``basis[0] < -m`` tells it to begin anew.

    Returns
    -------
    n_kept, position : int
        As above; the call has to be repeated if `position` is not n * k: the work limit was reached, `kept` is full or,
        with the task FIND, a witness for the pair was found.
    largest : float
        For MEASURE: at least the largest rise above the set that was found so far. For the others: the same of those
        pairs that were passed over.
    found : bool
        Whether `belief` is a witness, for FIND.
    """
    n_states, n_left = left.shape
    n_right = right.shape[1]
    m = n_states + 1
    zero = TOLERANCE * scale
    most_pivots = 50 * m + 500
    work = 0.0
    while position < n_left * n_right:
        if taken[position]:
            position += 1
            continue
        if work > work_limit or n_kept == kept.shape[1]:
            break
        for s in range(n_states):
            target[s] = left[s, position // n_right] + right[s, position % n_right]
        target[n_states] = 1.0
        limit = largest if task == MEASURE else epsilon

        # ------------------------------------------------------------------------------ a basis to begin with
        theta_at = -1
        if basis[0] >= -m:
            for p in range(m):
                total = 0.0
                for r in range(m):
                    total += inverse[p, r] * target[r]
                x[p] = total
                if basis[p] == -m:
                    theta_at = p
                elif total < -TOLERANCE:
                    theta_at = -1
                    break
            work += m * m
        if theta_at < 0:
            theta_at = begin(target, kept, n_kept, basis, inverse, x, values)
            work += 2 * n_states * n_kept + m * m

        # ----------------------------------------------------------------------------------- the simplex method
        outcome, worst = UNDECIDED, np.inf
        fresh, optimal, pivots = True, False, 0
        while True:
            if optimal or x[theta_at] <= limit or pivots > most_pivots:
                worst = rise(target, kept, basis, x)
                work += m * m
                if worst <= limit + 4.0 * zero:
                    outcome = DOMINATED
                    break
                if fresh or pivots > most_pivots:
                    break
                refresh = True
            else:
                refresh = pivots % REFRESH == REFRESH - 1 and not fresh
            entering, least = -m - 1, -TOLERANCE
            if not refresh:
                for s in range(n_states):
                    if inverse[theta_at, s] < least:
                        entering, least = -1 - s, inverse[theta_at, s]
            if not refresh and entering < -m:
                # The multipliers are a belief: what is best there, and how high is the surface?
                own, total = 0.0, 0.0
                for k in range(n_kept):
                    values[k] = 0.0
                for s in range(n_states):
                    belief[s] = max(inverse[theta_at, s], 0.0)
                    if belief[s] > 0.0:
                        total += belief[s]
                        own += belief[s] * target[s]
                        for k in range(n_kept):
                            values[k] += belief[s] * kept[s, k]
                        work += n_kept
                entering = 0
                for k in range(n_kept):
                    if values[k] > values[entering]:
                        entering = k
                work += n_kept
                if task != MEASURE and (own - values[entering]) / total > epsilon + zero:
                    for s in range(n_states):
                        belief[s] /= total
                    outcome = MATTERS
                    if task == FIND:
                        break
                    first = best_at(left, belief, tie, values)
                    second = best_at(right, belief, tie, values)
                    work += 2 * n_states * (n_left + n_right)
                    number = first * n_right + second
                    if taken[number]:
                        number = position
                    for s in range(n_states):
                        kept[s, n_kept] = left[s, number // n_right] + right[s, number % n_right]
                        points[n_kept, s] = belief[s]
                    origin[n_kept] = number
                    taken[number] = True
                    n_kept += 1
                    if number == position:
                        break
                    outcome = UNDECIDED
                    if n_kept == kept.shape[1]:
                        outcome = FULL
                        break
                    continue
                if values[entering] <= zero - inverse[theta_at, n_states]:
                    optimal = True
                    continue
            leaving, ratio = -1, np.inf
            if not refresh:
                for p in range(m):
                    if entering < 0:
                        direction[p] = -inverse[p, -1 - entering]
                    else:
                        total = inverse[p, n_states]
                        for s in range(n_states):
                            total += inverse[p, s] * kept[s, entering]
                        direction[p] = total
                for p in range(m):
                    if p != theta_at and direction[p] > PIVOT:
                        now = max(x[p], 0.0) / direction[p]
                        if now < ratio - 1e-14 or (now <= ratio + 1e-14 and direction[p] > direction[leaving]):
                            leaving, ratio = p, min(now, ratio)
                if leaving < 0 and fresh:
                    break
            pivots += 1
            if leaving >= 0:
                step = max(x[leaving], 0.0) / direction[leaving]
                for p in range(m):
                    x[p] -= step * direction[p]
                x[leaving] = step
                for r in range(m):
                    inverse[leaving, r] /= direction[leaving]
                for p in range(m):
                    if p != leaving and direction[p] != 0.0:
                        for r in range(m):
                            inverse[p, r] -= direction[p] * inverse[leaving, r]
                basis[leaving] = entering
                work += 3 * m * m
                fresh = False
                continue
            # doubtful, or long in use: the inverse is computed anew
            fresh, optimal = True, False
            work += 2 * m * m * m
            if not invert(kept, basis, table, inverse):
                basis[0] = -m - 1
                break
            for p in range(m):
                x[p] = 0.0
                for r in range(m):
                    x[p] += inverse[p, r] * target[r]

        if outcome == FULL:
            break
        if task == FIND and outcome == MATTERS:
            return n_kept, position, largest, True
        if outcome == UNDECIDED:
            basis[0] = -m - 1
            if task == PURGE:  # always right, if not always needed
                total = 0.0
                for s in range(n_states):
                    belief[s] = max(inverse[theta_at, s], 0.0)
                    total += belief[s]
                known = total > 0.0 and total < np.inf
                for s in range(n_states):
                    kept[s, n_kept] = target[s]
                    points[n_kept, s] = belief[s] / total if known else 1.0 / n_states
                origin[n_kept] = position
                taken[position] = True
                n_kept += 1
        if task != PURGE or outcome == DOMINATED:
            largest = max(largest, min(worst, rise(target, kept, basis, x)))
        position += 1
    return n_kept, position, largest, False
