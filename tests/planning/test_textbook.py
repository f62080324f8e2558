"""Planners against published values and closed forms."""

import inspect

import numpy as np
import pytest

from rlsuite.models import MDP
from rlsuite.planning import methods, solve

OTHER = ("horizon", "average", "relative", "stochastic_shortest_path")
DISCOUNTED = [
    name
    for name, function in methods(MDP).items()
    if not any(word in (name, *name.split("_"), *inspect.signature(function).parameters) for word in OTHER)
]
NAN = np.nan
pytestmark = [pytest.mark.arithmetic, pytest.mark.parametrize("method", DISCOUNTED)]


def test_grid_goal_of_the_lecture_notes(grid_goal, method):
    solution = solve(grid_goal(), method)
    q = [
        [NAN, 81, 81, NAN],
        [72.9, 90, 90, NAN],
        [81, NAN, 100, NAN],
        [NAN, 90, NAN, 72.9],
        [81, 100, NAN, 81],
        [NAN, NAN, NAN, NAN],
    ]
    np.testing.assert_allclose(solution.value, [81, 90, 100, 90, 100, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.where(solution.q == -np.inf, NAN, solution.q), q, rtol=0, atol=1e-9)
    assert [np.flatnonzero(row).tolist() for row in solution.optimal_actions] == [[1, 2], [1, 2], [2], [1], [1], []]
    assert solution.policy.tolist() == [1, 1, 2, 1, 1, -1]


@pytest.mark.cases("illegal-0.5-.*", "stay-0.99-.*")
@pytest.mark.parametrize("gamma", [0.5, 0.8, 0.9, 0.99])
@pytest.mark.parametrize("walls", ["illegal", "stay"])
def test_grid_goal_for_other_discounts(grid_goal, method, gamma, walls):
    solution = solve(grid_goal(gamma, walls), method)
    expected = [100 * gamma**2, 100 * gamma, 100, 100 * gamma, 100, 0]
    np.testing.assert_allclose(solution.value, expected, rtol=0, atol=1e-6)


def test_grid_goal_in_which_walls_stop(grid_goal, method):
    q = [
        [72.9, 81, 81, 72.9],
        [72.9, 90, 90, 81],
        [81, 90, 100, 90],
        [81, 90, 81, 72.9],
        [81, 100, 90, 81],
    ]
    np.testing.assert_allclose(solve(grid_goal(0.9, "stay"), method).q[:5], q, rtol=0, atol=1e-6)


def test_nondeterministic_grid_goal_reading_a(nondeterministic_grid_goal, method):
    solution = solve(nondeterministic_grid_goal, method)
    q = [
        [NAN, 85.5, 85.5, NAN],
        [76.95, 90, 90, NAN],
        [81, NAN, 100, NAN],
        [NAN, 95, NAN, 76.95],
        [85.5, 100, NAN, 81],
        [NAN, NAN, NAN, NAN],
    ]
    np.testing.assert_allclose(solution.value, [85.5, 90, 100, 95, 100, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.where(solution.q == -np.inf, NAN, solution.q), q, rtol=0, atol=1e-9)


def test_gridworld_with_jumps(gridworld_with_jumps, method):
    # S&B2 Fig. 3.5, to four decimals
    expected = [
        [21.9775, 24.4194, 21.9775, 19.4194, 17.4775],
        [19.7797, 21.9775, 19.7797, 17.8018, 16.0216],
        [17.8018, 19.7797, 17.8018, 16.0216, 14.4194],
        [16.0216, 17.8018, 16.0216, 14.4194, 12.9775],
        [14.4194, 16.0216, 14.4194, 12.9775, 11.6797],
    ]
    solution = solve(gridworld_with_jumps, method)
    np.testing.assert_allclose(solution.value.reshape(5, 5), expected, rtol=0, atol=5.1e-5)
    # the arrows of the figure, as sets of left, right, up, down: rows from the top
    arrows = ["R", "LRUD", "L", "LRUD", "L", "RU", "U", "LU", "L", "L"] + ["RU", "U", "LU", "LU", "LU"] * 3
    shown = ["".join("LRUD"[a] for a in np.flatnonzero(row)) for row in solution.optimal_actions]
    if method == "policy_iteration":  # whose error bound is small enough to tell ties from near ties
        assert shown == arrows


def test_two_states_of_puterman(puterman, method):
    # P94 section 6.1: in the second state -1 for ever; in the first the better of two expressions in gamma.
    for gamma in (0.0, 0.5, 10 / 11 - 0.01, 10 / 11 + 0.01, 0.95, 0.99):
        second = -1 / (1 - gamma)
        coin = (5 + 0.5 * gamma * second) / (1 - 0.5 * gamma)
        leave = 10 + gamma * second
        solution = solve(puterman(gamma), method, tol=1e-8)
        np.testing.assert_allclose(solution.value, [max(coin, leave), second], rtol=0, atol=1e-8, err_msg=f"{gamma=}")
        assert solution.policy.tolist() == [0 if coin > leave else 1, 0], gamma


def test_end_that_leads_on_and_end_that_stays(method):
    # Entering state 2 is the end, whether state 2 would lead on (as in CliffWalking) or stay (as in FrozenLake).
    leads_on = MDP.from_successors([[1], [2], [0]], [1, 10, 99], gamma=0.9, terminated=[False, False, True])
    stays = MDP.from_successors([[1], [2], [2]], [1, 10, 0], gamma=0.9, terminated=[False, False, True])
    for mdp in (leads_on, stays):
        np.testing.assert_allclose(solve(mdp, method).value[:2], [10, 10], rtol=0, atol=1e-6)


def test_absorbing_state_that_never_terminates(method):
    mdp = MDP.from_successors([[1, 0], [1, 1]], [[3, 1], [0, 0]], gamma=0.5)
    solution = solve(mdp, method)
    np.testing.assert_allclose(solution.value, [3, 0], rtol=0, atol=1e-6)


def test_ties_are_ties_although_rounding_tells_them_apart(method):
    # 0.3 now, or 0.1 now and 0.4 next: in double precision 0.1 + 0.5 * 0.4 is 0.30000000000000004.
    mdp = MDP.from_successors([[2, 1], [2, None], [None, None]], [[0.3, 0.1], [0.4, 0], [0, 0]], gamma=0.5)
    solution = solve(mdp, method)
    assert solution.q[0, 0] < solution.q[0, 1]
    exact = method == "rational_policy_iteration"  # decides by the doubles as they are
    assert solution.policy[0] == int(exact)
    assert solution.optimal_actions[0].tolist() == [not exact, True]


def test_ties_go_to_the_first_action_in_a_large_grid(method):
    # Many shortest paths: rounding errors of the values must not decide between them.
    n = 12 if method == "rational_policy_iteration" else 30  # which takes at most 200 states
    successors = [
        [min(c + 1, n - 1) + r * n, c + min(r + 1, n - 1) * n] if (r, c) != (n - 1, n - 1) else [None, None]
        for r in range(n)
        for c in range(n)
    ]
    mdp = MDP.from_successors(successors, lambda s, a, s2: 1.0 if s2 == n * n - 1 else 0.0, gamma=0.97)
    policy = solve(mdp, method).policy.reshape(n, n)
    assert (policy[:, :-1] == 0).all()
    assert (policy[:-1, -1] == 1).all()
