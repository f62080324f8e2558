"""Softmax and max-Boltzmann exploration against their probabilities."""

import math

import numpy as np
import pytest

from rlsuite.agents.exploration import (
    MaxBoltzmann,
    Softmax,
    action_probabilities,
    choose,
)


@pytest.mark.slow
def test_softmax_of_the_notes(assert_frequencies, make_memory):
    # k = 2, Q = (0, 1, 2): 1/7, 2/7, 4/7
    assert_frequencies(make_memory([0.0, 1.0, 2.0], Softmax(base=2.0)), [1 / 7, 2 / 7, 4 / 7])
    assert_frequencies(make_memory([0.0, 1.0, 2.0], Softmax(temperature=1 / math.log(2))), [1 / 7, 2 / 7, 4 / 7])


def test_softmax_of_base_one_is_uniform_and_below_one_prefers_the_worst(assert_frequencies, make_memory):
    assert_frequencies(make_memory([81.0, 90.0, 100.0], Softmax(base=1.0)), [1 / 3, 1 / 3, 1 / 3])
    weights = 0.5 ** np.array([0.0, 9.0, 19.0])
    assert_frequencies(make_memory([81.0, 90.0, 100.0], Softmax(base=0.5)), weights / weights.sum())


def test_softmax_does_not_overflow_and_skips_illegal_actions(assert_frequencies, make_memory):
    memory = make_memory([1e6, 1e6, 1e8], Softmax(temperature=1.0), legal=[True, True, False])
    assert_frequencies(memory, [0.5, 0.5, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "exploration", "probabilities"),
    [
        ([0.0, 1.0, 0.0, 0.0], Softmax(temperature=5e-324), [0, 1, 0, 0]),
        ([0.0, 0.0, -1.0], Softmax(temperature=5e-324), [0.5, 0.5, 0]),
        ([0.0, 1e308, 0.0], Softmax(temperature=1e-3), [0, 1, 0]),
        ([-1e308, 0.0, -1e308, 0.0], Softmax(temperature=1e-3), [0, 0.5, 0, 0.5]),
        ([-1.7e308, 1.7e308], Softmax(temperature=1e-9), [0, 1]),
        ([-1e308, -1e308, -1.1e308], Softmax(temperature=1e-3), [0.5, 0.5, 0]),
        ([1e308, -1e308, -1e308], Softmax(base=1e-300), [0, 0.5, 0.5]),
        ([1e308, 1e308 - 2e292, 0.0], Softmax(temperature=2e292), [math.e / (1 + math.e), 1 / (1 + math.e), 0]),
        ([0.0, 1e308, 1e308], MaxBoltzmann(1.0, temperature=1e-3), [0, 0.5, 0.5]),
    ],
)
def test_softmax_of_what_overflows_prefers_the_best(assert_frequencies, make_memory, q, exploration, probabilities):
    memory = make_memory(q, exploration)
    assert_frequencies(memory, probabilities)
    out = np.empty(len(q))
    action_probabilities(memory, 0, out)
    np.testing.assert_allclose(out, probabilities, atol=1e-12)


def test_base_and_temperature_choose_the_same_actions(make_memory):
    q = np.random.default_rng(5).normal(size=6)
    by_base = make_memory(q, Softmax(base=3.0))
    by_temperature = make_memory(q, Softmax(temperature=1 / math.log(3.0)))
    draws = [
        [choose(memory, 0, np.random.default_rng(seed)) for seed in range(500)] for memory in (by_base, by_temperature)
    ]
    assert draws[0] == draws[1]


def test_max_boltzmann_draws_by_softmax_when_it_explores(assert_frequencies, make_memory):
    # weights 1 : e : e^2, a fifth of the time; 2 is greedy
    drawn = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    expected = 0.2 * drawn + 0.8 * np.array([0.0, 0.0, 1.0])
    assert_frequencies(make_memory([0.0, 3.0, 6.0], MaxBoltzmann(0.2, temperature=3.0)), expected)
