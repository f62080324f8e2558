from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import evaluate_policy, iterative_policy_evaluation, occupancy, solve


def uniform(mdp):
    return mdp.legal / np.maximum(mdp.legal.sum(axis=1, keepdims=True), 1)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_true_error_never_exceeds_the_bound(random_mdps, exact_value, data):
    mdp = data.draw(random_mdps(gammas=(0.0, 0.5, 0.9, 0.99)))
    policy = [data.draw(st.sampled_from(np.flatnonzero(row).tolist() or [-1])) for row in mdp.legal]
    found = iterative_policy_evaluation(mdp, policy, tol=1e-6)
    assert found.converged
    assert found.error_bound <= max(1e-6, 1e-9 * np.abs(found.value).max())  # tol, or rtol of the largest value
    for value, truth in zip(found.value.tolist(), exact_value(mdp, policy), strict=True):
        assert abs(Fraction(value) - truth) <= Fraction(found.error_bound)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_random_policy_agrees_with_the_linear_system(random_mdps, data):
    mdp = data.draw(random_mdps(gammas=(0.0, 0.5, 0.9, 0.99)))
    for tol in (10.0, 1e-6):
        found = iterative_policy_evaluation(mdp, uniform(mdp), tol=tol)
        truth = evaluate_policy(mdp, uniform(mdp))
        assert found.converged
        assert np.abs(found.value - truth).max() <= found.error_bound + 1e-12 * max(1.0, np.abs(truth).max())


def test_gridworld_of_the_book(gridworld_with_jumps):
    found = iterative_policy_evaluation(gridworld_with_jumps, uniform(gridworld_with_jumps))
    np.testing.assert_allclose(found.value[:5], [3.3090, 8.7893, 4.4276, 5.3224, 1.4922], rtol=0, atol=5.1e-5)
    assert found.trace.error_bound[-1] == found.error_bound
    with pytest.raises(ValueError, match="read-only"):
        found.value[0] = 0


def test_stopped_early_is_owned_up_to():
    ring = MDP.from_successors([[1], [0]], [1.0, 0.0], gamma=0.99)
    with pytest.warns(ConvergenceWarning, match="stopped after 3 sweeps.*max_iterations=3"):
        found = iterative_policy_evaluation(ring, [0, 0], max_iterations=3)
    assert not found.converged
    assert found.error_bound >= abs(found.value[0] - 1 / (1 - 0.99**2))


def test_a_good_guess_saves_sweeps():
    ring = MDP.from_successors([[1], [0]], [1.0, 0.0], gamma=0.99)
    truth = evaluate_policy(ring, [0, 0])
    assert iterative_policy_evaluation(ring, [0, 0], initial=truth).iterations == 1


def test_gamma_one_is_refused(grid_goal):
    with pytest.raises(ParameterError, match="gamma < 1"):
        iterative_policy_evaluation(grid_goal(gamma=1.0), [1, 1, 2, 1, 1, -1])


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_occupancy_times_reward_is_the_return(random_mdps, data):
    mdp = data.draw(random_mdps(gammas=(0.0, 0.5, 0.99)))
    policy = uniform(mdp)
    often = occupancy(mdp, policy)
    earned = float((often * mdp.expected_reward()).sum())
    assert earned == pytest.approx(float(mdp.start @ evaluate_policy(mdp, policy)), rel=1e-9, abs=1e-9)
    assert (often >= -1e-12).all()
    assert not often[~mdp.legal].any()
    if not mdp.terminated.any():
        assert often.sum() == pytest.approx(1 / (1 - mdp.gamma))


def test_occupancy_of_the_best_policy_is_the_dual_program():
    # P94 (6.9.2): maximise sum r x subject to the balance of every state; the optimum is unique for random numbers.
    rng = np.random.default_rng(8)
    states, actions, gamma = 12, 3, 0.95
    P = rng.dirichlet(np.ones(states), size=(states, actions))
    R = rng.normal(size=(states, actions))
    start = rng.dirichlet(np.ones(states))
    mdp = MDP.from_arrays(P, R, gamma=gamma, start=start)
    balance = (np.eye(states)[:, np.newaxis] - gamma * P).reshape(-1, states).T
    dual = linprog(-R.reshape(-1), A_eq=balance, b_eq=start, method="highs")
    often = occupancy(mdp, solve(mdp, "linear_programming").policy)
    np.testing.assert_allclose(often.reshape(-1), dual.x, rtol=0, atol=1e-6)
    assert often.sum() == pytest.approx(1 / (1 - gamma))


def test_undiscounted_visits_of_the_small_gridworld(small_gridworld):
    # S&B2 Fig. 4.1: -1 per step, so the number of steps is minus the value.
    often = occupancy(small_gridworld, uniform(small_gridworld))
    steps = -float(small_gridworld.start @ evaluate_policy(small_gridworld, uniform(small_gridworld)))
    assert often.sum() == pytest.approx(steps)


def test_undiscounted_policy_without_an_end_is_refused(grid_goal):
    with pytest.raises(ParameterError, match=r"from state [01] this policy never reaches an end"):
        occupancy(grid_goal(gamma=1.0), [1, 0, 2, 3, 1, -1])
