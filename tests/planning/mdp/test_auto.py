"""`auto` looks at how fast a policy forgets its start, and is not misled by rounding."""

import warnings

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning
from rlsuite.models import MDP
from rlsuite.planning import Lookahead, solve
from rlsuite.planning.mdp.auto import Evaluate, Progress
from rlsuite.planning.watch import Watch

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


def chain(gamma: float) -> MDP:
    """Left or right, with chance 0.4 against the will; a little at the left end, much at the right one."""
    states = np.arange(CORRIDOR)
    left, right = np.maximum(states - 1, 0), np.minimum(states + 1, CORRIDOR - 1)
    to = np.stack([left, right, right, left], 1).reshape(-1)
    reward = np.zeros((CORRIDOR, 2))
    reward[0, 0], reward[-1, 1] = 0.005, 1.0
    indptr = np.arange(0, to.size + 1, 2)
    return MDP.from_rows(indptr, to, np.tile([0.6, 0.4], 2 * CORRIDOR), reward.ravel(), n_actions=2, gamma=gamma)


def clusters(gamma: float) -> MDP:
    """Ten blocks that are hardly ever left."""
    rng = np.random.default_rng(2)
    block = np.arange(DENSE) // (DENSE // 10)
    inside = block[:, None, None] * (DENSE // 10) + rng.integers(DENSE // 10, size=(DENSE, 2, 3))
    to = np.concatenate([inside, rng.integers(DENSE, size=(DENSE, 2, 1))], 2)
    probability = np.tile([0.5, 0.3, 0.199, 0.001], 2 * DENSE)
    reward = rng.random((DENSE, 2)) + rng.random(10)[block][:, None]
    return MDP.from_rows(
        np.arange(0, to.size + 1, 4), to.ravel(), probability, reward.ravel(), n_actions=2, gamma=gamma
    )


def layers(gamma: float) -> MDP:
    """Ten stages, each of which leads to the next one: no policy ever forgets how far it is."""
    rng = np.random.default_rng(3)
    stage = (np.arange(DENSE) // (DENSE // 10) + 1) % 10
    to = stage[:, None, None] * (DENSE // 10) + rng.integers(DENSE // 10, size=(DENSE, 3, 4))
    probability = rng.dirichlet(np.ones(4), 3 * DENSE).ravel()
    indptr = np.arange(0, to.size + 1, 4)
    return MDP.from_rows(indptr, to.ravel(), probability, rng.random(3 * DENSE), n_actions=3, gamma=gamma)


def growth(size: int, gamma: float) -> MDP:
    """Classes of five states that lead to each other and on to larger ones; the states are in no order."""
    rng, names = np.random.default_rng(4), np.random.default_rng(5).permutation(size)
    first = np.arange(size) // 5 * 5
    to = first[:, None, None] + rng.integers(5, size=(size, 3, 3))
    to[:, :, 2] = np.minimum(to[:, :, 2] + 5 * rng.integers(0, 3, size=(size, 3)), size - 1)
    indptr = np.arange(0, to.size + 1, 3)
    probability = rng.dirichlet(np.ones(3), 3 * size).ravel()
    by_name = names[to][np.argsort(names)]
    return MDP.from_rows(indptr, by_name.ravel(), probability, rng.random(3 * size), n_actions=3, gamma=gamma)


def test_small_classes_are_solved_one_after_the_other() -> None:
    model = growth(10_000, 0.99)
    found, alone = solve(model), solve(model, "topological")
    assert found.method == "topological"
    assert found.converged
    assert np.abs(found.value - alone.value).max() <= found.error_bound + alone.error_bound


@pytest.mark.parametrize("gamma", [0.99, 0.9999])
def test_no_kind_of_model_takes_long(gamma: float) -> None:
    """Each of these is slow for at least one of the methods; slices are counted, and grow with the work."""
    for model in (
        chain(gamma),
        clusters(gamma),
        layers(gamma),
        growth(DENSE, gamma),
        corridor(gamma, first_action_leads_on=True),
        corridor(gamma, first_action_leads_on=False),
    ):
        found, exact = solve(model), solve(model, "policy_iteration")
        assert found.converged
        assert found.iterations < 60
        assert np.abs(found.value - exact.value).max() <= found.error_bound + exact.error_bound


def test_methods_that_are_slow_alone_are_left() -> None:
    """Sweeps in place take hundreds of iterations on a chain that is far-sighted."""
    model = chain(0.9999)
    assert solve(model, "gauss_seidel").iterations > 500
    assert solve(model).iterations < 60


def test_the_same_steps_every_time_and_whatever_is_given_to_stop() -> None:
    model = chain(0.999)
    first, again = solve(model), solve(model, deadline=60.0, progress=False)
    assert first.value.tobytes() == again.value.tobytes()
    assert first.iterations == again.iterations
    with pytest.warns(ConvergenceWarning, match="max_iterations=3 reached"):
        short = solve(model, max_iterations=3)
    assert np.abs(short.value - first.value).max() <= short.error_bound + first.error_bound


def test_bounds_that_move_apart_again_do_not_widen_the_answer() -> None:
    """On a slippery grid with a cost for each step the bounds of all methods move apart for a while."""
    n = 20
    s = np.arange(n * n)
    row, column = np.divmod(s, n)
    ahead = []
    for down, right in ((0, -1), (1, 0), (0, 1), (-1, 0)):
        stays = (np.clip(row + down, 0, n - 1) - row != down) | (np.clip(column + right, 0, n - 1) - column != right)
        ahead.append(np.where(stays | (s == n * n - 1), s, s + down * n + right))
    to = np.stack([np.stack([ahead[a], ahead[a - 1], ahead[(a + 1) % 4]], axis=1) for a in range(4)], axis=1)
    cost = np.repeat(-1.0 * (s < n * n - 1), 4).reshape(-1, 4)
    rows = np.arange(0, to.size + 1, 3)
    mdp = MDP.from_rows(rows, to.reshape(-1), np.tile([0.8, 0.1, 0.1], 4 * s.size), cost, n_actions=4, gamma=0.9999)
    least = np.inf
    for slices in range(1, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = solve(mdp, max_iterations=slices).error_bound
        assert found <= 2.5 * least
        least = min(least, found)
    assert least < 1e-3


def test_policies_within_a_band_are_eliminated_from_their_first_turn_on():
    """A queue; and the same with a gate: the action that is best at first stays near, the other leads anywhere."""
    rng, n = np.random.default_rng(5), 4_000
    states = np.arange(n)
    near = np.stack([np.maximum(states - 1, 0), np.minimum(states + 1, n - 1)], axis=1)
    rows = np.stack([near, rng.permutation(near)], axis=1)
    given = {"n_actions": 2, "gamma": 0.999}
    chances = np.tile([0.6, 0.4], 2 * n)
    paid = np.stack([-states / n, np.full(n, -1.0)], axis=1).ravel()
    for reward, banded in ((paid, True), (paid[::-1].copy(), False)):
        mdp = MDP.from_rows(np.arange(2 * n + 1) * 2, rows.ravel(), chances, reward, **given)
        with Watch("test", tol=1e-6) as watch:
            now = Progress(Lookahead(mdp), np.zeros(n))
            now.back_up()
            evaluate = Evaluate(now, watch)
            assert (evaluate.banded, evaluate.seconds > 0.0) == (banded, banded)
            assert (evaluate.eliminating() < evaluate.iterating()) == banded
            if banded:
                evaluate.slice()
                evaluate.own.action[:] = 1
                waiting = evaluate.slice()[1]
                assert (waiting, evaluate.banded) == (0.0, False)
        found = solve(mdp)
        assert found.converged
        np.testing.assert_allclose(found.value, solve(mdp, "policy_iteration").value, rtol=0, atol=2e-6)
