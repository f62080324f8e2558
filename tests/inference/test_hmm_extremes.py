"""Zeros, impossible observations, probabilities that no double can hold, and long sequences."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from rlsuite.errors import ModelError
from rlsuite.inference import (
    HMM,
    backward,
    baum_welch,
    expected_counts,
    filter,
    forward,
    forward_backward,
    log_likelihoods,
    parameters,
    path_log_probability,
    predict_ahead,
    smooth,
    smooth_in_blocks,
    smooth_with_lag,
    smoothing,
)
from rlsuite.inference.emissions import Gaussian

pytestmark = pytest.mark.arithmetic

ROUTINES: dict[str, Callable[[HMM, list[int]], object]] = {
    "forward": forward,
    "filter": filter,
    "smooth": smooth,
    "smooth_in_blocks": lambda hmm, z: list(smooth_in_blocks(hmm, z)),
    "smooth_with_lag": lambda hmm, z: smooth_with_lag(hmm, z, 2),
    "predict_ahead": lambda hmm, z: predict_ahead(hmm, z, 1),
    "decode": HMM.decode,
    "decode by checkpoints": lambda hmm, z: hmm.decode(z, checkpointed=True),
    "expected_counts": expected_counts,
    "expected_counts by checkpoints": lambda hmm, z: expected_counts(hmm, z, checkpointed=True),
}


@pytest.fixture
def ratchet() -> HMM:
    """Three states that are only left upwards; each emits its own symbol, and the first one symbol 3 as well."""
    return HMM([1, 0, 0], [[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]], [[0.5, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0]])


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("long", [False, True])
def test_an_impossible_observation_is_named(
    routine: str, long: bool, ratchet: HMM, monkeypatch: pytest.MonkeyPatch
) -> None:
    if long:
        monkeypatch.setattr(parameters, "MIN_SPLIT_LENGTH", 2)
    for z, t in (([0, 1, 3, 2, 2, 2], 2), ([1, 1, 1, 1], 0), ([0, 0, 0, 0, 1, 0], 5)):
        with pytest.raises(ModelError, match=rf"z\[t={t}\] is {z[t]}, which is impossible after what was seen before"):
            ROUTINES[routine](ratchet, z)


def test_beta_does_not_ask_where_the_sequence_began(ratchet: HMM) -> None:
    """Pr[z_1.. | x_0] is there although x_0 = 1 is impossible; what no state makes possible is an error."""
    rows, log_scale = backward(ratchet, [1, 1, 1, 1])
    np.testing.assert_allclose(rows[0] * np.exp(log_scale[0]), [1 / 8, 1 / 8, 0], atol=1e-15)
    with pytest.raises(ModelError, match=r"z\[t=2\] is 3, which is impossible"):
        backward(ratchet, [0, 1, 3, 2, 2, 2])


def test_an_impossible_sequence_has_the_likelihood_0(ratchet: HMM) -> None:
    assert ratchet.score([0, 1, 0]) == -np.inf
    sequences = [[0, 1, 2], [0, 1, 0], [3, 3]]
    # 0-1-2: emit 1/2, move 1/2, move 1/2; 3-3: emit 1/2, stay 1/2, emit 1/2
    np.testing.assert_allclose(log_likelihoods(ratchet, sequences), [np.log(1 / 8), -np.inf, np.log(1 / 8)])
    with pytest.raises(ModelError, match=r"z\[t=2\] of sequence 1 is 0, which is impossible"):
        ratchet.smooth(sequences)


def test_the_online_filter_keeps_its_belief_when_it_sees_the_impossible(ratchet: HMM) -> None:
    online = ratchet.online()
    online.update(0)
    known = online.belief
    with pytest.raises(ModelError, match=r"z\[t=1\] is 2, which is impossible"):
        online.update(2)
    np.testing.assert_array_equal(online.belief, known)
    assert online.n_observations == 1


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("exponent", [100, 200, 300])
def test_what_is_too_small_for_a_double_is_found_all_the_same(
    exponent: int, long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State 1 explains the symbols 10^exponent times worse than state 0, again and again - until 0 is impossible."""
    if long:
        monkeypatch.setattr(parameters, "MIN_SPLIT_LENGTH", 2)
    rare = 10.0**-exponent
    hmm = HMM([0.5, 0.5], np.eye(2), [[1.0, 0.0], [rare, 1.0 - rare]])
    z = [0] * 5 + [1]
    total = np.log(0.5) - 5 * exponent * np.log(10.0) + np.log1p(-rare)
    assert hmm.score(z) == pytest.approx(total, rel=1e-12)
    for checkpointed in (False, True):
        found = expected_counts(hmm, z, checkpointed=checkpointed)
        np.testing.assert_allclose(found.transition, [[0, 0], [0, 5]], atol=1e-12)
        np.testing.assert_allclose(found.start, [0, 1], atol=1e-12)
        np.testing.assert_allclose(found.weight, [[0, 5], [0, 1], [0, 0]], atol=1e-12)
        assert found.log_likelihood == pytest.approx(total, rel=1e-12)
        assert hmm.decode(z, checkpointed=checkpointed).tolist() == [1] * 6
    np.testing.assert_allclose(hmm.smooth(z), [[0, 1]] * 6, atol=1e-12)
    assert hmm.filter(z)[4].tolist() == [1.0, 0.0]
    assert hmm.filter(z)[5].tolist() == [0.0, 1.0]
    np.testing.assert_allclose(smooth_with_lag(hmm, z, 5)[0], [0, 1], atol=1e-12)
    blocks = np.concatenate([block.posterior for block in reversed(list(smooth_in_blocks(hmm, z)))])
    np.testing.assert_allclose(blocks, [[0, 1]] * 6, atol=1e-12)
    rows, log_scale = backward(hmm, z)
    # from state 1 on: four more rare symbols, and the last one; from state 0 it cannot be emitted
    np.testing.assert_allclose(rows[0], [0, 1], atol=1e-12)
    assert log_scale[0] == pytest.approx(total - np.log(0.5) + exponent * np.log(10.0), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("first", [400, 1500])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_evidence_that_turns_around_is_weighed_to_the_end(
    first: int, is_sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State 1 explains symbol 0 nine times better, again and again, and then state 0 explains even more symbols 1.

    Neither is ever left, and nothing is impossible. In between, state 0 is less probable than any double.
    """
    if is_sparse:
        monkeypatch.setattr(parameters, "SPARSE_MIN_STATES", 1)
        monkeypatch.setattr(parameters, "SPARSE_MIN_RATIO", 0)
    hmm = HMM([0.5, 0.5], np.eye(2), [[0.1, 0.9], [0.9, 0.1]])
    second = first + 300
    z = np.repeat([0, 1], [first, second])
    each = np.log(hmm.start) + np.log(hmm.emission.table) @ [first, second]  # in one state throughout
    total = np.logaddexp(*each)
    assert total == pytest.approx(each[0], rel=1e-14)  # state 0 it was
    parts = [z, [0, 1, 0], z]
    short = hmm.score([0, 1, 0])
    np.testing.assert_allclose(log_likelihoods(hmm, parts), [total, short, total], rtol=1e-12)
    np.testing.assert_allclose(hmm.smooth(z), np.eye(2)[np.zeros(z.size, dtype=int)], atol=1e-12)
    np.testing.assert_allclose(hmm.smooth(parts)[1], hmm.smooth([0, 1, 0]), atol=1e-14)
    assert hmm.decode(z).sum() == 0
    blocks = np.concatenate([block.posterior for block in reversed(list(smooth_in_blocks(hmm, z)))])
    np.testing.assert_allclose(blocks, hmm.smooth(z), atol=1e-12)
    for checkpointed in (False, True):
        found = expected_counts(hmm, z, checkpointed=checkpointed)
        np.testing.assert_allclose(found.transition, [[z.size - 1, 0], [0, 0]], atol=1e-9)
        np.testing.assert_allclose(found.weight, [[first, 0], [second, 0], [0, 0]], atol=1e-9)
        assert found.log_likelihood == pytest.approx(total, rel=1e-12)
    online = hmm.online()
    for t, (seen, expected) in enumerate(zip(z, hmm.filter(z), strict=True)):
        np.testing.assert_allclose(online.update(seen), expected, atol=1e-9, err_msg=str(t))
    assert online.log_likelihood == pytest.approx(total, rel=1e-10)
    assert hmm.filter(z)[[first, 2 * first - 5, 2 * first + 5]].round(3).tolist() == [[0, 1], [0, 1], [1, 0]]
    rows, log_scale = backward(hmm, z)
    assert log_scale[0] + np.log(rows[0] @ (hmm.start * [0.1, 0.9])) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("far", [28.0, 1000.0])
@pytest.mark.parametrize("glitches", [1, 2, 12])
def test_a_way_with_two_outliers_is_better_than_one_with_many(far: float, glitches: int) -> None:
    """Whoever has left state 0 cannot come back: better a few glitches in it than all that follows in state 1.

    Beside the density of the nearer state, that of the other one is not representable as a double.
    """
    hmm = HMM([1, 0], [[0.99, 0.01], [0, 1]], Gaussian([0.0, far], [1.0, 1.0]))
    z = np.zeros(60)
    z[20 : 20 + glitches] = far
    total = (-0.5 * z**2 - 0.5 * np.log(2 * np.pi)).sum() + 59 * np.log(0.99)
    assert hmm.score(z) == pytest.approx(total, rel=1e-12)
    assert hmm.decode(z).tolist() == hmm.decode(z, checkpointed=True).tolist() == [0] * 60
    assert path_log_probability(hmm, z, [0] * 60) == pytest.approx([total], rel=1e-12)
    np.testing.assert_allclose(hmm.smooth(z)[:, 0], 1.0, atol=1e-12)
    assert expected_counts(hmm, z).transition[0, 0] == pytest.approx(59.0)
    online = hmm.online()
    for seen in z:
        online.update(seen)
    assert online.log_likelihood == pytest.approx(total, rel=1e-12)
    known = np.full(60, -1)
    known[5] = 0
    learned = hmm.fit(z, states=known, max_iterations=1, tol=0, frozen=["emission"])
    assert learned.log_likelihoods_[0] == pytest.approx(total, rel=1e-12)


def test_little_memory_is_enough(casino: HMM) -> None:
    """Blocks and the likelihood need no row for every observation: 16 bytes for each of them would be one."""
    z = casino.sample(400_000, seed=0)[0]
    for work in (lambda: casino.score(z), lambda: sum(len(each.posterior) for each in smooth_in_blocks(casino, z))):
        work()
        tracemalloc.start()
        try:
            work()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 6 * z.size


def test_only_what_cannot_come_back_is_watched(new_hmm: Callable[..., HMM]) -> None:
    assert new_hmm(5, 2, seed=0).prepared.groups.size == 0
    ring = np.roll(np.eye(4), 1, axis=1)
    table = np.full((4, 2), 0.5)
    assert HMM([1, 0, 0, 0], ring, table).prepared.groups.size == 0
    chain = HMM([1, 0, 0, 0], [[0, 1, 0, 0], [0, 0.5, 0.5, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]], table)
    first, one, other, last = chain.prepared.groups.tolist()
    assert first == -1
    assert one == other
    assert len({first, one, last}) == 3


def test_a_million_observations_do_not_underflow(casino: HMM) -> None:
    """The log-likelihood of a sequence that repeats is that of its parts, up to what the seams contribute."""
    z, states = casino.sample(1_000_000, seed=3)
    logs = casino.score(z)
    assert logs == pytest.approx(forward(casino, z).log_scale[-1], rel=1e-12)
    parts = log_likelihoods(casino, z, [1000] * 1000)
    # each seam replaces Pr[z_t.. | before] by Pr[z_t..] from the start distribution: at most ln(1/0.5) to ln 0.05
    assert abs(parts.sum() - logs) < 1000 * np.log(20.0)
    posterior = casino.smooth(z)
    assert np.isfinite(posterior).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, atol=1e-12)
    # posteriors are calibrated: on average they give to the truth what they promise
    assert posterior[np.arange(z.size), states].mean() == pytest.approx((posterior**2).sum(axis=1).mean(), abs=0.003)
    best, true = (path_log_probability(casino, z, path)[0] for path in (casino.decode(z), states))
    assert true < best < logs
    found = expected_counts(casino, z)
    assert found.transition.sum() == pytest.approx(z.size - 1, rel=1e-12)
    assert found.log_likelihood == pytest.approx(logs, rel=1e-13)
    learned = found.transition / found.transition.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(learned, casino.transition, atol=0.01)


def test_halves_agree_with_a_pass_from_end_to_end(new_hmm: Callable[..., HMM], monkeypatch: pytest.MonkeyPatch) -> None:
    hmm = new_hmm(6, 5, seed=4)
    z = hmm.sample(5000, seed=1)[0]

    def everything() -> tuple[object, ...]:
        found = expected_counts(hmm, z)
        best = path_log_probability(hmm, z, hmm.decode(z))
        return hmm.score(z), hmm.smooth(z), found.transition, found.weight, found.start, best

    split = everything()
    monkeypatch.setattr(parameters, "MIN_SPLIT_LENGTH", 10**9)
    for one, other in zip(split, everything(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_only_one_state() -> None:
    hmm = HMM([1], [[1]], [[0.25, 0.75]])
    assert hmm.score([0, 1, -1]) == pytest.approx(np.log(3 / 16))
    assert hmm.smooth([0, 1]).tolist() == [[1.0], [1.0]]
    assert hmm.decode([0, 1]).tolist() == [0, 0]


def test_nothing_but_missing_observations(umbrella: HMM) -> None:
    assert umbrella.score([-1] * 7) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(umbrella.smooth([-1] * 7), 0.5)


@pytest.mark.parametrize("length", [10, 3000])
def test_a_state_that_cannot_be_reached_does_not_hide_the_others(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """State 1 explains each observation nine times better than state 0, which can never be left."""
    hmm = HMM([1, 0], np.eye(2), [[0.1, 0.9], [0.9, 0.1]])
    z = [0] * length

    def slow(*_: object) -> None:
        raise AssertionError("the fast passes are enough")

    for module in (smoothing, baum_welch, forward_backward):
        monkeypatch.setattr(module, "exact_posterior", slow)
    assert hmm.score(z) == pytest.approx(length * np.log(0.1), rel=1e-12)
    assert hmm.smooth(z)[[0, -1]].tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert hmm.decode(z).sum() == 0
    for checkpointed in (False, True):
        found = expected_counts(hmm, z, checkpointed=checkpointed)
        np.testing.assert_allclose(found.transition, [[length - 1, 0], [0, 0]], rtol=1e-12)
        assert found.log_likelihood == pytest.approx(length * np.log(0.1), rel=1e-12)
    last = next(smooth_in_blocks(hmm, z)).posterior
    np.testing.assert_allclose(last, np.eye(2)[np.zeros(len(last), dtype=int)])
