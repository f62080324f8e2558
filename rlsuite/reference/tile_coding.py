"""Tile coding: overlapping grids, each displaced by a part of a tile. S&B2 section 9.5.4."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlsuite.models.aliases import IndexArray


def active_tiles(
    observation: Sequence[float], low: Sequence[float], high: Sequence[float], n_tilings: int, bins: Sequence[int]
) -> IndexArray:
    """Return the tile of each tiling that contains an observation.

    Tiling t is displaced by t (1, 3, 5, ...) / n tiles, with the first odd numbers that have no factor in common with
    n. It has one tile more in every dimension in which it is displaced.

    Parameters
    ----------
    observation : sequence of d floats
        What is seen; beyond the bounds it lies in the outer tiles.
    low, high : sequence of d floats
        Where the grids begin and end.
    n_tilings : int
        n.
    bins : sequence of d ints
        Tiles in each dimension of a grid that is not displaced.

    Returns
    -------
    ndarray (n_tilings,) int64
        Numbers of the tiles; those of one tiling come after those of the tiling before.

    Examples
    --------
    >>> active_tiles([0.3, 0.1], low=[0, 0], high=[1, 1], n_tilings=2, bins=[2, 2]).tolist()
    [0, 7]
    """
    n, counts = n_tilings, np.array(bins)
    odd = np.array([k for k in range(1, 2 * n * len(counts), 2) if math.gcd(k, n) == 1][: len(counts)])
    # Borders of tiles lie at multiples of 1/n of a tile: all points between two of them have the same tiles.
    cell = np.floor((np.array(observation) - low) / (np.array(high) - low) * counts * n)
    cell = np.clip(cell, 0, counts * n - 1).astype(np.int64)
    tiles: list[int] = []
    first = 0  # number of the first tile of this tiling
    for t in range(n):
        displacement = t * odd % n
        extent = counts + (displacement > 0)
        tiles.append(first + int(np.ravel_multi_index(tuple((cell + displacement) // n), tuple(extent))))
        first += int(extent.prod())
    return np.array(tiles)
