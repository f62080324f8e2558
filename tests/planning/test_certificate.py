"""The promise that every planner makes: no error exceeds its bound, whatever the model, the tolerance and the limit."""

import inspect
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import methods, policy_iteration, solve, value_iteration

pytestmark = pytest.mark.arithmetic

OTHER = ("horizon", "average", "relative", "stochastic_shortest_path")
DISCOUNTED = [
    name
    for name, function in methods(MDP).items()
    if not any(word in (name, *name.split("_"), *inspect.signature(function).parameters) for word in OTHER)
]
LIMITED = [name for name in DISCOUNTED if "max_iterations" in inspect.signature(methods(MDP)[name]).parameters]


def solved_quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(*args, **options)


def test_methods_under_test_are_all_there_are():
    assert {"auto", "gauss_seidel", "linear_programming", "modified_policy_iteration"} <= set(DISCOUNTED)
    assert {"policy_iteration", "value_iteration"} <= set(LIMITED)
    assert not {"backward_induction", "stochastic_shortest_path"} & set(DISCOUNTED)


@pytest.mark.parametrize("method", DISCOUNTED)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_true_error_never_exceeds_the_bound(method, random_mdps, exact_value, exact_q, data):
    mdp = data.draw(random_mdps())
    tol = data.draw(st.sampled_from([1e3, 1.0, 1e-3]))
    limit = {"max_iterations": data.draw(st.sampled_from([1, 2, 5, 300]))} if method in LIMITED else {}
    solution = solved_quietly(mdp, method, tol=tol, rtol=0.0, **limit)
    optimum = exact_value(mdp)
    optimal_q = exact_q(mdp, optimum)
    followed = exact_value(mdp, solution.policy.tolist())
    bound = Fraction(solution.error_bound)
    assert solution.converged == (solution.error_bound <= tol)
    for s in range(mdp.n_states):
        assert abs(Fraction(solution.value[s]) - optimum[s]) <= bound
        for a in range(mdp.n_actions):
            if optimal_q[s][a] is None:
                assert solution.q[s, a] == -np.inf
                assert not solution.optimal_actions[s, a]
                continue
            assert abs(Fraction(solution.q[s, a]) - optimal_q[s][a]) <= bound
            if optimal_q[s][a] == optimum[s]:
                assert solution.optimal_actions[s, a]
            elif solution.optimal_actions[s, a]:
                assert optimum[s] - optimal_q[s][a] <= 4 * bound * (1 + Fraction(1, 10**12))
        if mdp.legal[s].any():
            assert solution.optimal_actions[s, solution.policy[s]]
            assert abs(solution.value[s] - solution.q[s].max()) <= 2 * solution.error_bound
            loss = optimum[s] - followed[s]
            assert 0 <= loss <= bound
        else:
            assert solution.policy[s] == -1
            assert solution.value[s] == 0.0


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_policy_iteration_is_exact_up_to_rounding(random_mdps, exact_value, data):
    mdp = data.draw(random_mdps())
    # Values reach 1e6 with gamma = 0.9999, where double precision is worth about 1e-16 * 1e6 / (1 - gamma) = 1e-6.
    solution = solve(mdp, "policy_iteration", tol=1e-4)
    assert solution.converged
    for s, optimum in enumerate(exact_value(mdp)):
        assert abs(Fraction(solution.value[s]) - optimum) <= Fraction(1, 10**4)


@pytest.mark.parametrize("method", DISCOUNTED)
@pytest.mark.parametrize("gamma", [0.9, 0.99])
def test_value_is_that_of_the_linear_program(method, gamma):
    # P94 section 6.9: minimise sum V subject to V >= QV for every action; SciPy's HiGHS is the second opinion.
    from scipy.optimize import linprog

    rng = np.random.default_rng(20_240)
    for _ in range(10):
        states, actions = 30, 4
        P = rng.dirichlet(np.full(5, 0.5), size=(states, actions))
        ahead = np.stack([rng.permuted(np.arange(states))[:5] for _ in range(states * actions)]).reshape(P.shape)
        dense = np.zeros((states, actions, states))
        np.put_along_axis(dense, ahead, P, axis=2)
        R = rng.normal(size=(states, actions))
        terminal = np.arange(states) >= states - 2
        legal = rng.random((states, actions)) < 0.8
        legal[:, 0] = True
        mdp = MDP.from_arrays(dense, R, gamma=gamma, terminated=terminal, legal=legal)
        above = (gamma * dense * ~terminal - np.eye(states)[:, np.newaxis, :])[legal]
        program = linprog(np.ones(states), A_ub=above, b_ub=-R[legal], bounds=(None, None), method="highs")
        assert program.status == 0
        solution = solve(mdp, method)
        assert solution.converged
        np.testing.assert_allclose(solution.value, program.x, rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", DISCOUNTED)
def test_gamma_zero_is_the_best_next_reward(method):
    mdp = MDP.from_arrays(np.full((3, 2, 3), 1 / 3), [[1, 2], [5, 5], [-1, -7]], gamma=0.0)
    solution = solve(mdp, method)
    np.testing.assert_allclose(solution.value, [2, 5, -1], rtol=1e-15)
    assert solution.policy.tolist() == [1, 0, 0]
    assert solution.error_bound < 1e-13


@pytest.mark.parametrize("method", DISCOUNTED)
def test_gamma_close_to_one(method, puterman):
    solution = solve(puterman(0.9999), method, tol=1e-2)
    assert solution.converged
    np.testing.assert_allclose(solution.value[1], -1e4, rtol=0, atol=solution.error_bound + 1e-8)


def ring(gamma):
    """Two states that pass the agent to and fro, for 1 every other step: nothing is ever forgotten."""
    return MDP.from_successors([[1], [0]], [1.0, 0.0], gamma=gamma)


def test_too_few_iterations_are_owned_up_to():
    with pytest.warns(ConvergenceWarning, match=r"value_iteration stopped after 3 iterations with an error bound of"):
        solution = value_iteration(ring(0.99), max_iterations=3)
    assert not solution.converged
    assert solution.iterations == 3
    truth = np.array([1.0, 0.99]) / (1 - 0.99**2)
    assert solution.error_bound >= np.abs(solution.value - truth).max()
    assert solution.error_bound < 0.99 / (1 - 0.99)


def test_policy_iteration_cut_short_is_owned_up_to():
    rng = np.random.default_rng(5)
    cut_short = 0
    for _ in range(40):
        P = rng.dirichlet(np.full(30, 0.05), size=(30, 5))
        mdp = MDP.from_arrays(P, rng.normal(size=(30, 5)), gamma=0.999)
        optimum = policy_iteration(mdp)
        assert optimum.converged
        if optimum.iterations < 3:
            continue
        with pytest.warns(ConvergenceWarning, match="policy_iteration stopped after 1 iterations"):
            first = policy_iteration(mdp, max_iterations=1)
        cut_short += 1
        assert not first.converged
        assert first.error_bound >= (optimum.value - first.value).max() - 1e-6
    assert cut_short > 0


def test_warning_points_at_the_line_that_asked(puterman):
    for ask in (value_iteration, solve):
        options = {"method": "value_iteration"} if ask is solve else {}
        with pytest.warns(ConvergenceWarning) as caught:
            ask(puterman(0.99), max_iterations=2, **options)
        assert caught[0].filename == __file__


def test_tolerance_below_rounding_ends_and_is_owned_up_to(puterman):
    with pytest.warns(ConvergenceWarning):
        solution = value_iteration(puterman(0.9), tol=1e-18)
    assert solution.iterations < 1000
    assert 0 < solution.error_bound < 1e-10


def test_value_iteration_needs_the_number_of_sweeps_that_theory_says_at_worst(puterman):
    # The error falls by the factor gamma per sweep, so one more digit takes ln 10 / -ln gamma sweeps.
    sweeps = [value_iteration(ring(0.9), tol=tol).iterations for tol in (1e-3, 1e-6)]
    assert sweeps[1] - sweeps[0] == pytest.approx(3 * math.log(10) / -math.log(0.9), abs=2)
    # Where every policy forgets its start, the bounds are known much earlier.
    assert value_iteration(puterman(0.9), tol=1e-6).iterations < 60


@pytest.mark.parametrize("tol", [0, -1.0, math.nan, "small", True, None])
def test_tolerance_that_is_none_is_named(grid_goal, tol):
    for method in methods(MDP).values():
        options = {"horizon": 3} if method.__name__ == "backward_induction" else {}
        with pytest.raises(ParameterError, match="tol="):
            method(grid_goal(), tol=tol, **options)


@pytest.mark.parametrize("method", sorted(set(DISCOUNTED) - {"auto"}))
def test_gamma_one_is_refused_with_the_way_out(grid_goal, method):
    with pytest.raises(ParameterError, match=r"gamma < 1.*horizon="):
        solve(grid_goal(gamma=1.0), method)


@pytest.mark.parametrize("method", DISCOUNTED)
def test_gamma_that_double_precision_cannot_tell_from_one_is_refused(method):
    with pytest.raises(ParameterError, match="too close to 1"):
        solve(MDP.from_successors([[1], [0]], [1.0, 0.0], gamma=1 - 1e-15), method)
    # ... unless the model contracts without its help.
    ending = MDP.from_rows([0, 2, 2], [0, 1], [0.5, 0.5], [1, 1], n_actions=1, gamma=1 - 1e-15)
    assert solve(ending, method).value[0] == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("method", sorted({*DISCOUNTED, "backward_induction"}))
def test_rewards_that_overflow_are_refused(method):
    mdp = MDP.from_successors([[0]], [1e305], gamma=0.9999999)
    options = {"horizon": 10**7} if method == "backward_induction" else {}
    with pytest.raises(ModelError, match="overflow"):
        solve(mdp, method, **options)


def test_solution_cannot_be_changed(grid_goal):
    solution = solve(grid_goal())
    for array in (solution.value, solution.q, solution.policy):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        solution.converged = False
