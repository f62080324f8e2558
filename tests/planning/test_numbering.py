"""The order of states: turns counted by hand and models under other numbers, and what `auto` makes of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlsuite as rl
from rlsuite.planning import Lookahead
from rlsuite.planning.mdp import auto as module
from rlsuite.planning.numbering import order_from_rewards, renumbered


def corridor(names, gamma=0.99):
    """Return a corridor whose k-th place is state names[k]: stay, or step towards the last, which pays 1 and ends."""
    names = np.asarray(names)
    n = names.size
    following = np.stack([names, np.append(names[1:], names[-1])], axis=1)
    ends = np.zeros((n, 2), dtype=bool)
    ends[-1, 1] = True
    order = np.argsort(names)
    return rl.MDP.from_rows(
        np.arange(2 * n + 1),
        following[order].ravel(),
        np.ones(2 * n),
        ends[order].astype(float).ravel(),
        terminated=ends[order].ravel(),
        n_actions=2,
        gamma=gamma,
    )


def zigzag(n, run):
    """Return the numbers 0..n-1 such that they turn from rising to falling, or back, after each `run` of steps."""
    columns = np.arange(n).reshape(-1, 2, run)
    rising, falling = columns[:, 0].ravel(), columns[:, 1].ravel()[::-1]
    return np.stack([rising.reshape(-1, run), falling.reshape(-1, run)], axis=1).ravel()


@pytest.mark.parametrize("names", [np.arange(60), np.arange(60)[::-1], np.roll(np.arange(60), 20)])
def test_a_corridor_in_order_is_left_as_it_is(names):
    assert order_from_rewards(Lookahead(corridor(names))) is None


@given(st.integers(0, 2**32 - 1), st.integers(40, 80))
def test_shuffled_places_are_sorted_by_their_distance_from_the_reward(seed, n):
    names = np.random.default_rng(seed).permutation(n)
    order = order_from_rewards(Lookahead(corridor(names)))
    assert order is not None
    assert order.tolist() == names[::-1].tolist()


def test_turns_are_counted():
    """Eleven turns, 5.5 in the mean, are worth another order; seven, 3.5 in the mean, are not."""
    assert order_from_rewards(Lookahead(corridor(zigzag(480, 40)))) is not None
    assert order_from_rewards(Lookahead(corridor(zigzag(320, 40)))) is None


def test_places_from_which_no_reward_is_reached_come_last():
    names = np.random.default_rng(0).permutation(60)
    mdp = corridor(names)
    cut = rl.MDP.from_rows(
        np.append(mdp.indptr, [mdp.indptr[-1] + 1, mdp.indptr[-1] + 2]),
        np.append(mdp.next_state, [60, 60]),
        np.append(mdp.probability, [1.0, 1.0]),
        np.append(mdp.reward, [0.0, 0.0]),
        terminated=np.append(mdp.terminated, [False, False]),
        n_actions=2,
        gamma=0.99,
    )
    order = order_from_rewards(Lookahead(cut))
    assert order is not None
    assert order.tolist() == [*names[::-1].tolist(), 60]


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_model_under_other_numbers_has_the_same_values(seed, table):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    P = rng.dirichlet(np.ones(n), size=(n, 2)) * (rng.random((n, 2, n)) < 0.6)
    P[..., 0] += 1.0 - P.sum(axis=2)
    R = rng.normal(size=(n, 2) if table else (n, 2, n))
    legal = np.ones((n, 2), dtype=bool)
    legal[0, 1] = False
    mdp = rl.MDP.from_arrays(P, R, gamma=0.9, order="sas", legal=legal, terminated=rng.random((n, 2, n)) < 0.2)
    order = rng.permutation(n)
    other = renumbered(mdp, order)
    assert other.start.tolist() == mdp.start[order].tolist()
    assert np.array_equal(other.legal, mdp.legal[order])
    values = [rl.solve(one, method="policy_iteration").value for one in (mdp, other)]
    np.testing.assert_allclose(values[1], values[0][order], atol=1e-10)


@pytest.fixture
def begun_anew(monkeypatch):
    """The models on which `auto` begins anew."""
    found = []

    def seen(mdp, order):
        found.append(order)
        return renumbered(mdp, order)

    monkeypatch.setattr(module, "renumbered", seen)
    return found


def shuffled_maze(side, gamma):
    """Return a maze in which one way leads through all rows, from end to end and down, and its first and last state."""
    cell = np.arange(side * side).reshape(side, side)
    opening = np.where(np.arange(side - 1) % 2 == 0, side - 1, 0)
    right, left = np.minimum(cell + 1, cell[:, -1:]), np.maximum(cell - 1, cell[:, :1])
    down, up = cell.copy(), cell.copy()
    down[np.arange(side - 1), opening] += side
    up[np.arange(1, side), opening] -= side
    following = np.stack([right, down, left, up], axis=-1).reshape(-1, 4)
    names = np.random.default_rng(1).permutation(side * side)
    table = np.empty_like(following)
    table[names] = names[following]
    ends = np.zeros(table.shape, dtype=bool)
    ends[names[-1], 0] = True
    parts = np.arange(table.size + 1), table.ravel(), np.ones(table.size), ends.astype(float).ravel()
    mdp = rl.MDP.from_rows(*parts, terminated=ends.ravel(), n_actions=4, gamma=gamma)
    return mdp, names[0], names[-1]


def test_auto_goes_through_a_shuffled_maze_in_order(begun_anew):
    """16,256 steps, whose numbers say nothing."""
    mdp, first, last = shuffled_maze(128, 0.9999)
    found = rl.solve(mdp)
    assert len(begun_anew) == 1
    assert found.converged
    assert found.value[last] == pytest.approx(1.0)
    assert found.value[first] == pytest.approx(0.9999 ** (127 * 128), abs=1e-9)


@pytest.mark.filterwarnings("ignore::rlsuite.errors.ConvergenceWarning")
def test_what_was_found_before_is_kept_if_time_is_up(begun_anew, monkeypatch):
    """Slices end soon after the states were renumbered: the bounds are at least as close as those before."""
    monkeypatch.setattr(module, "PATIENCE", 1.0)
    mdp, _, _ = shuffled_maze(60, 0.999)
    bounds, anew = [], []
    for slices in range(2, 16):
        bounds.append(rl.solve(mdp, max_iterations=slices).error_bound)
        anew.append(len(begun_anew))
        begun_anew.clear()
    began = anew.index(1)
    assert 0 < began < len(anew) - 1
    assert bounds[began] <= bounds[began - 1]
