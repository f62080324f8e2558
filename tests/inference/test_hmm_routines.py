"""Identities between the routines, and sampling."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from rlsuite.inference import HMM, predict_ahead, smooth_with_lag

pytestmark = pytest.mark.arithmetic


def test_the_online_filter_is_the_filter(new_hmm: Callable[..., HMM]) -> None:
    hmm = new_hmm(4, 3, seed=2)
    z, _ = hmm.sample(50, seed=1)
    z[7] = -1
    online = hmm.online()
    np.testing.assert_array_equal(online.belief, hmm.start)
    np.testing.assert_allclose(online.predict_ahead(1), hmm.start @ hmm.transition)
    for expected, seen in zip(hmm.filter(z), z, strict=True):
        np.testing.assert_allclose(online.update(seen), expected, atol=1e-13)
    assert online.log_likelihood == pytest.approx(hmm.score(z), abs=1e-11)
    assert online.n_observations == 50
    np.testing.assert_allclose(online.predict_ahead(3), predict_ahead(hmm, z, 3)[-1], atol=1e-13)
    online.reset()
    assert (online.n_observations, online.log_likelihood) == (0, 0.0)
    np.testing.assert_array_equal(online.belief, hmm.start)


def test_a_belief_that_was_handed_out_stays(umbrella: HMM) -> None:
    online = umbrella.online()
    before = online.update(0)
    kept = before.copy()
    online.update(1)
    np.testing.assert_array_equal(before, kept)
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 1.0


def test_lags_lead_from_the_filter_to_the_smoother(new_hmm: Callable[..., HMM]) -> None:
    hmm = new_hmm(5, 4, seed=9)
    parts = [hmm.sample(n, seed=n)[0] for n in (20, 1, 35)]
    for lag, expected in ((0, hmm.filter(parts)), (34, hmm.smooth(parts)), (1000, hmm.smooth(parts))):
        for one, other in zip(smooth_with_lag(hmm, parts, lag), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_array_equal(hmm.smooth(parts[0], lag=3), smooth_with_lag(hmm, parts[0], 3))


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 1000])
def test_predictions_are_powers_of_the_matrix(steps: int, new_hmm: Callable[..., HMM]) -> None:
    hmm = new_hmm(4, 3, seed=3)
    z, _ = hmm.sample(12, seed=5)
    expected = hmm.filter(z) @ np.linalg.matrix_power(hmm.transition, steps)
    np.testing.assert_allclose(predict_ahead(hmm, z, steps), expected, atol=1e-12)


def test_a_missing_observation_is_the_sum_over_all_symbols(new_hmm: Callable[..., HMM]) -> None:
    hmm = new_hmm(3, 4, seed=11)
    total = sum(np.exp(hmm.score([0, symbol, 2])) for symbol in range(4))
    assert np.exp(hmm.score([0, -1, 2])) == pytest.approx(total, rel=1e-13)


def test_scikit_learns_words(umbrella: HMM) -> None:
    z = [0, 0, 1, -1]
    np.testing.assert_array_equal(umbrella.predict(z), umbrella.decode(z))
    np.testing.assert_array_equal(umbrella.predict_proba(z), umbrella.smooth(z))


def test_samples_come_from_the_model(casino: HMM) -> None:
    z, states = casino.sample(200_000, seed=1)
    again = casino.sample(200_000, seed=1)
    np.testing.assert_array_equal(z, again[0])
    np.testing.assert_array_equal(states, again[1])
    assert not np.array_equal(z, casino.sample(200_000, seed=2)[0])
    for i, j in ((0, 1), (1, 0)):
        left = states[:-1] == i
        share, expected = (states[1:][left] == j).mean(), casino.transition[i, j]
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / left.sum())
    for k in range(2):
        mine = z[states == k]
        for face, expected in enumerate(casino.emission.table[k]):
            assert abs((mine == face).mean() - expected) < 4 * math.sqrt(expected * (1 - expected) / mine.size)
    firsts = [casino.sample(1, seed=seed)[1][0] for seed in range(400)]
    assert abs(np.mean(firsts) - 0.5) < 0.1


def test_samples_keep_to_what_is_possible() -> None:
    """States of probability 0 at the end of rows, where rounding of cumulative sums might let them in."""
    third = 1 / 3
    hmm = HMM([third, third, third, 0], [[third, third, third, 0]] * 4, np.eye(4))
    z, states = hmm.sample(50_000, seed=0)
    assert set(states) == {0, 1, 2}
    np.testing.assert_array_equal(z, states)


def test_a_generator_goes_on(umbrella: HMM) -> None:
    rng = np.random.default_rng(5)
    first, second = umbrella.sample(50, seed=rng)[0], umbrella.sample(50, seed=rng)[0]
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, umbrella.sample(50, seed=np.random.default_rng(5))[0])
