"""Correlation and root mean squared error of learned action values: closed forms, and the lecture notes' grid."""

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers the grid
from rlsuite.errors import ParameterError
from rlsuite.planning import q_agreement


@pytest.fixture(scope="module")
def grid():
    return rl.solve(rl.MDP.from_env("rlsuite/GridGoal-v0", gamma=0.9), "policy_iteration")


def test_scale_and_offset_leave_the_correlation(grid):
    same = q_agreement(grid.q, grid)
    assert (same.rmse, same.correlation) == (0.0, pytest.approx(1.0, abs=1e-12))
    off = q_agreement(2.0 - grid.q / 4.0, grid)
    legal = grid.q[np.isfinite(grid.q)]
    assert off.correlation == pytest.approx(-1.0, abs=1e-12)
    assert off.rmse == pytest.approx(np.sqrt(np.mean((2.0 - 1.25 * legal) ** 2)), rel=1e-12)


def test_numbers_by_hand():
    """Q* = 1 and 3, learned 2 and 3."""
    mdp = rl.MDP.from_arrays([[[1.0], [1.0]]], [[1.0, 3.0]], gamma=0.0)
    solution = rl.solve(mdp)
    assert solution.q.tolist() == [[1.0, 3.0]]
    assert q_agreement([[2.0, 3.0]], solution) == pytest.approx((np.sqrt(1 / 2), 1.0))
    assert q_agreement([[2.0, 3.0]], solution, weights=[[3.0, 1.0]]).rmse == pytest.approx(np.sqrt(3 / 4))
    assert q_agreement([[2.0], [3.0]], [[1.0], [3.0]]) == pytest.approx((np.sqrt(1 / 2), 1.0))
    constant = q_agreement([[2.0, 2.0]], solution)
    assert (constant.rmse, np.isnan(constant.correlation)) == (1.0, True)


def test_weights_are_repetitions(grid):
    rng = np.random.default_rng(5)
    q = rng.normal(50.0, 30.0, grid.q.shape)
    times = rng.integers(0, 4, grid.q.shape)
    found = q_agreement(q, grid, weights=times)
    legal = np.isfinite(grid.q)
    one, other = (np.repeat(values[legal], times[legal]) for values in (q, grid.q))
    assert found.correlation == pytest.approx(np.corrcoef(one, other)[0, 1], rel=1e-12)
    assert found.rmse == pytest.approx(np.sqrt(np.mean((one - other) ** 2)), rel=1e-12)
    by_state = q_agreement(q, grid, weights=times[:, 0])
    assert by_state == q_agreement(q, grid, weights=np.repeat(times[:, :1], q.shape[1], axis=1))


def test_what_an_agent_learned_is_compared(grid):
    agent = rl.QLearning(gamma=0.9, learning_rate=1.0, exploration=rl.RandomActions())
    agent.learn("rlsuite/GridGoal-v0", steps=2_000, seed=1)
    found = q_agreement(agent, grid, weights=agent.visits_)
    assert found.rmse < 1e-9
    assert found.correlation == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("q", "weights", "words"),
    [
        (np.zeros((2, 3)), None, r"\(2, 3\)"),
        (np.full((6, 4), np.nan), None, "not finite"),
        (np.zeros((6, 4)), np.ones(3), "weights has shape"),
        (np.zeros((6, 4)), np.zeros(6), "no legal pair"),
        (np.zeros((6, 4)), -np.ones((6, 4)), "at least 0"),
    ],
)
def test_what_does_not_fit_is_refused(grid, q, weights, words):
    with pytest.raises(ParameterError, match=words):
        q_agreement(q, grid, weights)
