"""Optimism in the face of uncertainty, by hand."""

from dataclasses import dataclass

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.agents.exploration import (
    CountBonus,
    UpperConfidence,
    choose,
)
from rlsuite.features import OneHot


def with_visits(memory, visits):
    memory.visits[0] = visits
    return memory


def test_upper_confidence_by_hand(assert_frequencies, make_memory):
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


def test_count_bonus_by_hand(make_memory):
    # Q + 4 / sqrt(1 + n): 1 + 4 / 2 = 3 against 0 + 4 / sqrt(2) = 2.83, then 1 + 4 / sqrt(5) = 2.79
    memory = with_visits(make_memory([1.0, 0.0], CountBonus(4.0)), [3, 1])
    rng = np.random.default_rng(0)
    assert choose(memory, 0, rng) == 0
    assert choose(with_visits(memory, [4, 1]), 0, rng) == 1


@rl.compiled(in_place=True)
def rarest(memory, state, first, second, rng):
    return int(memory.visits[state].argmin())


@rl.compiled(in_place=True)
def rarest_first(memory, state, first, second, rng):
    return rarest(memory, state, first, second, rng)


def reading_visits():
    """An exploration of one's own that reads the visits, by a function that another one calls."""

    @dataclass(frozen=True)
    class RarestFirst(rl.EpsilonGreedy):
        @property
        def rule(self):
            return super().rule._replace(select=rarest_first)

    return RarestFirst()


@pytest.mark.parametrize("new", [rl.UpperConfidence, rl.CountBonus, reading_visits])
def test_what_counts_visits_needs_a_table(new):
    exploration = new()
    with pytest.raises(rl.errors.ParameterError, match=r"counts how often .* needs a table; with features use another"):
        rl.QLearning(exploration=exploration, features=OneHot())
    assert rl.QLearning(exploration=exploration).exploration is exploration
