from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import MDP
from rlsuite.planning import backward_induction, solve

pytestmark = pytest.mark.arithmetic


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_equals_rational_arithmetic_within_its_bound(random_mdps, exact_q, data):
    mdp = data.draw(random_mdps(gammas=(0.0, 0.5, 0.99, 1.0)))
    horizon = data.draw(st.integers(1, 6))
    solution = backward_induction(mdp, horizon=horizon, tol=1e-9)
    bound = Fraction(solution.error_bound)
    assert solution.converged
    assert bound < Fraction(1, 10**9)
    value = [Fraction(0)] * mdp.n_states
    for t in reversed(range(horizon)):
        q = exact_q(mdp, value)
        value = [max((x for x in row if x is not None), default=Fraction(0)) for row in q]
        for s, row in enumerate(q):
            assert abs(Fraction(solution.values[t, s]) - value[s]) <= bound
            action = int(solution.policies[t, s])
            assert action == -1 if set(row) == {None} else value[s] - row[action] <= 4 * bound
    assert solution.value.tolist() == solution.values[0].tolist()
    assert solution.policy.tolist() == solution.policies[0].tolist()
    assert solution.value.tolist() == [max(row.max(), 0.0) if row.max() == -np.inf else row.max() for row in solution.q]


def test_undiscounted_shortest_paths(grid_goal):
    solution = solve(grid_goal(gamma=1.0), "backward_induction", horizon=3)
    assert solution.values.tolist() == [
        [100, 100, 100, 100, 100, 0],
        [0, 100, 100, 100, 100, 0],
        [0, 0, 100, 0, 100, 0],
        [0, 0, 0, 0, 0, 0],
    ]
    assert solution.horizon == solution.iterations == 3
    assert solution.converged


def test_approaches_the_infinite_horizon(gridworld_with_jumps):
    far = backward_induction(gridworld_with_jumps, horizon=300)
    np.testing.assert_allclose(far.value, solve(gridworld_with_jumps).value, rtol=0, atol=1e-9)


def test_error_of_a_long_horizon_is_owned_up_to(puterman):
    with pytest.warns(ConvergenceWarning, match="backward_induction"):
        solution = backward_induction(puterman(1.0), horizon=1000, tol=1e-12)
    assert not solution.converged


def test_horizon_is_needed_and_checked(grid_goal):
    with pytest.raises(ParameterError, match="backward_induction needs horizon="):
        solve(grid_goal(), "backward_induction")
    for horizon in (0, -3, 2.5, True):
        with pytest.raises(ParameterError, match="horizon="):
            solve(grid_goal(), "backward_induction", horizon=horizon)


def test_time_dependent_policy_differs_by_the_step():
    mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=1.0)
    solution = backward_induction(mdp, horizon=4)
    assert solution.policies[:, 0].tolist() == [0, 0, 0, 1]
    assert solution.policies[:, 1].tolist() == [-1] * 4
    assert solution.value[0] == 8.0


def test_a_horizon_that_no_memory_holds_is_refused_at_once(puterman):
    with pytest.raises(ParameterError, match=r"^horizon=1000000000000 with 2 states needs 32,000 GB, and "):
        backward_induction(puterman(0.9), horizon=10**12)
