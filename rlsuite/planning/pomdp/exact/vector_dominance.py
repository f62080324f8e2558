"""How far vectors rise above a surface, the maximum of other vectors, and which is the first to do so."""

from typing import NamedTuple

import numpy as np

from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.planning.operators import TINY
from rlsuite.planning.pomdp.exact.pruning import WORK, power_of_two
from rlsuite.planning.pomdp.exact.pruning_kernels import FIND, MEASURE, prune
from rlsuite.planning.pomdp.exact.simplex_kernels import Basis
from rlsuite.planning.watch import Watch

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
    taken: BoolArray
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
    >>> from rlsuite.planning.pomdp.exact.vector_dominance import UpperSurface
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
        self._kept: FloatArray = np.empty((states, self._n + SPARE))
        differences = (vectors - self._common).T
        apart, size = float(np.abs(differences).max()), float(np.abs(vectors).max())
        self._unit = power_of_two(apart if apart > ALIKE * size else size or 1.0)
        self._kept[:, : self._n] = differences / self._unit
        self._scale = max(float(np.abs(self._kept[:, : self._n]).max()), TINY)
        self._basis = Basis.of(states, *2 * (self._kept.shape[1],))

    def add(self, vector: FloatArray) -> None:
        """Add one more vector (S,)."""
        if self._n + 1 == self._kept.shape[1]:  # a set that is full would stop the kernel
            self._kept = np.concatenate([self._kept, np.empty_like(self._kept)], axis=1)
            self._basis = Basis.of(vector.size, *2 * (self._kept.shape[1],))
        self._kept[:, self._n] = (vector - self._common) / self._unit
        self._scale = max(self._scale, float(np.abs(self._kept[:, self._n]).max()))
        self._n += 1

    def candidates(self, vectors: FloatArray) -> Candidates:
        """Prepare finite vectors (n, S)."""
        left: FloatArray = np.ascontiguousarray((vectors - self._common).T) / self._unit
        taken: BoolArray = np.zeros(len(vectors), dtype=np.bool_)
        return Candidates(left, taken, float(np.abs(left).max(initial=0.0)))

    def go_on(
        self, task: int, candidates: Candidates, position: int, epsilon: float, most: float
    ) -> tuple[int, float, bool]:
        """Look at candidates from `position` on, for a while; see `pruning_kernels.prune`."""
        states = self._kept.shape[0]
        _, position, most, found = prune(
            task, candidates.left, np.zeros((states, 1)), candidates.taken, self._kept, np.empty(0, dtype=np.int64),
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
        while position < candidates.taken.size:
            watch.check()
            position, rise, found = self.go_on(FIND, candidates, position, epsilon, rise)
            if found:
                return position, self._basis.belief.copy(), rise
        return candidates.taken.size, None, rise
