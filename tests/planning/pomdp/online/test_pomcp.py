"""POMCP against exact values; and the promises of a tree that grows, is moved, and forgets."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import reachable_beliefs, solve
from rlsuite.planning.pomdp.online.history_tree import FREE, child_of
from rlsuite.planning.pomdp.online.pomcp import pomcp

pytestmark = pytest.mark.arithmetic

LISTEN, OPEN_LEFT, OPEN_RIGHT = 0, 1, 2


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


@pytest.mark.parametrize(
    ("horizon", "exact", "off"), [(1, -1.0, 1e-9), (2, -2.0, 0.3), (3, 68 / 25, 0.4), (4, 1937 / 800, 1.0)]
)
def test_the_tiger_for_a_few_steps(tiger, horizon, exact, off):
    """Exploration costs something, so the estimates are below the exact values."""
    plan = pomcp(tiger(1.0), horizon=horizon, simulations=200_000, seed=1)
    assert plan.decision.action == LISTEN
    assert exact - off <= plan.decision.value <= exact + 0.1 * off
    assert plan.lower_bound <= exact <= plan.upper_bound
    assert plan.iterations == 200_000


def test_the_tiger_for_ever(tiger):
    plan = pomcp(tiger(0.95), simulations=50_000, seed=2)
    assert plan.lower_bound <= 4063900 / 209789 <= plan.upper_bound
    assert plan.lower_bound == pytest.approx(-20, abs=1e-6)
    assert plan.upper_bound == pytest.approx(87.18, abs=1.0)
    assert not plan.converged
    assert [plan.act(belief) for belief in ([0.5, 0.5], [0.01, 0.99], [0.99, 0.01])] == [LISTEN, OPEN_LEFT, OPEN_RIGHT]


@pytest.mark.parametrize("leaf", ["informed", "blind", "random", [1.0, 2.0, 3.0], np.zeros(3)])
def test_the_coin_is_worth_eight_whatever_is_thought_of_leaves(cups, leaf):
    plan = pomcp(cups, simulations=20_000, leaf=leaf, exploration=30.0, seed=3)
    assert plan.decision.action == 0
    assert plan.decision.value == pytest.approx(8.0, abs=0.25)
    assert plan.decision.q[1:] == pytest.approx([-5.0, -5.0], abs=4.0)
    assert plan.act([0, 1, 0]) == 2
    assert plan.value([0, 1, 0]) == pytest.approx(10.0, abs=0.3)


@settings(max_examples=15)
@given(data=st.data())
def test_it_agrees_with_the_exact_optimum_of_random_models(random_pomdps, data):
    model = data.draw(random_pomdps(gammas=(1.0, 0.9), size=3))
    exact = reachable_beliefs(model, horizon=2).value(model.start, steps_left=2)
    plan = pomcp(model, horizon=2, simulations=20_000, seed=4)
    size = max(1.0, float(np.abs(model.mdp.expected_reward()[model.mdp.legal]).max()))
    assert plan.decision.value == pytest.approx(exact, abs=0.1 * size)
    assert plan.lower_bound <= exact + 1e-9 * size
    assert plan.upper_bound >= exact - 1e-9 * size


def test_the_same_seed_gives_the_same_numbers(cups):
    def numbers(seed):
        plan = pomcp(cups, simulations=500, seed=seed)
        return [plan.decision.q.tolist(), plan.decide([0.2, 0.8, 0.0]).q.tolist()]

    assert numbers(5) == numbers(5)
    assert numbers(5) != numbers(6)
    assert pomcp(cups, simulations=500, seed=np.random.default_rng(5)).decision.q.tolist() == numbers(5)[0]


def test_the_order_of_searches_and_the_threads_they_run_in_change_no_number(cups):
    plan = pomcp(cups, simulations=300, seed=5)
    beliefs = [[p, 1.0 - p, 0.0] for p in np.linspace(0.05, 0.95, 40)]

    def numbers(belief):
        return plan.decide(belief).q.tolist()

    alone = [numbers(belief) for belief in beliefs]
    assert [numbers(belief) for belief in reversed(beliefs)] == alone[::-1]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(numbers, beliefs)) == alone


def test_a_tree_that_grows_is_the_same_tree(tiger, monkeypatch):
    whole = pomcp(tiger(0.95), simulations=5_000, seed=7).decision
    monkeypatch.setattr("rlsuite.planning.pomdp.online.pomcp.FIRST_CAPACITY", 2)
    grown = pomcp(tiger(0.95), simulations=5_000, seed=7).decision
    assert grown.q.tolist() == whole.q.tolist()


def test_a_full_tree_stays_as_it_is(tiger):
    plan = pomcp(tiger(0.95), simulations=5_000, max_nodes=50, seed=7)
    search = plan.planner.search()
    search.plan(tiger(0.95).start, None, progress=False)
    assert search.tree.used[0].n_nodes == 50
    assert plan.iterations == 5_000
    assert plan.decision.action == LISTEN


def test_an_episode_keeps_what_is_known_of_the_future(tiger):
    plan = pomcp(tiger(0.95), simulations=3_000, seed=8)
    search = plan.planner.search()
    search.plan(tiger(0.95).start, None, progress=False)
    tree = search.tree
    children = {z: int(child_of(tree, LISTEN * 2 + z)) for z in range(2)}
    assert FREE not in children.values()
    nodes, visits, q = int(tree.used[0].n_nodes), tree.visits.copy(), tree.q.copy()
    below = [z for z in range(2) for a in range(3) if child_of(tree, (children[1] * 3 + a) * 2 + z) != FREE]
    search.advance(LISTEN, 1)
    assert search.tree.visits[0] == visits[children[1]] > 100
    assert search.tree.q[:3].tolist() == q[3 * children[1] : 3 * children[1] + 3].tolist()
    assert 100 < search.tree.used[0].n_nodes < nodes
    again = [z for z in range(2) for a in range(3) if child_of(search.tree, a * 2 + z) != FREE]
    assert len(again) == len(below)
    decision = search.plan(tiger(0.95).update_belief([0.5, 0.5], LISTEN, 1), None, progress=False)
    assert decision.iterations == 3_000
    assert search.tree.visits[0] == visits[children[1]] + 3_000
    search.advance(OPEN_LEFT, 0)
    search.advance(OPEN_LEFT, 0)
    search.advance(OPEN_LEFT, 0)  # hardly ever tried: an empty tree
    assert search.tree.visits[0] < 100


def test_an_episode_with_the_tiger(tiger):
    episode = pomcp(tiger(0.95), simulations=5_000, seed=9).episode()
    heard = 0
    while episode.act() == LISTEN:
        episode.observe(LISTEN, 0)
        heard += 1
    assert heard in (2, 3)
    assert episode.act() == OPEN_RIGHT
    episode.observe(OPEN_RIGHT, 1)
    assert episode.belief.tolist() == [0.5, 0.5]


def test_an_episode_may_follow_its_belief_with_particles(tiger):
    plan = pomcp(tiger(0.95), simulations=5_000, seed=9)
    episodes = [plan.episode(particles=2_000, seed=1), plan.episode([0.2, 0.8], particles=2_000, seed=1)]
    exact = [tiger(0.95).update_belief(belief, LISTEN, 1) for belief in ([0.5, 0.5], [0.2, 0.8])]
    for episode, belief in zip(episodes, exact, strict=True):
        assert episode.act() == LISTEN
        episode.observe(LISTEN, 1)
        np.testing.assert_allclose(episode.belief, belief, atol=0.05)
    episodes[1].observe(LISTEN, 1)
    episodes[1].observe(LISTEN, 1)
    assert episodes[1].act() == OPEN_LEFT


def test_an_episode_with_a_horizon_ends(tiger):
    plan = pomcp(tiger(1.0), horizon=2, simulations=2_000, seed=1)
    assert plan.act([0.99, 0.01], steps_left=1) == OPEN_RIGHT
    episode = plan.episode([0.5, 0.5])
    for _ in range(2):
        assert episode.act() == LISTEN
        episode.observe(LISTEN, 0)
    with pytest.raises(ParameterError, match="the plan is at its end"):
        episode.act()
    for steps in (0, 3):
        with pytest.raises(ParameterError, match=r"1\.\.2, the steps that can be left"):
            plan.act([0.5, 0.5], steps_left=steps)


def test_illegal_actions_are_never_taken():
    """Two rooms that look alike; a button in the second only."""
    moves = [[[(1.0, 1, 0.0, False)], []], [[(1.0, 0, 0.0, False)], [(1.0, 1, 5.0, False)]]]
    hidden = MDP.from_table({s: dict(enumerate(rows)) for s, rows in enumerate(moves)}, gamma=0.5, start=[1.0, 0.0])
    model = POMDP(hidden, np.ones((2, 2, 1)))
    plan = pomcp(model, simulations=2_000, seed=1)
    assert plan.decision.action == 0
    assert plan.decision.q[1] == -np.inf
    assert plan.decision.value == pytest.approx(0.5 * 10.0, abs=0.2)
    assert plan.act([0.0, 1.0]) == 1
    assert plan.act([0.1, 0.9]) == 0
    assert plan.lower_bound <= 5.0 <= plan.upper_bound


def test_a_belief_without_a_legal_action_is_named():
    moves = [[[(1.0, 0, 0.0, False)], []], [[], [(1.0, 1, 5.0, False)]]]
    hidden = MDP.from_table({s: dict(enumerate(rows)) for s, rows in enumerate(moves)}, gamma=0.5, start=[1.0, 0.0])
    model = POMDP(hidden, np.ones((2, 2, 1)))
    with pytest.raises(ParameterError, match=r"no action is legal .* \[0, 1\]"):
        pomcp(model, simulations=10).act([0.5, 0.5])
    with pytest.raises(ModelError, match=r"every plan comes to a belief in which no action is legal in every state"):
        pomcp(model.replace(start=np.array([0.5, 0.5])), simulations=10)


@pytest.mark.slow
@pytest.mark.parametrize("gamma", [0.95, 0.99999])
def test_it_stops_in_time(tiger, gamma):
    """Of three tries the best counts: the machine may be busy."""
    pomcp(tiger(gamma), simulations=10)  # compiles
    plans = [pomcp(tiger(gamma), deadline=0.3) for _ in range(3)]
    assert min(plan.seconds for plan in plans) <= 1.05 * 0.3 + 0.2
    assert min(plan.decide([0.5, 0.5]).seconds for plan in plans) <= 1.05 * 0.3 + 0.2
    assert plans[0].iterations > 100
    assert plans[0].lower_bound <= plans[0].upper_bound


def test_rewards_are_means_and_the_end_is_worth_nothing():
    coin = POMDP.from_arrays(
        [[[0.5, 0.5]], [[0.0, 0.0]]],
        [[[0.0, 8.0]], [[0.0, 0.0]]],
        np.ones((2, 1)),
        gamma=0.5,
        start=0,
        legal=[[True], [False]],
    )
    plan = pomcp(coin, simulations=50_000, seed=1)
    assert plan.decision.value == pytest.approx(4.0 / 0.75, abs=0.1)


def test_it_can_be_watched(cups, capsys):
    solve(cups, "pomcp", simulations=100, seed=1, progress=True)
    assert "pomcp: 100 iterations" in capsys.readouterr().err


def test_it_says_nothing_on_its_own(cups, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = solve(cups, "pomcp", simulations=100, seed=1)
    assert capsys.readouterr().err == ""
    assert plan.method == "pomcp"
    assert plan.gap == plan.upper_bound - plan.lower_bound


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"simulations": 0}, "simulations=0 is less than 1"),
        ({"deadline": -1}, "deadline=-1 is not a positive number"),
        ({"depth": 0}, "depth=0"),
        ({"exploration": -1.0}, "exploration=-1"),
        ({"leaf": "blinde"}, "unknown leaf 'blinde'; did you mean 'blind'"),
        ({"leaf": [1.0, 2.0]}, r"leaf has shape \(2,\), not \(3,\)"),
        ({"leaf": [1.0, 2.0, float("nan")]}, r"leaf\[2\] is nan"),
        ({"horizon": 3, "leaf": "blind"}, 'use leaf="random"'),
        ({"horizon": 0}, "horizon=0"),
        ({"max_nodes": 0}, "max_nodes=0"),
        ({"max_nodes": 1 << 40}, "too large"),
        ({"seed": -1}, "seed=-1"),
        ({"tol": 0}, "tol=0"),
        ({"gamma": 1.0}, "gamma < 1"),
        ({"simulation": 3}, "unknown option of pomcp 'simulation'; did you mean 'simulations'"),
    ],
)
def test_bad_arguments_are_named(cups, options, words):
    with pytest.raises(ParameterError, match=words):
        solve(cups, "pomcp", **options)


def test_bad_beliefs_are_named(cups):
    plan = pomcp(cups, simulations=10)
    with pytest.raises(ParameterError, match=r"belief sums to 0\.9"):
        plan.act([0.5, 0.4, 0.0])
    with pytest.raises(ParameterError, match="no horizon"):
        plan.act([0.5, 0.5, 0.0], steps_left=3)
    with pytest.raises(ParameterError, match="belief has shape"):
        plan.episode([1.0])
