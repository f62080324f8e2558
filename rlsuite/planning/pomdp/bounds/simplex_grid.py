"""Beliefs on a regular grid, and approximation of any belief by them: the nearest, or Freudenthal's triangulation.

The grid of resolution M consists of all beliefs whose entries are multiples of 1 / M: (M + S - 1)! / (M! (S - 1)!) of
them. In the coordinates x_i = M sum_{j >= i} b_j its points are the falling sequences of whole numbers, M >= x_2 >= ...
>= x_S >= 0, and Freudenthal's triangulation cuts the cell [x, x + 1] around a belief along the order of the fractional
parts (Lovejoy 1991, section 3): each belief is the mean of at most S grid points around it, whose supports lie within
its own. A falling sequence is numbered by the combinatorial number system, so no table is searched.
"""

import itertools
import math
from typing import Literal

import numpy as np

from rlsuite.errors import ParameterError
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray

Interpolation = Literal["freudenthal", "nearest"]


class SimplexGrid:
    """All beliefs over some states whose entries are multiples of 1 / resolution.

    Parameters
    ----------
    states : ndarray (S,) bool
        The states that the supports of the grid's beliefs may contain, L of them.
    resolution : int
        M.
    max_beliefs : int
        How many grid points there may be.

    Attributes
    ----------
    beliefs : ndarray (n, S) float64
        The grid points.

    Raises
    ------
    ParameterError
        If there are more.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.planning.pomdp.bounds.simplex_grid import SimplexGrid
    >>> grid = SimplexGrid(np.array([True, True]), resolution=4, max_beliefs=100)
    >>> grid.beliefs.tolist()
    [[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]
    >>> numbers, weights = grid.made_of(np.array([[0.65, 0.35]]), "freudenthal")
    >>> numbers.tolist(), weights.round(9).tolist()
    ([[1, 2]], [[0.6, 0.4]])
    """

    def __init__(self, states: BoolArray, resolution: int, max_beliefs: int) -> None:
        living = int(states.sum())
        number = math.comb(resolution + living - 1, living - 1)
        if number > max_beliefs:
            raise ParameterError(
                f"a grid of resolution={resolution} over {living} states has {number} beliefs, more than "
                f"max_beliefs={max_beliefs}; use a smaller resolution= or a larger max_beliefs="
            )
        self.states = states
        self.resolution = resolution
        chosen = itertools.combinations(range(resolution + living - 1), living - 1)
        rising = np.array(list(chosen), dtype=np.int64).reshape(number, living - 1)
        self._binomial: IndexArray = np.array(
            [[min(math.comb(n, k), number) for k in range(1, living)] for n in range(resolution + living)],
            dtype=np.int64,
        ).reshape(resolution + living, living - 1)
        # x_2 >= ... >= x_L from the largest to the smallest, and M in front
        falling = np.empty((number, living), dtype=np.int64)
        falling[:, 0] = resolution
        falling[:, 1:] = rising[:, ::-1] - np.arange(living - 1)[::-1]
        order = np.argsort(self._numbers(falling[:, 1:]))
        counts = falling - np.concatenate([falling[:, 1:], np.zeros((number, 1), dtype=np.int64)], axis=1)
        self.beliefs: FloatArray = np.zeros((number, states.size))
        self.beliefs[:, states] = counts[order] / resolution
        self.beliefs.setflags(write=False)

    def made_of(self, beliefs: FloatArray, interpolation: Interpolation) -> tuple[IndexArray, FloatArray]:
        """Return the numbers (k, m) of the grid points that each belief (k, S) is made of, and their weights (k, m).

        m is L, or 1 for the nearest point; a weight may be 0. Nearest in the sum of absolute differences.
        """
        own = beliefs[:, self.states]
        return self._nearest(own) if interpolation == "nearest" else self._freudenthal(own)

    def _freudenthal(self, beliefs: FloatArray) -> tuple[IndexArray, FloatArray]:
        k, living = beliefs.shape
        # Running sums of such terms never decrease, so equal coordinates stay in order whatever the rounding.
        x = np.minimum(np.cumsum(beliefs[:, ::-1], axis=1)[:, -2::-1] * self.resolution, self.resolution)
        corner: IndexArray = np.floor(x).astype(np.int64)
        part = x - corner
        order = np.argsort(-part, axis=1, kind="stable")
        falling = np.take_along_axis(part, order, axis=1)
        weights = np.empty((k, living))
        weights[:, 0] = 1.0 - (falling[:, 0] if living > 1 else 0.0)
        weights[:, 1:-1] = falling[:, :-1] - falling[:, 1:]
        if living > 1:
            weights[:, -1] = falling[:, -1]
        numbers: IndexArray = np.empty((k, living), dtype=np.int64)
        numbers[:, 0] = self._numbers(corner)
        for step in range(living - 1):
            raised = weights[:, step + 1] > 0.0
            later = (weights[:, step + 1 :] > 0.0).any(axis=1)
            corner[later, order[later, step]] += 1
            numbers[:, step + 1] = np.where(raised, self._numbers(np.minimum(corner, self.resolution)), numbers[:, 0])
        return numbers, weights

    def _nearest(self, beliefs: FloatArray) -> tuple[IndexArray, FloatArray]:
        scaled = beliefs * self.resolution
        counts: IndexArray = np.floor(scaled).astype(np.int64)
        missing = self.resolution - counts.sum(axis=1)
        # the largest remainders are rounded up
        rank = np.argsort(np.argsort(counts - scaled, axis=1, kind="stable"), axis=1)
        counts += rank < missing[:, np.newaxis]
        falling = np.cumsum(counts[:, ::-1], axis=1)[:, -2::-1]
        return self._numbers(falling)[:, np.newaxis], np.ones((len(beliefs), 1))

    def _numbers(self, falling: IndexArray) -> IndexArray:
        """Return the number of each falling sequence x_2 >= ... >= x_L: sum of binomial(x_j + L - j, L - j + 1)."""
        rising: IndexArray = falling[:, ::-1] + np.arange(int(falling.shape[1]))
        return self._binomial[rising, np.arange(int(falling.shape[1]))].sum(axis=1)
