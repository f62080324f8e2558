"""AEMS2 against exact values; every node of its tree against the belief update; and its limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import reachable_beliefs, solve
from rlsuite.planning.pomdp.online import bound_tree
from rlsuite.planning.pomdp.online.aems2 import BoundPlanner, aems2
from rlsuite.planning.watch import Watch

pytestmark = pytest.mark.arithmetic

LISTEN, OPEN_LEFT, OPEN_RIGHT = 0, 1, 2
TIGER_75 = 1220 / 631


@pytest.fixture
def cups():
    """A coin under one of two cups: a look costs 1, a guess earns 10 or costs 20 and ends it all."""
    look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    return POMDP.from_arrays(
        [look, guess, guess],
        [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]],
        [[1, 0], [0, 1], [0.5, 0.5]],
        order="ass",
        gamma=0.9,
        start=[0.5, 0.5, 0],
        terminated=[False, False, True],
    )


def planner_of(model, **options):
    told = {"max_iterations": 100, "lower": None, "max_gb": 1.0, "preparation": None} | options
    return BoundPlanner(model, Watch("aems2", tol=1e-6), **told)


def grown_tree(model, expansions):
    """A tree after so many expansions from the start."""
    planner = planner_of(model)
    tree = bound_tree.new_tree(model.n_actions, model.n_states)
    support = np.flatnonzero(model.start)
    tree.size[0], tree.slot[0] = support.size, bound_tree.LEAF
    tree.state[: support.size], tree.weight[: support.size] = support, model.start[support]
    tree.used[0].n_nodes, tree.used[0].n_entries = 1, support.size
    tree.lower[0], tree.upper[0] = planner.bounds.at(model.start)
    scratch = bound_tree.new_scratch(model, planner.model.lower.shape[1])
    bound_tree.search(tree, planner.model, scratch, expansions, 1e-12, False)
    return tree, scratch


def belief_of(tree, node, states):
    belief = np.zeros(states)
    entries = slice(tree.first[node], tree.first[node] + tree.size[node])
    belief[tree.state[entries]] = tree.weight[entries]
    return belief


@pytest.mark.slow
def test_a_probability_that_underflows_is_not_counted():
    """State 2 follows from state 1 for sure, and with probability 1e-200 from state 0, whose own is 1e-200."""
    moves = np.array([[[1.0, 0.0, 1e-200], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    mdp = MDP.from_arrays(moves, [[0.0, 0.0, 1.0]], order="ass", gamma=0.5, start=[1e-200, 1.0, 0.0])
    model = POMDP(mdp, np.ones((1, 3, 1)))
    tree, _ = grown_tree(model, 1)
    assert (int(tree.used[0].n_nodes), tree.probability[1]) == (2, 1.0)
    assert tree.size[1] == np.count_nonzero(model.update_belief(model.start, 0, 0))
    plan = solve(model, "aems2")
    assert (plan.lower_bound, plan.upper_bound) == pytest.approx((1.0, 1.0))


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data())
def test_every_node_is_the_belief_that_follows(random_pomdps, data):
    model = data.draw(random_pomdps(gammas=(0.5, 0.9), size=3))
    tree, scratch = grown_tree(model, 5)
    actions = model.n_actions
    for slot in range(tree.used[0].n_slots):
        node = tree.node[slot]
        belief = belief_of(tree, node, model.n_states)
        for a in range(actions):
            pair = slot * actions + a
            assert tree.reward[pair] == pytest.approx(belief @ model.mdp.expected_reward()[:, a], abs=1e-9)
            followed, goes_on = [], 0.0
            for child in range(tree.child[pair], tree.child[pair] + tree.children[pair]):
                assert tree.parent[child] == pair
                after = belief_of(tree, child, model.n_states)
                matches = [
                    z
                    for z in range(model.n_observations)
                    if model.predict(belief, a)[z] > 1e-12 and z not in followed and _update(model, belief, a, z, after)
                ]
                followed += matches[:1]
                assert matches
                goes_on += tree.probability[child]
                assert tree.lower[child] <= tree.upper[child]
            assert goes_on <= 1.0 + 1e-9
    for array in (scratch.ahead, scratch.total, scratch.number):
        assert not array.any()


def _update(model, belief, a, z, after):
    try:
        return np.allclose(model.update_belief(belief, a, z), after, atol=1e-9)
    except ParameterError:  # the episode must have ended
        return False


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data())
def test_its_bounds_hold_the_exact_optimum_of_random_models(random_pomdps, data):
    model = data.draw(random_pomdps(gammas=(0.3, 0.5), size=3))
    size = max(1.0, float(np.abs(model.mdp.expected_reward()[model.mdp.legal]).max()))
    exact = reachable_beliefs(model, tol=0.05 * size)
    plan = aems2(model, max_iterations=300)
    assert plan.lower_bound <= exact.upper_bound
    assert plan.upper_bound >= exact.lower_bound
    assert plan.lower_bound <= plan.upper_bound
    assert plan.decision.value == plan.lower_bound


@pytest.mark.slow
def test_the_tiger_is_closed_in_on(tiger):
    model, gaps = tiger(0.75), []
    for expansions in (1, 10, 100, 1_000, 10_000):
        plan = aems2(model, max_iterations=expansions)
        assert plan.iterations == expansions
        assert plan.lower_bound <= TIGER_75 <= plan.upper_bound
        assert plan.decision.action == LISTEN
        gaps.append(plan.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.4 < 3.0 < gaps[0]


def test_it_acts_in_any_belief(tiger):
    plan = aems2(tiger(0.75), max_iterations=2_000)
    for belief, action in (([0.5, 0.5], LISTEN), ([0.01, 0.99], OPEN_LEFT), ([0.99, 0.01], OPEN_RIGHT)):
        decision = plan.decide(belief)
        assert decision.action == action
        assert plan.act(belief) == action
        assert decision.q.argmax() == action
    episode = plan.episode()
    assert episode.act() == LISTEN
    episode.observe(LISTEN, 1)
    assert episode.belief.tolist() == pytest.approx([0.15, 0.85])
    assert episode.act() == LISTEN


def test_what_ends_is_known_exactly_and_proven_at_once(cups):
    plan = aems2(cups)
    assert plan.converged
    assert (plan.lower_bound, plan.upper_bound) == pytest.approx((8.0, 8.0), abs=1e-9)
    assert plan.lower_bound <= 8.0 <= plan.upper_bound
    assert plan.iterations < 20
    decision = plan.decide([0.99, 0.01, 0.0])
    assert decision.action == 1
    assert decision.iterations <= 3


def test_a_tree_that_grows_is_the_same_tree(tiger, monkeypatch):
    whole = aems2(tiger(0.75), max_iterations=500)
    monkeypatch.setattr(bound_tree, "SLOTS_AT_FIRST", 1)
    grown = aems2(tiger(0.75), max_iterations=500)
    assert grown.iterations == whole.iterations == 500
    assert grown.decision.q.tolist() == whole.decision.q.tolist()
    assert (grown.lower_bound, grown.upper_bound) == (whole.lower_bound, whole.upper_bound)


def test_memory_has_a_limit(tiger, monkeypatch):
    monkeypatch.setattr(bound_tree, "SLOTS_AT_FIRST", 16)
    plan = aems2(tiger(0.95), deadline=20, max_gb=1e-4)
    assert plan.seconds < 15
    assert 10 < plan.iterations < 5_000
    monkeypatch.setattr(bound_tree, "SLOTS_AT_FIRST", 1)
    many_sounds = POMDP(tiger(0.95).mdp, np.full((3, 2, 100), 0.01))
    with pytest.raises(ParameterError, match="too little for a single expansion"):
        aems2(many_sounds, max_gb=1e-9)


def test_a_plan_for_all_beliefs_is_improved_on(tiger):
    offline = solve(tiger(0.75), "incremental_pruning", tol=2.0)
    before = max(float((offline.alpha_vectors @ [0.5, 0.5]).max()), -4.0)
    plan = aems2(tiger(0.75), max_iterations=50, lower=offline)
    alone = aems2(tiger(0.75), max_iterations=50)
    assert alone.lower_bound < before - 1e-9
    assert before - 1e-6 <= plan.lower_bound <= TIGER_75 <= plan.upper_bound


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.95, 0.99999])
def test_it_stops_in_time(tiger, gamma):
    """Of three tries the best counts: the machine may be busy."""
    aems2(tiger(gamma), max_iterations=1)  # compiles
    plans = [aems2(tiger(gamma), deadline=0.3) for _ in range(3)]
    assert min(plan.seconds for plan in plans) <= 1.05 * 0.3 + 0.2
    assert min(plan.decide([0.5, 0.5]).seconds for plan in plans) <= 1.05 * 0.3 + 0.2
    assert plans[0].iterations > 100
    assert plans[0].lower_bound <= plans[0].upper_bound


def test_illegal_actions_are_never_taken():
    """Two rooms that look alike; a button in the second only."""
    moves = [[[(1.0, 1, 0.0, False)], []], [[(1.0, 0, 0.0, False)], [(1.0, 1, 5.0, False)]]]
    hidden = MDP.from_table({s: dict(enumerate(rows)) for s, rows in enumerate(moves)}, gamma=0.5, start=[1.0, 0.0])
    plan = aems2(POMDP(hidden, np.ones((2, 2, 1))))
    assert plan.decision.action == 0
    assert plan.decision.q[1] == -np.inf
    assert (plan.lower_bound, plan.upper_bound) == pytest.approx((5.0, 5.0), abs=1e-5)
    assert plan.act([0.0, 1.0]) == 1
    assert plan.act([0.1, 0.9]) == 0


def test_a_belief_without_a_legal_action_is_named():
    """Heads or tails, unseen, and each allows another button only."""
    moves = [
        [[(0.5, 1, 0.0, False), (0.5, 2, 0.0, False)], []],
        [[(1.0, 1, 1.0, False)], []],
        [[], [(1.0, 2, 1.0, False)]],
    ]
    hidden = MDP.from_table({s: dict(enumerate(rows)) for s, rows in enumerate(moves)}, gamma=0.5, start=[1.0, 0, 0])
    model = POMDP(hidden, np.ones((2, 3, 1)))
    with pytest.raises(ModelError, match=r"every plan comes to a belief in which no action is legal in every state"):
        aems2(model)
    with pytest.raises(ModelError, match=r"every plan comes to a belief in which no action is legal in every state"):
        aems2(model.replace(start=np.array([0.0, 0.5, 0.5])))


def test_it_can_be_watched(cups, capsys):
    solve(cups, "aems2", progress=True)
    assert "aems2" in capsys.readouterr().err
    solve(cups, "aems2")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_iterations": 0}, "max_iterations=0 is less than 1"),
        ({"deadline": 0}, r"deadline=0\.0 is not a positive number"),
        ({"max_gb": -1}, "max_gb=-1"),
        ({"tol": -1.0}, "tol=-1"),
        ({"gamma": 1.0}, "gamma < 1"),
        ({"horizon": 3}, "aems2 takes no horizon"),
    ],
)
def test_bad_arguments_are_named(cups, options, words):
    with pytest.raises(ParameterError, match=words):
        solve(cups, "aems2", **options)


def test_a_plan_for_another_model_is_none(cups, tiger):
    """Its vectors would be no lower bounds; nor are those of a method that only bounds the value from above."""
    offline = solve(tiger(0.75), "incremental_pruning", tol=2.0)
    for model in (cups, tiger(0.9), tiger(0.75).replace(reward=2.0 * tiger(0.75).mdp.reward)):
        with pytest.raises(ParameterError, match="lower= needs a plan without horizon for the same model"):
            aems2(model, lower=offline)
    for method in ("qmdp", "reachable_beliefs"):
        with pytest.raises(ParameterError, match="whose vectors are not lower bounds"):
            aems2(tiger(0.75), lower=solve(tiger(0.75), method))
    elsewhere = aems2(tiger(0.75).replace(start=[0.2, 0.8]), max_iterations=5, lower=offline)
    assert elsewhere.lower_bound <= elsewhere.upper_bound
