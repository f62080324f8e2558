"""All methods on the same problems: whatever their bounds are, they hold the same optimum."""

import itertools
import math
import warnings

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ModelError
from rlsuite.models import POMDP
from rlsuite.planning import simulate_beliefs, solve
from rlsuite_envs.cheese_maze import cheese_maze
from rlsuite_envs.hallway import hallway
from rlsuite_envs.light_dark import light_dark
from rlsuite_envs.rock_sample import rock_sample
from rlsuite_envs.shuttle import shuttle
from rlsuite_envs.tag import tag
from rlsuite_envs.tiger import tiger

PROBLEMS = {
    "tiger": tiger,
    "three doors": lambda: tiger(doors=3),
    "shuttle": shuttle,
    "cheese maze": lambda: cheese_maze().model,
    "rock sample": lambda: rock_sample(n=2, k=1).model,
}
LARGE = {"hallway": lambda: hallway().model, "tag": lambda: tag().model, "light dark": lambda: light_dark().model}
"""What no method here can finish: their bounds are far apart, but they must hold the same number."""


def plan_of(model, method, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(model, method, **options)


def assert_consistent(plans):
    for one, other in itertools.product(plans, plans):
        assert one.lower_bound <= other.upper_bound, (one.method, other.method)


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
def test_all_brackets_overlap(problem):
    model = PROBLEMS[problem]()
    plans = [
        plan_of(model, "incremental_pruning", max_iterations=30, tol=1e-3, deadline=1.0),
        plan_of(model, "witness", max_iterations=5, deadline=0.5),
        plan_of(model, "sarsop", tol=1e-3, max_iterations=200),
        plan_of(model, "pbvi", tol=1e-3, max_beliefs=30, deadline=0.5),
        plan_of(model, "perseus", tol=1e-3, n_beliefs=30, max_iterations=5),
        *(plan_of(model, method) for method in ("blind", "qmdp", "fast_informed_bound")),
        plan_of(model, "aems2", max_iterations=100),
        plan_of(model, "pomcp", simulations=10, seed=1),
    ]
    assert_consistent(plans)
    exact, search = plans[0], plans[2]
    assert max(exact.lower_bound, search.lower_bound) >= min(exact.upper_bound, search.upper_bound) - 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("problem", LARGE)
def test_all_brackets_of_large_problems_overlap(problem):
    model = LARGE[problem]()
    search = plan_of(model, "sarsop", max_iterations=30)
    plans = [
        search,
        plan_of(model, "incremental_pruning", max_iterations=1, deadline=1.0),
        plan_of(model, "witness", max_iterations=1, deadline=1.0),
        plan_of(model, "pbvi", max_beliefs=20, deadline=0.5),
        plan_of(model, "perseus", n_beliefs=50, max_iterations=10, seed=1),
        *(plan_of(model, method) for method in ("blind", "qmdp", "fast_informed_bound")),
        plan_of(model, "aems2", max_iterations=100),
        plan_of(model, "pomcp", simulations=10, seed=1),
    ]
    assert_consistent(plans)
    # the search has seen more of the problem than a bound for all beliefs
    blind, informed = plans[5], plans[7]
    assert search.lower_bound > blind.lower_bound
    assert search.upper_bound < informed.upper_bound
    low, high = simulate_beliefs(model, search, episodes=300, seed=1).interval(0.9999)
    assert low <= min(plan.upper_bound for plan in plans)
    assert high >= search.lower_bound


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", ["incremental_pruning", "sarsop"])
def test_plans_earn_what_they_promise(problem, method):
    """The mean return is at least the promise, which is a lower bound, and at most the upper bound."""
    model = PROBLEMS[problem]()
    plan = plan_of(model, method, tol=1e-3, max_iterations=30, deadline=1.0)
    low, high = simulate_beliefs(model, plan, episodes=1_500, seed=1).interval(0.9999)
    assert low <= plan.upper_bound
    assert high >= plan.lower_bound


def test_sarsop_by_name_with_a_gap(tiger):
    """The value at the uniform belief is 4063900 / 209789 = 19.3714 for gamma = 0.95, and 1.9334 for 0.75."""
    for gamma, value in ((0.95, 4063900 / 209789), (0.75, 1220 / 631)):
        plan = solve(tiger(gamma), "sarsop", gap=1e-3)
        assert plan.converged
        assert plan.lower_bound <= value <= plan.upper_bound <= plan.lower_bound + 1e-3
        assert math.isclose(plan.value([0.5, 0.5]), value, abs_tol=1e-3)


ALL = ("incremental_pruning", "witness", "sarsop", "pbvi", "perseus", "aems2", "pomcp", "fast_informed_bound")


@pytest.mark.parametrize("method", ALL)
def test_no_method_promises_anything_where_no_plan_is_legal_for_ever(method):
    """The first action leads to states that have no legal action in common, and that nothing tells apart."""
    model = POMDP.from_arrays(
        [[[0.0, 0.5, 0.5], [0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]],
        [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]],
        [[1.0], [1.0], [1.0]],
        gamma=0.9,
        start=[1.0, 0.0, 0.0],
        legal=[[True, True], [True, False], [False, True]],
    )
    with pytest.raises(ModelError, match="no action is legal in every state"):
        plan_of(model, method)


@pytest.mark.parametrize("method", [*ALL, "blind", "qmdp"])
def test_a_start_without_a_legal_action_is_an_error(method):
    model = POMDP.from_arrays(
        [np.eye(2), np.eye(2)],
        np.ones((2, 2)),
        np.ones((2, 1)),
        order="ass",
        gamma=0.9,
        start=[0.5, 0.5],
        legal=[[True, False], [False, True]],
    )
    with pytest.raises(ModelError, match="no action is legal in every state"):
        plan_of(model, method)


@pytest.mark.parametrize("gamma", [0.0, 0.9])
@pytest.mark.parametrize("method", [*ALL, "blind", "qmdp"])
def test_an_action_that_leads_where_none_is_legal_promises_nothing(method, gamma):
    """It pays well, but leads to two states that nothing tells apart, and that have no legal action in common."""
    model = POMDP.from_arrays(
        [[[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]],
        [[0.5 if gamma == 0.0 else 100.0, 1.0], [100.0, 100.0], [100.0, 100.0]],
        [[1.0], [1.0], [1.0]],
        gamma=gamma,
        start=[1.0, 0.0, 0.0],
        legal=[[True, True], [True, False], [False, True]],
    )
    try:
        plan = plan_of(model, method)
    except ModelError as error:
        assert method in ("pbvi", "perseus", "aems2")  # they may come to that belief
        assert "no action is legal" in str(error)  # noqa: PT017
        return
    assert plan.lower_bound <= 1.0 / (1.0 - gamma) <= plan.upper_bound
