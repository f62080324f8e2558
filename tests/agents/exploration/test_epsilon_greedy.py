"""Epsilon-greedy and random actions against their probabilities."""

import numpy as np

from rlsuite.agents.exploration import (
    EpsilonGreedy,
    RandomActions,
    action_probabilities,
)
from rlsuite.agents.schedules import Inverse, Linear


def test_epsilon_greedy_includes_the_greedy_action_in_its_random_draw(assert_frequencies, make_memory):
    memory = make_memory([0.0, 3.0, 1.0, 2.0], EpsilonGreedy(0.2))
    assert_frequencies(memory, [0.05, 0.85, 0.05, 0.05])


def test_random_actions_are_legal(assert_frequencies, make_memory):
    memory = make_memory([7.0, 7.0, 7.0, 1.0], EpsilonGreedy(1.0), legal=[True, False, True, True])
    assert_frequencies(memory, [1 / 3, 0.0, 1 / 3, 1 / 3])


def test_schedules_count_in_their_unit(assert_frequencies, make_memory):
    at_the_end = make_memory([0.0, 1.0], EpsilonGreedy(Linear(1.0, 0.0, over=10)), clock=(10, 0))
    assert_frequencies(at_the_end, [0.0, 1.0])
    # 3 visits of each of the 2 actions: 1 / (1 + 6)
    per_visit = make_memory([0.0, 1.0], EpsilonGreedy(Inverse(1.0, per="visits")), visits=3)
    assert_frequencies(per_visit, [0.5 / 7, 1 - 0.5 / 7])


def test_random_actions_do_not_look_at_values(assert_frequencies, make_memory):
    assert_frequencies(make_memory([0.0, 1e9, 3.0], RandomActions(), legal=[True, True, False]), [0.5, 0.5, 0.0])


def test_chances_follow_the_schedule(make_memory):
    memory = make_memory([0.0, 1.0], EpsilonGreedy(Linear(1.0, 0.0, over=10)), clock=(5, 0))
    out = np.zeros(2)
    action_probabilities(memory, 0, out)
    assert out.tolist() == [0.25, 0.75]
