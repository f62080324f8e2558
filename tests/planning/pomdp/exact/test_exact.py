import functools
import itertools
import math
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import (
    enumeration,
    incremental_pruning,
    reachable_beliefs,
    sarsop,
    simulate_beliefs,
    solve,
    witness,
)
from rlsuite_envs.rock_sample import rock_sample

METHODS = [incremental_pruning, witness, enumeration]
PROBLEMS = Path(__file__).parents[3] / "problems"
CLASSICS = Path(__file__).parents[5] / "shared" / "pomdp"
"""Problem files of the literature, where they lie beside the checkout."""

# Exact optimal values of the tiger at the uniform belief, and the number of vectors that matter.
TIGER = {
    1.0: [
        (1, "-1", 3),
        (2, "-2", 5),
        (3, "68/25", 7),
        (4, "1937/800", 5),
        (5, "72183/20000", 9),
        (10, "60404272751/6400000000", 25),
    ],
    0.95: [
        (1, "-1", 3),
        (2, "-1.95", 5),
        (3, "2.3098", 9),
        (4, "1.7955442187", 7),
        (5, "2.7630961931", 13),
        (10, "6.6933684318", 27),
    ],
    0.75: [
        (1, "-1", 3),
        (2, "-1.75", 5),
        (3, "0.905", 9),
        (4, "0.483125", 9),
        (5, "0.6282289063", 15),
        (10, "1.6615600499", 29),
    ],
}
TIGER_FOR_EVER = [(0.75, Fraction(1220, 631)), (0.9, Fraction(425950, 50069)), (0.95, Fraction(4063900, 209789))]


@pytest.mark.parametrize("gamma", TIGER)
@pytest.mark.parametrize("method", METHODS)
def test_tiger_with_a_horizon(tiger, method, gamma):
    plan = method(tiger(gamma), horizon=10)
    assert plan.converged
    assert plan.gap < 1e-8
    for steps, value, vectors in TIGER[gamma]:
        assert plan.value([0.5, 0.5], steps) == pytest.approx(float(Fraction(value)), abs=5.1e-11)
        assert len(plan.stages[steps].actions) == vectors
    assert plan.lower_bound <= float(Fraction(TIGER[gamma][-1][1])) + 5.1e-11
    assert plan.upper_bound >= float(Fraction(TIGER[gamma][-1][1])) - 5.1e-11


@pytest.mark.parametrize(("gamma", "value"), TIGER_FOR_EVER)
@pytest.mark.parametrize("method", METHODS)
def test_tiger_without_a_horizon(tiger, method, gamma, value):
    plan = method(tiger(gamma), tol=1e-9)
    assert plan.converged
    assert plan.lower_bound <= value <= plan.upper_bound
    assert plan.gap <= 1e-9
    assert plan.n_vectors == 9
    assert plan.value([0.5, 0.5]) == pytest.approx(float(value), abs=1e-9)
    if gamma == 0.95:
        threshold = 0.0396544425
        assert plan.act([threshold - 1e-8, 1 - threshold + 1e-8]) == 1
        assert plan.act([threshold + 1e-8, 1 - threshold - 1e-8]) == 0


def test_the_bounds_draw_together(tiger):
    trace = incremental_pruning(tiger(0.95)).trace
    assert (np.diff(trace.lower_bound) >= 0.0).all()
    assert (np.diff(trace.upper_bound) <= 0.0).all()
    assert (np.diff(trace.iterations) > 0).all()
    assert (np.diff(trace.seconds) > 0.0).all()
    assert trace.upper_bound[0] == pytest.approx(87.1794872, rel=1e-2)  # the fast informed bound
    assert trace.lower_bound[0] == pytest.approx(-20.0)  # to listen for ever


# --------------------------------------------------------------------------------------------------- random models


def tree_value(pomdp, belief, steps):
    """Bellman's equation for beliefs, straight from the rows; minus infinity if every plan gets stuck."""
    mdp = pomdp.mdp
    if steps == 0:
        return 0.0
    best = -np.inf
    for a in range(pomdp.n_actions):
        if not mdp.legal[belief > 0.0, a].all():
            continue
        value, ahead = 0.0, np.zeros(pomdp.n_states)
        for s in np.flatnonzero(belief):
            for p, then, reward, terminated in mdp.P[int(s)][a]:
                value += belief[s] * p * reward
                ahead[then] += 0.0 if terminated else belief[s] * p
        for z in range(pomdp.n_observations):
            joint = ahead * pomdp.observation[a, :, z]
            if joint.sum() > 0.0:
                value += pomdp.gamma * joint.sum() * tree_value(pomdp, joint / joint.sum(), steps - 1)
        best = max(best, value)
    return best


def beliefs_of(pomdp):
    """The start, and some beliefs over the states that lead on."""
    living = pomdp.mdp.legal.any(axis=1)
    rng = np.random.default_rng(0)
    drawn = rng.dirichlet(np.ones(living.sum()), 3)
    found = np.zeros((3, pomdp.n_states))
    found[:, living] = drawn
    return [pomdp.start, *found]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), method=st.sampled_from(METHODS), horizon=st.integers(1, 3))
def test_random_models_agree_with_the_tree_of_beliefs(random_pomdps, data, method, horizon):
    pomdp = data.draw(random_pomdps())
    plan = method(pomdp, horizon=horizon, tol=1e-5)
    assert plan.lower_bound <= plan.upper_bound <= plan.lower_bound + 1e-7
    for belief in beliefs_of(pomdp):
        assert plan.value(belief) == pytest.approx(tree_value(pomdp, belief, horizon), abs=1e-8)
        action = plan.act(belief)
        assert pomdp.mdp.legal[belief > 0.0, action].all()


@settings(max_examples=25, deadline=None)
@given(data=st.data(), method=st.sampled_from(METHODS))
def test_random_models_without_a_horizon(random_pomdps, data, method):
    pomdp = data.draw(random_pomdps(gammas=(0.0, 0.5, 0.8)))
    plan = method(pomdp, tol=1e-5)
    assert plan.converged
    steps = 8 if pomdp.n_actions * pomdp.n_observations < 5 else 6  # fewer than 100,000 beliefs
    rest = 0.8**steps * 100.0 / 0.2 if pomdp.gamma == 0.8 else pomdp.gamma**steps * 200.0
    exact = reachable_beliefs(pomdp, horizon=steps, tol=1e-3)
    assert plan.lower_bound <= exact.upper_bound + rest
    assert plan.upper_bound >= exact.lower_bound - rest
    assert plan.value(pomdp.start) >= plan.lower_bound - 1e-9
    assert plan.value(pomdp.start) <= plan.upper_bound + 1e-9


@st.composite
def masked_pomdps(draw):
    """Three states, of which each has its own legal actions, and observations that may or may not tell them apart."""
    legal = [draw(st.sets(st.integers(0, 1), min_size=1)) for _ in range(3)]
    indptr, next_state, probability, reward = [0], [], [], []
    for s in range(3):
        for a in range(2):
            if a in legal[s]:
                weights = draw(st.lists(st.integers(0, 2), min_size=3, max_size=3).filter(any))
                next_state += [0, 1, 2]
                probability += [w / sum(weights) for w in weights]
                reward += [draw(st.integers(-5, 5))] * 3
            indptr.append(len(next_state))
    mdp = MDP.from_rows(
        indptr, next_state, probability, reward, n_actions=2, gamma=draw(st.sampled_from([0.5, 0.9])), start=0
    )
    rows = draw(st.lists(st.sampled_from([(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)]), min_size=3, max_size=3))
    return POMDP(mdp, np.array([rows, rows]))


@settings(max_examples=30, deadline=None)
@given(pomdp=masked_pomdps(), method=st.sampled_from(METHODS), horizon=st.integers(1, 4))
def test_legality_follows_the_belief(pomdp, method, horizon):
    expected = tree_value(pomdp, pomdp.start, horizon)
    if expected == -np.inf:
        with pytest.raises(ModelError, match="every plan comes to a belief in which no action is legal"):
            method(pomdp, horizon=horizon)
        return
    plan = method(pomdp, horizon=horizon)
    for belief in ([1, 0, 0], [0, 1, 0], [0, 0.5, 0.5], [0.2, 0.3, 0.5]):
        expected = tree_value(pomdp, np.array(belief, dtype=np.float64), horizon)
        if expected == -np.inf:
            with pytest.raises(ParameterError, match="no plan is legal in every state"):
                plan.value(belief)
        else:
            assert plan.value(belief) == pytest.approx(expected, abs=1e-9)
            assert pomdp.mdp.legal[np.array(belief) > 0.0, plan.act(belief)].all()


@settings(max_examples=15, deadline=None)
@given(pomdp=masked_pomdps())
def test_legality_without_a_horizon(pomdp):
    pomdp = pomdp.replace(gamma=0.25)
    expected = tree_value(pomdp, pomdp.start, 3)
    if expected == -np.inf:
        with pytest.raises(ModelError, match="every plan comes to a belief in which no action is legal"):
            incremental_pruning(pomdp)
        return
    assume(tree_value(pomdp, pomdp.start, 4) > -np.inf)
    plan = incremental_pruning(pomdp)
    assert plan.converged
    assert abs(plan.lower_bound - expected) <= 0.25**3 * 5.0 / 0.75 + 1e-9
    assert abs(plan.upper_bound - expected) <= 0.25**3 * 5.0 / 0.75 + 1e-9


def test_the_best_of_all_policy_trees():
    """Two steps, written out: every first action with every map from observations to second actions."""
    rng = np.random.default_rng(5)
    P, R, O = rng.dirichlet(np.ones(3), (3, 3)), rng.normal(size=(3, 3)), rng.dirichlet(np.ones(3), (3, 3))  # noqa: E741
    pomdp = POMDP.from_arrays(P, R, O, order="ass", gamma=0.9)
    plan = incremental_pruning(pomdp, horizon=2)
    trees = [
        R[a] + 0.9 * sum(P[a] @ (O[a, :, z] * R[second[z]]) for z in range(3))
        for a in range(3)
        for second in itertools.product(range(3), repeat=3)
    ]
    beliefs = rng.dirichlet(np.full(3, 0.5), 500)
    best = (beliefs @ np.array(trees).T).max(axis=1)
    np.testing.assert_allclose((beliefs @ plan.alpha_vectors.T).max(axis=1), best, atol=1e-12)
    for vector in plan.alpha_vectors:
        assert np.abs(np.array(trees) - vector).max(axis=1).min() < 1e-12


@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e9, 1e15])
def test_the_unit_of_the_reward_makes_no_difference(method, unit):
    model = large_model(states=8, actions=2, symbols=2)
    plan, scaled = (method(model.replace(reward=k * model.mdp.reward), horizon=3, tol=1e-9 * k) for k in (1.0, unit))
    assert scaled.gap <= 1e-9 * unit
    assert scaled.value(model.start) == pytest.approx(unit * plan.value(model.start), rel=1e-12)


@functools.cache
def large_model(states=12, actions=3, symbols=4, gamma=0.95, seed=0):
    rng = np.random.default_rng(seed)
    return POMDP.from_arrays(
        rng.dirichlet(np.full(states, 0.3), (actions, states)),
        rng.normal(size=(actions, states)),
        rng.dirichlet(np.full(symbols, 0.3), (actions, states)),
        order="ass",
        gamma=gamma,
    )


@functools.cache
def bracket_of_the_large_model():
    """The bounds of another method."""
    with pytest.warns(ConvergenceWarning, match="max_iterations=50 reached"):
        return sarsop(large_model(), max_iterations=50)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize(
    ("options", "deadline"), [({"horizon": 20}, 0.1), ({"horizon": 20}, 0.3), ({}, 1e-4), ({}, 0.3)]
)
def test_a_deadline_is_kept_and_the_bounds_are_sound(method, options, deadline):
    method(large_model(), horizon=1)  # loads what was compiled
    started = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"deadline=.* seconds passed"):
        plan = method(large_model(), **options, deadline=deadline)
    assert time.perf_counter() - started < deadline + 5.0  # a busy machine; .2 s on an idle one
    assert not plan.converged
    assert plan.lower_bound < plan.upper_bound
    assert plan.value(large_model().start) >= plan.lower_bound - 1e-9
    if not options:
        other = bracket_of_the_large_model()
        assert plan.lower_bound <= other.upper_bound
        assert other.lower_bound <= plan.upper_bound
    assert 0 <= plan.act(large_model().start) < 3


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[:2])
def test_a_deadline_is_kept_with_thousands_of_states(method):
    rocks = rock_sample(n=7, k=8).model
    method(large_model(), horizon=1)
    started = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"deadline=.* seconds passed"):
        plan = method(rocks, deadline=0.5)
    assert time.perf_counter() - started < 5.0  # a busy machine; .6 on an idle one, and hours without the deadline
    assert plan.lower_bound < 24.0 < plan.upper_bound  # SARSOP finds 21 to 24


@pytest.mark.parametrize("method", METHODS[:2])
def test_a_deadline_that_is_too_short_for_the_horizon_is_named(method):
    with pytest.raises(
        ParameterError, match=r"deadline=1e-06 seconds are too short for horizon=20: plans for 9 beliefs"
    ):
        method(large_model(), horizon=20, deadline=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_horizon_that_does_not_fit_in_memory_is_refused(method):
    with pytest.raises(
        ParameterError, match=r"horizon=100000000000 with 12 states needs [\d,]+ GB, and this machine has"
    ):
        method(large_model(), horizon=10**11)


@pytest.mark.parametrize("method", METHODS[:2])
def test_a_deadline_is_kept_near_a_discount_of_one(method):
    with pytest.warns(ConvergenceWarning, match=r"deadline=.* seconds passed"):
        plan = method(large_model(gamma=0.99999), deadline=0.2)
    assert plan.seconds < 0.2 + 5.0  # a busy machine; .2 s on an idle one
    assert plan.lower_bound <= plan.upper_bound


@pytest.mark.parametrize("gamma", [0.9999, 0.99999])
def test_discounts_near_one(tiger, gamma):
    plan = incremental_pruning(tiger(gamma), tol=1e-3)
    assert plan.converged
    # the mean reward per step is what is left as gamma goes to 1
    assert plan.lower_bound * (1.0 - gamma) == pytest.approx(1.0855, abs=2e-3)


@functools.cache
def problem(name):
    """A file of ours, or one of the literature."""
    own = PROBLEMS / f"{name}.pomdp"
    return POMDP.read(own if own.is_file() else CLASSICS / own.name)


def at_hand(*cases):
    """Cases that begin with the name of a file which is there."""
    return [case for case in cases if any((folder / f"{case[0]}.pomdp").is_file() for folder in (PROBLEMS, CLASSICS))]


# Brackets of the optimum at the start: closed forms where there are any, else what other people's solvers found.
BRACKETS = at_hand(
    ("two-doors", 19.371368374, 19.371368375),  # 4063900 / 209789
    ("cups", 8.777777777, 8.777777778),  # look once, guess: v = -1 + .8 (.7 10 - .3 6 + .8 v)
    ("ferry", 32.8896, 32.8898),
    ("mouse", 3.4862, 3.48621),
    ("1d", 1.26034, 1.26035),
    ("cheese.95", 3.4862, 3.48621),
    ("shuttle.95", 32.8896, 32.8898),
    ("network", 293.185, 293.852),
    ("tiger.aaai", 1.933438985, 1.933438987),
)


@pytest.mark.parametrize(("name", "lower", "upper"), BRACKETS)
def test_problems_with_known_values(name, lower, upper):
    plan = incremental_pruning(problem(name), tol=1e-7)
    assert plan.converged
    assert plan.lower_bound <= upper
    assert plan.upper_bound >= lower
    assert lower - 1e-6 <= plan.lower_bound <= plan.upper_bound <= upper + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS[:2])
@pytest.mark.parametrize("name", ["chase", "corridor", "cups", "machine", "mouse", "ferry", "two-doors"])
def test_problems_are_bracketed_alike_by_another_method_and_by_their_trees(name, method):
    pomdp = problem(name)
    plan, other = method(pomdp), sarsop(pomdp, tol=1e-5)
    assert plan.converged
    assert other.converged
    assert max(plan.lower_bound, other.lower_bound) <= min(plan.upper_bound, other.upper_bound)
    steps = method(pomdp, horizon=3)
    for belief in [pomdp.start, np.full(pomdp.n_states, 1.0 / pomdp.n_states)]:
        assert steps.value(belief) == pytest.approx(tree_value(pomdp, belief, 3), abs=1e-9)
    # what comes after three steps is worth no more than the largest reward in every step
    tail = pomdp.gamma**3 * float(np.abs(pomdp.mdp.expected_reward()).max()) / (1.0 - pomdp.gamma)
    assert abs(tree_value(pomdp, pomdp.start, 3) - plan.lower_bound) <= tail
    # and the plan earns what it promises
    played = simulate_beliefs(pomdp, plan, episodes=4_000, steps=60, seed=1).returns
    margin = 5.0 * float(played.std()) / math.sqrt(4_000) + pomdp.gamma**60 * tail / pomdp.gamma**3
    assert played.mean() == pytest.approx(plan.lower_bound, abs=margin)


@pytest.mark.parametrize(
    ("name", "horizon"),
    at_hand(
        ("chase", 6), ("corridor", 7), ("cups", 5), ("machine", 8), ("ferry", 6), ("mouse", 5),
        ("4x3.95", 6), ("network", 7), ("shuttle.95", 6),
    ),
)  # fmt: skip
def test_incremental_pruning_and_witness_find_the_same_vectors(name, horizon):
    pomdp = problem(name)
    one, other = incremental_pruning(pomdp, horizon=horizon), witness(pomdp, horizon=horizon)
    for mine, its in zip(one.stages, other.stages, strict=True):
        assert len(mine.actions) == len(its.actions)
        order = [np.lexsort(stage.alpha_vectors.round(7).T) for stage in (mine, its)]
        np.testing.assert_allclose(mine.alpha_vectors[order[0]], its.alpha_vectors[order[1]], atol=1e-8)


# ---------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon=0 is less than 1"),
        ({"horizon": 2.5}, r"horizon=2\.5 is not a whole number"),
        ({"tol": 0.0}, r"tol=0\.0 is not a positive number"),
        ({"deadline": -1}, "deadline=-1 is not a positive number"),
        ({"max_iterations": 0}, "max_iterations=0 is less than 1"),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_arguments_are_checked(tiger, method, options, message):
    with pytest.raises(ParameterError, match=message):
        method(tiger(0.95), **options)


def test_gamma_one_needs_a_horizon(tiger):
    with pytest.raises(
        ParameterError, match=r"witness without a horizon needs gamma < 1.*or solve for a finite horizon: .*horizon=10"
    ):
        witness(tiger(1.0))


def test_enumeration_says_what_would_be_too_much(tiger):
    with pytest.raises(ParameterError, match=r"9 \* 9 = 81 plans .* max_vectors=80; method='incremental_pruning'"):
        enumeration(tiger(0.95), horizon=4, max_vectors=80)


def test_plans_that_would_fill_the_memory_are_refused(monkeypatch, tiger):
    monkeypatch.setattr("rlsuite.planning.pomdp.exact.enumeration.MOST_NUMBERS", 2 * 80)
    with pytest.raises(
        ParameterError, match=r"9 \* 9 = 81 plans .* over 2 states, take 0.0 GiB; method='incremental_pr"
    ):
        enumeration(tiger(0.95), horizon=4)


def test_solve_finds_the_methods(tiger):
    plan = solve(tiger(0.95), "incremental_pruning", horizon=5)
    assert (plan.horizon, plan.method, plan.iterations) == (5, "incremental_pruning", 5)
    assert not plan.alpha_vectors.flags.writeable
    assert plan.gap == plan.upper_bound - plan.lower_bound


def test_a_plan_knows_its_steps(tiger):
    plan = incremental_pruning(tiger(0.95), horizon=3)
    assert plan.value([0.5, 0.5], steps_left=0) == 0.0
    assert plan.act([0.01, 0.99], steps_left=1) == 1
    with pytest.raises(ParameterError, match="steps_left=0: the plan is at its end"):
        plan.act([0.5, 0.5], steps_left=0)
    with pytest.raises(ParameterError, match="steps_left=4 is more than the 3 steps of this plan"):
        plan.act([0.5, 0.5], steps_left=4)
    with pytest.raises(ParameterError, match=r"belief sums to 0\.8, not 1"):
        plan.value([0.5, 0.3])
    with pytest.raises(ParameterError, match="leave steps_left out"):
        incremental_pruning(tiger(0.95)).value([0.5, 0.5], steps_left=1)
