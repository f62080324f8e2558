"""Values of hundreds of thousands cannot be known to a millionth: the tolerance has a relative part."""

from inspect import signature

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import iterative_policy_evaluation, methods, solve
from rlsuite.planning.watch import Watch


def large(gamma: float = 0.99999, reward: float = 10.0) -> MDP:
    """Five random successors of each of three actions; values are near half a million."""
    rng = np.random.default_rng(5)
    rows, states = 3 * 150, 150
    probability = rng.dirichlet(np.ones(5), rows).ravel()
    successor = rng.integers(states, size=5 * rows)
    indptr = np.arange(0, 5 * rows + 1, 5)
    return MDP.from_rows(indptr, successor, probability, reward * rng.random(rows), n_actions=3, gamma=gamma)


def stiff(states: int, seen_right: float) -> POMDP:
    """A machine that wears down step by step, is seen more or less clearly, and earns some seven a step."""
    wear, renew = np.eye(states) * 0.9, np.zeros((states, states))
    wear[np.arange(states - 1), np.arange(1, states)] = 0.1
    wear[-1, -1], renew[:, 0] = 1.0, 1.0
    seen = np.full((states, states), (1.0 - seen_right) / (states - 1))
    np.fill_diagonal(seen, seen_right)
    reward = np.stack([np.linspace(10.0, 0.0, states), np.full(states, -5.0)])
    return POMDP.from_arrays([wear, renew], reward, [seen, seen], order="ass", gamma=0.99999, start=0)


def test_a_watch_is_content_with_the_larger_of_two_tolerances():
    watch = Watch("m", tol=1e-6)
    assert (watch.tol, watch.asked) == (1e-6, "tol=1e-06")
    watch.measure(np.array([3.0, -900.0]))
    assert watch.tol == 1e-6
    watch.measure(np.array([3.0, -5000.0]))
    assert watch.tol == pytest.approx(5e-6)
    assert watch.asked == "tol=1e-06"  # the other one follows from it
    watch.between(-1.0, 1e9)  # it may be 0
    assert watch.tol == 1e-6
    watch.between(-np.inf, 3e9)
    assert watch.tol == 1e-6
    watch.between(-3e9, -2e9)
    assert watch.tol == pytest.approx(2.0)
    strict = Watch("m", tol=1e-6, rtol=0)
    strict.measure(np.array([1e9]))
    assert strict.tol == 1e-6
    assert Watch("m", tol=np.inf).tol == np.inf
    rough = Watch("m", tol=100.0)
    rough.measure(np.array([1e6]))
    assert rough.tol == 100.0  # a large tolerance is not multiplied by the values
    for wrong in (-1e-9, "small", np.nan, True):
        with pytest.raises(ParameterError, match="rtol="):
            Watch("m", tol=1e-6, rtol=wrong)


@pytest.mark.parametrize("model", [MDP, POMDP])
def test_every_planner_has_it_under_the_same_name(model):
    for name, method in methods(model).items():
        parameters = signature(method).parameters
        assert parameters["rtol"].default is None, name
        assert parameters["tol"].default == 1e-6, name


@pytest.mark.parametrize("method", ["auto", "policy_iteration", "modified_policy_iteration"])
def test_large_values_of_an_mdp_converge(method):
    model = large()
    found = solve(model, method)
    size = np.abs(found.value).max()
    assert size > 5e5
    assert found.converged
    assert 1e-6 < found.error_bound <= 1e-9 * size
    with pytest.warns(ConvergenceWarning, match="more than tol=1e-06"):
        assert not solve(model, method, rtol=0.0).converged
    with pytest.warns(ConvergenceWarning, match=r"more than rtol=1e-11 of [5-9]\.\d*e\+05"):
        assert not solve(model, method, rtol=1e-11).converged
    rough = solve(model, method, rtol=1e-3)
    assert rough.converged
    assert np.abs(rough.value - found.value).max() <= 2e-3 * size


@pytest.mark.cases("value_iteration.*", "policy_iteration.*")
@pytest.mark.parametrize(
    "method", ["value_iteration", "gauss_seidel", "topological", "prioritized_sweeping", "linear_programming"]
)
def test_it_ends_the_other_methods_early(method):
    model = large(gamma=0.999, reward=1e4)
    size = np.abs(solve(model).value).max()
    found = solve(model, method, rtol=1e-5)
    assert found.converged
    assert found.error_bound <= 1e-5 * size


def test_other_criteria_have_it_too():
    model = large(gamma=1.0, reward=1e9)
    for method in ("average_reward_policy_iteration", "relative_value_iteration"):
        found = solve(model, method, rtol=1e-9)
        assert found.converged
        assert found.error_bound <= 1e-9 * found.gain.max()
    evaluated = iterative_policy_evaluation(large(0.999, 1e6), np.zeros(150, dtype=int))
    assert evaluated.converged
    assert solve(large(1.0, 1e12), "backward_induction", horizon=50).converged
    moves = [[s + 1, s] for s in range(300)] + [[None, None]]
    far = MDP.from_successors(moves, [[-1e12, -3e12]] * 300 + [[0, 0]], gamma=1.0)
    assert solve(far).converged


@pytest.mark.slow
@pytest.mark.parametrize(("states", "seen_right"), [(3, 1.0), (4, 1.0), (5, 1.0), (2, 0.9), (2, 0.7)])
def test_large_values_of_a_pomdp_converge(states, seen_right):
    model = stiff(states, seen_right)
    plan = solve(model, "incremental_pruning", deadline=60.0)
    assert plan.converged
    assert plan.lower_bound > 5e5
    assert 1e-6 < plan.gap <= 1e-9 * plan.upper_bound
    with pytest.warns(ConvergenceWarning, match="more than tol=1e-06"):
        assert not solve(model, "incremental_pruning", deadline=0.5, rtol=0.0).converged


def test_every_kind_of_plan_has_it():
    model = stiff(3, 1.0).replace(gamma=0.5)
    for method in ("auto", "sarsop", "pbvi", "aems2", "qmdp", "fast_informed_bound", "blind"):
        plan = solve(model, method, tol=1e-12, rtol=0.95)
        assert plan.converged, method
        assert plan.gap <= 0.95 * abs(plan.upper_bound) or method in ("qmdp", "fast_informed_bound", "blind")


@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_auto_hands_it_on_for_small_models(gamma):
    mdp = MDP.from_successors([[1, 2], [0, 2], [None, None]], [[-1, -3], [-1, -1], [0, 0]], gamma=gamma)
    with pytest.raises(ParameterError, match="rtol=-1 is negative"):
        solve(mdp, rtol=-1)
