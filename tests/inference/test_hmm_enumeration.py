"""Every routine against the sum over all paths, on random small models."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rlsuite.inference import (
    HMM,
    backward,
    expected_counts,
    forward,
    log_likelihoods,
    parameters,
    path_log_probability,
    smooth_in_blocks,
    smooth_with_lag,
)

pytestmark = pytest.mark.arithmetic

MODES = ("one piece", "halves", "sparse", "sparse halves")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way through the kernels, which would otherwise need long sequences and many states."""
    chosen: str = request.param
    set_mode(chosen, monkeypatch)
    return chosen


def set_mode(chosen: str, patch: pytest.MonkeyPatch) -> None:
    if "halves" in chosen:
        patch.setattr(parameters, "MIN_SPLIT_LENGTH", 2)
    if "sparse" in chosen:
        patch.setattr(parameters, "SPARSE_MIN_STATES", 1)
        patch.setattr(parameters, "SPARSE_MIN_RATIO", 0)


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, int, float, list[int]]:
    states = draw(st.integers(1, 5))
    symbols = draw(st.integers(1, 3))
    z = draw(st.lists(st.integers(-1, symbols - 1), min_size=1, max_size=6 if states < 4 else 4))
    return states, symbols, draw(st.integers(0, 10**6)), draw(st.sampled_from([0.0, 0.3, 0.6])), z


@pytest.mark.cases("one piece")
@pytest.mark.parametrize("chosen", MODES)
@settings(max_examples=60)
@given(case=cases())
def test_everything_agrees_with_enumeration(
    chosen: str, case: tuple[int, int, int, float, list[int]], new_hmm: Callable[..., HMM], by_enumeration: Callable
) -> None:
    *model, z = case
    with pytest.MonkeyPatch.context() as patch:
        set_mode(chosen, patch)
        hmm = new_hmm(*model)
        assert hmm.prepared.is_sparse == ("sparse" in chosen)
        exact = by_enumeration(hmm, np.array(z))
        if exact.likelihood == 0.0:
            assert hmm.score(z) == -np.inf
            return
        assert np.exp(hmm.score(z)) == pytest.approx(exact.likelihood, rel=1e-11)
        np.testing.assert_allclose(hmm.smooth(z), exact.posterior, atol=1e-11)
        alpha, beta = forward(hmm, z), backward(hmm, z)
        np.testing.assert_allclose(alpha.rows * np.exp(alpha.log_scale)[:, None], exact.alpha, rtol=1e-10, atol=1e-300)
        product = alpha.rows * beta.rows * np.exp(alpha.log_scale + beta.log_scale)[:, None]
        np.testing.assert_allclose(product / exact.likelihood, exact.posterior, atol=1e-11)
        for checkpointed in (False, True):
            path = hmm.decode(z, checkpointed=checkpointed)
            assert np.exp(path_log_probability(hmm, z, path)) == pytest.approx([exact.best], rel=1e-11)
            counts = expected_counts(hmm, z, checkpointed=checkpointed)
            np.testing.assert_allclose(counts.transition, exact.pairs, atol=1e-11)
            np.testing.assert_allclose(counts.start, exact.posterior[0], atol=1e-11)
            assert counts.log_likelihood == pytest.approx(np.log(exact.likelihood), abs=1e-11)
            weight = np.zeros((hmm.emission.n_symbols + 1, hmm.n_states))
            np.add.at(weight, z, exact.posterior)
            np.testing.assert_allclose(counts.weight, weight, atol=1e-11)


@settings(max_examples=40)
@given(case=cases(), lag=st.integers(0, 4))
def test_fixed_lag_smoothing_sees_so_many_observations_ahead(
    case: tuple[int, int, int, float, list[int]], lag: int, new_hmm: Callable[..., HMM], by_enumeration: Callable
) -> None:
    *model, z = case
    hmm = new_hmm(*model)
    if hmm.score(z) == -np.inf:
        return
    found = smooth_with_lag(hmm, z, lag)
    for t in range(len(z)):
        exact = by_enumeration(hmm, np.array(z[: t + lag + 1]))
        np.testing.assert_allclose(found[t], exact.posterior[t], atol=1e-11)


@pytest.mark.slow
def test_several_sequences_are_each_on_their_own(
    mode: str, new_hmm: Callable[..., HMM], by_enumeration: Callable
) -> None:
    hmm = new_hmm(3, 4, seed=5)
    parts = [[0, 3, 1], [2], [1, -1, 0, 3, 2], [3, 3]]
    z, lengths = np.concatenate(parts), [len(part) for part in parts]
    exact = [by_enumeration(hmm, np.array(part)) for part in parts]
    logs = np.log([one.likelihood for one in exact])
    np.testing.assert_allclose(log_likelihoods(hmm, z, lengths), logs, atol=1e-12)
    np.testing.assert_allclose(log_likelihoods(hmm, parts), logs, atol=1e-12)
    assert hmm.score(parts) == pytest.approx(logs.sum())
    np.testing.assert_allclose(hmm.smooth(z, lengths), np.concatenate([one.posterior for one in exact]), atol=1e-12)
    listed = hmm.smooth(parts)
    assert [len(part) for part in listed] == lengths
    np.testing.assert_array_equal(np.concatenate(listed), hmm.smooth(z, lengths))
    counts = expected_counts(hmm, parts)
    np.testing.assert_allclose(counts.transition, sum(one.pairs for one in exact), atol=1e-12)
    np.testing.assert_allclose(counts.start, sum(one.posterior[0] for one in exact), atol=1e-12)
    assert counts.log_likelihood == pytest.approx(logs.sum())
    by_blocks = expected_counts(hmm, parts, checkpointed=True)
    np.testing.assert_allclose(by_blocks.transition, counts.transition, atol=1e-12)
    np.testing.assert_allclose(by_blocks.start, counts.start, atol=1e-12)
    for path, part, one in zip(hmm.decode(parts), parts, exact, strict=True):
        assert np.exp(path_log_probability(hmm, part, path)) == pytest.approx([one.best])
    np.testing.assert_allclose(
        path_log_probability(hmm, parts, hmm.decode(parts)), np.log([one.best for one in exact]), atol=1e-12
    )


@pytest.mark.parametrize("length", [1, 2, 3, 10, 101])
def test_blocks_are_what_smoothing_returns(mode: str, length: int, new_hmm: Callable[..., HMM]) -> None:
    hmm = new_hmm(5, 3, seed=length)
    z, _ = hmm.sample(3 * length, seed=0)
    lengths = [length, 2 * length]
    whole = np.full((3 * length, 5), np.nan)
    for begin, posterior in smooth_in_blocks(hmm, z, lengths):
        assert np.isnan(whole[begin : begin + len(posterior)]).all()
        whole[begin : begin + len(posterior)] = posterior
    np.testing.assert_allclose(whole, hmm.smooth(z, lengths), atol=1e-12)


def test_a_sparse_matrix_gives_sparse_counts(new_hmm: Callable[..., HMM], by_enumeration: Callable) -> None:
    dense = new_hmm(4, 3, seed=8, share_of_zeros=0.5)
    z = dense.sample(5, seed=1)[0]
    sparse = HMM(dense.start, csr_array(dense.transition), dense.emission)
    counts = expected_counts(sparse, z)
    np.testing.assert_allclose(counts.transition.toarray(), by_enumeration(dense, z).pairs, atol=1e-12)
    assert sparse.score(z) == pytest.approx(dense.score(z), abs=1e-12)
    assert sparse.n_transitions == np.count_nonzero(dense.transition)
    assert sparse.n_parameters == dense.n_parameters


def test_a_path_through_a_sparse_matrix(new_hmm: Callable[..., HMM]) -> None:
    hmm = new_hmm(3, 4, seed=5)
    thin = hmm.replace(transition=csr_array(hmm.dense_transition))
    for z in ([2], [0, 3, 1, -1]):
        expected = path_log_probability(hmm, z, hmm.decode(z))
        np.testing.assert_allclose(path_log_probability(thin, z, thin.decode(z)), expected, rtol=1e-14)
