"""Pruning: sets of alpha vectors, and sums of two such sets, reduced to the vectors that are best somewhere.

Vectors are computed with rounding errors, which differ from one processor to the next; the plans that are kept must
not. So nothing is decided by less than rounding. Entries that agree up to rounding are ranked alike, and vectors that
agree in all entries are merged before any linear program; they go through in an order that depends on these ranks
alone; of vectors that are equally good in a belief, up to rounding, the first in that order is taken; and a vector that
rises above the others by no more than rounding is left out. What that may lose is counted.

In plain NumPy: `rlsuite.reference.pomdp.prune` and `rlsuite.reference.pomdp.witness`.
"""

import math
from typing import NamedTuple, Self

import numpy as np

from rlsuite.core.clock import OutOfTime
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.operators import EPS, TINY
from rlsuite.planning.pomdp.exact.backprojection import max_abs
from rlsuite.planning.pomdp.exact.pruning_kernels import (
    FIND,
    MEASURE,
    PURGE,
    TOLERANCE,
    best_at_each,
    gather,
    prune,
    write_ranks,
)
from rlsuite.planning.pomdp.exact.simplex_kernels import Basis
from rlsuite.planning.pomdp.solution import best_at, first_of_best, values_at
from rlsuite.planning.watch import Watch

WORK = 2e7
"""Operations after which compiled code returns for a check of the clock: some ten milliseconds."""

LEAST_SHARE_OF_NEW = 0.1
"""Share of the beliefs looked at first that must have shown a new vector, or the others are not looked at."""

NEAR = 9
"""Decimals to which beliefs that are treated as equal agree."""


class Kept(NamedTuple):
    """The n sums left[i] + right[j] that matter."""

    left: IndexArray
    """(n,) int64, i of each"""
    right: IndexArray
    """(n,) int64, j of each"""
    points: FloatArray
    """(n, S) float64, a belief in which each is the best"""
    loss: float
    """how much what was left out can rise above them, at most"""


class _Set(NamedTuple):
    """A set of vectors as the kernel reads it: state by state, sorted, and without the part that all have in common.

    Where several vectors are equally good in a belief, the lexicographically largest is certain to be the best in some
    belief nearby (Littman 1996); sorted like this, it is the first.
    """

    columns: FloatArray
    """(S, n)"""
    number: IndexArray
    """(n,), where each was before"""
    common: FloatArray
    """(S,), what was taken off"""
    merged: float
    """how far a vector that was treated as equal to another one can rise above it"""
    rounding: float
    """how far the entries can be off"""
    depth: float
    """minus the least entry of the columns"""

    @classmethod
    def of(cls, vectors: FloatArray, watch: Watch) -> Self:
        common, rounding = vectors.max(axis=0), rounding_of(vectors)
        columns = np.ascontiguousarray((vectors - common).T)
        first, merged = distinct(columns, max(TOLERANCE * float(-columns.min()), rounding), watch)
        columns = np.ascontiguousarray(columns[:, first])
        return cls(columns, first, common, merged, rounding, float(-columns.min()))


SORTED = 1 << 20
"""Numbers that are sorted between two looks at the clock, if one state has not more: some tenth of a second."""


def distinct(columns: FloatArray, same: float, watch: Watch) -> tuple[IndexArray, float]:
    """Return the indices of the columns (S, n) that differ, in descending order; and a bound on what is lost.

    Columns whose entries differ by `same` at most are one, and the first of them stands for all; entries may be -inf.

    Raises
    ------
    OutOfTime
        If the clock says so.
    """
    if columns.shape[1] == 1:
        return np.zeros(1, dtype=np.int64), 0.0
    keys: IndexArray = np.empty(columns.shape, dtype=np.int64)
    order: IndexArray | None = None
    some = max(1, SORTED // columns.shape[1])
    for last in range(columns.shape[0], 0, -some):  # the last states count least, and sorting keeps the order of ties
        part = slice(max(0, last - some), last)
        write_ranks(columns[part], np.argsort(columns[part], axis=1), same, keys[part])
        watch.check()
        less = keys[part][::-1]
        order = np.lexsort(less) if order is None else order[np.lexsort(less[:, order])]
        watch.check()
    assert order is not None
    n_different, lost = gather(columns, keys, order)
    return order[:n_different], lost


def rounding_of(vectors: FloatArray) -> float:
    """Return how far the entries of vectors (n, S) can be off that were computed as sums over S states."""
    return (vectors.shape[1] + 8) * EPS * max_abs(vectors)


def that_matter(
    vectors: FloatArray, points: FloatArray, epsilon: float, watch: Watch, beside: FloatArray | None = None
) -> Kept:
    """Return the vectors (n, S) that matter; as `sums_that_matter`, with all ``right`` 0. Some may hold -inf.

    If all are finite, `beside` (q, S) may hold further vectors that are kept in any case.

    A vector that is minus infinity in some states can be the best only in beliefs that exclude these states. There it
    is compared with the vectors that are finite in all the other states: the value of any other is minus infinity
    wherever all these states are possible. So the vectors are pruned in groups with the same finite states, large sets
    first.
    """
    finite: BoolArray = vectors > -np.inf
    if finite.all() and len(vectors):
        return _sums_that_matter(vectors, np.zeros((1, vectors.shape[1])), points, epsilon, watch, beside)
    masks = np.unique(finite, axis=0) if len(vectors) else finite
    retained: list[IndexArray] = [np.empty(0, dtype=np.int64)]
    best_in: list[FloatArray] = [np.empty((0, vectors.shape[1]))]
    loss = 0.0
    for mask in masks[np.argsort(-masks.sum(axis=1), kind="stable")]:
        if not mask.any():
            continue
        own = np.flatnonzero((finite == mask).all(axis=1))
        others = np.concatenate(retained)
        others = others[finite[others][:, mask].all(axis=1)]
        inside = points[~(points[:, ~mask] > 0.0).any(axis=1)][:, mask]
        zero = np.zeros((1, int(mask.sum())))
        found = _sums_that_matter(vectors[own][:, mask], zero, inside, epsilon, watch, vectors[others][:, mask])
        retained.append(own[found.left])
        best_in.append(np.zeros((found.left.size, mask.size)))
        best_in[-1][:, mask] = found.points
        loss = max(loss, found.loss)
    index = np.concatenate(retained)
    return Kept(index, np.zeros_like(index), np.concatenate(best_in), loss)


def sums_that_matter(left: FloatArray, right: FloatArray, points: FloatArray, epsilon: float, watch: Watch) -> Kept:
    """Return the sums of a vector of `left` and one of `right` that matter. Cassandra, Littman & Zhang 1997, "purge".

    Parameters
    ----------
    left, right : ndarray (n, S), (k, S) float64
        Two sets of vectors; entries may be minus infinity.
    points : ndarray (p, S) float64
        Beliefs in which to look first; any will do, and good ones save time.
    epsilon : float
        How much may be lost in any belief.
    watch : Watch
        The clock of the method.

    Raises
    ------
    OutOfTime
        If the clock says so.
    """
    if left.min(initial=0.0) > -np.inf and right.min(initial=0.0) > -np.inf and left.size and right.size:
        return _sums_that_matter(left, right, points, epsilon, watch)
    sums = (left[:, np.newaxis] + right).reshape(-1, left.shape[1])
    found = that_matter(sums, points, epsilon, watch)
    return found._replace(left=found.left // max(len(right), 1), right=found.left % max(len(right), 1))


def _sums_that_matter(
    left: FloatArray,
    right: FloatArray,
    points: FloatArray,
    epsilon: float,
    watch: Watch,
    beside: FloatArray | None = None,
) -> Kept:
    """Do the same for finite vectors; `beside` (q, S) are vectors that are kept in any case."""
    first, second = _Set.of(left, watch), _Set.of(right, watch)
    least, depth = first.rounding + second.rounding, first.depth + second.depth
    epsilon = max(epsilon, least)
    n, k = first.number.size, second.number.size
    n_states = left.shape[1]
    selected: BoolArray = np.zeros(n * k, dtype=np.bool_)
    if beside is None or not beside.size:
        tie = max(TOLERANCE * depth, least)
        known, corners = _best_somewhere(first.columns, second.columns, points, tie, watch)
        selected[known] = True
        begun = first.columns[:, known // k] + second.columns[:, known % k]
    else:
        begun = (beside - first.common - second.common).T
        known = np.full(begun.shape[1], -1, dtype=np.int64)
        corners = np.zeros((known.size, n_states))
    scale = max(depth, float(np.abs(begun).max()), TINY)
    unit = power_of_two(scale)
    left, right, begun = first.columns / unit, second.columns / unit, begun / unit
    n_retained = n_known = known.size
    capacity = min(n * k, n_retained + 64) + n_retained + 1
    retained: FloatArray = np.empty((n_states, capacity))
    retained[:, :n_retained] = begun
    origin: IndexArray = np.empty(capacity, dtype=np.int64)
    origin[:n_retained] = known
    best_in: FloatArray = np.empty((capacity, n_states))
    best_in[:n_retained] = corners
    basis = Basis.of(n_states, capacity, max(n, k, capacity))
    position, loss = 0, 0.0
    while position < n * k:
        n_retained, position, loss, _ = prune(
            PURGE, left, right, selected, retained, origin, best_in, n_retained, position,
            epsilon / unit, max(TOLERANCE * scale, least) / unit, scale / unit, WORK, loss, basis,
        )  # fmt: skip
        watch.check()
        if n_retained == retained.shape[1]:
            retained = np.concatenate([retained, np.empty((n_states, n_retained))], axis=1)
            origin = np.concatenate([origin, np.empty(n_retained, dtype=np.int64)])
            best_in = np.concatenate([best_in, np.empty((n_retained, n_states))])
            basis = Basis.of(n_states, 2 * n_retained, max(n, k, 2 * n_retained))
    own = np.arange(n_known if beside is not None and beside.size else 0, n_retained)
    own = own[np.argsort(origin[own])]  # in the order of the ranks, not in the order of the search
    chosen = origin[own]
    loss = loss * unit + first.merged + second.merged + scale * (n_states + 8) * EPS  # rounding of the sums
    return Kept(first.number[chosen // k], second.number[chosen % k], best_in[own], loss)


MOST_PRODUCTS = 5e9
"""Operations up to which linear programs look for the vectors that win, at most: that is about a second,"""
WINNERS = 100
"""if about so many vectors per state win at most."""


def winning(vectors: FloatArray, start: FloatArray, watch: Watch) -> IndexArray:
    """Return the numbers of the vectors (n, S) that are the best in some belief, in ascending order: (m,) int64.

    All of them if the linear programs take long. One that rises above the others by rounding alone is left out, but
    the best at the start (S,) is always among them.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.exact.pruning import winning
    >>> from rlsuite.planning.watch import Watch
    >>> lines = np.array([[1.0, 0.0], [0.4, 0.4], [0.0, 1.0], [0.6, 0.6]])
    >>> winning(lines, np.array([0.5, 0.5]), Watch("this example", tol=1.0)).tolist()
    [0, 2, 3]
    """
    n, states = vectors.shape
    everything: IndexArray = np.arange(n, dtype=np.int64)
    if float(n) * states**2 * min(n, WINNERS * states) > MOST_PRODUCTS:
        return everything
    at_start = best_at(values_at(vectors, start[np.newaxis]), vectors, start[np.newaxis])
    try:
        found = that_matter(vectors, start[np.newaxis], 0.0, watch).left
    except OutOfTime:
        return everything
    return np.union1d(found, at_start)


def best_vectors(vectors: FloatArray, beliefs: FloatArray) -> IndexArray:
    """Return the index of the best of finite vectors (n, S) at each belief (p, S), the first of equals: (p,) int64."""
    return _first_best(beliefs, np.ascontiguousarray(vectors.T), rounding_of(vectors))


def different(points: FloatArray) -> FloatArray:
    """Return beliefs (p, S) without those that are the same up to rounding, in ascending order."""
    near = points.round(NEAR)
    order = np.lexsort(near.T[::-1])  # much faster than np.unique(axis=0), which compares whole rows
    near = near[order]
    new = np.ones(order.size, dtype=np.bool_)
    new[1:] = (near[1:] != near[:-1]).any(axis=1)
    return points[order[new]]


def power_of_two(size: float) -> float:
    """Return the largest power of two up to a positive number: divided by it, numbers keep all their digits.

    What the kernel takes for rounding is fit for vectors whose entries differ by about 1.
    """
    return math.ldexp(0.5, math.frexp(size)[1])


def _best_somewhere(
    left: FloatArray, right: FloatArray, points: FloatArray, tie: float, watch: Watch
) -> tuple[IndexArray, FloatArray]:
    """Return the indices (m,) of pairs that are the best at some of the points, and those points (m, S).

    The states are looked at first: there a column has its own entry for a value, so that no belief has to be written
    down. Then the points, in a random order, and no more of them once they rarely show a new vector.
    """
    n_states, n = left.shape
    width = right.shape[1]
    numbers: IndexArray = first_of_best(left, tie) * width + first_of_best(right, tie)
    found, where = np.unique(numbers, return_index=True)
    ahead = points[np.random.default_rng(0).permutation(points.shape[0])]
    begin, some = 0, 64 + n_states
    while begin < ahead.shape[0] and found.size < n * width:
        watch.check()
        now = ahead[begin : begin + some]
        numbers = _first_best(now, left, tie) * width + _first_best(now, right, tie)
        known = found.size
        found, first = np.unique(np.concatenate([found, numbers]), return_index=True)
        where = np.concatenate([where, n_states + np.arange(begin, begin + numbers.size)])[first]
        if found.size - known < LEAST_SHARE_OF_NEW * numbers.size:
            break
        begin += some
    beliefs = np.zeros((found.size, n_states))
    corner = where < n_states
    beliefs[np.flatnonzero(corner), where[corner]] = 1.0
    beliefs[~corner] = ahead[where[~corner] - n_states]
    return found, beliefs


def _first_best(points: FloatArray, columns: FloatArray, tie: float) -> IndexArray:
    """Return the first of the best columns (S, n) at each point (p, S)."""
    best = np.zeros(len(points), dtype=np.int64)
    if columns.shape[1] > 1:
        best_at_each(columns, points, tie, np.empty_like(columns[0]), best)
    return best


SPARE = 64
"""Room for vectors that join a surface."""

ALIKE = 1e-12
"""Differences of vectors below this share of their size do not tell those that others will have."""


def max_regret(vectors: FloatArray, surface: FloatArray, watch: Watch) -> float:
    """Return an upper bound, tight up to rounding, on max over beliefs of max_i v_i . b - max_k w_k . b.

    The rounding of the differences themselves is left to the caller: about 2 S roundings of the largest entry.

    Parameters
    ----------
    vectors, surface : ndarray (n, S), (k, S) float64
        The v_i and the w_k; entries may be minus infinity.
    watch : Watch
        Told when to stop.

    Returns
    -------
    float
        Infinite if some v is finite in beliefs in which no w is.

    Raises
    ------
    OutOfTime
        If the watch says so.
    """
    finite, below = vectors > -np.inf, surface > -np.inf
    most = -np.inf
    for mask in np.unique(finite, axis=0):
        if mask.any():
            own = vectors[(finite == mask).all(axis=1)][:, mask]
            others = surface[below[:, mask].all(axis=1)][:, mask]
            most = max(most, _largest_rise(own, others, most, watch) if others.size else np.inf)
    return most


def _largest_rise(vectors: FloatArray, surface: FloatArray, most: float, watch: Watch) -> float:
    beneath = UpperSurface(surface)
    candidates = beneath.candidates(vectors)
    position = 0
    while position < len(vectors):
        position, most, _ = beneath.go_on(MEASURE, candidates, position, 0.0, most)
        watch.check()
    return most


class Candidates(NamedTuple):
    """Vectors to be compared with a surface, in the form that the kernel reads."""

    left: FloatArray
    """(S, n)"""
    selected: BoolArray
    """(n,)"""
    scale: float
    """largest absolute value"""


class UpperSurface:
    """The maximum of some vectors; more can be added.

    Parameters
    ----------
    vectors : ndarray (k, S) float64
        Finite vectors, at least one.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.exact.pruning import UpperSurface
    >>> from rlsuite.planning.watch import Watch
    >>> surface = UpperSurface(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> some = surface.candidates(np.array([[0.4, 0.4], [0.6, 0.6]]))
    >>> number, belief, _ = surface.first_witness(some, 0, 1e-9, 0.0, Watch("this example", tol=1.0))
    >>> number, belief.tolist()
    (1, [0.5, 0.5])
    """

    def __init__(self, vectors: FloatArray) -> None:
        self._common: FloatArray = vectors.max(axis=0)  # subtracted, so that differences keep their digits
        self._n, states = vectors.shape
        self._retained: FloatArray = np.empty((states, self._n + SPARE))
        differences = (vectors - self._common).T
        apart, size = float(np.abs(differences).max()), float(np.abs(vectors).max())
        self._unit = power_of_two(apart if apart > ALIKE * size else size or 1.0)
        self._retained[:, : self._n] = differences / self._unit
        self._scale = max(float(np.abs(self._retained[:, : self._n]).max()), TINY)
        self._basis = Basis.of(states, *2 * (self._retained.shape[1],))

    def add(self, vector: FloatArray) -> None:
        """Add one more vector (S,)."""
        if self._n + 1 == self._retained.shape[1]:  # a set that is full would stop the kernel
            self._retained = np.concatenate([self._retained, np.empty_like(self._retained)], axis=1)
            self._basis = Basis.of(vector.size, *2 * (self._retained.shape[1],))
        self._retained[:, self._n] = (vector - self._common) / self._unit
        self._scale = max(self._scale, float(np.abs(self._retained[:, self._n]).max()))
        self._n += 1

    def candidates(self, vectors: FloatArray) -> Candidates:
        """Prepare finite vectors (n, S)."""
        left: FloatArray = np.ascontiguousarray((vectors - self._common).T) / self._unit
        selected: BoolArray = np.zeros(len(vectors), dtype=np.bool_)
        return Candidates(left, selected, float(np.abs(left).max(initial=0.0)))

    def go_on(
        self, task: int, candidates: Candidates, position: int, epsilon: float, most: float
    ) -> tuple[int, float, bool]:
        """Look at candidates from `position` on, for a while; see `pruning_kernels.prune`."""
        states = self._retained.shape[0]
        _, position, most, found = prune(
            task, candidates.left, np.zeros((states, 1)), candidates.selected, self._retained,
            np.empty(0, dtype=np.int64),
            np.empty((0, states)), self._n, position, epsilon / self._unit, 0.0, max(self._scale, candidates.scale),
            WORK, most / self._unit, self._basis,
        )  # fmt: skip
        return position, most * self._unit, found

    def first_witness(
        self, candidates: Candidates, position: int, epsilon: float, rise: float, watch: Watch
    ) -> tuple[int, FloatArray | None, float]:
        """Return the first candidate, from `position` on, that rises above the surface, and where it does.

        Parameters
        ----------
        candidates : Candidates
            Of n vectors.
        position : int
            Where to begin.
        epsilon : float
            How far above the surface a vector has to be.
        rise : float
            What is known already of those before it.
        watch : Watch
            Told when to stop.

        Returns
        -------
        int
            Its number; n if there is none.
        ndarray (S,) float64 or None
            A belief in which it rises above the surface.
        float
            The larger of `rise` and of how much those that were passed over can rise above the surface.

        Raises
        ------
        OutOfTime
            If the watch says so.
        """
        while position < candidates.selected.size:
            watch.check()
            position, rise, found = self.go_on(FIND, candidates, position, epsilon, rise)
            if found:
                return position, self._basis.belief.copy(), rise
        return candidates.selected.size, None, rise
