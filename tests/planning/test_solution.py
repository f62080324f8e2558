"""What a solution says of itself at the prompt."""

import numpy as np
import pytest

import rlsuite as rl


def model(start=(0.25, 0.75, 0.0)):
    """From 1 to 0, earning 2; from 0 to the end, earning 4."""
    return rl.MDP.from_successors([[2], [0], [None]], [[4.0], [2.0], [0.0]], gamma=0.5, start=start)


@pytest.mark.parametrize("options", [{}, {"method": "value_iteration"}, {"horizon": 5, "method": "backward_induction"}])
def test_a_solution_shows_its_value_at_the_start(options):
    solution = rl.solve(model(), **options)
    assert solution.value_at_start == pytest.approx(0.25 * 4.0 + 0.75 * 4.0)
    assert solution.value_at_start == pytest.approx(float(model().start @ solution.value))
    assert f"(value_at_start={solution.value_at_start}, " in repr(solution)
    assert "\n" not in repr(solution)


def test_of_the_average_reward_the_gain_is_shown_and_not_a_relative_value():
    two_circles = rl.MDP.from_successors([[0], [1]], [[1.0], [3.0]], gamma=0.9, start=[0.5, 0.5])
    solution = rl.solve(two_circles, method="average_reward_policy_iteration")
    assert solution.gain_at_start == pytest.approx(2.0)
    assert "gain_at_start=2.0" in repr(solution)
    assert "value_at_start" not in repr(solution)
    assert np.isscalar(solution.value_at_start)
