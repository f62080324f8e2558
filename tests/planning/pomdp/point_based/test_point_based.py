"""The point-based planners and the bounds that they begin with."""

import math
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning.pomdp.bounds import point_tables
from rlsuite.planning.pomdp.bounds.blind import blind
from rlsuite.planning.pomdp.bounds.fast_informed_bound import fast_informed_bound
from rlsuite.planning.pomdp.bounds.qmdp import qmdp
from rlsuite.planning.pomdp.point_based.pbvi import pbvi
from rlsuite.planning.pomdp.point_based.perseus import perseus
from rlsuite.planning.pomdp.point_based.sarsop import sarsop
from rlsuite.planning.pomdp.reachable_beliefs import reachable_beliefs
from rlsuite.planning.pomdp.simulation import simulate_beliefs
from rlsuite.planning.pomdp.solution import values_at

pytestmark = pytest.mark.arithmetic

EXACT = {0.75: 1220 / 631, 0.9: 425950 / 50069, 0.95: 4063900 / 209789}
"""The tiger at the uniform belief."""

PROBLEMS = Path(__file__).parents[3] / "problems"
CLASSICS = Path(__file__).parents[5] / "shared" / "pomdp"
"""Problem files of the literature, where they lie beside the checkout."""


def quietly(planner, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return planner(*arguments, **options)


def random_pomdp(rng, *, states, actions, symbols, gamma, ending=False, masked=False):
    def laws(*shape):
        table = rng.dirichlet(np.full(shape[-1], 0.5), size=shape[:-1])
        table[rng.random(shape) < 0.3] = 0.0
        table[..., 0] += 1e-3
        return table / table.sum(axis=-1, keepdims=True)

    moves, seen = laws(actions, states, states), laws(actions, states, symbols)
    legal = rng.random((states, actions)) < 0.7 if masked else np.ones((states, actions), dtype=bool)
    legal[:, 0] = True  # one action is legal everywhere, so that no belief is a dead end
    stop = rng.random((states, states)) < 0.2 if ending else np.zeros((states, states), dtype=bool)
    indptr, following, probability, reward, ends = [0], [], [], [], []
    for s in range(states):
        for a in range(actions):
            row = np.flatnonzero(moves[a, s]) if legal[s, a] else []
            following += [int(s2) for s2 in row]
            probability += [moves[a, s, s2] for s2 in row]
            reward += rng.normal(size=len(row)).tolist()
            ends += [bool(stop[s, s2]) for s2 in row]
            indptr.append(len(following))
    start = rng.dirichlet(np.ones(states))
    mdp = MDP.from_rows(
        indptr, following, probability, reward, n_actions=actions, gamma=gamma, terminated=ends, start=start
    )
    return POMDP(mdp, seen)


def corridor(positions, *, gamma=0.95):
    """A known place in a corridor, and a prize behind the left or the right door at its end, heard better nearby.

    State 2 p + side; actions: walk on, listen, open left, open right. Only the doors at the end can be opened.
    """
    states, end = 2 * positions, 2 * positions
    indptr, following, reward, ends = [0], [], [], []
    seen = np.zeros((4, states + 1, 2))
    seen[:, :, 0] = 1.0
    for p in range(positions):
        for side in (0, 1):
            hears = 0.5 + 0.4 * (p + 1) / positions
            seen[1, 2 * p + side] = (hears, 1.0 - hears) if side == 0 else (1.0 - hears, hears)
            last = p == positions - 1
            steps = [None if last else 2 * (p + 1) + side, 2 * p + side, end if last else None, end if last else None]
            pays = [-0.1, -0.2, 10.0 if side == 0 else -10.0, 10.0 if side == 1 else -10.0]
            for to, paid in zip(steps, pays, strict=True):
                if to is not None:
                    following.append(to)
                    reward.append(paid)
                    ends.append(to == end)
                indptr.append(len(following))
    indptr += [len(following)] * 4
    start = np.zeros(states + 1)
    start[:2] = 0.5
    mdp = MDP.from_rows(
        indptr, following, np.ones(len(following)), reward, n_actions=4, gamma=gamma, terminated=ends, start=start
    )
    return POMDP(mdp, seen)


# ----------------------------------------------------------------------------------------------------------- the tiger


@pytest.mark.parametrize(
    ("planner", "gamma"),
    [(sarsop, 0.75), (sarsop, 0.9), (sarsop, 0.95), (pbvi, 0.75), (pbvi, 0.95), (perseus, 0.75), (perseus, 0.9)],
)
def test_tiger_is_bracketed_and_closed(tiger, planner, gamma):
    plan = planner(tiger(gamma), tol=1e-5)
    assert plan.lower_bound <= EXACT[gamma] <= plan.upper_bound
    assert plan.converged
    assert plan.gap <= 1e-5
    assert plan.value([0.5, 0.5]) == pytest.approx(EXACT[gamma], abs=2e-5)
    assert [plan.act(b) for b in ([0.5, 0.5], [0.001, 0.999], [0.999, 0.001])] == [0, 1, 2]
    assert plan.method == planner.__name__


def test_bounds_of_the_tiger_are_those_of_the_literature(tiger):
    model = tiger(0.95)
    assert blind(model).lower_bound == pytest.approx(-20.0, abs=1e-6)
    assert qmdp(model).upper_bound == pytest.approx(189.0, abs=1e-6)
    assert fast_informed_bound(model).upper_bound == pytest.approx(87.1794872, abs=1e-5)
    np.testing.assert_allclose(blind(model).alpha_vectors[0], [-20.0, -20.0], rtol=1e-9)


def test_returned_vectors_are_promises_that_are_kept_in_every_belief(tiger):
    model = tiger(0.9)
    plan = sarsop(model)
    for left in (0.0, 0.03, 0.3, 0.8, 1.0):
        there = sarsop(model.replace(start=[left, 1.0 - left]))
        assert plan.value([left, 1.0 - left]) <= there.upper_bound + 1e-9


@pytest.mark.parametrize("planner", [sarsop, perseus])
def test_what_is_promised_is_earned(tiger, planner):
    model = tiger(0.75)
    plan = planner(model)
    episodes = simulate_beliefs(model, plan, episodes=4_000, seed=1)
    error = 4.0 * episodes.returns.std() / math.sqrt(episodes.returns.size) + episodes.tail
    assert abs(episodes.returns.mean() - plan.lower_bound) <= error


def test_trace_and_limits(tiger):
    with pytest.warns(ConvergenceWarning, match=r"sarsop stopped after 3 trials .* max_iterations=3 reached"):
        plan = sarsop(tiger(0.95), max_iterations=3)
    assert plan.iterations == 3
    assert not plan.converged
    assert plan.lower_bound <= EXACT[0.95] <= plan.upper_bound
    trace = plan.trace
    assert (np.diff(trace.lower_bound) >= 0.0).all()
    assert (np.diff(trace.upper_bound) <= 0.0).all()
    assert (trace.lower_bound[-1], trace.upper_bound[-1]) == (plan.lower_bound, plan.upper_bound)
    assert sarsop(tiger(0.95), gap=0.5).gap <= 0.5


def test_same_seed_same_vectors(tiger):
    one, same, other = (perseus(tiger(0.75), tol=1e-3, seed=seed) for seed in (1, 1, 2))
    assert one.alpha_vectors.tobytes() == same.alpha_vectors.tobytes()
    assert other.lower_bound <= EXACT[0.75] <= other.upper_bound


# ------------------------------------------------------------------------------------------------------- random models


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), ending=st.booleans(), masked=st.booleans(), gamma=st.sampled_from([0.0, 0.3, 0.5]))
def test_brute_force_agrees(seed, ending, masked, gamma):
    rng = np.random.default_rng(seed)
    sizes = {"states": int(rng.integers(1, 5)), "actions": int(rng.integers(1, 3)), "symbols": int(rng.integers(1, 3))}
    model = random_pomdp(rng, **sizes, gamma=gamma, ending=ending, masked=masked)
    steps = 6
    tree = reachable_beliefs(model, horizon=steps, tol=math.inf)
    tail = gamma**steps * np.abs(model.mdp.reward).max() / (1.0 - gamma)
    plan = sarsop(model, tol=1e-5)
    assert plan.converged
    assert plan.lower_bound <= tree.upper_bound + tail
    assert plan.upper_bound >= tree.lower_bound - tail
    for other in (quietly(pbvi, model, deadline=0.05), quietly(perseus, model, n_beliefs=20, max_iterations=5)):
        assert other.lower_bound <= plan.upper_bound
        assert other.upper_bound >= plan.lower_bound


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), ending=st.booleans(), masked=st.booleans(), gamma=st.sampled_from([0.9, 0.99]))
def test_bounds_are_ordered(seed, ending, masked, gamma):
    rng = np.random.default_rng(seed)
    model = random_pomdp(rng, states=6, actions=3, symbols=3, gamma=gamma, ending=ending, masked=masked)
    low, seen, informed = blind(model), qmdp(model), fast_informed_bound(model)
    plan = quietly(sarsop, model, max_iterations=20)
    slack = 1e-5 * (1.0 + abs(seen.upper_bound))  # to which the search computes the bounds that it begins with
    assert low.lower_bound <= plan.lower_bound + slack
    assert plan.lower_bound <= plan.upper_bound
    assert plan.upper_bound <= informed.upper_bound + slack
    assert informed.upper_bound <= seen.upper_bound + slack
    assert (informed.alpha_vectors <= seen.alpha_vectors + slack).all()
    beliefs = rng.dirichlet(np.ones(6), size=20)
    below = values_at(plan.alpha_vectors, beliefs).max(axis=1)
    assert (below <= values_at(informed.alpha_vectors, beliefs).max(axis=1) + slack).all()


# ------------------------------------------------------------------------------------------------------------- regions


def test_a_known_place_makes_small_regions_and_the_same_value(monkeypatch):
    model = corridor(70)
    found, tables = [], point_tables.tables
    target = "rlsuite.planning.pomdp.point_based.sarsop.tables"
    monkeypatch.setattr(target, lambda *given: found.append(tables(*given)) or found[-1])
    split = sarsop(model, tol=1e-3)
    assert np.diff(found[-1].first).max() == 2
    monkeypatch.setattr(point_tables, "SMALL", 1000)
    whole = sarsop(model, tol=1e-3)
    assert found[-1].first.size == 2
    assert split.converged
    assert whole.converged
    assert split.lower_bound <= whole.upper_bound
    assert whole.lower_bound <= split.upper_bound
    assert split.act(model.start) == 0
    with pytest.raises(ParameterError, match="no plan is legal"):
        split.act(np.eye(141)[140])


def test_start_that_hides_the_place_has_a_region_of_its_own():
    model = corridor(70)
    anywhere = np.zeros(141)
    anywhere[:6] = 1 / 6
    plan = quietly(sarsop, model.replace(start=anywhere), max_iterations=5)
    assert plan.lower_bound <= plan.upper_bound


# ------------------------------------------------------------------------------------------------------ what can happen


def test_a_belief_without_a_legal_action_is_named():
    mdp = MDP.from_rows([0, 1, 1, 1, 2], [0, 1], [1.0, 1.0], [0.0, 0.0], n_actions=2, gamma=0.9, start=[0.5, 0.5])
    with pytest.raises(ModelError, match=r"every plan comes to a belief in which no action is legal in every state"):
        sarsop(POMDP(mdp, np.ones((2, 2, 1))))


@pytest.mark.slow
@pytest.mark.parametrize("illegal", [0, 1])
def test_a_possibility_that_underflows_does_not_make_upper_bounds_too_low(illegal):
    """State 2, where one action is illegal, follows with probability 1e-200 and shows 0 with 1e-200: 0 excludes it.

    From state 0, the other action leads to state 1, where the action that is illegal in state 2 pays 1 in each step.
    """
    other = 1 - illegal
    moves, legal, reward = np.tile(np.eye(3), (2, 1, 1)), np.ones((3, 2), dtype=bool), np.zeros((3, 2))
    moves[other, 0], legal[2, illegal], reward[1, illegal] = [0.0, 1.0, 1e-200], False, 1.0
    seen = [[1.0, 0.0], [1.0, 0.0], [1e-200, 1.0]]
    mdp = MDP.from_arrays(moves, reward.T, order="ass", gamma=0.5, legal=legal, start=0)
    model = POMDP(mdp, np.array([seen, seen]))
    assert model.update_belief(model.start, other, 0).tolist() == [0.0, 1.0, 0.0]
    assert reachable_beliefs(model).lower_bound == pytest.approx(1.0)
    for planner in (fast_informed_bound, sarsop, pbvi, perseus):
        assert quietly(planner, model).upper_bound == pytest.approx(1.0)


@pytest.mark.parametrize("planner", [sarsop, pbvi, perseus, blind, qmdp, fast_informed_bound])
def test_mistaken_calls(tiger, planner):
    with pytest.raises(ParameterError, match="gamma"):
        planner(tiger(1.0))
    with pytest.raises(ParameterError, match="tol"):
        planner(tiger(0.9), tol=0.0)
    with pytest.raises(ParameterError, match="deadline"):
        planner(tiger(0.9), deadline=-1.0)


def test_mistaken_options(tiger):
    with pytest.raises(ParameterError, match="gap"):
        sarsop(tiger(0.9), gap=0.0)
    with pytest.raises(ParameterError, match="max_gb"):
        sarsop(tiger(0.9), max_gb=-1.0)
    with pytest.raises(ParameterError, match="n_beliefs"):
        perseus(tiger(0.9), n_beliefs=0)
    with pytest.raises(ParameterError, match="seed"):
        perseus(tiger(0.9), seed=-1)
    with pytest.raises(ParameterError, match="max_beliefs"):
        pbvi(tiger(0.9), max_beliefs=0)


def test_memory_is_limited():
    model = random_pomdp(np.random.default_rng(1), states=20, actions=3, symbols=5, gamma=0.99)
    with pytest.warns(ConvergenceWarning, match="memory"):
        plan = sarsop(model, tol=1e-9, max_gb=0.01, deadline=20.0)
    assert plan.lower_bound <= plan.upper_bound


@pytest.mark.cases("sarsop.*")
@pytest.mark.parametrize("gamma", [0.95, 0.99999])
@pytest.mark.parametrize("planner", [sarsop, pbvi, perseus])
def test_deadline_is_kept(planner, gamma):
    model = random_pomdp(np.random.default_rng(2), states=30, actions=4, symbols=6, gamma=gamma)
    quietly(planner, model, deadline=0.05)  # loads what was compiled
    begun = time.thread_time()  # and not the clock on the wall: the machine may be busy with something else
    plan = quietly(planner, model, tol=1e-9, deadline=0.4)
    assert time.thread_time() - begun <= 1.05 * 0.4 + 0.2
    assert plan.seconds >= 0.2
    assert plan.lower_bound <= plan.upper_bound


BRACKETS = [
    (PROBLEMS / "two-doors.pomdp", 19.371368, 19.371369),
    (PROBLEMS / "cups.pomdp", 8.777777, 8.777778),
    (PROBLEMS / "ferry.pomdp", 32.8896, 32.8897),
    (PROBLEMS / "mouse.pomdp", 3.4862, 3.48621),
    (CLASSICS / "1d.pomdp", 1.26034, 1.26035),
    (CLASSICS / "cheese.95.pomdp", 3.4862, 3.48621),
    (CLASSICS / "shuttle.95.pomdp", 32.8896, 32.8897),
    (CLASSICS / "tiger.95.pomdp", 19.371368, 19.371369),
    (CLASSICS / "tiger.aaai.pomdp", 1.933438, 1.933439),
]


@pytest.mark.parametrize(
    ("path", "low", "high"),
    [case for case in BRACKETS if case[0].is_file()],
    ids=lambda each: each.stem if isinstance(each, Path) else "",
)
def test_problems_with_known_values(path, low, high):
    plan = sarsop(POMDP.read(path), tol=1e-4)
    assert plan.converged
    assert plan.lower_bound <= high
    assert plan.upper_bound >= low
    assert plan.lower_bound >= low - 2e-4
    assert plan.upper_bound <= high + 2e-4
