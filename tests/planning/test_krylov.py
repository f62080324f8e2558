"""Values of policies by a Krylov method: elimination, a Krylov method of SciPy, and what goes on where it stopped."""

import gc
import weakref

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from scipy.sparse.linalg import bicgstab as bicgstab_of_scipy

from rlsuite.core.clock import Clock
from rlsuite.models import MDP
from rlsuite.planning import krylov as module
from rlsuite.planning.certificate import discounted
from rlsuite.planning.krylov import LATE, KrylovValue, bicgstab, means_of_groups
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
@pytest.mark.parametrize("seed", range(2))
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
    rows, _ = a_policy()
    initial = np.where(rows.indptr[1:] > rows.indptr[:-1], 2.0, 0.0)
    with Clock("test", deadline=1e-9) as clock:
        found = KrylovValue(rows, initial).go_on(500, clock)
    assert np.array_equal(found, initial)


def clusters(number=8, size=60, leaving=1e-4, gamma=0.9999, seed=0):
    """Return the rows of a policy in groups of states that are seldom left, in no order, and its value."""
    rng, n = np.random.default_rng(seed), number * size
    place = rng.permutation(n)
    group = np.arange(n) // size
    inside = place[group[:, None] * size + rng.integers(size, size=(n, 4))]
    to = np.concatenate([inside, rng.integers(n, size=(n, 1))], axis=1)
    p = np.concatenate([rng.dirichlet(np.ones(4), size=n) * (1.0 - leaving), np.full((n, 1), leaving)], axis=1)
    own = np.argsort(place)
    model = MDP.from_rows(
        np.arange(0, 5 * n + 1, 5),
        to[own].ravel(),
        p[own].ravel(),
        rng.normal(size=number)[group[own]] + rng.normal(size=n),
        n_actions=1,
        gamma=gamma,
    )
    lookahead = discounted(model, "test")
    policy = np.zeros(n, dtype=np.int64)
    rows = PolicySteps(lookahead)
    rows.take(policy.astype(np.int32))
    return rows, solve_fixed_point(*induced_by_actions(lookahead, policy)), group[own]


def test_groups_that_are_seldom_left_are_found():
    rows, _, group = clusters()
    before = [array.tobytes() for array in (rows.indptr, rows.successor, rows.weight)]
    means = means_of_groups(rows.matrix, most=8)
    assert means is not None
    rng = np.random.default_rng(1)
    found = means(rng.normal(size=group.size))
    assert [np.ptp(found[group == k]) for k in range(8)] == [0.0] * 8
    assert np.unique(found).size == 8
    assert means_of_groups(rows.matrix, most=7) is None
    assert means_of_groups(a_policy()[0].matrix, most=300) is None  # all in one group
    assert [array.tobytes() for array in (rows.indptr, rows.successor, rows.weight)] == before


def test_what_is_equal_in_groups_that_are_never_left_is_solved_at_once():
    rows, value, group = clusters(leaving=0.0, gamma=0.99)
    means = means_of_groups(rows.matrix, most=100)
    assert means is not None
    reward = np.random.default_rng(2).normal(size=8)[group]
    np.testing.assert_allclose(means(reward), reward / (1.0 - 0.99), rtol=1e-10)
    found = KrylovValue(rows, np.zeros(value.size)).go_on(500, Clock(None))
    np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9)


def test_the_means_of_groups_save_iterations(monkeypatch):
    rows, value, _ = clusters()

    def iterations():
        steps = KrylovValue(rows, np.zeros(value.size))
        for done in range(1, 500):
            steps.go_on(1, Clock(None))
            if np.abs(steps._value - value).max() <= 1e-6 * np.abs(value).max():
                return done
        return 500

    with_groups = iterations()
    found = KrylovValue(rows, np.zeros(value.size)).go_on(500, Clock(None))
    np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-6)
    monkeypatch.setattr(module, "means_of_groups", lambda matrix, most: None)
    assert LATE < with_groups < iterations()


def test_rows_without_transitions_are_groups_of_their_own():
    matrix = csr_array(np.array([[0.0, 0.9, 0.0], [0.9, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    means = means_of_groups(matrix, most=3)
    assert means is not None
    np.testing.assert_allclose(means(np.array([1.0, 1.0, 5.0])), [10.0, 10.0, 5.0])
    assert means_of_groups(csr_array((3, 3)), most=2) is None


def test_what_diverges_is_left_out():
    """A river that is swum up and down: residuals of the iterates grow beyond that of the first guess."""
    n = 4_000
    s = np.arange(n)
    to = np.stack([np.maximum(s - 1, 0), s, np.minimum(s + 1, n - 1)], axis=1)
    p = np.where(s[:, None] % 7 < 4, [0.05, 0.6, 0.35], [1.0, 0.0, 0.0])
    lookahead = discounted(
        MDP.from_rows(np.arange(0, 3 * n + 1, 3), to.ravel(), p.ravel(), s == n - 1, n_actions=1, gamma=0.9995), "test"
    )
    rows = PolicySteps(lookahead)
    rows.take(np.zeros(n, np.int32))
    matrix, reward = rows.matrix, rows.reward
    steps, missing = KrylovValue(rows, np.zeros(n)), []
    for _ in range(60):
        steps.go_on(1, Clock(None))
        missing.append(float(np.abs(steps._value - matrix @ steps._value - reward).max()))
    assert max(missing) <= 1.0  # that of zeros


def test_it_is_gone_with_its_last_name():
    """Its memory, several vectors and the rows of a policy, does not wait for the collector of cycles."""
    rows, value = a_policy()
    steps = KrylovValue(rows, np.zeros(value.size))
    steps.go_on(3, Clock(None))
    there = weakref.ref(steps)
    gc.disable()
    try:
        del steps
        assert there() is None
    finally:
        gc.enable()
