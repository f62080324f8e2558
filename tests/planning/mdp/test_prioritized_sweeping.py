"""Prioritized sweeping: the bound, the order, and how little work it does where little happens."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import gauss_seidel, policy_iteration
from rlsuite.planning.mdp.prioritized_sweeping import prioritized_sweeping


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_true_error_never_exceeds_the_bound(random_mdps, exact_value, data):
    mdp = data.draw(random_mdps(size=6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        limit = data.draw(st.sampled_from([1, 2, 5, 1_000_000]))
        solution = prioritized_sweeping(mdp, tol=data.draw(st.sampled_from([1.0, 1e-3])), max_iterations=limit)
    bound = Fraction(solution.error_bound)
    assert all(abs(Fraction(v) - exact) <= bound for v, exact in zip(solution.value, exact_value(mdp), strict=True))
    assert solution.iterations <= limit
    assert solution.converged or limit < 10


def test_random_models_of_medium_size():
    rng = np.random.default_rng(1993)
    for _ in range(5):
        states, actions = 200, 3
        mdp = MDP.from_rows(
            np.arange(states * actions + 1) * 4,
            rng.integers(states, size=states * actions * 4),
            rng.dirichlet(np.ones(4), size=states * actions).reshape(-1),
            rng.normal(size=states * actions * 4),
            n_actions=actions,
            gamma=0.95,
        )
        solution = prioritized_sweeping(mdp)
        assert solution.converged
        np.testing.assert_allclose(solution.value, policy_iteration(mdp).value, rtol=0, atol=solution.error_bound)


def test_a_corridor_takes_one_backup_per_state():
    # News travel from the goal at the left end, state by state; whatever else waits can wait.
    states = 5_000
    mdp = MDP.from_successors(
        [[None], *([s - 1] for s in range(1, states))], [0.0, 1.0, *[0.0] * (states - 2)], gamma=0.99
    )
    solution = prioritized_sweeping(mdp, tol=1e-9)
    np.testing.assert_allclose(solution.value[1:], 0.99 ** np.arange(states - 1), rtol=0, atol=1e-9)
    assert solution.iterations == 1


def test_rounding_ends_it():
    mdp = MDP.from_successors([[{0: 0.3, 1: 0.7}, 1], [{0: 0.6, 1: 0.4}, 0]], [[1e9, 2e9], [-3e9, 1e8]], gamma=0.999)
    with pytest.warns(ConvergenceWarning, match="rounding"):
        solution = prioritized_sweeping(mdp, tol=1e-9)
    assert solution.error_bound < 10.0


def test_all_residuals_are_small_at_the_end(gridworld_with_jumps):
    solution = prioritized_sweeping(gridworld_with_jumps, tol=1e-8)
    assert solution.converged
    np.testing.assert_allclose(solution.value, gauss_seidel(gridworld_with_jumps, tol=1e-8).value, rtol=0, atol=2e-8)


def test_limit_and_deadline(puterman):
    rng = np.random.default_rng(1)
    successors = [[{int(t): 0.5, (int(t) + 7) % 50: 0.5}] for t in rng.integers(50, size=50)]
    mdp = MDP.from_successors(successors, rng.random(50), gamma=0.99)
    with pytest.warns(ConvergenceWarning, match="max_iterations=3 reached"):
        assert prioritized_sweeping(mdp, max_iterations=3).iterations == 3
    with pytest.warns(ConvergenceWarning, match="deadline"):
        assert prioritized_sweeping(mdp, deadline=1e-9).iterations == 0
    with pytest.raises(ParameterError, match="gamma is 1"):
        prioritized_sweeping(puterman(1.0))
