import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import PolicyEvaluator, evaluate_policy, reachable_beliefs, solve


def uniform(mdp):
    return mdp.legal / np.maximum(mdp.legal.sum(axis=1, keepdims=True), 1)


def greedy(mdp, policy):
    return np.eye(mdp.n_actions)[policy] * (policy >= 0)[:, np.newaxis]


def draw_policy(data, n, actions):
    weights = data.draw(st.lists(st.integers(0, 4), min_size=n * actions, max_size=n * actions))
    table = np.array(weights, dtype=float).reshape(n, actions)
    table[:, 0] += table.sum(axis=1) == 0
    return table / table.sum(axis=1, keepdims=True)


def tree_value(model, policy, gamma, horizon):
    """Expected return by walking through everything that can happen: the brute force."""
    mdp = model.mdp if isinstance(model, POMDP) else model

    @functools.cache
    def follow(s, seen, left):
        if left == 0:
            return 0.0
        total = 0.0
        for a in range(mdp.n_actions):
            if not mdp.legal[s, a]:  # the environment stays as it is
                total += policy[seen, a] * gamma * follow(s, seen, left - 1)
            for p, ahead, r, ended in mdp.P[s][a]:
                after = 0.0
                if not ended and isinstance(model, POMDP):
                    after = sum(o * follow(ahead, z, left - 1) for z, o in enumerate(model.observation[a, ahead]) if o)
                elif not ended:
                    after = follow(ahead, ahead, left - 1)
                total += policy[seen, a] * p * (r + gamma * after)
        return total

    nothing = model.n_observations if isinstance(model, POMDP) else None
    return sum(p * follow(s, s if nothing is None else nothing, horizon) for s, p in enumerate(mdp.start.tolist()) if p)


@pytest.mark.slow
@settings(deadline=None)
@given(data=st.data())
def test_mdp_agrees_with_the_value_of_all_states(random_mdps, data):
    mdp = data.draw(random_mdps())
    policy = draw_policy(data, *mdp.legal.shape) * mdp.legal
    policy = np.where(policy.sum(axis=1, keepdims=True) > 0, policy, uniform(mdp))
    policy /= np.maximum(policy.sum(axis=1, keepdims=True), 1e-300)
    value = mdp.start @ evaluate_policy(mdp, policy)
    assert PolicyEvaluator(mdp)(policy) == pytest.approx(value, abs=1e-11 * max(1.0, 100 / (1 - mdp.gamma)))


@pytest.mark.slow
@settings(deadline=None)
@given(data=st.data())
def test_equals_brute_force_within_a_horizon(random_mdps, random_pomdps, data):
    model = data.draw(st.one_of(random_mdps(gammas=(0.5, 1.0), size=3), random_pomdps(gammas=(0.5, 1.0))))
    horizon = data.draw(st.integers(1, 6))
    evaluate = PolicyEvaluator(model, horizon=horizon)
    policy = draw_policy(data, evaluate.n_observations, evaluate.n_actions)
    assert evaluate(policy) == pytest.approx(tree_value(model, policy, model.gamma, horizon), abs=1e-9)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_pomdp_is_the_limit_of_long_horizons(random_pomdps, data):
    pomdp = data.draw(random_pomdps(gammas=(0.5, 0.9)))
    endless, cut = PolicyEvaluator(pomdp), PolicyEvaluator(pomdp, horizon=400)
    policy = draw_policy(data, endless.n_observations, endless.n_actions)
    assert endless(policy) == pytest.approx(cut(policy), abs=1e-9)


def test_tiger_by_hand(tiger):
    evaluate = PolicyEvaluator(tiger(0.95))
    assert (evaluate.n_observations, evaluate.n_actions, evaluate.n_nodes) == (3, 3, 6)
    listen, open_left, open_right = np.eye(3)
    assert evaluate([listen] * 3) == pytest.approx(-20.0)  # the blind policy: -1 / (1 - gamma)
    assert evaluate([open_left] * 3) == pytest.approx(-45.0 / 0.05)
    # Listen once, then open the door on the other side: -1, then .85 * 10 - .15 * 100 = -6.5. From then on it takes
    # what it is shown after opening, which says nothing, for a hear: it opens one door after another, each worth -45.
    once = [open_right, open_left, listen]
    assert evaluate(once) == pytest.approx(-1 + 0.95 * (-6.5) + 0.95**2 * -45 / 0.05)


def test_memory_helps_the_tiger(tiger):
    # On the window of the last two (action, observation) pairs: listen; after two equal hears open the other door.
    gamma, right, wrong = 0.75, 0.85, 0.15
    pomdp = tiger(gamma)
    windows = pomdp.window(2)
    evaluate = PolicyEvaluator(windows)
    policy = np.tile(np.eye(3)[0], (evaluate.n_observations, 1))
    twice_left, twice_right = (windows.observation_labels.index(f"a0:z{z} a0:z{z}") for z in (0, 1))
    policy[twice_left], policy[twice_right] = [0, 0, 1], [0, 1, 0]
    # By hand: afresh, after a right hear, after a wrong hear. A second equal hear makes it open and begin afresh.
    step = gamma * np.array(
        [[0, right, wrong], [gamma * right, 0, wrong], [gamma * wrong, right, 0]],
    )
    earned = [-1.0, -1 + gamma * right * 10, -1 - gamma * wrong * 100]
    assert evaluate(policy) == pytest.approx(np.linalg.solve(np.eye(3) - step, earned)[0], abs=1e-12)
    blind = PolicyEvaluator(pomdp)(np.eye(3)[[0, 0, 0]])
    assert blind == pytest.approx(-4.0)
    assert blind < evaluate(policy) < reachable_beliefs(pomdp).lower_bound


@pytest.mark.parametrize("horizon", [1, 7, 30])
def test_agrees_with_monte_carlo(tiger, horizon):
    # The mean of 40,000 independent episodes: further than 5 standard errors off with probability 6e-7 if all is right.
    pomdp = tiger(1.0)
    policy = np.array([[0.7, 0.1, 0.2], [0.6, 0.3, 0.1], [0.8, 0.1, 0.1]])
    rng = np.random.default_rng(11)
    n = 40_000
    state, seen, total = rng.integers(2, size=n), np.full(n, 2), np.zeros(n)
    for _ in range(horizon):
        action = (rng.random((n, 1)) >= policy[seen].cumsum(axis=1)[:, :2]).sum(axis=1)
        opened = action > 0
        total += np.where(opened, np.where(action - 1 == state, -100.0, 10.0), -1.0)
        state = np.where(opened, rng.integers(2, size=n), state)
        right = rng.random(n) < 0.85
        seen = np.where(opened, rng.integers(2, size=n), np.where(right, state, 1 - state))
    exact = PolicyEvaluator(pomdp, horizon=horizon)(policy)
    assert abs(total.mean() - exact) <= 5 * total.std() / np.sqrt(n)


def test_grids(grid_goal, small_gridworld):
    mdp = grid_goal()
    evaluate = PolicyEvaluator(mdp)
    assert evaluate.n_nodes == 5
    assert evaluate(uniform(mdp)) == pytest.approx(49.096786, abs=5e-7)
    assert evaluate(greedy(mdp, solve(mdp).policy)) == pytest.approx(81.0)
    walk = PolicyEvaluator(small_gridworld, horizon=2000)
    expected = np.mean([-14, -20, -22, -14, -18, -20, -20, -20, -20, -18, -14, -22, -20, -14])
    assert walk(uniform(small_gridworld)) == pytest.approx(expected, abs=1e-9)


def test_illegal_actions_change_nothing(grid_goal):
    mdp = grid_goal()
    # Always Right, then Up where Right is illegal; half of the steps in S0 bump into the left wall instead.
    policy = greedy(mdp, np.array([1, 1, 2, 1, 1, -1]))
    policy[0] = [0.5, 0.5, 0, 0]
    waits = 0.5 / (1 - 0.5 * 0.9)
    assert PolicyEvaluator(mdp)(policy) == pytest.approx(waits * 81 / 1.0)
    assert PolicyEvaluator(mdp)(np.eye(4)[[0] * 6]) == 0.0
    assert PolicyEvaluator(mdp, gamma=1.0, horizon=3)(policy) == pytest.approx(50.0)


def test_cut_return_counts_every_step_up_to_the_limit():
    # n states in a row: the k-th step pays k. Lengths on both sides of the limits between the forms of the chain.
    for n in (5, 60, 300):
        row = MDP.from_successors([[s + 1] for s in range(n)] + [[None]], np.arange(1.0, n + 2), gamma=1.0, start=0)
        policy = np.ones((n + 1, 1))
        for horizon in (1, 2, 3, n - 1, n, n + 1, 2 * n + 1):
            steps = min(horizon, n)
            assert PolicyEvaluator(row, horizon=horizon)(policy) == steps * (steps + 1) / 2


@pytest.mark.parametrize("columns", [40, 200])
@pytest.mark.parametrize("horizon", [None, 50])
def test_large_models_are_sparse_and_exact(columns, horizon):
    # A corridor with a slippery floor, long enough for the sparse form; the policy visits all of it or next to nothing.
    n = columns * 5
    rng = np.random.default_rng(3)
    successors = [[{(s + 1) % n: 0.9, s: 0.1}, rng.integers(n).item(), 0] for s in range(n)]
    mdp = MDP.from_successors(successors, rng.normal(size=(n, 3)), gamma=0.95, start=0)
    evaluate = PolicyEvaluator(mdp, horizon=horizon)
    for policy in (rng.dirichlet(np.ones(3), size=n), np.eye(3)[[2] * n], np.eye(3)[[0] * n]):
        value = evaluate_policy(mdp, policy, horizon=horizon)[0]
        assert evaluate(policy) == pytest.approx(value, abs=1e-10)


def test_states_out_of_reach_do_not_count():
    mdp = MDP.from_successors([[0, 1], [1, 1], [0, 1]], [[1, 0], [0, 0], [7, 7]], gamma=0.5, start=0)
    evaluate = PolicyEvaluator(mdp)
    assert evaluate.n_nodes == 2
    nonsense = np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, -3.0]])
    assert evaluate(nonsense) == 2.0


def test_gamma_one_needs_a_time_limit(grid_goal):
    for arguments in ((grid_goal(gamma=1.0),), (grid_goal(), 1.0)):
        with pytest.raises(ParameterError, match=r"gamma is 1.*horizon="):
            PolicyEvaluator(*arguments)


def test_arguments_are_checked(grid_goal, tiger):
    with pytest.raises(ParameterError, match=r"gamma=1\.5"):
        PolicyEvaluator(grid_goal(), 1.5)
    with pytest.raises(ParameterError, match="horizon=0"):
        PolicyEvaluator(grid_goal(), horizon=0)
    with pytest.raises(ParameterError, match="too close to 1"):
        PolicyEvaluator(tiger(0.9), 1 - 1e-15)
    with pytest.raises(ModelError, match="overflow"):
        PolicyEvaluator(MDP.from_successors([[0]], [1e305], gamma=0.9999999))
    with pytest.raises(ModelError, match="overflow"):
        PolicyEvaluator(MDP.from_successors([[0]], [1e299], gamma=1.0), horizon=100)
    evaluate = PolicyEvaluator(tiger(0.9))
    with pytest.raises(ParameterError, match=r"shape \(2, 3\), not \(3, 3\)"):
        evaluate(np.ones((2, 3)) / 3)
    for wrong in ([0.5, 0.4, 0.0], [1.5, -0.5, 0.0], [np.nan, 1.0, 0.0]):
        with pytest.raises(ParameterError, match=r"policy\[1\] is .*not a probability distribution"):
            evaluate([[1.0, 0, 0], wrong, [1.0, 0, 0]])


def test_probability_of_an_end_and_total_reward():
    """From 0: right ends with probability 1/4 and else leads to 1, a trap; left stays; 2 is where right comes back."""
    outcomes = {
        0: {0: [(1.0, 0, -1.0, False)], 1: [(0.25, 2, 8.0, True), (0.75, 1, 0.0, False)]},
        1: {0: [(1.0, 1, -1.0, False)], 1: [(0.5, 0, -2.0, False), (0.5, 1, 0.0, False)]},
        2: {0: [(1.0, 2, 0.0, True)], 1: [(1.0, 2, 0.0, True)]},
    }
    mdp = MDP.from_table(outcomes, gamma=0.9, start=0)
    evaluate = PolicyEvaluator(mdp)
    stay, trapped, back = [[1, 0], [1, 0], [1, 0]], [[0, 1], [1, 0], [1, 0]], [[0, 1], [0, 1], [1, 0]]
    assert evaluate.ends(stay) == 0.0
    assert np.isnan(evaluate.total_reward(stay))
    assert evaluate.ends(trapped) == pytest.approx(0.25)
    assert np.isnan(evaluate.total_reward(trapped))
    hardly = [[0, 1], [1, 1e-40], [1, 0]]
    assert evaluate.ends(hardly) == pytest.approx(0.25)
    assert evaluate.ends(back) == 1.0
    # v0 = 2 + 3/4 v1, v1 = -1 + v0/2 + v1/2
    assert evaluate.total_reward(back) == pytest.approx(2.0)


@pytest.mark.parametrize("n", [7, 300])
def test_value_and_total_at_once(n):
    """A sparse random model and policies with zeros; two actions may lead to one state, and some rows end early."""
    rng = np.random.default_rng(n)
    successors = [[{rng.integers(n).item(): 0.5, rng.integers(n).item(): 0.375} for _ in range(3)] for _ in range(n)]
    outcomes = {}
    for s, rows in enumerate(successors):
        outcomes[s] = {
            a: [*((p, j, 1.0 + a, False) for j, p in row.items()), (1.0 - sum(row.values()), n, -2.0, True)]
            for a, row in enumerate(rows)
        }
    outcomes[n] = {a: [(1.0, n, 0.0, True)] for a in range(3)}
    mdp = MDP.from_table(outcomes, gamma=0.9, start=0)
    evaluate = PolicyEvaluator(mdp)
    for policy in (np.eye(3)[rng.integers(3, size=n + 1)], np.full((n + 1, 3), 1 / 3)):
        value = evaluate_policy(mdp, policy)[0]
        total = evaluate_policy(mdp.replace(gamma=1.0), policy)[0]
        cut = evaluate_policy(mdp.replace(gamma=1.0), policy, horizon=9)[0]
        assert evaluate.value_and_total(policy) == pytest.approx((value, total))
        assert evaluate.value_and_total(policy, limit=9) == pytest.approx((value, cut))
        assert (evaluate(policy), evaluate.total_reward(policy, 9)) == evaluate.value_and_total(policy, limit=9)
        assert evaluate.ends(policy) == pytest.approx(1.0)
