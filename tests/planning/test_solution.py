"""What a solution says of itself at the prompt."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ParameterError


def model(start=(0.25, 0.75, 0.0)):
    """From 1 to 0, earning 2; from 0 to the end, earning 4."""
    return rl.MDP.from_successors([[2], [0], [None]], [[4.0], [2.0], [0.0]], gamma=0.5, start=start)


@pytest.mark.parametrize("options", [{}, {"method": "value_iteration"}, {"horizon": 5, "method": "backward_induction"}])
def test_a_solution_shows_its_value_at_the_start(options):
    solution = rl.solve(model(), **options)
    assert solution.value_at_start == pytest.approx(0.25 * 4.0 + 0.75 * 4.0)
    assert solution.value_at_start == pytest.approx(float(model().start @ solution.value))
    assert "value_at_start=4, " in repr(solution)
    assert "\n" not in repr(solution)


def test_of_the_average_reward_the_gain_is_shown_and_not_a_relative_value():
    two_circles = rl.MDP.from_successors([[0], [1]], [[1.0], [3.0]], gamma=0.9, start=[0.5, 0.5])
    solution = rl.solve(two_circles, method="average_reward_policy_iteration")
    assert solution.gain_at_start == pytest.approx(2.0)
    assert "gain_at_start=2, " in repr(solution)
    assert "value_at_start" not in repr(solution)
    assert np.isscalar(solution.value_at_start)


def test_a_solution_acts_by_numbers_and_names():
    mdp = rl.MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.9, state_labels=["in", "out"])
    solution, two_steps = rl.solve(mdp), rl.solve(mdp, horizon=2)
    assert (solution.act("in"), solution.act(0), two_steps.act("in", steps_left=1), two_steps.act(0)) == (0, 0, 1, 0)
    assert repr(solution).startswith("Solution(method='policy_iteration', value_at_start=10, error_bound=")
    for asked, words in [
        (lambda: solution.act("on"), r"unknown state 'on' \(in, out, 0..1\)"),
        (lambda: solution.act(2), "state=2 is not a state; the states are 0..1"),
        (lambda: solution.act("out"), "state='out' is an end: no action is legal there"),
        (lambda: two_steps.act(0, steps_left=3), "steps_left=3 is more than the 2 steps of this plan"),
        (lambda: two_steps.act(0, steps_left=0), "steps_left=0 is less than 1"),
    ]:
        with pytest.raises(ParameterError, match=words):
            asked()
