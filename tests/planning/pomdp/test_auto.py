"""`auto` on POMDPs: the search from the start and exact stages, whichever comes to an end."""

import warnings

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning
from rlsuite.models import POMDP
from rlsuite.planning import solve


def stiff(seed: int, states: int = 4, actions: int = 3, observations: int = 2) -> POMDP:
    """A small model that is far-sighted: searches from the start hardly lower their upper bound."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(states, 0.5), (actions, states))
    seen = rng.dirichlet(np.full(observations, 0.5), (actions, states))
    return POMDP.from_arrays(moves, rng.normal(size=(actions, states)), seen, gamma=0.9999, order="ass")


@pytest.mark.slow
def test_far_sighted_models_are_solved() -> None:
    solved = 0
    for seed in range(6):
        plan = solve(stiff(seed), gap=1e-2, deadline=20.0)
        exact = solve(stiff(seed), "incremental_pruning", gap=1e-2, deadline=20.0)
        assert plan.converged
        assert exact.lower_bound - 1e-2 <= plan.lower_bound <= plan.upper_bound <= exact.upper_bound + 1e-2
        assert plan.value(stiff(seed).start) == pytest.approx(plan.lower_bound, abs=1e-6)
        solved += plan.method == "incremental_pruning"
    assert solved >= 3


def test_the_same_plan_every_time() -> None:
    first, again = (solve(stiff(1), gap=1e-2) for _ in range(2))
    assert first.lower_bound == again.lower_bound
    assert first.upper_bound == again.upper_bound
    assert first.alpha_vectors.tobytes() == again.alpha_vectors.tobytes()


def test_what_ends_soon_by_search_is_left_to_it(tiger) -> None:
    plan = solve(tiger(0.95))
    assert (plan.method, plan.converged) == ("sarsop", True)


def test_a_deadline_and_a_limit_keep_the_better_bounds() -> None:
    """Five states, and vectors by the thousand: neither method ends."""
    model = stiff(9, states=6, actions=4, observations=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both = solve(model, gap=1e-6, deadline=1.5)
        search = solve(model, "sarsop", gap=1e-6, deadline=0.4)
    assert search.lower_bound <= both.upper_bound
    assert both.lower_bound <= search.upper_bound
    assert both.upper_bound - both.lower_bound <= search.gap
    assert both.seconds < 2.5
    with pytest.warns(ConvergenceWarning, match="max_iterations=3 reached"):
        few = solve(stiff(0), gap=1e-6, max_iterations=3)
    assert few.iterations == 3
