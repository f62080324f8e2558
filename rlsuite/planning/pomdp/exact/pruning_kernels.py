"""Compiled inner loop of exact planning: which vectors of a sum of two sets are the best anywhere.

A vector v matters beside a set W if it rises above the set in some belief: if

    maximise  v . b - t   subject to   w . b <= t for each w in W,   sum_s b(s) = 1,   b >= 0

is positive (KLC98 section 4.4; the program of White 1991 and Lark). It is solved from its dual side, which has S + 1
equations and one column per vector of W (`rlsuite.planning.pomdp.exact.simplex_kernels` has the steps):

    minimise  theta   subject to   theta + sum_i lambda_i w_i(s) - sigma_s = v(s),   sum_i lambda_i = 1,
    lambda, sigma >= 0.

The simplex method begins with the one w that covers v best, and prices all others at the belief b that the basis stands
for. Both results are found early. As soon as theta <= epsilon, the weights lambda prove that v is never more than
epsilon above the set; they are checked against the vectors themselves, so that the result does not depend on the
arithmetic of the simplex method. As soon as v is more than epsilon above the set at b, b is a witness. A vector that
the program leaves undecided because of rounding is kept, which is always correct.

All sets are stored state by state, as (S, n): the sums over vectors then run along contiguous memory.
"""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.pomdp.exact.simplex_kernels import ALIKE, Basis, begin, exchange, invert, leaving, locate, rise

PURGE, FIND, MEASURE = 0, 1, 2
"""What `prune` does: keep what matters; stop at the first witness; find the largest rise above the set."""

TOLERANCE = 1e-13
"""Of probabilities, and of values relative to their scale."""
REFRESH = 64
"""Pivots after which the inverse is computed again."""

DOMINATED, MATTERS, UNDECIDED, LATER = 0, 1, 2, 3
"""How the program of a pair ended."""


@compiled(in_place=True)
def best_at(vectors: FloatArray, belief: FloatArray, tie: float, values: FloatArray) -> int:
    """Return the first column that is best at a belief, or is below the best by no more than `tie`.

    The products are added up state by state, in the same order on every processor.
    """
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
def best_at_each(vectors: FloatArray, beliefs: FloatArray, tie: float, values: FloatArray, best: IndexArray) -> None:
    """Write into `best` (p,) what `best_at` finds for each of the beliefs (p, S); `values` (n,) is memory."""
    for k in range(best.size):
        best[k] = best_at(vectors, beliefs[k], tie, values)


@compiled(in_place=True)
def write_ranks(rows: FloatArray, order: IndexArray, same: float, ranks: IndexArray) -> None:
    """Write into `ranks` minus the number of different values below each entry of a row; `order` sorts the rows.

    Values in a chain in which none is further than `same` from the next are one value. So the largest has the least
    rank, and what is sorted by rank is in descending order.
    """
    for s in range(rows.shape[0]):
        rank, before = 0, np.inf
        for i in order[s]:
            if rows[s, i] > before + same:
                rank -= 1
            before = rows[s, i]
            ranks[s, i] = rank


@compiled(in_place=True)
def gather(columns: FloatArray, keys: IndexArray, order: IndexArray) -> tuple[int, float]:
    """Move the first of each group of columns with equal keys to the front of `order`, which sorts the keys.

    Returns
    -------
    n_different : int
        Number of groups.
    lost : float
        Largest amount by which an entry of a column is above that of the first of its group.
    """
    n_states = columns.shape[0]
    n_different, lost = 1, 0.0
    for k in range(1, order.size):
        i, first = order[k], order[n_different - 1]
        equal = True
        for s in range(n_states):
            if keys[s, i] != keys[s, first]:
                equal = False
                break
        if not equal:
            order[n_different] = i
            n_different += 1
            continue
        for s in range(n_states):
            if columns[s, i] > columns[s, first]:
                lost = max(lost, columns[s, i] - columns[s, first])
    return n_different, lost


@compiled(in_place=True)
def _feasible(basis: Basis, zero: float) -> bool:
    """Return whether nothing in the basis is negative, up to rounding."""
    least = 0.0
    for p in range(1, basis.size[0] + 1):
        least = min(least, basis.x[p] / TOLERANCE)
    for s in range(basis.sigma.size):
        if basis.position[s] < 0:
            least = min(least, basis.sigma[s] / zero)
    return least >= -1.0


@compiled(in_place=True)
def _best_of_set(basis: Basis, retained: FloatArray, n_retained: int) -> tuple[int, float]:
    """Return which vector of the set is best at the belief of the basis, and how far the target is above it there.

    Of vectors that differ by rounding alone it is the first.
    """
    values = basis.values
    own, total, best = 0.0, 0.0, 0
    for k in range(n_retained):
        values[k] = 0.0
    for r in range(1, basis.size[0] + 1):
        probability, s = basis.inverse[0, r], basis.state[r]
        if probability > 0.0:
            total += probability
            own += probability * basis.target[s]
            for k in range(n_retained):
                values[k] += probability * retained[s, k]
    for k in range(n_retained):
        if values[k] > values[best] + ALIKE:
            best = k
    return best, (own - values[best]) / total if total > 0.0 else -np.inf


@compiled(in_place=True)
def _write_belief(basis: Basis) -> None:
    """Write the belief that the basis stands for, or the uniform one if rounding has reduced it to 0."""
    total = 0.0
    for r in range(1, basis.size[0] + 1):
        total += max(basis.inverse[0, r], 0.0)
    known = 0.0 < total < np.inf
    for s in range(basis.belief.size):
        basis.belief[s] = 0.0 if known else 1.0 / basis.belief.size
    if known:
        for r in range(1, basis.size[0] + 1):
            basis.belief[basis.state[r]] = max(basis.inverse[0, r], 0.0) / total


@compiled(in_place=True)
def _retain(
    number: int,
    left: FloatArray,
    right: FloatArray,
    selected: BoolArray,
    retained: FloatArray,
    origin: IndexArray,
    points: FloatArray,
    n_retained: int,
    belief: FloatArray,
) -> int:
    """Add a pair to the others, with a belief in which it is best; return how many there are now."""
    n_right = right.shape[1]
    for s in range(belief.size):
        retained[s, n_retained] = left[s, number // n_right] + right[s, number % n_right]
        points[n_retained, s] = belief[s]
    origin[n_retained] = number
    selected[number] = True
    return n_retained + 1


@compiled(in_place=True)
def prune(
    task: int,
    left: FloatArray,
    right: FloatArray,
    selected: BoolArray,
    retained: FloatArray,
    origin: IndexArray,
    points: FloatArray,
    n_retained: int,
    position: int,
    epsilon: float,
    tie: float,
    scale: float,
    work_limit: float,
    largest: float,
    basis: Basis,
) -> tuple[int, int, float, bool]:
    """Go through the pairs of `left` (S, n) and `right` (S, k) from `position` on; put what matters into `retained`.

    A pair (i, j) has the number i * k + j and stands for left[:, i] + right[:, j]. `retained` (S, capacity) holds
    `n_retained` vectors, at least one; those put there are marked in `selected` (n * k,), with their numbers in
    `origin` and a belief in which each is best in `points` (capacity, S). The program of a pair begins with the basis
    of the pair before if that is feasible.

    Returns
    -------
    n_retained, position : int
        As above; the call has to be repeated if `position` is not n * k: the work limit was reached, perhaps within a
        pair, `retained` is full or, with the task FIND, a witness for the pair was found.
    largest : float
        For MEASURE: at least the largest rise above the set that was found so far. For the others: the same of those
        pairs that were passed over.
    found : bool
        Whether `basis.belief` is a witness, for FIND.
    """
    n_states, n_left = left.shape
    n_right = right.shape[1]
    zero = TOLERANCE * scale
    most_pivots = 50 * n_states + 500
    work, size = 0.0, basis.size
    while position < n_left * n_right:
        if selected[position]:
            position += 1
            continue
        if work > work_limit or n_retained == retained.shape[1]:
            break
        # The linear program for a sum w (the dual of the one by which Cassandra 1998 looks for a witness): the least
        # theta for which some mixture of retained vectors is nowhere more than theta below w. A theta of at most
        # `limit` proves that w does not matter.
        for s in range(n_states):
            basis.target[s] = left[s, position // n_right] + right[s, position % n_right]
        limit = largest if task == MEASURE else epsilon

        # ------------------------------------------------------------------------------ a basis to begin with
        # The last basis often is feasible for the next pair, too. `fresh` means that its inverse has not been updated
        # since it was computed.
        fresh, begins = False, size[0] == 0
        if not begins:
            locate(basis, retained)
            work += n_states * size[0]
            begins = not _feasible(basis, zero)
        if begins:
            begin(basis, retained, n_retained)
            work += 2 * n_states * n_retained
            fresh = True

        # ----------------------------------------------------------------------------------- the simplex method
        outcome, worst, optimal, pivoted, singular = UNDECIDED, np.inf, False, False, False
        while True:
            refresh = not fresh and size[1] % REFRESH == REFRESH - 1
            # Before theta counts, it is recomputed from the vectors themselves: updates of the inverse lose digits.
            if optimal or basis.x[0] <= limit or size[1] > most_pivots:
                worst = rise(basis, retained)
                work += n_states * size[0]
                if worst <= limit + 4.0 * zero:
                    outcome = DOMINATED
                    break
                if fresh or size[1] > most_pivots:
                    break
                refresh = True
            elif pivoted and work > work_limit:
                outcome = LATER
                break
            if refresh:  # doubtful, or after many updates: compute the inverse again
                fresh, optimal = True, False
                size[1] += 1
                work += 2.0 * size[0] ** 3
                if invert(basis, retained):
                    locate(basis, retained)
                else:
                    optimal = singular = True
                continue
            # Unless a multiplier is negative, they are a belief: find the best retained vector there, and how far w
            # is above it.
            entering, least = n_retained, -TOLERANCE
            for r in range(1, size[0] + 1):
                if basis.inverse[0, r] < least - ALIKE:
                    entering, least = -1 - basis.state[r], basis.inverse[0, r]
            if entering == n_retained:
                entering, above = _best_of_set(basis, retained, n_retained)
                work += n_retained * size[0]
                # A witness: w is better there than all retained vectors. Retained is not w, which may be best nowhere,
                # but what is best at the witness (Cassandra 1998).
                if task != MEASURE and above > epsilon + zero:
                    outcome = MATTERS
                    _write_belief(basis)
                    if task == FIND:
                        break
                    first = best_at(left, basis.belief, tie, basis.values)
                    number = first * n_right + best_at(right, basis.belief, tie, basis.values)
                    work += 2 * n_states * (n_left + n_right)
                    if selected[number]:
                        number = position
                    n_retained = _retain(
                        number, left, right, selected, retained, origin, points, n_retained, basis.belief
                    )
                    if number == position:
                        break
                    outcome = UNDECIDED
                    if n_retained == retained.shape[1]:
                        outcome = LATER
                        break
                    continue
                if basis.values[entering] <= zero - basis.inverse[0, 0]:
                    optimal = True
                    continue
            # A pivot: a vector enters the mixture, or a state leaves the support of the multipliers.
            falling = leaving(basis, retained, entering)
            work += (n_states + size[0]) * size[0]
            if falling == 0 or (entering >= 0 and falling < 0 and size[0] + 1 == basis.weight.size):
                optimal = True  # no variable falls, or a vector would enter a second time: rounding errors
                continue
            exchange(basis, retained, entering, falling)
            size[1] += 1
            work += 2 * size[0] ** 2
            fresh, pivoted = False, True

        if outcome == LATER:
            break
        if task == FIND and outcome == MATTERS:
            return n_retained, position, largest, True
        if task == PURGE and outcome == UNDECIDED:  # keeping it is always valid, though not always needed
            _write_belief(basis)
            n_retained = _retain(position, left, right, selected, retained, origin, points, n_retained, basis.belief)
        if outcome == DOMINATED or (outcome == UNDECIDED and task != PURGE):
            largest = max(largest, worst)
        if outcome == UNDECIDED or singular:
            size[0] = 0  # the next pair begins with a basis of its own
        position += 1
        size[1] = 0
    return n_retained, position, largest, False
