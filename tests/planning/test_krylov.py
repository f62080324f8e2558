"""Values of policies by a Krylov method: elimination, a Krylov method of SciPy, and what goes on where it stopped."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.sparse.linalg import bicgstab as bicgstab_of_scipy

from rlsuite.core.clock import Clock
from rlsuite.models import MDP
from rlsuite.planning.certificate import discounted
from rlsuite.planning.krylov import KrylovValue, bicgstab
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.mdp.policy_evaluation import induced_by_actions
from rlsuite.planning.policy_rows import PolicySteps


def a_policy(states=300, gamma=0.999, seed=0):
    """Return the rows of a random policy, and its value by elimination; every tenth state may end the episode."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(4), size=(states, 2))
    nearby = (np.arange(states)[:, None, None] + rng.integers(-9, 10, size=P.shape)) % states
    ends = np.zeros(P.shape, dtype=bool)
    ends[::10, :, 0] = True
    model = MDP.from_rows(
        np.arange(0, P.size + 1, 4),
        nearby.ravel(),
        P.ravel(),
        rng.normal(size=states * 2),
        terminated=ends.ravel(),
        n_actions=2,
        gamma=gamma,
    )
    lookahead = discounted(model, "test")
    policy = rng.integers(2, size=states)
    rows = PolicySteps(lookahead)
    rows.take(np.where(lookahead.terminal, -1, policy).astype(np.int32))
    return rows, solve_fixed_point(*induced_by_actions(lookahead, np.where(lookahead.terminal, -1, policy)))


@pytest.mark.parametrize("gamma", [0.9, 0.9999])
@pytest.mark.parametrize("seed", range(3))
def test_the_value_is_that_of_elimination(gamma, seed):
    rows, value = a_policy(gamma=gamma, seed=seed)
    found = KrylovValue(rows, np.zeros(value.size)).go_on(2_000, Clock(None))
    np.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-10)


def test_the_iterates_are_those_of_scipy():
    rng = np.random.default_rng(0)
    matrix = csr_array(np.eye(60) - 0.9 * random_array((60, 60), density=0.1, rng=rng).toarray() / 6.0)
    b, theirs = rng.normal(size=60), []
    bicgstab_of_scipy(matrix, b, rtol=1e-13, callback=lambda x: theirs.append(x.copy()))
    ours = list(bicgstab(lambda x: matrix @ x, lambda x: x, b, np.zeros(60)))
    assert len(ours) in (len(theirs), len(theirs) + 1)  # SciPy does not tell of half an iteration at the end
    np.testing.assert_allclose(ours[: len(theirs)], theirs, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours[-1], np.linalg.solve(matrix.toarray(), b), rtol=1e-10, atol=1e-12)


def test_it_goes_on_where_it_stopped():
    """Iterations in parts have the bytes of the same number at once; sweeps after each part do not disturb them."""
    rows, value = a_policy()
    parts, whole = (KrylovValue(rows, np.zeros(value.size)) for _ in range(2))
    errors = [np.abs(parts.go_on(some, Clock(None)) - value).max() for some in (1, 1, 2, 4, 56)]
    whole.go_on(64, Clock(None))
    assert parts._value.tobytes() == whole._value.tobytes()
    assert errors[-1] < 1e-3 * errors[0]


def test_what_breaks_down_begins_again_with_the_best():
    """A rotation: the first residual is orthogonal to its image, and a division by zero ends the method."""
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    with np.errstate(all="ignore"):
        assert list(bicgstab(lambda x: turn @ x, lambda x: x, np.array([1.0, 0.0]), np.zeros(2))) == []
    rows, value = a_policy()
    steps = KrylovValue(rows, np.zeros(value.size))
    steps.go_on(3, Clock(None))
    latest = steps._value.copy()
    steps._values = iter(())  # as if it had broken down
    steps.go_on(1, Clock(None))
    assert np.array_equal(steps._value, latest)
    np.testing.assert_allclose(steps.go_on(500, Clock(None)), value, rtol=1e-10, atol=1e-10)


def test_no_time_is_left():
    rows, value = a_policy()
    with Clock("test", deadline=1e-9) as clock:
        found = KrylovValue(rows, np.full(value.size, 2.0)).go_on(500, clock)
    assert found.shape == value.shape
    assert np.isfinite(found).all()
