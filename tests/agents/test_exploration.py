"""Choices against their probabilities.

Frequencies are compared by Pearson's chi-square with fixed seeds; a correct rule fails with probability 1e-6 a test.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2

from rlsuite.agents.exploration import (
    CountBonus,
    EpsilonGreedy,
    ExplorationRule,
    MaxBoltzmann,
    RandomActions,
    Softmax,
    UpperConfidence,
    chances,
    choose,
    greedy,
    max_value,
    uniform,
)
from rlsuite.agents.schedules import Inverse, Linear
from rlsuite.errors import ParameterError
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


def assert_frequencies(memory, probabilities, seed=0):
    rng = np.random.default_rng(seed)
    draw = choose.for_types_of(memory, 0, rng)  # to find out the types each time would take longer than all the rest
    counts = np.bincount([draw(memory, 0, rng) for _ in range(DRAWS)], minlength=len(probabilities))
    expected = DRAWS * np.array(probabilities)
    assert not counts[expected == 0].any()
    possible = expected > 0
    statistic = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    assert statistic < chi2.ppf(1 - ERROR, max(possible.sum() - 1, 1))


def test_epsilon_greedy_includes_the_greedy_action_in_its_random_draw():
    memory = make_memory([0.0, 3.0, 1.0, 2.0], EpsilonGreedy(0.2))
    assert_frequencies(memory, [0.05, 0.85, 0.05, 0.05])


def test_ties_are_broken_at_random_among_legal_actions():
    memory = make_memory([7.0, 7.0, 7.0, 1.0], EpsilonGreedy(0.0), legal=[True, False, True, True])
    assert_frequencies(memory, [0.5, 0.0, 0.5, 0.0])


def test_random_actions_are_legal():
    memory = make_memory([7.0, 7.0, 7.0, 1.0], EpsilonGreedy(1.0), legal=[True, False, True, True])
    assert_frequencies(memory, [1 / 3, 0.0, 1 / 3, 1 / 3])


def test_softmax_of_the_notes():
    # k = 2, Q = (0, 1, 2): 1/7, 2/7, 4/7
    assert_frequencies(make_memory([0.0, 1.0, 2.0], Softmax(base=2.0)), [1 / 7, 2 / 7, 4 / 7])
    assert_frequencies(make_memory([0.0, 1.0, 2.0], Softmax(temperature=1 / math.log(2))), [1 / 7, 2 / 7, 4 / 7])


def test_softmax_of_base_one_is_uniform_and_below_one_prefers_the_worst():
    assert_frequencies(make_memory([81.0, 90.0, 100.0], Softmax(base=1.0)), [1 / 3, 1 / 3, 1 / 3])
    weights = 0.5 ** np.array([0.0, 9.0, 19.0])
    assert_frequencies(make_memory([81.0, 90.0, 100.0], Softmax(base=0.5)), weights / weights.sum())


def test_softmax_does_not_overflow_and_skips_illegal_actions():
    memory = make_memory([1e6, 1e6, 1e8], Softmax(temperature=1.0), legal=[True, True, False])
    assert_frequencies(memory, [0.5, 0.5, 0.0])


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
def test_softmax_of_what_overflows_prefers_the_best(q, exploration, probabilities):
    memory = make_memory(q, exploration)
    assert_frequencies(memory, probabilities)
    out = np.empty(len(q))
    chances(memory, 0, out)
    np.testing.assert_allclose(out, probabilities, atol=1e-12)


def test_base_and_temperature_choose_the_same_actions():
    q = np.random.default_rng(5).normal(size=6)
    by_base = make_memory(q, Softmax(base=3.0))
    by_temperature = make_memory(q, Softmax(temperature=1 / math.log(3.0)))
    draws = [
        [choose(memory, 0, np.random.default_rng(seed)) for seed in range(500)] for memory in (by_base, by_temperature)
    ]
    assert draws[0] == draws[1]


def test_schedules_count_in_their_unit():
    at_the_end = make_memory([0.0, 1.0], EpsilonGreedy(Linear(1.0, 0.0, over=10)), clock=(10, 0))
    assert_frequencies(at_the_end, [0.0, 1.0])
    # 3 visits of each of the 2 actions: 1 / (1 + 6)
    per_visit = make_memory([0.0, 1.0], EpsilonGreedy(Inverse(1.0, per="visits")), visits=3)
    assert_frequencies(per_visit, [0.5 / 7, 1 - 0.5 / 7])


def test_a_state_without_actions():
    memory = make_memory([1.0, 2.0], EpsilonGreedy(0.5), legal=[False, False])
    rng = np.random.default_rng(0)
    assert {choose(memory, 0, rng) for _ in range(100)} == {-1}
    assert greedy(memory, 0, rng) == uniform(memory, 0, rng) == -1
    assert max_value(memory, 0) == 0.0


def test_max_boltzmann_draws_by_softmax_when_it_explores():
    # weights 1 : e : e^2, a fifth of the time; 2 is greedy
    drawn = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    expected = 0.2 * drawn + 0.8 * np.array([0.0, 0.0, 1.0])
    assert_frequencies(make_memory([0.0, 3.0, 6.0], MaxBoltzmann(0.2, temperature=3.0)), expected)


def test_random_actions_do_not_look_at_values():
    assert_frequencies(make_memory([0.0, 1e9, 3.0], RandomActions(), legal=[True, True, False]), [0.5, 0.5, 0.0])


def with_visits(memory, visits):
    memory.visits[0] = visits
    return memory


def test_upper_confidence_by_hand():
    # N = 8 in all; Q + 2 sqrt(ln 8 / n): 1 + 2.884 / sqrt(6) = 2.177, 0 + 2.884 / sqrt(2) = 2.039
    rng = np.random.default_rng(0)
    memory = with_visits(make_memory([1.0, 0.0], UpperConfidence(2.0)), [6, 2])
    assert choose(memory, 0, rng) == 0
    # 1 + 2 sqrt(ln 9 / 7) = 2.121 against 0 + 2 sqrt(ln 9 / 2) = 2.096; and 1 + 2 sqrt(ln 10 / 8) = 2.073 against 2.146
    assert choose(with_visits(memory, [7, 2]), 0, rng) == 0
    assert choose(with_visits(memory, [8, 2]), 0, rng) == 1
    assert choose(with_visits(make_memory([5.0, 0.0, 0.0], UpperConfidence(0.0)), [9, 9, 0]), 0, rng) == 2
    untried = with_visits(make_memory([5.0, 0.0, 0.0], UpperConfidence(1.0)), [9, 0, 0])
    assert_frequencies(untried, [0.0, 0.5, 0.5])


def test_count_bonus_by_hand():
    # Q + 4 / sqrt(1 + n): 1 + 4 / 2 = 3 against 0 + 4 / sqrt(2) = 2.83, then 1 + 4 / sqrt(5) = 2.79
    memory = with_visits(make_memory([1.0, 0.0], CountBonus(4.0)), [3, 1])
    rng = np.random.default_rng(0)
    assert choose(memory, 0, rng) == 0
    assert choose(with_visits(memory, [4, 1]), 0, rng) == 1


EXPLORATIONS = [
    EpsilonGreedy(0.3),
    RandomActions(),
    Softmax(temperature=2.0),
    Softmax(base=3.0),
    MaxBoltzmann(0.4, temperature=2.0),
    UpperConfidence(1.0),
    CountBonus(2.0),
]


@pytest.mark.parametrize("exploration", EXPLORATIONS, ids=str)
@pytest.mark.parametrize("q", [[0.0, 1.0, 2.0, 1.5], [2.0, 2.0, 0.0, 2.0], [-3.0, -3.0, -3.0, -3.0]])
def test_the_chances_are_those_of_the_choices(exploration, q):
    memory = make_memory(q, exploration, legal=[True, True, False, True], visits=2)
    out = np.full(4, np.nan)
    chances(memory, 0, out)
    assert out[2] == 0.0
    assert out.sum() == pytest.approx(1.0, abs=1e-15)
    assert_frequencies(memory, out)


def test_chances_follow_the_schedule():
    memory = make_memory([0.0, 1.0], EpsilonGreedy(Linear(1.0, 0.0, over=10)), clock=(5, 0))
    out = np.zeros(2)
    chances(memory, 0, out)
    assert out.tolist() == [0.25, 0.75]


finite = st.floats(-1e6, 1e6)


@given(arrays(float, (5,), elements=finite), arrays(bool, (5,)), st.integers(0, 2**32))
def test_greedy_and_max_value_agree_with_numpy(q, legal, seed):
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
