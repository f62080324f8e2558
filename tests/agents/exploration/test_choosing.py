"""Choices against their probabilities.

Frequencies are compared by Pearson's chi-square with fixed seeds; a correct rule fails with probability 1e-6 a test.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rlsuite.agents.exploration import (
    CountBonus,
    EpsilonGreedy,
    MaxBoltzmann,
    RandomActions,
    Softmax,
    UpperConfidence,
    action_probabilities,
    choose,
    greedy,
    max_value,
    uniform,
)
from rlsuite.agents.schedules import Linear
from rlsuite.errors import ParameterError


def test_ties_are_broken_at_random_among_legal_actions(assert_frequencies, make_memory):
    memory = make_memory([7.0, 7.0, 7.0, 1.0], EpsilonGreedy(0.0), legal=[True, False, True, True])
    assert_frequencies(memory, [0.5, 0.0, 0.5, 0.0])


def test_a_state_without_actions(make_memory):
    memory = make_memory([1.0, 2.0], EpsilonGreedy(0.5), legal=[False, False])
    rng = np.random.default_rng(0)
    assert {choose(memory, 0, rng) for _ in range(100)} == {-1}
    assert greedy(memory, 0, rng) == uniform(memory, 0, rng) == -1
    assert max_value(memory, 0) == 0.0


EXPLORATIONS = [
    EpsilonGreedy(0.3),
    RandomActions(),
    Softmax(temperature=2.0),
    Softmax(base=3.0),
    MaxBoltzmann(0.4, temperature=2.0),
    UpperConfidence(1.0),
    CountBonus(2.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("exploration", EXPLORATIONS, ids=str)
@pytest.mark.parametrize("q", [[0.0, 1.0, 2.0, 1.5], [2.0, 2.0, 0.0, 2.0], [-3.0, -3.0, -3.0, -3.0]])
def test_the_chances_are_those_of_the_choices(assert_frequencies, make_memory, exploration, q):
    memory = make_memory(q, exploration, legal=[True, True, False, True], visits=2)
    out = np.full(4, np.nan)
    action_probabilities(memory, 0, out)
    assert out[2] == 0.0
    assert out.sum() == pytest.approx(1.0, abs=1e-15)
    assert_frequencies(memory, out)


finite = st.floats(-1e6, 1e6)


@given(arrays(float, (5,), elements=finite), arrays(bool, (5,)), st.integers(0, 2**32))
def test_greedy_and_max_value_agree_with_numpy(make_memory, q, legal, seed):
    memory = make_memory(q, EpsilonGreedy(0.0), legal=legal)
    if legal.any():
        best = q[legal].max()
        action = greedy(memory, 0, np.random.default_rng(seed))
        assert legal[action]
        assert q[action] == best == max_value(memory, 0)
        assert legal[uniform(memory, 0, np.random.default_rng(seed))]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EpsilonGreedy(1.5), "epsilon=1.5 lies outside [0, 1]"),
        (lambda: EpsilonGreedy(Linear(1.0, -0.1, over=10)), "epsilon: end=-0.1 lies outside [0, 1]"),
        (
            lambda: Softmax(temperature=1.0, base=2.0),
            "Softmax takes temperature= or base=, not both (temperature = 1 / ln base)",
        ),
        (lambda: MaxBoltzmann(2.0), "epsilon=2.0 lies outside [0, 1]"),
        (lambda: MaxBoltzmann(0.1, temperature=-1.0), "temperature=-1.0 must be greater than 0, and finite"),
        (lambda: UpperConfidence(-1.0), "c=-1.0 lies outside [0, 1e+300]"),
        (lambda: CountBonus(math.nan), "beta=nan lies outside [0, 1e+300]"),
        (lambda: Softmax(temperature=0.0), "temperature=0.0 must be greater than 0, and finite"),
        (lambda: Softmax(base=-1.0), "base=-1.0 must be greater than 0, and finite"),
        (
            lambda: Softmax(temperature=Linear(1.0, 0.0, over=9)),
            "temperature: end=0.0 must be greater than 0, and finite",
        ),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value) == message
