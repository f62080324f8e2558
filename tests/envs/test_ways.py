"""Transitions laid out as arrays, and the board they are read from."""

import numpy as np
import pytest

from rlsuite_envs.moves import Board
from rlsuite_envs.ways import BLOCK, Ways


def test_ways_that_are_impossible_or_have_no_chance_are_left_out():
    ahead = np.array([[[0, 1, 2]], [[2, 0, 1]], [[0, 1, 2]]])
    ways = Ways(ahead, [0.5, 0.5, 0.0], ahead * 10.0, possible=[[[True]], [[True]], [[False]]], terminated=ahead == 2)
    model = ways.to_model(gamma=0.9, start=[1, 0, 0])
    assert model.indptr.tolist() == [0, 2, 4, 4]
    assert model.P[0][0] == [(0.5, 0, 0.0, False), (0.5, 1, 10.0, False)]
    assert model.P[1][0] == [(0.5, 2, 20.0, True), (0.5, 0, 0.0, False)]


def test_many_blocks_give_the_rows_of_one():
    n_states = 2 * BLOCK + 5
    rng = np.random.default_rng(3)
    ahead = rng.integers(0, n_states, (n_states, 2, 2))
    chance = rng.choice([0.0, 0.25, 1.0], (n_states, 2))
    probability = np.stack([chance, 1.0 - chance], axis=2)
    reward = rng.random(ahead.shape)
    ends = rng.random(n_states) < 0.1
    ways = Ways(ahead, probability.copy(), reward.copy())
    ways.end(ends)
    model = ways.to_model(gamma=0.9, start=0)
    probability[ends], reward[ends] = [1.0, 0.0], 0.0
    ahead[ends] = np.flatnonzero(ends)[:, None, None]
    kept = probability > 0.0
    assert np.array_equal(model.indptr, np.concatenate([[0], np.cumsum(kept.sum(axis=2))]))
    assert np.array_equal(model.next_state, ahead[kept])
    assert np.array_equal(model.probability, probability[kept])
    assert np.array_equal(model.reward, reward[kept])
    assert np.array_equal(model.terminated, ends[ahead][kept])


def test_arrays_that_are_not_full_stay_as_they_are():
    ahead, reward = np.zeros((2, 1, 1), dtype=np.int64), np.ones((2, 1))
    ways = Ways(ahead, 1.0, reward[:, :, None])
    ways.end(np.array([True, True]))
    assert not ways.to_model(gamma=1.0, start=0).reward.any()
    assert reward.all()
    assert ahead.flags.writeable


@pytest.mark.parametrize("displacement", [(0, 0), (0, 1), (-1, 0), (1, -1), (2, 0), (0, -3), (5, 1), (-4, -9)])
def test_looking_along_a_displacement(displacement):
    free = np.array([[True, False, True], [True, True, True], [False, True, True]])
    board = Board.of(free)
    found, inside = board.look(np.array(displacement))
    for (row, column), state, is_inside in zip((board.cells + displacement).tolist(), found, inside, strict=True):
        assert is_inside == (0 <= row < 3 and 0 <= column < 3)
        assert state == (board.state[row, column] if is_inside else -1)
