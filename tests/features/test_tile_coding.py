"""Tile coding against grids that are laid over each other with exact fractions."""

from fractions import Fraction
from itertools import product
from math import comb, floor, gcd, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.errors import ParameterError
from rlsuite.features import TileCoding


def tiles_of(point, n_tilings, bins):
    """The tiles of a point in the unit box, as (tiling, row, column, ...), by the definition."""
    odd = [unit for unit in range(1, 100, 2) if gcd(unit, n_tilings) == 1]
    return [
        (
            t,
            *(
                floor(s * k + Fraction(t * odd[j] % n_tilings, n_tilings))
                for j, (s, k) in enumerate(zip(point, bins, strict=True))
            ),
        )
        for t in range(n_tilings)
    ]


def active(tiles, points):
    return tiles.transform(points).indices.reshape(len(points), tiles.n_tilings)


@pytest.mark.parametrize(
    ("n_tilings", "bins"), [(8, (3, 2)), (4, (2, 1, 3)), (3, (4, 2)), (6, (2, 2)), (1, (5,)), (5, (1, 1))]
)
def test_each_tile_has_a_feature_of_its_own(n_tilings, bins):
    """Everywhere: in the middle of all the cells within which no tiling sees a difference."""
    middles = [[(Fraction(2 * c + 1, 2 * k * n_tilings)) for c in range(k * n_tilings)] for k in bins]
    points = list(product(*middles))
    tiles = TileCoding(n_tilings, bins, low=0.0, high=1.0).fit(np.zeros((1, len(bins))))
    found = active(tiles, np.array(points, dtype=np.float64))
    pairs = {
        (tile, int(index))
        for point, indices in zip(points, found, strict=True)
        for tile, index in zip(tiles_of(point, n_tilings, bins), indices, strict=True)
    }
    assert len(pairs) == len({tile for tile, _ in pairs}) == tiles.n_features_out_
    assert {index for _, index in pairs} == set(range(tiles.n_features_out_))


def test_displacements_are_those_of_the_book():
    """S&B2 section 9.5.4: (1, 3) in two dimensions. Tiling t begins a new tile in cell n - t (1, 3) mod n."""
    tiles = TileCoding(8, 1, low=0.0, high=1.0).fit([[0.0, 0.0]])
    cells = (np.arange(8) + 0.5) / 8
    along, across = (active(tiles, np.stack(pair, axis=1)) for pair in ((cells, cells * 0), (cells * 0, cells)))
    begins = [[int(np.argmax(one[:, t] != one[0, t])) or None for t in range(8)] for one in (along, across)]
    assert begins == [[None, 7, 6, 5, 4, 3, 2, 1], [None, 5, 2, 7, 4, 1, 6, 3]]


SHARED = TileCoding(8, (5, 3), low=[-1.0, 10.0], high=[4.0, 16.0]).fit([[0.0, 11.0]])
HASHED = TileCoding(8, (5, 3), low=[-1.0, 10.0], high=[4.0, 16.0], hash_size=70).fit([[0.0, 11.0]])
cells = st.tuples(st.integers(0, 39), st.integers(0, 23))


def middle(cell):
    return [-1.0 + (cell[0] + 0.5) / 8, 10.0 + (cell[1] + 0.5) / 4]


@given(cells, cells)
def test_neighbours_share_tiles(one, other):
    """A step to the next cell leaves exactly one tile, whatever the direction."""
    apart = [abs(a - b) for a, b in zip(one, other, strict=True)]
    shared = len(np.intersect1d(*active(SHARED, [middle(one), middle(other)])))
    assert shared >= 8 - sum(apart)
    if min(apart) == 0:
        assert shared == max(8 - sum(apart), 0)
    if max(apart) >= 8:
        assert shared == 0


@pytest.mark.parametrize("tiles", [SHARED, HASHED], ids=["exact", "hashed"])
@given(st.lists(st.floats(-50.0, 50.0), min_size=2, max_size=2))
def test_one_tile_of_each_tiling_is_active_everywhere(tiles, point):
    features = tiles.transform([point])
    assert features.nnz == 8
    assert (features.data == 1.0).all()
    of_tiling = np.searchsorted(tiles.start_, features.indices, side="right") - 1
    assert of_tiling.tolist() == list(range(8))
    assert (features.indices < tiles.n_features_out_).all()


def test_beyond_the_bounds_is_the_outer_tile():
    far = [[-1e300, 10.0], [4.0, 1e300], [-2.0, 17.0]]
    near = [[-1.0, 10.0], [3.999999, 15.999999], [-1.0, 15.999999]]
    assert active(SHARED, far).tolist() == active(SHARED, near).tolist()


def test_hashing_does_not_depend_on_what_was_seen():
    points = np.random.default_rng(0).uniform([-1, 10], [4, 16], (200, 2))
    found = active(HASHED, points)
    again = TileCoding(8, (5, 3), hash_size=70).fit([[-1.0, 10.0], [4.0, 16.0]])
    assert active(again, points[::-1]).tolist() == found[::-1].tolist()
    reseeded = TileCoding(8, (5, 3), hash_size=70, seed=1).fit([[-1.0, 10.0], [4.0, 16.0]])
    assert active(reseeded, points).tolist() != found.tolist()


def test_hashing_merges_tiles_only():
    """Points with a common tile keep it; each tiling has its share of the features."""
    points = np.random.default_rng(1).uniform([-1, 10], [4, 16], (300, 2))
    exact, hashed = active(SHARED, points), active(HASHED, points)
    for t in range(8):
        feature_of = dict(zip(exact[:, t].tolist(), hashed[:, t].tolist(), strict=True))
        assert [feature_of[tile] for tile in exact[:, t].tolist()] == hashed[:, t].tolist()
    assert HASHED.size_.tolist() == [8, 9, 9, 9, 8, 9, 9, 9]


def test_hashing_spreads_tiles_evenly():
    """Pairs of tiles collide with probability 1 / m: 2,498 of 1,600 tiles in 512 features, standard deviation 50."""
    tiles = TileCoding(1, 40, low=0.0, high=40.0, hash_size=512).fit([[0.0, 0.0]])
    found = active(tiles, np.indices((40, 40)).reshape(2, -1).T + 0.5)[:, 0]
    expected = comb(1600, 2) / 512
    collisions = sum(comb(int(count), 2) for count in np.bincount(found))
    assert abs(collisions - expected) < 4 * expected**0.5


def test_nothing_is_hashed_that_fits():
    tiles = TileCoding(4, 2, low=0.0, high=1.0, hash_size=31).fit([[0.0, 0.0]])
    assert not tiles.hashed_
    assert tiles.n_features_out_ == 4 + 3 * 9 == 31
    assert TileCoding(4, 2, low=0.0, high=1.0, hash_size=30).fit([[0.0, 0.0]]).hashed_


def test_a_dimension_without_length_has_one_tile_that_matters():
    tiles = TileCoding(2, 3).fit([[0.0, 5.0], [1.0, 5.0]])
    assert len(np.unique(active(tiles, [[0.2, 5.0], [0.2, 4.0], [0.2, 99.0]]), axis=0)) == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_tilings": 0}, "n_tilings=0 is less than 1"),
        ({"bins": [4, 0]}, r"bins\[1\]=0 is less than 1"),
        ({"bins": 2.5}, "bins=2.5 is not a whole number"),
        ({"hash_size": 4}, "hash_size=4 is less than n_tilings=8"),
        ({"low": [0.0, np.nan]}, "low=nan is not a finite number"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ParameterError, match=message):
        TileCoding(**parameters).fit([[0.0, 0.0]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bins": [4, 4, 4]}, r"bins has shape \(3,\) but observations have 2 numbers"),
        ({"bins": 10_000}, r"8 tilings of 10000 x 10000 tiles makes .* give a \(smaller\) hash_size="),
        ({"low": 3.0, "high": 1.0}, "low=3 is above high=1 in dimension 0"),
    ],
)
def test_parameters_have_to_go_with_the_observations(parameters, message):
    with pytest.raises(ParameterError, match=message):
        TileCoding(**parameters).fit([[0.0, 0.0], [1.0, 1.0]])


def test_many_dimensions_are_hashed_in_little_memory():
    tiles = TileCoding(16, 8, low=0.0, high=1.0, hash_size=4096).fit(np.zeros((1, 20)))
    found = active(tiles, np.random.default_rng(0).random((500, 20)))
    assert tiles.table_.nbytes == 20 * 8 * 16 * 16 * 8
    assert prod(found.shape) == 500 * 16
    assert found.max() < 4096
