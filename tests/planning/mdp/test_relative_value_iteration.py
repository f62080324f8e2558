import time
import warnings

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import AverageRewardSolution, average_reward_policy_iteration, relative_value_iteration, solve

pytestmark = pytest.mark.arithmetic

CIRCLE = MDP.from_successors([[1], [0]], [[1.0], [0.0]], gamma=0.5)


def test_what_is_not_weakly_communicating_is_refused_with_the_way_out(grid_goal):
    two = MDP.from_successors([[0], [1]], [[1.0], [2.0]], gamma=0.9)
    with pytest.raises(ModelError, match=r"has 2 separate parts, in which.*Use average_reward_policy_iteration"):
        relative_value_iteration(two)
    with pytest.raises(ModelError, match="the end of the episode among them"):
        relative_value_iteration(grid_goal())
    assert average_reward_policy_iteration(two).gain.tolist() == [1.0, 2.0]
    assert average_reward_policy_iteration(grid_goal()).gain.tolist() == [0.0] * 6


def test_transient_states_outside_the_only_component_are_welcome():
    mdp = MDP.from_successors([[1, 2], [2, None], [3, 2], [2, None]], [[5, 0], [1, 0], [3, 1], [0, 0]], gamma=0.9)
    solution = relative_value_iteration(mdp)
    assert solution.gain == pytest.approx([1.5] * 4, abs=1e-6)
    assert solution.policy.tolist() == [0, 0, 0, 0]


def test_without_damping_a_periodic_chain_is_openly_not_converged():
    with pytest.warns(ConvergenceWarning, match="max_iterations=1000 reached"):
        solution = relative_value_iteration(CIRCLE, tau=1.0, max_iterations=1000)
    assert not solution.converged
    assert solution.error_bound >= 1.0
    for tau in (0.1, 0.5, 0.9, 0.99):
        assert relative_value_iteration(CIRCLE, tau=tau).gain == pytest.approx([0.5, 0.5], abs=1e-6)


@pytest.mark.parametrize("tau", [0.0, -1.0, 1.5, np.nan, "half"])
def test_tau_that_is_none_is_named(tau):
    with pytest.raises(ParameterError, match="tau="):
        relative_value_iteration(CIRCLE, tau=tau)


def test_solve_knows_both_methods_and_gamma_does_not_matter(taxicab):
    for method in ("relative_value_iteration", "average_reward_policy_iteration"):
        for gamma in (0.0, 0.9, 1.0):
            solution = solve(taxicab, method, gamma=gamma, tol=1e-9)
            assert isinstance(solution, AverageRewardSolution)
            assert solution.method == method
            assert solution.gain == pytest.approx([1588 / 119] * 3, abs=1e-9)
            assert solution.lookahead.mdp.gamma == 1.0
            assert solution.trace.error_bound[-1] == solution.error_bound
            assert solution.trace.iterations[-1] == solution.iterations
    assert solve(taxicab, "relative_value_iteration", tau=0.5).converged


def test_limits_return_the_best_so_far_with_a_true_bound(taxicab):
    with pytest.warns(ConvergenceWarning, match="max_iterations=2 reached"):
        solution = relative_value_iteration(taxicab, max_iterations=2)
    assert solution.iterations == 2
    assert abs(solution.gain[0] - 1588 / 119) <= solution.error_bound < 10.0
    started = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match="deadline"):
        relative_value_iteration(CIRCLE, tau=1.0, deadline=0.1, max_iterations=10**9)
    assert time.perf_counter() - started < 5.0


def test_a_tolerance_below_rounding_ends_all_the_same(taxicab):
    with pytest.warns(ConvergenceWarning, match="down to rounding error"):
        solution = relative_value_iteration(taxicab, tol=1e-300)
    assert solution.error_bound < 1e-11


def test_bounds_hold_for_rows_that_sum_to_one_only_roughly():
    """0.333333333 three times is what people write; it means a third."""
    third = 0.333333333
    mdp = MDP.from_rows(
        [0, 3, 4, 5], [0, 1, 2, 0, 0], [third] * 3 + [1, 1], [0, 0, 0, 1000, 2000], n_actions=1, gamma=1.0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for method in (relative_value_iteration, average_reward_policy_iteration):
            solution = method(mdp)
            assert np.abs(solution.gain - 600.0).max() <= solution.error_bound < 1e-4
            assert solution.optimal_actions.all()


def test_chains_that_end_are_solved_as_shortest_paths():
    """A die is thrown until it shows 6, at -1 each: 6 throws, and no gain."""
    throws = MDP.from_rows([0, 2], [0, 0], [5 / 6, 1 / 6], [-1, -1], n_actions=1, gamma=0.3, terminated=[False, True])
    solution = relative_value_iteration(throws, tol=1e-9)
    assert solution.gain.tolist() == [0.0]
    assert solution.value == pytest.approx([-6.0], abs=1e-7)


def test_solution_cannot_be_changed(taxicab):
    solution = relative_value_iteration(taxicab)
    for array in (solution.gain, solution.value, solution.q, solution.policy):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
