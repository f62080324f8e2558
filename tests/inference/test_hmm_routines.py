"""Identities between the routines, sampling, the cuts for threads, and the vector arithmetic below all of it."""

import math
from collections.abc import Callable

import numba
import numpy as np
import pytest

from rlsuite import threads
from rlsuite.inference import HMM, expected_counts, predict_ahead, simd, smooth_with_lag, workspace
from rlsuite.inference.sequences import sequences


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


# ------------------------------------------------------------------------------------------------- threads


def lengths_of(name: str) -> list[int]:
    rng = np.random.default_rng(0)
    return {
        "one": [10],
        "one long": [5000],
        "one long among short ones": [7, 30_000, 1, 40],
        "many short": [3] * 5000,
        "all kinds": rng.integers(1, 3000, size=200).tolist(),
        "two long": [40_000, 40_000],
    }[name]


@pytest.mark.parametrize(
    "name", ["one", "one long", "one long among short ones", "many short", "all kinds", "two long"]
)
def test_every_sequence_is_in_one_task(name: str, umbrella: HMM) -> None:
    lengths = lengths_of(name)
    asked = workspace.Workspace(umbrella, sequences(umbrella.emission, np.zeros(sum(lengths), dtype=int), lengths))
    schedule = asked.schedule
    numbers = [number for task in schedule.numbers for run in task for number in run]
    assert sorted([*numbers, *schedule.halved]) == list(range(len(lengths)))
    assert ("long" in name and "two" not in name) == bool(schedule.halved)
    for task, places in zip(schedule.numbers, schedule.batches, strict=True):
        for run, batch in zip(task, places, strict=True):
            np.testing.assert_array_equal(batch, asked.data.pieces[run])
    shares = [sum(lengths[number] for run in task for number in run) for task in schedule.numbers]
    assert max(shares, default=0) <= 2 * sum(shares) / max(len(shares), 1) + max(lengths)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("name", ["one long among short ones", "many short"])
def test_threads_change_no_number(
    n_threads: int, name: str, new_hmm: Callable[..., HMM], monkeypatch: pytest.MonkeyPatch
) -> None:
    hmm = new_hmm(3, 4, seed=1)
    lengths = lengths_of(name)
    z = hmm.sample(sum(lengths), seed=0)[0]

    def everything() -> tuple[object, ...]:
        return hmm.score(z, lengths), hmm.smooth(z, lengths), hmm.decode(z, lengths), *expected_counts(hmm, z, lengths)

    usual = everything()
    monkeypatch.setattr(threads, "_pool", None)
    monkeypatch.setattr(threads, "n_threads", lambda: n_threads)
    for one, other in zip(everything(), usual, strict=True):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------------------- vectors


@numba.njit
def _all_operations(matrix, u, table, other, out, joint, counts, width):
    total = simd.multiply(matrix, u, 1, table, 1, 0.5, out, 0, width)
    sums = simd.multiply_two(matrix, u, 1, table, 1, 0.5, out, 1, other, 2, joint, 0, width)
    high = simd.max_plus(matrix, u, 1, table, 1, 0.5, out, 2, width)
    simd.add_outer(counts, u, other, 3, width)
    simd.copy_scaled(out, 3, u, 0, 2.0, width)
    simd.add_scaled(out, 3, u, 1, 3.0, width)
    return total, sums, high


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    ("width", "states"),
    [(2, 1), (2, 2), (4, 3), (4, 4), (8, 5), (8, 8), (8, 9), (8, 24), (8, 32), (8, 33), (8, 40), (8, 75)],
)
def test_vector_arithmetic(width: int, states: int, is_known: bool) -> None:
    if is_known and states > width:
        return
    height = width if is_known else states
    rng = np.random.default_rng(states)
    length = -(-states // width) * width
    u, table, other, out = (rng.random((4, length)) for _ in range(4))
    u[:, states:] = 0.0
    matrix = np.zeros((height, length))
    matrix[:states, :states] = rng.random((states, states))
    joint, counts = np.zeros((1, length)), np.ones((height, length))
    form = (0,) * width, (0,) * (width if is_known else 0)
    total, sums, high = _all_operations(matrix, u, table, other, out, joint, counts, form)
    product = u[1, :height] @ matrix
    np.testing.assert_allclose(out[:2], [product * table[1] * 0.5] * 2, rtol=1e-13)
    np.testing.assert_allclose(joint[0], product * other[2], rtol=1e-13)
    np.testing.assert_allclose([total, *sums], [out[0].sum(), out[0].sum(), joint.sum()], rtol=1e-13)
    np.testing.assert_allclose(out[2], (u[1, :height, None] + matrix).max(axis=0) + table[1] + 0.5, rtol=1e-15)
    assert high == out[2].max()
    np.testing.assert_allclose(counts, 1.0 + u[:3, :height].T @ other[:3], rtol=1e-13)
    np.testing.assert_allclose(out[3], 2.0 * u[0] + 3.0 * u[1], rtol=1e-15)
