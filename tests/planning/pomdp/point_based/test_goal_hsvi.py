"""Search until the end, gamma = 1: its bounds hold the optimum, and its plan earns what it promises."""

import numpy as np
import pytest

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import POMDP
from rlsuite.planning import finite_horizon_search, goal_hsvi, simulate_beliefs, solve
from rlsuite.planning.pomdp.point_based.goal_hsvi import known
from rlsuite.planning.watch import Watch
from rlsuite_envs.tiger import tiger


def cups(accuracy: float) -> POMDP:
    """Look for 1 as often as you like, then guess: 10 or -20."""
    look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    seen = [[accuracy, 1 - accuracy], [1 - accuracy, accuracy], [0.5, 0.5]]
    rewards = [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]]
    given = {"order": "ass", "gamma": 1.0, "start": [0.5, 0.5, 0], "terminated": [False, False, True]}
    return POMDP.from_arrays([look, guess, guess], rewards, seen, **given)


def until_apart(p: float, m: int) -> float:
    """What it is worth to look until one side was seen m times more often (Feller: the ruin of the gambler)."""
    right = p**m / (p**m + (1 - p) ** m)
    return 10 * right - 20 * (1 - right) - m * (2 * right - 1) / (2 * p - 1)


def errand(seed: int, noticed: bool) -> POMDP:
    """All steps cost something, some may lead to the end, state 4, which is an absorbing state if it is not noticed."""
    rng = np.random.default_rng(seed)
    ahead = np.where(rng.random((3, 4)) < 0.4, rng.uniform(0, 0.4, (3, 4)), 0.0)
    ahead[:, 3], ahead[0, 0] = 0.0, 0.3
    moves = np.zeros((3, 5, 5))
    moves[:, :4, :4] = rng.dirichlet(np.full(4, 0.5), (3, 4)) * (1 - ahead)[:, :, None]
    moves[:, :4, 4], moves[:, 4, 4] = ahead, 1.0
    rewards = -rng.uniform(0.2, 2, (3, 5))
    rewards[:, 4] = 0.0
    start = np.append(rng.dirichlet(np.ones(4)), 0.0)
    given = {"order": "ass", "gamma": 1.0, "start": start, "terminated": [False] * 4 + [noticed]}
    return POMDP.from_arrays(moves, rewards, rng.dirichlet(np.full(3, 0.4), (3, 5)), **given)


def test_the_best_number_of_looks():
    for accuracy in (0.6, 0.75, 0.85):
        best = max([-5.0, *(until_apart(accuracy, m) for m in range(1, 12))])
        plan = solve(cups(accuracy), gap=1e-6)
        assert (plan.method, plan.converged, plan.horizon) == ("goal_hsvi", True, None)
        assert plan.lower_bound <= best <= plan.upper_bound
        assert solve(cups(accuracy).replace(gamma=0.5), criterion="total", gap=1e-3).method == "goal_hsvi"


def test_states_that_are_observed():
    mdp = errand(3, noticed=True).mdp
    seen = POMDP(mdp, np.broadcast_to(np.eye(5), (3, 5, 5)).copy())
    plan = solve(seen, gap=1e-9)
    assert plan.converged
    # The start is not observed, so the first action is the same in all states.
    first = max(float(mdp.start @ solve(mdp).q[:, a]) for a in range(3))
    assert plan.lower_bound <= first + 1e-9
    assert first - 1e-9 <= plan.upper_bound


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rlsuite.errors.ConvergenceWarning")
def test_bounds_against_those_of_many_steps_and_of_the_plan_itself():
    """All rewards are negative: so to stop after 40 steps is worth at least as much."""
    for seed in range(4):
        bounds = []
        for noticed in (False, True):
            pomdp = errand(seed, noticed)
            plan = goal_hsvi(pomdp, max_iterations=60, gap=0.01)
            steps = finite_horizon_search(pomdp, horizon=40, max_iterations=100, gap=0.01)
            assert plan.lower_bound <= steps.upper_bound
            assert plan.lower_bound < plan.upper_bound < solve(pomdp.mdp).value @ pomdp.start + 1e-9
            found = simulate_beliefs(pomdp, plan, episodes=2_000, steps=400, seed=seed)
            assert found.tail == 0.0
            returns = found.returns
            # five standard errors: one of a million such tests fails
            assert returns.mean() > plan.lower_bound - 5 * returns.std() / 2_000**0.5
            bounds.append((plan.lower_bound, plan.upper_bound))
        # Whether the end is noticed makes no difference to what is done before it.
        assert max(low for low, _ in bounds) <= min(high for _, high in bounds)


def test_episodes_of_a_few_steps_may_cost_nothing():
    """Two choices one after the other, the second after a clue: 0.8 of 10."""
    moves = np.zeros((2, 5, 5))
    for s, then in enumerate((2, 3, 4, 4, 4)):
        moves[:, s, then] = 1
    rewards = np.zeros((2, 5))
    rewards[0, 2] = rewards[1, 3] = 10.0
    seen = np.full((2, 5, 2), 0.5)
    seen[:, 2], seen[:, 3] = [0.8, 0.2], [0.2, 0.8]
    given = {"order": "ass", "gamma": 1.0, "start": [0.5, 0.5, 0, 0, 0], "terminated": [False] * 4 + [True]}
    plan = solve(POMDP.from_arrays(moves, rewards, seen, **given), gap=1e-9)
    assert plan.lower_bound == pytest.approx(8.0, abs=1e-9)
    assert plan.act([0, 0, 0.8, 0.2, 0]) == 0

    # Where nothing is earned at all, nothing can be lost by waiting.
    plan = solve(POMDP.from_arrays(moves, 0.0 * rewards, seen, **given))
    assert plan.converged
    assert plan.lower_bound == pytest.approx(0.0, abs=1e-300)
    chance = POMDP.from_arrays([[[0.5, 0.5], [0, 1]]], [[0, 0]], [[1], [1]], order="ass", gamma=1.0, terminated=[0, 1])
    assert solve(chance).upper_bound == pytest.approx(0.0, abs=1e-300)


def corridor(n: int, noticed: bool) -> POMDP:
    """Each state allows one of two actions, and what is observed tells which; the other may be the only one to stay."""
    moves, legal, seen = np.zeros((2, n + 1, n + 1)), np.zeros((n + 1, 2), dtype=bool), np.zeros((2, n + 1, 3))
    for s in range(n):
        legal[s, s % 2] = True
        moves[s % 2, s, s + 1], moves[1 - s % 2, s, s] = 0.7, 1.0
        moves[s % 2, s, max(s - 2, 0)] += 0.3
        seen[:, s, s % 2] = 1.0
    moves[:, n, n], seen[:, n, 2], legal[n, 0] = 1.0, 1.0, True
    given = {"order": "ass", "gamma": 1.0, "start": [1] + [0] * n, "terminated": [False] * n + [noticed]}
    rewards = np.where(np.arange(n + 1) < n, -1.0, 0.0) * np.ones((2, 1))
    return POMDP.from_arrays(moves, rewards, seen, legal=legal, **given)


def test_actions_that_are_not_legal_everywhere():
    for noticed in (True, False):
        pomdp = corridor(5, noticed)
        plan = solve(pomdp, gap=1e-6)
        assert plan.converged
        assert plan.lower_bound <= solve(pomdp.mdp).value[0] <= plan.upper_bound
        found = simulate_beliefs(pomdp, plan, episodes=200, steps=500, seed=0)
        assert abs(found.mean - plan.lower_bound) < 5 * found.returns.std() / 200**0.5
    # The only action that is legal everywhere stays in the first state for ever.
    moves, legal = [[[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1]], [[0, 1, 0]] * 3], [[1, 1], [1, 0], [1, 1]]
    given = {"order": "ass", "gamma": 1.0, "start": [1, 0, 0], "terminated": [0, 0, 1], "legal": legal}
    seen = POMDP.from_arrays(moves, -np.ones((2, 3)), np.eye(3), **given)
    assert solve(seen, gap=1e-6).lower_bound == pytest.approx(-3.0, abs=1e-6)
    given["start"] = [0.5, 0.5, 0]
    with pytest.warns(ConvergenceWarning, match="no legal plan was found that surely comes to the end"):
        assert solve(POMDP.from_arrays(moves, -np.ones((2, 3)), np.ones((3, 1)), **given)).lower_bound == -np.inf
    # At an end that is not noticed, the plan takes what is legal there, or there is none.
    moves, given = [[[1, 0], [0, 1]], [[0, 1], [0, 1]]], {"order": "ass", "gamma": 1.0, "start": [0.5, 0.5]}
    one = POMDP.from_arrays(moves, [[-1, 0], [-1, 0]], np.eye(2), legal=[[1, 1], [1, 0]], **given)
    plan = solve(one, gap=1e-6)
    assert plan.act([0.5, 0.5]) == 0
    found = simulate_beliefs(one, plan, episodes=20, steps=9, seed=0)
    assert (found.returns.min(), found.terminated.any(), found.tail) == (-2.0, False, 0.0)  # nothing is earned later
    assert simulate_beliefs(one, lambda b: 0, episodes=20, steps=9, seed=0).tail == np.inf
    with pytest.raises(ModelError, match=r"action 1 is illegal in state 1, which is never left.*legal in state 0"):
        solve(one.replace(observation=np.ones((2, 2, 1))))


def test_bad_models():
    with pytest.raises(ParameterError, match=r"goal_hsvi needs gamma=1, and gamma is 0\.9"):
        goal_hsvi(tiger(gamma=0.9))
    with pytest.raises(ModelError, match=r"no end can be reached.*horizon=100"):
        goal_hsvi(tiger(gamma=1.0))
    free = cups(0.75)
    waiting = free.replace(reward=np.where(free.mdp.reward == -1, 0.0, free.mdp.reward))
    with pytest.raises(ModelError, match=r"can be put off for ever without a loss.*horizon=100"):
        goal_hsvi(waiting)
    gaining = free.replace(reward=np.where(free.mdp.reward == -1, 1.0, free.mdp.reward))
    with pytest.raises(ModelError, match="can be avoided for ever while 1 is earned"):
        goal_hsvi(gaining)
    with pytest.raises(ModelError, match="overflow"):
        goal_hsvi(free.replace(reward=free.mdp.reward * 1e306))
    with Watch("", tol=1.0, deadline=1e-9) as late, pytest.raises(ParameterError, match=r"1e-09 seconds are too few"):
        known(np.inf, late)
    with Watch("", tol=1.0) as watch, pytest.raises(ModelError, match="cannot be computed in double precision"):
        known(np.inf, watch)
    with pytest.raises(ParameterError, match="no proof for gamma=1 where states are hidden"):
        goal_hsvi(cups(0.75), gap=1e-3).write("plan.cert")
    with pytest.warns(ConvergenceWarning, match=r"1 trials.*max_iterations=1 reached"):
        assert goal_hsvi(cups(0.6), max_iterations=1).iterations == 1
    cheap = free.replace(reward=np.where(free.mdp.reward == -1, -1e-6, free.mdp.reward))
    with pytest.warns(ConvergenceWarning):
        assert goal_hsvi(cheap, max_iterations=200).upper_bound < 10.1  # 10 if states are observed
    assert goal_hsvi(cups(0.75), gap=1e-3).act([1.0, 0.0, 0.0]) == 1
