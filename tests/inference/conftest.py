"""An oracle for hidden Markov models: the sum over all paths."""

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from rlsuite.inference import HMM


class Enumerated(NamedTuple):
    likelihood: float
    alpha: np.ndarray
    """(T, K): Pr[x_t = k, z_0..z_t]"""
    posterior: np.ndarray
    """(T, K): Pr[x_t = k | z]"""
    pairs: np.ndarray
    """(K, K): sum over t of Pr[x_t = i, x_{t+1} = j | z]"""
    best: float
    """probability of the best path"""


def joint_of_paths(hmm: HMM, z: np.ndarray) -> dict[tuple[int, ...], float]:
    """Pr[path, z] of every path, term by term from the joint factorisation."""
    table, shift = hmm.emission.likelihoods(hmm.emission.check(z))
    emitted = table * np.exp(shift)[:, None]
    moves = hmm.dense_transition
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(hmm.n_states), repeat=len(emitted)):
        p = hmm.start[path[0]] * np.prod([emitted[t, k] for t, k in enumerate(path)])
        found[path] = float(p * np.prod([moves[i, j] for i, j in itertools.pairwise(path)]))
    return found


def enumerate_paths(hmm: HMM, z: np.ndarray) -> Enumerated:
    states, length = hmm.n_states, len(z)
    joint = joint_of_paths(hmm, z)
    posterior, pairs = np.zeros((length, states)), np.zeros((states, states))
    for path, p in joint.items():
        for t, k in enumerate(path):
            posterior[t, k] += p
        for i, j in itertools.pairwise(path):
            pairs[i, j] += p
    alpha = np.zeros((length, states))
    for t in range(length):
        for path, p in joint_of_paths(hmm, z[: t + 1]).items():
            alpha[t, path[-1]] += p
    likelihood = sum(joint.values())
    with np.errstate(invalid="ignore"):
        return Enumerated(likelihood, alpha, posterior / likelihood, pairs / likelihood, max(joint.values()))


@pytest.fixture(scope="session")
def by_enumeration() -> Callable[[HMM, np.ndarray], Enumerated]:
    return enumerate_paths


def random_hmm(n_states: int, n_symbols: int, seed: int, share_of_zeros: float = 0.0) -> HMM:
    """A model whose rows are random, with zeros where the dice say so; each row keeps one entry at least."""
    rng = np.random.default_rng(seed)

    def rows(number: int, length: int) -> np.ndarray:
        table = rng.exponential(size=(number, length)) * (rng.random((number, length)) >= share_of_zeros)
        table[np.arange(number), rng.integers(length, size=number)] += 0.1
        return table / table.sum(axis=1, keepdims=True)

    return HMM(rows(1, n_states)[0], rows(n_states, n_states), rows(n_states, n_symbols))


@pytest.fixture(scope="session")
def new_hmm() -> Callable[..., HMM]:
    return random_hmm


@pytest.fixture
def umbrella() -> HMM:
    """It rains (0) or not; symbol 0 is an umbrella."""
    return HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], ("rain", "dry"))


@pytest.fixture
def casino() -> HMM:
    """A fair die and a loaded one; symbol 5 is a six."""
    loaded = [0.1] * 5 + [0.5]
    return HMM([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], [[1 / 6] * 6, loaded], ("fair", "loaded"))


@pytest.fixture
def health() -> HMM:
    """Healthy or fever; feeling normal, cold or dizzy."""
    return HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
