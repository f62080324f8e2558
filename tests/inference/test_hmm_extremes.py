"""Zeros, impossible observations, probabilities that no double can hold, and long sequences."""

from collections.abc import Callable

import numpy as np
import pytest

from rlsuite.errors import ModelError
from rlsuite.inference import (
    HMM,
    backward,
    checkpoints,
    counts,
    expected_counts,
    filter,
    forward,
    forward_backward,
    log_likelihoods,
    path_log_probability,
    predict_ahead,
    request,
    smooth,
    smooth_in_blocks,
    smooth_with_lag,
    smoothing,
)

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
        monkeypatch.setattr(request, "LONG", 2)
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
        monkeypatch.setattr(request, "LONG", 2)
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

    cut = everything()
    monkeypatch.setattr(request, "LONG", 10**9)
    for one, other in zip(cut, everything(), strict=True):
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

    for module in (smoothing, counts, forward_backward, checkpoints):
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
