"""Plain dynamic programming against published values, and the planners against it."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite import reference
from rlsuite.planning import iterative_policy_evaluation, q_from_value

SEEDS = st.integers(0, 10**6)
GAMMAS = st.sampled_from([0.0, 0.5, 0.9, 0.99])


def moves_in_a_grid(rows: int, columns: int) -> list[list[int]]:
    """Left, right, up, down from each square; a move off the grid leads nowhere else."""
    steps = ((0, -1), (0, 1), (-1, 0), (1, 0))
    return [
        [min(max(r + i, 0), rows - 1) * columns + min(max(c + j, 0), columns - 1) for i, j in steps]
        for r in range(rows)
        for c in range(columns)
    ]


def jumping_grid() -> rl.MDP:
    """S&B2 Example 3.5: from A to A' for 10, from B to B' for 5, -1 for a move off the grid."""
    successors = moves_in_a_grid(5, 5)
    reward = [[-1.0 if to == square else 0.0 for to in row] for square, row in enumerate(successors)]
    successors[1], reward[1] = [21] * 4, [10.0] * 4
    successors[3], reward[3] = [13] * 4, [5.0] * 4
    return rl.MDP.from_successors(successors, reward, gamma=0.9)


def test_the_random_policy_of_figure_3_2() -> None:
    P, R = reference.arrays(jumping_grid())
    value = reference.policy_evaluation(P, R, 0.9, np.full((25, 4), 0.25)).reshape(5, 5)
    assert value[0].round(4).tolist() == [3.3090, 8.7893, 4.4276, 5.3224, 1.4922]
    assert value[4].round(4).tolist() == [-1.8577, -1.3452, -1.2293, -1.4229, -1.9752]


@pytest.mark.parametrize("solved", [reference.value_iteration, reference.policy_iteration])
def test_the_optimal_values_of_figure_3_5(solved: Callable) -> None:
    value, policy = solved(*reference.arrays(jumping_grid()), 0.9)
    assert value.reshape(5, 5)[:2].round(4).tolist() == [
        [21.9775, 24.4194, 21.9775, 19.4194, 17.4775],
        [19.7797, 21.9775, 19.7797, 17.8018, 16.0216],
    ]
    assert policy[[0, 2, 24]].tolist() == [1, 0, 0]  # towards A; in the corner left and up are equally good


def test_the_random_policy_of_figure_4_1() -> None:
    successors: list[list[int | None]] = [list(row) for row in moves_in_a_grid(4, 4)]
    successors[0] = successors[15] = [None] * 4
    P, R = reference.arrays(rl.MDP.from_successors(successors, [-1.0] * 16, gamma=1.0))
    R[[0, 15]] = 0.0
    random = np.full((16, 4), 0.25)
    value = reference.policy_evaluation(P, R, 1.0, random)
    assert value.round(9).reshape(4, 4).tolist() == [
        [0, -14, -20, -22],
        [-14, -18, -20, -20],
        [-20, -20, -18, -14],
        [-22, -20, -14, 0],
    ]
    after = [reference.iterative_policy_evaluation(P, R, 1.0, random, sweeps)[1] for sweeps in (1, 2, 3, 10)]
    assert np.round(after, 1).tolist() == [-1.0, -1.8, -2.4, -6.1]  # the book cuts -1.75 to -1.7


def test_the_gambler_of_figure_4_3() -> None:
    """p_h = 0.4; the value is the probability to win."""
    gambler = rl.MDP.from_function(
        lambda capital, stake: (
            {capital + stake: 0.4, capital - stake: 0.6} if stake <= min(capital, 100 - capital) else None
        ),
        start=50,
        actions=range(1, 51),
        gamma=1.0,
        reward=lambda capital, stake, then: float(then == 100),
        terminal=lambda capital: capital in (0, 100),
    )
    P, R = reference.arrays(gambler)
    value = np.zeros(gambler.n_states)
    for _ in range(200):
        value = reference.lookahead(P, R, 1.0, value).max(axis=1)
    of = {int(label): value[gambler.index_of(label)] for label in gambler.state_labels or ()}
    found = [of[capital] for capital in (1, 25, 50, 51, 75, 99)]
    np.testing.assert_allclose(found, [0.00206562, 0.16, 0.4, 0.403098, 0.64, 0.964333], atol=5e-7)


@settings(max_examples=40)
@given(seed=SEEDS, gamma=GAMMAS)
def test_planners_find_what_plain_value_iteration_finds(seed: int, gamma: float, new_mdp: Callable) -> None:
    mdp = new_mdp(seed, gamma, masked=True)
    P, R = reference.arrays(mdp)
    value, policy = reference.value_iteration(P, R, gamma, tol=1e-9)
    again, _ = reference.policy_iteration(P, R, gamma)
    np.testing.assert_allclose(again, value, atol=1e-8)
    leads_on = mdp.legal.any(axis=1)
    assert mdp.legal[leads_on, policy[leads_on]].all()
    for method in ("value_iteration", "gauss_seidel", "policy_iteration"):
        np.testing.assert_allclose(rl.solve(mdp, method, tol=1e-9).value, value, atol=1e-8)


@pytest.mark.slow
@settings(max_examples=40)
@given(seed=SEEDS, gamma=GAMMAS)
def test_evaluations_are_the_plain_ones(seed: int, gamma: float, new_mdp: Callable) -> None:
    mdp = new_mdp(seed, gamma, masked=True)
    P, R = reference.arrays(mdp)
    rng = np.random.default_rng(seed)
    value = rng.normal(size=mdp.n_states)
    q = reference.lookahead(P, R, gamma, value)
    leads_on = mdp.legal.any(axis=1)
    np.testing.assert_allclose(q_from_value(mdp, value)[leads_on], q[leads_on], atol=1e-12)
    policy = rng.random(R.shape) * (mdp.legal | ~leads_on[:, None])
    policy /= policy.sum(axis=1, keepdims=True)
    exact = reference.policy_evaluation(P, R, gamma, policy)
    sweeps = reference.iterative_policy_evaluation(P, R, gamma, policy, sweeps=3000)
    np.testing.assert_allclose(sweeps, exact, atol=1e-9)
    allowed = np.where(mdp.legal, policy, 0.0)
    np.testing.assert_allclose(rl.evaluate_policy(mdp, allowed), exact, atol=1e-9)
    np.testing.assert_allclose(iterative_policy_evaluation(mdp, allowed, tol=1e-9).value, exact, atol=1e-8)
