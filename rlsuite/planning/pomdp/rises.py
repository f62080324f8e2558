"""How far vectors rise above a surface, the maximum of other vectors: anywhere, and where first."""

from typing import NamedTuple

import numpy as np

from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.planning.operators import TINY
from rlsuite.planning.pomdp.pruning import WORK, Memory, OutOfTime
from rlsuite.planning.pomdp.pruning_kernels import FIND, MEASURE, sift
from rlsuite.planning.watch import Watch


def largest_rise(vectors: FloatArray, surface: FloatArray, watch: Watch) -> float:
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
    program = _Program.of(vectors, surface)
    position = 0
    while position < len(vectors):
        position, most, _ = program.go_on(MEASURE, position, 0.0, most)
        if watch.hurries:
            raise OutOfTime
    return most


def first_witness(
    vectors: FloatArray, surface: FloatArray, position: int, epsilon: float, rise: float, watch: Watch
) -> tuple[int, FloatArray | None, float]:
    """Return the first vector (n, S), from `position` on, that rises above a surface (k, S), and where it does.

    Parameters
    ----------
    vectors, surface : ndarray (n, S), (k, S) float64
        All of them finite.
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
    program = _Program.of(vectors, surface)
    while position < len(vectors):
        position, rise, found = program.go_on(FIND, position, epsilon, rise)
        if found:
            return position, program.memory.belief, rise
        if watch.hurries:
            raise OutOfTime
    return len(vectors), None, rise


class _Program(NamedTuple):
    """The linear programs of some vectors beside a surface that stays as it is, as the kernel wants them."""

    left: FloatArray
    """(S, n)"""
    kept: FloatArray
    """(S, k + 1): the last column is unused, because a set that is full would stop the kernel"""
    taken: BoolArray
    """(n,)"""
    scale: float
    memory: Memory

    @classmethod
    def of(cls, vectors: FloatArray, surface: FloatArray) -> "_Program":
        common = surface.max(axis=0)
        left: FloatArray = np.ascontiguousarray((vectors - common).T)
        kept: FloatArray = np.ascontiguousarray((surface - common).T)
        n_states = int(vectors.shape[1])
        scale = max(float(np.abs(left).max(initial=0.0)), float(np.abs(kept).max()), TINY)
        kept = np.concatenate([kept, np.empty((n_states, 1))], axis=1)
        taken: BoolArray = np.zeros(len(vectors), dtype=np.bool_)
        return cls(left, kept, taken, scale, Memory.of(n_states, kept.shape[1]))

    def go_on(self, task: int, position: int, epsilon: float, most: float) -> tuple[int, float, bool]:
        """Look at vectors from `position` on, for a while; see `rlsuite.planning.pomdp.pruning_kernels.sift`."""
        n_states = self.left.shape[0]
        nothing = (np.empty(0, dtype=np.int64), np.empty((0, n_states)))
        _, position, most, found = sift(
            task, self.left, np.zeros((n_states, 1)), self.taken, self.kept, *nothing, self.kept.shape[1] - 1,
            position, epsilon, 0.0, self.scale, WORK, most, *self.memory,
        )  # fmt: skip
        return position, most, found
