"""Search with a horizon: its bounds hold the optimum, and its plan earns what it promises."""

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import incremental_pruning, policy_graph, simulate_beliefs, solve
from rlsuite.planning.pomdp import auto
from rlsuite.planning.pomdp.point_based import finite_horizon_search as module
from rlsuite_envs.cheese_maze import cheese_maze
from rlsuite_envs.hallway import hallway
from rlsuite_envs.rock_sample import rock_sample
from rlsuite_envs.shuttle import shuttle
from rlsuite_envs.tag import tag
from rlsuite_envs.tiger import tiger


def random_pomdp(seed, gamma):
    """Three states and actions, of which some are illegal in some states; some transitions end the episode."""
    rng = np.random.default_rng(seed)
    moves, seen = rng.dirichlet(np.ones(3), (3, 3)), rng.dirichlet(np.full(2, 0.5), (3, 3))
    legal = np.ones((3, 3), dtype=bool)
    legal[1, 2] = False
    ends = rng.random((3, 3, 3)) < 0.15
    mdp = MDP.from_arrays(
        moves, rng.normal(size=(3, 3)), gamma=gamma, order="sas", start=[0.6, 0.0, 0.4], legal=legal, terminated=ends
    )
    return POMDP(mdp, seen)


def worth(pomdp, plan, belief, steps_left):
    """What the plan earns from a belief, by all observations that may come."""
    if steps_left == 0:
        return 0.0
    action = plan.act(belief, steps_left)
    total = 0.0
    after = np.zeros((pomdp.n_observations, pomdp.n_states))
    table = pomdp.mdp.to_table()
    for state in np.flatnonzero(belief):
        for p, ahead, reward, done in table[state][action]:
            total += belief[state] * p * reward
            if not done:
                after[:, ahead] += belief[state] * p * pomdp.observation[action, ahead]
    for weights in after:
        if (chance := weights.sum()) > 0.0:
            total += pomdp.gamma * chance * worth(pomdp, plan, weights / chance, steps_left - 1)
    return total


def test_the_plan_is_as_good_as_the_exact_one_and_earns_what_it_promises():
    for seed in range(8):
        for gamma in (0.0, 0.7, 1.0):
            pomdp = random_pomdp(seed, gamma)
            exact = incremental_pruning(pomdp, horizon=4, tol=1e-9)
            plan = solve(pomdp, "finite_horizon_search", horizon=4, gap=1e-7)
            assert plan.converged
            assert plan.lower_bound - 1e-12 <= exact.upper_bound
            assert exact.lower_bound - 1e-12 <= plan.upper_bound
            assert [len(stage.actions) > 0 for stage in plan.stages] == [True] * 5
            assert worth(pomdp, plan, pomdp.start, 4) >= plan.lower_bound - 1e-12
            rng = np.random.default_rng(seed)
            for belief in rng.dirichlet(np.ones(3), 5):
                for steps in range(5):
                    assert plan.value(belief, steps) <= exact.value(belief, steps) + 1e-9


def test_known_problems_and_a_sparse_model():
    for model, horizon in (
        (tiger(gamma=0.95), 6),
        (shuttle(), 5),
        (cheese_maze().model, 6),
        (rock_sample(n=2, k=1).model, 5),
    ):
        exact = incremental_pruning(model, horizon=horizon)
        plan = solve(model, "finite_horizon_search", horizon=horizon)
        assert plan.lower_bound == pytest.approx(exact.lower_bound, abs=2e-6)
        assert plan.upper_bound == pytest.approx(exact.upper_bound, abs=2e-6)


def test_auto_searches_where_there_are_too_many_vectors(tmp_path):
    """The opponent of tag is caught: from the exact method, with fifty times as long, -5 and -1 are not apart."""
    model = tag().model
    assert solve(tiger(gamma=0.95), horizon=6).method == "incremental_pruning"
    plan = solve(model, horizon=5, gap=0.05)
    assert (plan.method, plan.converged, plan.horizon) == ("finite_horizon_search", True, 5)
    plan.save(tmp_path / "tag.npz")
    same = rl.load(tmp_path / "tag.npz")
    assert same.act(model.start, steps_left=3) == plan.act(model.start, steps_left=3)
    earned = simulate_beliefs(model, plan, episodes=2_000, steps=5, seed=1).returns
    assert plan.lower_bound - 4 * earned.std() / 2_000**0.5 <= earned.mean()
    assert earned.mean() <= plan.upper_bound + 4 * earned.std() / 2_000**0.5


def test_auto_gives_up_a_stage_that_takes_far_longer_than_estimated(monkeypatch):
    """A stage of hallway takes minutes, though it looks cheap; nobody asked for a deadline."""
    monkeypatch.setattr(auto, "PATIENCE", 0.1)
    with pytest.warns(ConvergenceWarning, match="max_iterations=20 reached"):
        plan = solve(hallway().model, horizon=10, max_iterations=20)
    assert plan.method == "finite_horizon_search"
    assert 0.09 < plan.lower_bound < 0.257 < plan.upper_bound + 0.01


def test_a_graph_of_the_plan_follows_the_beliefs():
    graph = policy_graph(solve(tiger(gamma=1.0), "finite_horizon_search", horizon=3))
    assert graph.steps_left.tolist()[0] == 3
    assert set(graph.steps_left.tolist()) == {3, 2, 1, 0}


def test_what_it_refuses(monkeypatch):
    with pytest.raises(ParameterError, match="needs a number of steps: pass horizon=10"):
        solve(tiger(gamma=0.9), "finite_horizon_search")
    with pytest.raises(ParameterError, match="horizon=0"):
        solve(tiger(gamma=0.9), "finite_horizon_search", horizon=0)
    trapped = POMDP.from_arrays(
        [[[0, 1], [0, 1]], [[1, 0], [1, 0]]], [0, 0], [[1], [1]], gamma=0.9, start=[0.5, 0.5], legal=[[1, 0], [0, 1]]
    )
    with pytest.raises(ModelError, match="legal in every state"):
        solve(trapped, "finite_horizon_search", horizon=2)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 trials .*max_iterations=1 reached"):
        solve(shuttle(), "finite_horizon_search", horizon=8, max_iterations=1)
    monkeypatch.setattr(module, "MOST_TRANSITIONS", 10)
    with pytest.raises(ParameterError, match="horizon=5 with 10 transitions: the search needs them once for each step"):
        solve(tiger(gamma=0.9), "finite_horizon_search", horizon=5)
