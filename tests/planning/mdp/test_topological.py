"""Topological value iteration and the components that it works on."""

import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import policy_iteration
from rlsuite.planning.mdp.topological import topological

pytestmark = pytest.mark.arithmetic


def layered(states, actions=4, gamma=0.99, seed=2007):
    """A model without cycles whose states are numbered in no useful order; the last layer ends."""
    rng = np.random.default_rng(seed)
    ahead = np.arange(states)[:, None, None] + rng.integers(1, 1 + states // 50, size=(states, actions, 3))
    ends = ahead >= states
    name = rng.permutation(states)
    to = np.where(ends, 0, name[np.minimum(ahead, states - 1)])
    order = np.argsort(name)
    return MDP.from_rows(
        np.arange(states * actions + 1) * 3,
        to[order].reshape(-1),
        rng.dirichlet(np.ones(3), size=states * actions).reshape(-1),
        rng.normal(size=states * actions * 3),
        n_actions=actions,
        gamma=gamma,
        terminated=ends[order].reshape(-1),
    )


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_true_error_never_exceeds_the_bound(random_mdps, exact_value, data):
    mdp = data.draw(random_mdps(size=6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        limit = data.draw(st.sampled_from([1, 2, 5, 1_000_000]))
        solution = topological(mdp, tol=data.draw(st.sampled_from([1.0, 1e-3])), max_iterations=limit)
    bound = Fraction(solution.error_bound)
    assert all(abs(Fraction(v) - exact) <= bound for v, exact in zip(solution.value, exact_value(mdp), strict=True))
    assert solution.iterations <= limit + mdp.n_states
    assert solution.converged or limit < 10


def test_without_cycles_one_pass_is_exact():
    mdp = layered(300)
    solution = topological(mdp)
    np.testing.assert_allclose(solution.value, policy_iteration(mdp).value, rtol=0, atol=1e-10)
    assert solution.iterations == 1
    assert solution.error_bound < 1e-9


def test_a_loop_at_a_state_is_solved_for():
    mdp = MDP.from_successors([[{0: 0.9, 1: 0.1}], [{1: 0.5, 2: 0.5}], [None]], [-1.0, -1.0, 0.0], gamma=0.99)
    solution = topological(mdp)
    last = -1 / (1 - 0.99 * 0.5)
    assert solution.iterations == 1
    assert solution.value.tolist() == pytest.approx([(-1 + 0.99 * 0.1 * last) / (1 - 0.99 * 0.9), last, 0], abs=1e-12)


def test_components_in_a_row():
    # 40 rings of 5 states, each leading to the next; the error of one must not spoil those before.
    successors = [[5 * ring + (i + 1) % 5, 5 * (ring + 1)] for ring in range(40) for i in range(5)]
    mdp = MDP.from_successors([*successors, [None, None]], np.sin(np.arange(201)), gamma=0.999)
    solution = topological(mdp, tol=1e-6)
    assert solution.converged
    np.testing.assert_allclose(solution.value, policy_iteration(mdp).value, rtol=0, atol=solution.error_bound + 1e-9)


def test_large_model_without_cycles_takes_less_than_a_second():
    mdp = layered(100_000)
    topological(mdp, tol=1e3)  # compiles
    before = time.perf_counter()
    solution = topological(mdp)
    assert time.perf_counter() - before < 5.0  # 0.1 seconds where nothing else runs
    assert solution.converged
    assert solution.iterations == 1


def test_limit_and_deadline(puterman):
    rng = np.random.default_rng(1)
    successors = [[{int(t): 0.5, 0: 0.5}] for t in rng.integers(1, 50, size=50)]
    mdp = MDP.from_successors(successors, rng.random(50), gamma=0.99)
    with pytest.warns(ConvergenceWarning, match="max_iterations=3 reached"):
        topological(mdp, max_iterations=3)
    with pytest.warns(ConvergenceWarning, match="deadline"):
        topological(mdp, deadline=1e-9)
    with pytest.raises(ParameterError, match="gamma is 1"):
        topological(puterman(1.0))
