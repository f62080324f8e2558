import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.planning import incremental_pruning, policy_graph, solve
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.exact.infinite_horizon import controller_value

pytestmark = pytest.mark.arithmetic


@pytest.fixture(scope="module")
def graph(tiger):
    return policy_graph(incremental_pruning(tiger(0.95), tol=1e-9))


def test_the_tiger_needs_five_nodes_from_the_uniform_belief(graph):
    """KLC98 figure 16 without the nodes that are never reached: two more hears of one side than of the other open."""
    assert graph.n_nodes == 5
    listening = np.flatnonzero(graph.actions == 0)
    assert len(listening) == 3
    assert graph.act() == 0
    heard_left, heard_right = graph.follow(0, 0), graph.follow(0, 1)
    assert graph.act(graph.follow(heard_left, 0)) == 2
    assert graph.act(graph.follow(heard_right, 1)) == 1
    assert graph.follow(heard_left, 1) == graph.follow(heard_right, 0) == 0
    for opened in np.flatnonzero(graph.actions > 0):
        assert graph.follow(int(opened), 0) == graph.follow(int(opened), 1) == 0


def test_its_nodes_are_reached_with_the_known_beliefs(graph):
    assert sorted(graph.beliefs[:, 0].round(10).tolist()) == sorted(
        round(p, 10) for p in (1 / 2, 17 / 20, 3 / 20, 289 / 298, 9 / 298)
    )


def test_the_graph_is_worth_what_the_plan_promises(tiger, graph):
    own = controller_value(Projection(tiger(0.95)), graph.actions, graph.successors)
    assert own[0] @ [0.5, 0.5] == pytest.approx(4063900 / 209789, abs=1e-8)


def test_all_nine_vectors_are_a_closed_graph(tiger):
    pomdp = tiger(0.95)
    plan = incremental_pruning(pomdp, tol=1e-9)
    own = controller_value(Projection(pomdp), plan.actions, plan.successors)
    np.testing.assert_allclose(own, plan.alpha_vectors, atol=1e-9)


def test_a_walk_along_the_graph_earns_what_it_promises(tiger, graph):
    """Simulated in plain Python: the mean of discounted returns lies in its interval around the promised value."""
    rng = np.random.default_rng(7)
    runs, steps = 4000, 200
    state, node = rng.integers(0, 2, runs), np.zeros(runs, dtype=np.int64)
    total = np.zeros(runs)
    reward = np.array([[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]])
    for t in range(steps):
        action = graph.actions[node]
        total += 0.95**t * reward[action, state]
        state = np.where(action == 0, state, rng.integers(0, 2, runs))
        right = np.where(action == 0, rng.random(runs) < 0.85, rng.random(runs) < 0.5)
        node = graph.successors[node, np.where(right, state, 1 - state)]
    error = total.std() / np.sqrt(runs)
    assert abs(total.mean() - 4063900 / 209789) < 4.0 * error


def test_the_tree_of_a_plan_with_a_horizon(tiger):
    pomdp = tiger(1.0)
    plan = incremental_pruning(pomdp, horizon=3)
    graph = policy_graph(plan)
    assert graph.steps_left.tolist()[0] == 3
    assert graph.tree(depth=3).splitlines() == [
        "0",
        "  0: 0",
        "    0: 2",
        "    1: 0",
        "  1: 0",
        "    0: 0",
        "    1: 1",
    ]
    assert graph.tree(depth=1) == "0"
    last = int(np.argmin(graph.steps_left))
    assert graph.act(last) == -1
    with pytest.raises(ParameterError, match="the plan ends with it"):
        graph.follow(last, 0)


def test_another_start(tiger):
    plan = incremental_pruning(tiger(0.95))
    assert policy_graph(plan, [0.0, 1.0]).act() == 1


def test_what_cannot_be_seen_has_no_edge():
    ears = POMDP.from_arrays([np.eye(2)], [[-1, -1]], [[1, 0, 0], [0, 1, 0]], order="ass", gamma=0.5)
    graph = policy_graph(incremental_pruning(ears))
    assert graph.successors[:, 2].tolist() == [-1] * graph.n_nodes
    with pytest.raises(ParameterError, match="observation=2 is impossible in node 0"):
        graph.follow(0, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda graph: graph.act(5), r"node=5 is not one of 0\.\.4"),
        (lambda graph: graph.follow(0, 2), r"observation=2 is not an observation; the observations are 0\.\.1"),
        (lambda graph: graph.follow(-1, 0), "node=-1 is less than 0"),
        (lambda graph: graph.tree(0), "depth=0 is less than 1"),
    ],
)
def test_arguments_are_checked(graph, call, message):
    with pytest.raises(ParameterError, match=message):
        call(graph)


def test_a_deep_tree_is_cut(graph):
    text = graph.tree(depth=40)
    assert text.splitlines()[-1].startswith("... more than 10000 lines")


@pytest.mark.parametrize("method", ["qmdp", "fast_informed_bound"])
def test_upper_bounds_are_no_plans(tiger, method):
    with pytest.raises(ParameterError, match=rf"the vectors of {method} are upper bounds, not plans.*'sarsop' or"):
        policy_graph(solve(tiger(0.95), method))
