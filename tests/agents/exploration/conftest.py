"""Memories of one state, and choices against their probabilities. Frequencies are compared by Pearson's chi-square."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import chi2

from rlsuite.agents.exploration import (
    ExplorationRule,
    choose,
)
from rlsuite.training.legality import Legality, listed_actions

DRAWS = 20_000
ERROR = 1e-6


class Memory(NamedTuple):
    q: np.ndarray
    visits: np.ndarray
    legal: np.ndarray
    legality: Legality
    clock: np.ndarray
    exploration: ExplorationRule
    scores: np.ndarray


def make_memory(q, exploration, legal=None, visits=0, clock=(0, 0)):
    q = np.array([q], dtype=float)
    mask = np.ones(q.shape, dtype=bool) if legal is None else np.array([legal], dtype=bool)
    room = np.empty(q.shape[1])
    return Memory(q, np.full(q.shape, visits), mask, listed_actions, np.array(clock), exploration.rule, room)


@pytest.fixture(scope="session", name="make_memory")
def make_memory_():
    return make_memory


def assert_frequencies(memory, probabilities, seed=0):
    rng = np.random.default_rng(seed)
    draw = choose.for_types_of(memory, 0, rng)  # to find out the types each time would take longer than all the rest
    counts = np.bincount([draw(memory, 0, rng) for _ in range(DRAWS)], minlength=len(probabilities))
    expected = DRAWS * np.array(probabilities)
    assert not counts[expected == 0].any()
    possible = expected > 0
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    assert statistic < chi2.ppf(1 - ERROR, max(possible.sum() - 1, 1))


@pytest.fixture(scope="session", name="assert_frequencies")
def assert_frequencies_():
    return assert_frequencies
