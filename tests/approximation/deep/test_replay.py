import numpy as np
import pytest

from rlsuite import errors
from rlsuite.approximation.deep.replay import Replay


def filled(n, capacity=5):
    replay = Replay(capacity, (2,), np.dtype(np.float32), n_actions=3)
    for t in range(n):
        replay.add([t, -t], t % 3, 10.0 * t, [t + 1, -t - 1], 0.5 * t, [True, False, t % 2 == 0])
    return replay


def test_the_oldest_make_room_for_the_newest():
    assert len(filled(3)) == 3
    replay = filled(7)
    assert len(replay) == 5
    assert replay.kept.observation[:, 0].tolist() == [5, 6, 2, 3, 4]


def test_the_parts_of_a_transition_stay_together():
    sample = filled(7).sample(200, np.random.default_rng(1))
    t = sample.observation[:, 0]
    assert set(t) == {2, 3, 4, 5, 6}
    np.testing.assert_array_equal(sample.observation[:, 1], -t)
    np.testing.assert_array_equal(sample.action, t % 3)
    np.testing.assert_array_equal(sample.reward, 10.0 * t)
    np.testing.assert_array_equal(sample.next_observation, np.column_stack([t + 1, -t - 1]))
    np.testing.assert_array_equal(sample.discount, 0.5 * t)
    assert filled(7).weights(0.5) is None
    np.testing.assert_array_equal(sample.next_legal, np.column_stack([t >= 0, t < 0, t % 2 == 0]))


def test_what_is_not_filled_yet_is_never_drawn():
    assert set(filled(2).sample(100, np.random.default_rng(1)).observation[:, 0]) == {0, 1}


def test_all_transitions_are_equally_likely():
    n = 50_000
    counts = np.bincount(filled(5).sample(n, np.random.default_rng(1)).observation[:, 0].astype(int))
    # chi-squared with 4 degrees of freedom exceeds 23.5 with probability 1e-4; the seed is fixed
    assert ((counts - n / 5) ** 2 / (n / 5)).sum() < 23.5


def test_a_replay_too_large_for_the_machine_is_refused():
    with pytest.raises(errors.ParameterError, match=r"a replay of 10,000,000,000 transitions needs"):
        Replay(10**10, (84, 84), np.dtype(np.uint8), n_actions=2)
