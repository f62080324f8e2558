"""Policy iteration where policies are evaluated by a Krylov method, which may diverge."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.planning import policy_iteration
from rlsuite.planning.certificate import discounted, width
from rlsuite.planning.mdp import policy_iteration as module


def river(n, gamma):
    """RiverSwim (Strehl & Littman 2008): upstream is slow and pays 1 at the end, downstream is sure and pays 0.005."""
    s = np.arange(n)
    up = np.stack([np.minimum(n - 1, s + 1), s, np.maximum(0, s - 1)], axis=1)
    ahead = np.concatenate([np.maximum(0, s - 1)[:, np.newaxis], up], axis=1).reshape(-1)
    reward = np.zeros((n, 2))
    reward[0, 0], reward[-1, 1] = 0.005, 1.0
    rows = np.cumsum([0, *[1, 3] * n])
    return rl.MDP.from_rows(rows, ahead, np.tile([1.0, 0.35, 0.6, 0.05], n), reward, n_actions=2, gamma=gamma)


def chain(names, gamma):
    """Left or right, with chance 0.4 against the will; a little at the left end, much at the right one."""
    s = np.arange(names.size)
    left, right = np.maximum(s - 1, 0), np.minimum(s + 1, s.size - 1)
    ahead, reward = np.empty((s.size, 4), dtype=np.int64), np.zeros((s.size, 2))
    ahead[names] = names[np.stack([left, right, right, left], axis=1)]
    reward[names[0], 0], reward[names[-1], 1] = 0.005, 1.0
    rows = np.arange(0, ahead.size + 1, 2)
    return rl.MDP.from_rows(rows, ahead.ravel(), np.tile([0.6, 0.4], ahead.size // 2), reward, n_actions=2, gamma=gamma)


@pytest.fixture
def krylov(monkeypatch):
    """Policies are evaluated by the Krylov method, however small the model is."""
    monkeypatch.setattr(module, "DIRECT", 0)
    monkeypatch.setattr(module, "band_of", lambda matrix, left_out: None)


def test_policies_get_better_where_the_krylov_method_diverges(krylov):
    """Its iterates for this model, of which one improvement changes one state, grow to 1e66."""
    mdp = river(4_000, 0.9995)
    with pytest.warns(rl.errors.ConvergenceWarning):
        earlier, later = (policy_iteration(mdp, max_iterations=n) for n in (5, 25))
    assert later.iterations == 25
    optimum = rl.solve(mdp)
    for solution in (earlier, later):
        assert (solution.value <= optimum.value + optimum.error_bound + 1e-6).all()
    assert later.value.sum() > earlier.value.sum() + 10_000.0


def test_it_ends_at_the_optimum_by_either_evaluation(krylov, monkeypatch):
    mdp = river(200, 0.99)
    by_krylov = policy_iteration(mdp)
    monkeypatch.setattr(module, "DIRECT", 1_000)
    by_elimination = policy_iteration(mdp)
    assert by_krylov.converged
    assert by_elimination.converged
    assert by_krylov.policy.tolist() == by_elimination.policy.tolist()


def test_an_evaluation_that_failed_is_not_taken_for_the_end():
    """The Krylov method diverges for the fifth policy, and no other policy seems better then."""
    names = np.random.default_rng(1).permutation(4_000)
    found = policy_iteration(chain(names, 0.9999))
    assert found.converged
    in_order = policy_iteration(chain(np.arange(4_000), 0.9999))
    assert in_order.converged
    assert np.abs(found.value[names] - in_order.value).max() <= found.error_bound + in_order.error_bound


def test_neighbours_are_eliminated_in_their_order(monkeypatch):
    monkeypatch.setattr(module, "KrylovValue", None)
    assert policy_iteration(chain(np.arange(2_500), 0.999)).converged


def test_no_elimination_where_rounding_is_the_limit(monkeypatch):
    """No value is known to 1e-300; BiCGSTAB found one whose residual is down to rounding."""
    monkeypatch.setattr(module, "DIRECT", 0)
    monkeypatch.setattr(module, "solve_fixed_point", None)
    rng = np.random.default_rng(0)
    mdp = rl.MDP.from_arrays(rng.dirichlet(np.ones(60), size=(60, 2)), 1e9 * rng.normal(size=(60, 2)), gamma=0.9999)
    monkeypatch.setattr(module, "band_of", lambda matrix, left_out: None)
    with pytest.warns(rl.errors.ConvergenceWarning):
        found = policy_iteration(mdp, tol=1e-300)
    assert found.error_bound < 1e-10 * np.abs(found.value).max()


def test_a_goal_far_away_does_not_widen_a_band(monkeypatch):
    """Every state may end the episode, in one goal for all of them."""
    monkeypatch.setattr(module, "KrylovValue", None)
    n = 2_500
    s = np.arange(n)
    ahead = np.stack([np.minimum(s + 1, n - 1), np.full(n, n)], axis=1)
    rows = np.append(np.arange(0, 2 * n + 1, 2), 2 * n)
    mdp = rl.MDP.from_rows(rows, ahead.ravel(), np.tile([0.9, 0.1], n), np.ones(n + 1), n_actions=1, gamma=0.999)
    value = policy_iteration(mdp).value
    assert value[-2] == pytest.approx(1.0 / (1.0 - 0.999 * 0.9))
    assert value[0] == pytest.approx(1.0 / (1.0 - 0.999 * 0.9))


@pytest.mark.parametrize("seed", range(3))
def test_an_interrupted_evaluation_does_not_replace_a_closer_value(monkeypatch, seed):
    """States that end an episode pay when it begins in them: their own values count for no other state."""
    rng, states = np.random.default_rng(seed), 400
    P = rng.dirichlet(np.ones(4), size=(states, 3))
    to = (np.arange(states)[:, None, None] + rng.integers(-6, 7, size=P.shape)) % states
    ends = rng.random(states) < 0.1
    mdp = rl.MDP.from_rows(
        np.arange(0, P.size + 1, 4),
        to.ravel(),
        P.ravel(),
        np.where(np.repeat(ends, 3), 1e3, 1.0) * rng.normal(size=states * 3),
        terminated=ends[to].ravel(),
        n_actions=3,
        gamma=0.999,
    )
    policies, evaluated = policy_iteration(mdp).iterations, module._evaluated
    values = []

    def cut_short(lookahead, policy, before, watch, direct):
        values.append(evaluated(lookahead, policy, before, watch, direct))
        if len(values) < policies:
            return values[-1]
        watch.interrupted = True  # by Ctrl-C
        return np.zeros(states)

    monkeypatch.setattr(module, "_evaluated", cut_short)
    with pytest.warns(rl.errors.ConvergenceWarning):
        found = policy_iteration(mdp)
    lookahead = discounted(mdp, "test")
    assert found.error_bound == pytest.approx(width(lookahead, lookahead.ahead(values[-2])))
