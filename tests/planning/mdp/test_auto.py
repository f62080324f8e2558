"""`auto` looks at how fast a policy forgets its start, and is not misled by rounding."""

import numpy as np
import pytest

from rlsuite.models import MDP
from rlsuite.planning import solve

DENSE, LONG_ROW, CORRIDOR = 400, 60, 400


def dense(gamma: float, reward: float = 0.0) -> MDP:
    """Every state may lead to every other: one step, and the start is as good as forgotten."""
    rng = np.random.default_rng(0)
    probability = rng.random((DENSE, 2, DENSE))
    return MDP.from_arrays(
        probability / probability.sum(axis=2, keepdims=True), reward + rng.random((DENSE, 2)), gamma=gamma
    )


def drawn_alike(gamma: float) -> MDP:
    """Wherever one is, the next state is drawn in the same way: after one step nothing is left of the start."""
    rng = np.random.default_rng(1)
    some = rng.choice(DENSE, LONG_ROW, replace=False)
    rows, probability = np.tile(some, 2 * DENSE), np.tile(rng.dirichlet(np.ones(LONG_ROW)), 2 * DENSE)
    indptr = np.arange(0, rows.size + 1, LONG_ROW)
    return MDP.from_rows(indptr, rows, probability, rng.random(2 * DENSE), n_actions=2, gamma=gamma)


def corridor(gamma: float, *, first_action_leads_on: bool) -> MDP:
    """Every step costs 1 until the end at the right, which the first action may lead away from."""
    states = np.arange(CORRIDOR)
    left, right = np.maximum(states - 1, 0), np.minimum(states + 1, CORRIDOR - 1)
    ways = (right, left) if first_action_leads_on else (left, right)
    moves: list[list[int | set[int] | None]] = [[int(way[s]) for way in ways] for s in range(CORRIDOR - 1)]
    return MDP.from_successors([*moves, [None, None]], [[-1.0, -1.0]] * (CORRIDOR - 1) + [[0.0, 0.0]], gamma=gamma)


@pytest.mark.parametrize("gamma", [0.9, 0.99, 0.999])
@pytest.mark.parametrize("reward", [0.0, 100.0, -1e5])
def test_bounds_down_to_rounding_have_come_together(gamma: float, reward: float) -> None:
    found = solve(dense(gamma, reward), tol=1e-3)
    assert found.method == "modified_policy_iteration"
    assert found.converged
    assert found.iterations < 10


@pytest.mark.parametrize("gamma", [0.9, 0.9999])
def test_a_start_that_is_forgotten_at_once_is_known_as_such(gamma: float) -> None:
    found = solve(drawn_alike(gamma), tol=1e-3)
    assert found.method == "modified_policy_iteration"
    assert found.iterations < 10


@pytest.mark.parametrize("first_action_leads_on", [True, False])
def test_news_with_a_long_way_to_go_are_swept_along(first_action_leads_on: bool) -> None:
    """Where the first policy never meets the end, its value is the same everywhere: that is not forgetting."""
    found = solve(corridor(0.99, first_action_leads_on=first_action_leads_on))
    assert found.method == "gauss_seidel"
    assert found.converged
