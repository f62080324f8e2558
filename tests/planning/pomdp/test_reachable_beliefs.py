import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import POMDP
from rlsuite.planning import reachable_beliefs, solve

pytestmark = pytest.mark.arithmetic

# Exact optimal values of the tiger at the uniform belief, as rational numbers or to 10 decimals.
TIGER = [
    (1.0, 1, Fraction(-1)),
    (1.0, 2, Fraction(-2)),
    (1.0, 3, Fraction(68, 25)),
    (1.0, 4, Fraction(1937, 800)),
    (1.0, 5, Fraction(72183, 20000)),
    (1.0, 10, Fraction(60404272751, 6400000000)),
    (0.95, 1, -1.0),
    (0.95, 2, -1.95),
    (0.95, 3, 2.3098),
    (0.95, 4, 1.7955442187),
    (0.95, 5, 2.7630961931),
    (0.95, 10, 6.6933684318),
    (0.75, 1, -1.0),
    (0.75, 2, -1.75),
    (0.75, 3, 0.905),
    (0.75, 4, 0.483125),
    (0.75, 5, 0.6282289063),
    (0.75, 10, 1.6615600499),
]
TIGER_FOR_EVER = [(0.75, Fraction(1220, 631)), (0.9, Fraction(425950, 50069)), (0.95, Fraction(4063900, 209789))]


@pytest.mark.parametrize(("gamma", "horizon", "value"), TIGER)
def test_tiger_with_a_horizon(tiger, gamma, horizon, value):
    plan = solve(tiger(gamma), "reachable_beliefs", horizon=horizon)
    assert plan.converged
    assert plan.upper_bound - plan.lower_bound < 1e-9
    assert plan.value(tiger(gamma).start, steps_left=horizon) == pytest.approx(float(value), abs=5.1e-11)
    if isinstance(value, Fraction):
        assert plan.lower_bound <= value <= plan.upper_bound


@pytest.mark.parametrize(("gamma", "value"), TIGER_FOR_EVER)
def test_tiger_without_a_horizon(tiger, gamma, value):
    plan = solve(tiger(gamma), "reachable_beliefs", tol=1e-6)
    assert plan.converged
    assert plan.lower_bound <= value <= plan.upper_bound
    assert plan.value([0.5, 0.5]) == pytest.approx(float(value), abs=1e-9)
    assert plan.n_beliefs < 50  # net hears of one side, until the belief is certain to 12 decimals


@pytest.mark.parametrize("tol", [30.0, 1.0, 1e-3])
def test_loose_tolerance_widens_the_bounds_truthfully(tiger, tol):
    plan = reachable_beliefs(tiger(0.75), tol=tol)
    assert plan.converged
    assert plan.upper_bound - plan.lower_bound <= tol
    assert plan.lower_bound <= 1220 / 631 <= plan.upper_bound


@pytest.mark.parametrize("tol", [2.0, 1e-2])
def test_what_lies_beyond_the_last_step_is_within_the_bounds(tol):
    # A machine wears out and shows it badly, so that no belief comes twice. Whatever it does, it pays 1 per step.
    wear, shown = [[[0.9, 0.1]], [[0.05, 0.95]]], [[0.6, 0.4], [0.3, 0.7]]
    plan = reachable_beliefs(POMDP.from_arrays(wear, [1.0, 1.0], shown, gamma=0.5, start=[1, 0]), tol=tol)
    assert plan.converged
    assert plan.upper_bound - plan.lower_bound <= tol
    assert plan.lower_bound <= 2.0 <= plan.upper_bound
    assert plan.value([1, 0]) == pytest.approx(2.0 - 0.5 ** int(plan.depth.max()) * 2.0)


def test_tiger_opens_when_it_is_sure_enough(tiger):
    # KLC98 section 5: listen until one side has been heard twice more often than the other.
    pomdp = tiger(0.95)
    plan = reachable_beliefs(pomdp)
    belief = pomdp.start
    assert plan.act(belief) == 0
    belief = pomdp.update_belief(belief, 0, 0)
    assert plan.act(belief) == 0
    assert plan.act(pomdp.update_belief(belief, 0, 1)) == 0
    assert plan.act(pomdp.update_belief(belief, 0, 0)) == 2  # heard left twice: open right
    finite = reachable_beliefs(pomdp, horizon=3)
    twice = pomdp.update_belief(belief, 0, 0)
    assert finite.act(pomdp.start, steps_left=3) == 0
    assert finite.act(belief, steps_left=2) == 0
    assert finite.act(twice, steps_left=1) == 2
    assert finite.value(twice, steps_left=0) == 0.0


def tree_vectors(pomdp, horizon):
    """Value of every policy tree in every state, KLC98 section 4.1: (n, S), without pruning."""
    vectors = np.zeros((1, pomdp.n_states))
    for _ in range(horizon):
        grown = []
        for a in range(pomdp.n_actions):
            for subtrees in itertools.product(vectors, repeat=pomdp.n_observations):
                grown.append(
                    [
                        sum(
                            p
                            * (
                                r
                                + (
                                    0.0
                                    if ended
                                    else pomdp.gamma
                                    * sum(
                                        pomdp.observation[a, ahead, z] * subtrees[z][ahead]
                                        for z in range(pomdp.n_observations)
                                    )
                                )
                            )
                            for p, ahead, r, ended in pomdp.mdp.P[s][a]
                        )
                        for s in range(pomdp.n_states)
                    ]
                )
        vectors = np.array(grown)
    return vectors


@pytest.mark.parametrize("horizon", [2, 3])
def test_tiger_has_as_many_policy_trees_as_counted(tiger, horizon):
    pomdp = tiger(0.95)
    vectors = tree_vectors(pomdp, horizon)
    assert len(vectors) == {2: 27, 3: 2187}[horizon]  # |A|^((|Z|^t - 1) / (|Z| - 1))
    plan = reachable_beliefs(pomdp, horizon=horizon)
    assert plan.value([0.5, 0.5], steps_left=horizon) == pytest.approx((vectors @ pomdp.start).max(), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_equals_the_best_of_all_policy_trees(random_pomdps, data):
    pomdp = data.draw(random_pomdps().filter(lambda p: p.n_actions < 3))
    horizon = data.draw(st.integers(1, 3))
    best = (tree_vectors(pomdp, horizon) @ pomdp.start).max()
    plan = reachable_beliefs(pomdp, horizon=horizon)
    assert plan.converged
    assert plan.lower_bound - 1e-11 <= best <= plan.upper_bound + 1e-11
    assert plan.upper_bound - plan.lower_bound < 1e-6


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_bounds_without_a_horizon_hold_every_longer_horizon(random_pomdps, data):
    pomdp = data.draw(random_pomdps(gammas=(0.0, 0.3), size=2).filter(lambda p: p.n_actions < 3))
    loose = reachable_beliefs(pomdp, tol=100.0)
    steps = 6
    finite = reachable_beliefs(pomdp, horizon=steps)
    rest = pomdp.gamma**steps * np.abs(pomdp.mdp.expected_reward()).max() / (1 - pomdp.gamma)
    assert loose.lower_bound <= finite.upper_bound + rest
    assert finite.lower_bound - rest <= loose.upper_bound


def test_fully_observed_pomdp_is_its_mdp(grid_goal):
    mdp = grid_goal(walls="stay")
    plan = reachable_beliefs(POMDP(mdp, np.broadcast_to(np.eye(6), (4, 6, 6)).copy()))
    assert plan.value(mdp.start) == pytest.approx(81.0, abs=1e-9)
    assert plan.n_beliefs == 5  # the end is not a belief
    assert plan.upper_bound - plan.lower_bound < 1e-9


def test_masked_actions_are_taken_only_where_they_are_certainly_legal(grid_goal):
    mdp = grid_goal()
    seen = POMDP(mdp, np.broadcast_to(np.eye(6), (4, 6, 6)).copy())
    assert reachable_beliefs(seen).value(mdp.start) == pytest.approx(81.0, abs=1e-9)
    # From S1 or S3, unseen, only Up and Left ... S1 allows L R U, S3 allows R D: only Right is legal in both.
    blind = POMDP(mdp.replace(start=np.array([0, 0.5, 0, 0.5, 0, 0])), np.ones((4, 6, 1)))
    assert reachable_beliefs(blind, horizon=1).act([0, 0.5, 0, 0.5, 0, 0], steps_left=1) == 1
    # After that S2 or S4: L and U in the one, L R D in the other.
    stuck = POMDP(mdp.replace(start=np.array([0.5, 0, 0, 0, 0.5, 0])), np.ones((4, 6, 1)))
    follow = reachable_beliefs(stuck, horizon=1)
    assert follow.act([0.5, 0, 0, 0, 0.5, 0], steps_left=1) == 1
    nowhere = POMDP(mdp.replace(start=np.array([0, 0, 0.5, 0.5, 0, 0])), np.ones((4, 6, 1)))
    with pytest.raises(ModelError, match=r"no action is legal in every state"):
        reachable_beliefs(nowhere, horizon=1)


def test_episode_that_ends_is_known_to_have_ended():
    # A coin decides whether the game ends (worth 0) or goes on (then 1 per step): going on is itself an observation.
    pomdp = POMDP.from_arrays(
        [[[0.5, 0.5]], [[0, 1]]], [[[0.0, 0.0]], [[1.0, 1.0]]], [[1.0], [1.0]], gamma=0.5, start=[1, 0]
    )
    quits = pomdp.replace(terminated=pomdp.mdp.next_state == 0)
    assert reachable_beliefs(quits).value([1, 0]) == pytest.approx(0.5 * 0.5 * 2)
    assert reachable_beliefs(quits).beliefs.tolist() == [[1, 0], [0, 1]]


def test_too_many_beliefs_are_refused_with_the_way_out(tiger):
    with pytest.raises(ParameterError, match=r"more than max_beliefs=10 beliefs.*horizon="):
        reachable_beliefs(tiger(0.95), max_beliefs=10)
    assert reachable_beliefs(tiger(0.95), horizon=4, max_beliefs=9).n_beliefs == 9


@pytest.mark.parametrize("horizon", [None, 12])
def test_a_deadline_widens_the_bounds_truthfully(horizon):
    # What is heard says little, and differs from door to door: no belief comes twice, and there are 9^12 of them.
    stay = np.broadcast_to(np.eye(2), (3, 2, 2))
    heard = np.array([[[0.6, 0.3, 0.1], [0.1, 0.35, 0.55]], [[0.5, 0.2, 0.3], [0.2, 0.3, 0.5]], [[1, 0, 0], [0, 0, 1]]])
    pomdp = POMDP.from_arrays(
        stay, [[-1, -1], [2, -5], [-9, 1]], heard, order="ass", gamma=0.9 if horizon is None else 1.0, start=[0.5, 0.5]
    )
    with pytest.warns(ConvergenceWarning, match="deadline=0.3 seconds passed"):
        plan = reachable_beliefs(pomdp, horizon=horizon, deadline=0.3)
    assert not plan.converged
    assert plan.act([0.5, 0.5], horizon) in range(3)
    # the third action shows the door; who knows it earns 2 or 1 a step, and nobody earns more than who always knew
    steps = 10 if horizon is None else horizon  # the sum of gamma^k
    assert plan.lower_bound <= 1.5 * steps
    assert plan.upper_bound >= -4.0 + 1.5 * ((steps - 1) if horizon else 0.9 * steps)


def test_a_deadline_that_is_not_needed_changes_nothing(tiger):
    plan, free = reachable_beliefs(tiger(0.95), deadline=60.0), reachable_beliefs(tiger(0.95))
    assert (plan.lower_bound, plan.upper_bound) == (free.lower_bound, free.upper_bound)
    assert plan.values.tobytes() == free.values.tobytes()
    with pytest.raises(ParameterError, match="deadline"):
        reachable_beliefs(tiger(0.95), deadline=-1.0)


def test_gamma_one_needs_a_horizon(tiger):
    with pytest.raises(ParameterError, match="gamma < 1"):
        reachable_beliefs(tiger(1.0))


def test_bounds_wider_than_asked_are_owned_up_to(tiger):
    with pytest.warns(ConvergenceWarning, match="reachable_beliefs returned bounds that are"):
        plan = reachable_beliefs(tiger(0.95), tol=1e-11)
    assert not plan.converged
    assert plan.lower_bound <= 4063900 / 209789 <= plan.upper_bound


def test_beliefs_off_the_plan_are_refused(tiger):
    forever, finite = reachable_beliefs(tiger(0.95)), reachable_beliefs(tiger(0.95), horizon=2)
    with pytest.raises(ParameterError, match=r"belief \[0.3, 0.7\] cannot be reached"):
        forever.act([0.3, 0.7])
    with pytest.raises(ParameterError, match="sums to"):
        forever.act([0.3, 0.3])
    with pytest.raises(ParameterError, match="leave steps_left out"):
        forever.act([0.5, 0.5], steps_left=3)
    with pytest.raises(ParameterError, match=r"steps_left=None.*plan for 2 steps"):
        finite.act([0.5, 0.5])
    with pytest.raises(ParameterError, match=r"steps_left=2.*0\.\.1 can be left"):
        finite.act([0.85, 0.15], steps_left=2)
    with pytest.raises(ParameterError, match="no step of the plan is left"):
        finite.act([0.5, 0.5], steps_left=0)
