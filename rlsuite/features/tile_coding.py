"""Tile coding: several overlapping grids, each with an offset (S&B2 section 9.5.4).

A lookup takes only a few additions. Displacements are whole multiples of 1/n of a tile, n being the number
of tilings. So each dimension falls into cells of that width, within which no tiling changes its tile, and for each
cell there is a row that says what this dimension adds to the place of the tile, in all tilings at once. One
multiplication per dimension finds the row; the places are the sums of d rows.

In plain NumPy: `rlsuite.reference.learning.active_tiles`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.checks import fits_in_memory, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.features.bounded import BoundedMap, cell_of, check_counts, counts
from rlsuite.features.checks import grid, grid_size
from rlsuite.features.feature_map import GRID, FeatureRule, check_size


class Tilings(NamedTuple):
    """Data of the compiled forms of `TileCoding`; a dimension's cells are the rows first, first + 1, ... of table."""

    low: NDArray[np.float64]  # (d,)
    scale: NDArray[np.float64]  # (d,) cells per unit
    n_cells: NDArray[np.int64]  # (d,)
    table: NDArray[np.int64]  # (cells of all dimensions, n_tilings)
    start: NDArray[np.int64]  # (n_tilings,) first feature of each tiling
    size: NDArray[np.int64]  # (n_tilings,) how many features it has


@compiled(in_place=True)
def _exact(
    data: Tilings, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Sum the rows: each tile has its own place."""
    n_tilings = data.start.size
    row = cell_of(observation[0], data.low[0], data.scale[0], data.n_cells[0])
    for t in range(n_tilings):
        indices[t] = data.table[row, t]
        values[t] = 1.0
    first = data.n_cells[0]
    for j in range(1, data.low.size):
        row = first + cell_of(observation[j], data.low[j], data.scale[j], data.n_cells[j])
        for t in range(n_tilings):
            indices[t] += data.table[row, t]
        first += data.n_cells[j]
    return n_tilings


@compiled(in_place=True)
def _hashed(
    data: Tilings, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Combine the rows, which are random words of 32 bits, by exclusive or; scale the word to a place."""
    n_tilings = data.start.size
    row = cell_of(observation[0], data.low[0], data.scale[0], data.n_cells[0])
    for t in range(n_tilings):
        indices[t] = data.table[row, t]
        values[t] = 1.0
    first = data.n_cells[0]
    for j in range(1, data.low.size):
        row = first + cell_of(observation[j], data.low[j], data.scale[j], data.n_cells[j])
        for t in range(n_tilings):
            indices[t] ^= data.table[row, t]
        first += data.n_cells[j]
    for t in range(n_tilings):
        indices[t] = data.start[t] + ((indices[t] * data.size[t]) >> 32)
    return n_tilings


@dataclass(eq=False, repr=False)
class TileCoding(BoundedMap):
    """Overlapping grids, each with an offset: in each, the tile that contains the observation is active.

    How far the grids reach is how far learning generalises, and the displacements say how finely values can differ:
    with n tilings, to 1/n of a tile. Features are 0 or 1, and exactly `n_tilings` of them are 1: divide a step size
    that suits a table by that number.

    Each tiling covers the whole box from `low` to `high` with `bins` tiles a dimension, plus one where its displacement
    leaves a rest. Tiling t is displaced by t (1, 3, 5, ...) / n tiles, the first odd numbers as S&B2 recommends; those
    that have a factor in common with n are left out, since they would displace some tilings not at all.

    Parameters
    ----------
    n_tilings : int
        How many grids. S&B2 recommend a power of 2 that is at least 4 d.
    bins : int or sequence of int
        Tiles in each dimension.
    low, high : float or sequence of float, optional
        Where each dimension begins and ends; see `BoundedMap`. An observation beyond lies in the outer tile.
    hash_size : int, optional
        Use no more features than this: tiles share features at random, as many in each tiling, by tabulation hashing
        (Zobrist 1970; Patrascu & Thorup 2012). Which tiles share one depends on `seed` alone, and not on what has been
        visited. By default, and where there are no more tiles than that, each tile has a feature of its own.
    seed : int
        Of the hashing.

    Attributes
    ----------
    hashed_ : bool
        Whether tiles share features.
    start_, size_ : ndarray of int64, shape (n_tilings,)
        The first feature of each tiling, and how many features it has.
    table_ : ndarray of int64, shape (n_cells, n_tilings)
        What each cell of each dimension adds to the places of the tiles.

    Raises
    ------
    ParameterError
        From `fit`, if a number is not above 0, bounds are infinite, or there are more than 100 million tiles.

    Examples
    --------
    Two tilings of 2 x 2 tiles; the second is displaced by half a tile, and has one more row and column for that:

    >>> tiles = TileCoding(n_tilings=2, bins=2, low=[0.0, 0.0], high=[1.0, 1.0]).fit([[0.0, 0.0]])
    >>> tiles.n_features_out_
    13
    >>> tiles.transform([[0.1, 0.1], [0.3, 0.1], [7.0, 7.0]]).indices.reshape(3, 2).tolist()
    [[0, 4], [0, 7], [3, 12]]
    """

    n_tilings: int = 8
    bins: int | Sequence[int] = 8
    hash_size: int | None = field(default=None, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    sparse: ClassVar[bool] = True
    expected_failed_checks: ClassVar[dict[str, str]] = GRID

    def check_parameters(self) -> None:
        """Raise unless all numbers are above 0."""
        super().check_parameters()
        whole_number("n_tilings", self.n_tilings)
        check_counts("bins", self.bins)
        whole_number("seed", self.seed, 0)
        if self.hash_size is not None and whole_number("hash_size", self.hash_size) < self.n_tilings:
            raise errors.ParameterError(
                f"hash_size={self.hash_size} is less than n_tilings={self.n_tilings}; each tiling needs a feature"
            )

    def lay_out(self) -> None:
        """Compute the table.

        Raises
        ------
        ParameterError
            If there are more tiles than weights could be kept for.
        """
        n, bins = self.n_tilings, counts("TileCoding", "bins", self.bins, self.n_features_in_)
        units = np.array([unit for unit in range(1, 2 * n * len(bins), 2) if math.gcd(unit, n) == 1][: len(bins)])
        displacements = np.arange(n)[:, None] * units % n
        extents = bins + (displacements > 0)  # tiles of each tiling in each dimension
        tiles = [grid_size(extent) for extent in extents]
        hashed = self.hash_size is not None and self.hash_size < sum(tiles)
        most = sum(tiles) if self.hash_size is None or not hashed else self.hash_size
        made_of = f"{n} tilings of {grid(bins)} tiles"
        check_size(self, most, made_of, "give a (smaller) hash_size=, or fewer bins=")
        fits_in_memory(f"the table of {made_of}", 8 * n * n * sum(bins.tolist()))
        ends = np.cumsum(tiles) if not hashed else np.arange(1, n + 1) * most // n
        self.size_ = np.diff(ends, prepend=0)
        self.start_ = ends - self.size_
        self.hashed_ = hashed
        self.n_features_out_, self.most_active_ = most, n
        rng = np.random.default_rng(self.seed)
        rows: list[NDArray[np.int64]] = []
        for j, n_bins in enumerate(map(int, bins)):
            cells = np.arange(n_bins * n)[:, None]
            tile: NDArray[np.int64] = (cells + displacements[:, j]) // n  # the tile of each cell in each tiling
            if hashed:
                rows.append(np.take_along_axis(rng.integers(2**32, size=(n_bins + 1, n)), tile, axis=0))
            else:
                rows.append(tile * extents[:, j + 1 :].prod(axis=1))
        if not hashed:
            rows[0] += self.start_
        self.table_ = np.concatenate(rows)

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        n_cells = counts("TileCoding", "bins", self.bins, self.n_features_in_) * self.n_tilings
        data = Tilings(self.low_, self.units(n_cells), n_cells, self.table_, self.start_, self.size_)
        return FeatureRule(_hashed if self.hashed_ else _exact, data)
