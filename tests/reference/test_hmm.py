"""The recursions of Rabiner against exact rationals, and the compiled passes against them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite import reference
from rlsuite.inference import backward, expected_counts, forward, log_likelihoods, random_hmm

HEALTH = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])


def test_the_umbrella_world_of_russell_and_norvig() -> None:
    start, transition = np.array([0.5, 0.5]), np.array([[0.7, 0.3], [0.3, 0.7]])
    likelihood = np.array([[1.0, 1.0], [0.9, 0.2], [0.9, 0.2]])  # nothing is seen on day 0
    alpha, scale = reference.forward(start, transition, likelihood)
    assert scale.prod() == pytest.approx(703 / 2000, rel=1e-14)
    assert alpha[1:, 0] == pytest.approx([9 / 11, 621 / 703], rel=1e-14)
    assert reference.forward_backward(start, transition, likelihood)[1, 0] == pytest.approx(621 / 703, rel=1e-14)


def test_healthy_or_fever() -> None:
    start, transition, emission = HEALTH
    likelihood = emission[:, [0, 1, 2]].T
    alpha, scale = reference.forward(start, transition, likelihood)
    assert scale.prod() == pytest.approx(907 / 25000, rel=1e-14)
    assert alpha[:, 0] == pytest.approx([15 / 17, 452 / 623, 962 / 4535], rel=1e-13)
    smoothed = reference.forward_backward(start, transition, likelihood)[:, 0]
    assert smoothed == pytest.approx([795 / 907, 565 / 907, 962 / 4535], rel=1e-13)
    path, log_probability = reference.viterbi(start, transition, likelihood)
    assert path.tolist() == [0, 0, 1]
    assert np.exp(log_probability) == pytest.approx(189 / 12500, rel=1e-14)
    start, transition, emission = reference.baum_welch(*HEALTH, [[0, 1, 2]], iterations=1)
    np.testing.assert_allclose(start, [0.8765159868, 0.1234840132], atol=1e-10)
    np.testing.assert_allclose(transition, [[0.5023529412, 0.4976470588], [0.1634361233, 0.8365638767]], atol=1e-10)
    np.testing.assert_allclose(emission[1], [0.0958411775, 0.2926578812, 0.6115009413], atol=1e-10)


def test_the_dishonest_casino() -> None:
    """Durbin et al. 1998, section 3.2; a start in which both dice are equally likely."""
    start, transition = np.array([0.5, 0.5]), np.array([[0.95, 0.05], [0.1, 0.9]])
    emission = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    likelihood = emission[:, [int(roll) - 1 for roll in "3151166661"]].T
    alpha, scale = reference.forward(start, transition, likelihood)
    assert np.log(scale).sum() == pytest.approx(-16.565931807542, abs=1e-11)
    assert alpha[[4, 9], 0] == pytest.approx([0.8948689009, 0.2905161498], abs=1e-10)
    smoothed = reference.forward_backward(start, transition, likelihood)[[0, 4], 0]
    assert smoothed == pytest.approx([0.6757593131, 0.4715476428], abs=1e-10)
    path, log_probability = reference.viterbi(start, transition, likelihood)
    assert path.tolist() == [1] * 10
    assert log_probability == pytest.approx(-18.229491101684, abs=1e-11)


@settings(max_examples=40)
@given(states=st.integers(1, 9), symbols=st.integers(1, 4), length=st.integers(1, 60), seed=st.integers(0, 10**6))
def test_compiled_passes_are_the_recursions(states: int, symbols: int, length: int, seed: int) -> None:
    hmm = random_hmm(states, symbols, seed=seed)
    start, transition, emission = hmm.start, hmm.dense_transition, hmm.emission.table
    z, _ = hmm.sample(length, seed=seed)
    likelihood = emission[:, z].T
    alpha, scale = reference.forward(start, transition, likelihood)
    beta = reference.backward(transition, likelihood, scale)
    np.testing.assert_allclose(hmm.filter(z), alpha, atol=1e-12)
    np.testing.assert_allclose(forward(hmm, z).rows, alpha, atol=1e-12)
    np.testing.assert_allclose(hmm.smooth(z), alpha * beta, atol=1e-12)
    rows = backward(hmm, z).rows
    np.testing.assert_allclose(rows / rows.sum(axis=1, keepdims=True), beta / beta.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(log_likelihoods(hmm, z), [np.log(scale).sum()], rtol=1e-11)
    path, log_probability = reference.viterbi(start, transition, likelihood)
    found = hmm.decode(z)
    best = [(start, transition, likelihood, one) for one in (path, found)]
    assert [log_of(*one) for one in best] == pytest.approx([log_probability] * 2, rel=1e-11)


def log_of(start: np.ndarray, transition: np.ndarray, likelihood: np.ndarray, path: np.ndarray) -> float:
    """log Pr[path, z], term by term."""
    moves = [transition[i, j] for i, j in itertools.pairwise(path)]
    return float(np.log([start[path[0]], *moves, *likelihood[np.arange(len(path)), path]]).sum())


@settings(max_examples=20)
@given(states=st.integers(1, 4), symbols=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_learning_is_baum_and_welch(states: int, symbols: int, seed: int) -> None:
    hmm = random_hmm(states, symbols, seed=seed)
    parts = [hmm.sample(length, seed=seed + length)[0].tolist() for length in (2, 7, 20)]
    start, transition, emission = reference.baum_welch(
        hmm.start, hmm.dense_transition, hmm.emission.table, parts, iterations=3
    )
    learned = hmm.fit(parts, max_iterations=3, tol=0)
    np.testing.assert_allclose(learned.start, start, atol=1e-10)
    np.testing.assert_allclose(learned.dense_transition, transition, atol=1e-10)
    np.testing.assert_allclose(learned.emission.table, emission, atol=1e-10)


def test_counts_of_a_step_are_those_of_the_compiled_one() -> None:
    """One step from counts: rows of expected transitions, divided by their sums."""
    hmm = rl.HMM(*HEALTH)
    counts = expected_counts(hmm, [0, 1, 2, 2, 0]).transition
    _, transition, _ = reference.baum_welch(*HEALTH, [[0, 1, 2, 2, 0]], iterations=1)
    np.testing.assert_allclose(counts / counts.sum(axis=1, keepdims=True), transition, atol=1e-14)
