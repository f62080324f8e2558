"""What the online planners draw: the probabilities of the model, from a small generator of its own."""

import numpy as np
import pytest

from rlsuite.models import POMDP
from rlsuite.planning.pomdp.online.history_tree import pick, random_action, random_state, simulator, uniform

pytestmark = pytest.mark.arithmetic


@pytest.fixture
def rng():
    return random_state(np.random.default_rng(1))


def test_uniform_numbers_are_uniform_and_repeatable(rng):
    again = rng.copy()
    numbers = np.array([uniform(rng) for _ in range(50_000)])
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    counts = np.histogram(numbers, bins=20, range=(0, 1))[0]
    assert ((counts - 2_500) ** 2 / 2_500).sum() < 43.8  # chi-square, 19 degrees of freedom, one in a thousand
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.02
    assert [uniform(again) for _ in range(100)] == numbers[:100].tolist()


@pytest.mark.parametrize("size", [1, 2, 8, 9, 40])
def test_entries_are_picked_with_their_probabilities(rng, size):
    weights = np.random.default_rng(size).random(size) * (np.arange(size) % 3 != 1)
    weights[0] = 0.1
    probability = weights / weights.sum()
    cumulative = np.concatenate([[0.3, 1.0], np.cumsum(probability)])
    cumulative[-1] = 1.0
    n = 40_000
    counts = np.bincount([pick(cumulative, 2, 2 + size, rng) - 2 for _ in range(n)], minlength=size)
    assert counts[probability == 0.0].sum() == 0
    np.testing.assert_allclose(counts / n, probability, atol=5 * np.sqrt(0.25 / n))


def test_the_tables_hold_running_sums_of_every_row(tiger):
    tables = simulator(tiger(0.9))
    assert tables.cumulative.tolist() == [1.0, 0.5, 1.0, 0.5, 1.0, 1.0, 0.5, 1.0, 0.5, 1.0]
    assert tables.symbol_cumulative[:4].tolist() == pytest.approx([0.85, 1.0, 0.15, 1.0])
    assert tables.all_legal
    assert tables.choices.tolist() == [0, 3, 6]


def test_sums_that_miss_one_by_rounding_end_at_one():
    thirds = np.full((3, 1, 3), 1 / 3 - 3e-10)
    model = POMDP.from_arrays(thirds, np.zeros((3, 1)), np.full((3, 1), 1.0), gamma=0.9)
    assert simulator(model).cumulative[2::3].tolist() == [1.0, 1.0, 1.0]


def test_random_actions_are_legal(rng):
    legal = [[True, False, True], [False, True, False], [False, False, False]]
    moves = np.zeros((3, 3, 3))
    moves[:, :, 2] = 1.0
    moves[2] = 0.0
    moves[~np.array(legal)] = 0.0
    model = POMDP.from_arrays(moves, np.zeros((3, 3)), np.ones((3, 1)), gamma=0.9, legal=legal, start=[0.5, 0.5, 0.0])
    tables = simulator(model)
    assert not tables.all_legal
    drawn = [random_action(tables, 0, rng) for _ in range(200)]
    assert set(drawn) == {0, 2}
    assert 60 < drawn.count(0) < 140
    assert {random_action(tables, 1, rng) for _ in range(20)} == {1}
    assert random_action(tables, 2, rng) == -1
