"""Tiles by the definition, against the book's figure and the compiled table."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlsuite import reference
from rlsuite.features import TileCoding


def test_neighbouring_tilings_share_borders_as_in_figure_9_9() -> None:
    """Four tilings of 4 x 4 tiles, displaced by (1, 3) / 4 of a tile: 16 + 3 * 25 tiles, of which 4 are active."""
    grid = {"low": [0.0, 0.0], "high": [4.0, 4.0], "n_tilings": 4, "bins": [4, 4]}
    assert reference.active_tiles([0.0, 0.0], **grid).tolist() == [0, 16, 41, 66]
    assert reference.active_tiles([0.9, 0.9], **grid).tolist() == [0, 16 + 5 + 1, 41 + 5 + 1, 66 + 5 + 1]
    assert reference.active_tiles([9.0, 9.0], **grid).tolist() == [15, 40, 65, 90]


@given(
    n_tilings=st.integers(1, 9),
    bins=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
)
def test_compiled_tiles_are_these(n_tilings: int, bins: list[int], seed: int) -> None:
    low, high = [-1.0] * len(bins), [1.0] * len(bins)
    tiles = TileCoding(n_tilings, bins, low=low, high=high).fit([low])
    points = np.random.default_rng(seed).uniform(-1.5, 1.5, size=(20, len(bins)))
    found = tiles.transform(points).indices.reshape(20, n_tilings)
    plain = [reference.active_tiles(point.tolist(), low, high, n_tilings, bins).tolist() for point in points]
    assert found.tolist() == plain
