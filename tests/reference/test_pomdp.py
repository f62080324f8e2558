"""Backups of alpha vectors against the exact values of the tiger, and the planners against them."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers the tiger
from rlsuite import reference
from rlsuite.errors import ModelError
from rlsuite.planning.pomdp.exact.backprojection import Projection

SEEDS = st.integers(0, 10**6)
GAMMAS = st.sampled_from([0.5, 0.9, 1.0])


def tiger(gamma: float) -> rl.POMDP:
    """KLC98 section 5.2: after opening a door the tiger is placed anew."""
    again = np.full((2, 2), 0.5)
    reward = [[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]]
    return rl.POMDP.from_arrays(
        [np.eye(2), again, again],
        reward,
        [[[0.85, 0.15], [0.15, 0.85]], again, again],
        order="ass",
        gamma=gamma,
        start=[0.5, 0.5],
    )


@pytest.mark.parametrize(
    ("gamma", "horizon", "vectors", "value"),
    [
        (1.0, 1, 3, -1),
        (1.0, 2, 5, -2),
        (1.0, 3, 7, Fraction(68, 25)),
        (1.0, 4, 5, Fraction(1937, 800)),
        (1.0, 5, 9, Fraction(72183, 20000)),
        (0.95, 3, 9, Fraction("2.3098")),
        (0.95, 4, 7, Fraction("1.7955442187")),
        (0.75, 4, 9, Fraction("0.483125")),
    ],
)
def test_exact_values_of_the_tiger(gamma: float, horizon: int, vectors: int, value: Fraction) -> None:
    found = reference.incremental_pruning(*reference.hidden_arrays(tiger(gamma)), gamma, horizon)
    assert len(found) == vectors
    assert (found @ [0.5, 0.5]).max() == pytest.approx(float(value), abs=5e-11)


def test_points_of_the_tiger() -> None:
    """All that is heard is a number of times left net of right: few beliefs are enough, V = 1220/631 at gamma .75."""
    net = np.arange(-4, 5)
    left = 0.85**net / (0.85**net + 0.15**net)
    beliefs = np.stack([left, 1.0 - left], axis=1)
    vectors = reference.pbvi(*reference.hidden_arrays(tiger(0.75)), 0.75, beliefs, iterations=100)
    assert (vectors @ [0.5, 0.5]).max() == pytest.approx(1220 / 631, abs=1e-9)


@settings(max_examples=20)
@given(seed=SEEDS, gamma=GAMMAS)
def test_planners_find_what_plain_pruning_finds(seed: int, gamma: float, new_pomdp: Callable) -> None:
    pomdp = new_pomdp(seed, gamma)
    vectors = reference.incremental_pruning(*reference.hidden_arrays(pomdp), gamma, horizon=2)
    beliefs = np.random.default_rng(seed).dirichlet(np.full(pomdp.n_states, 0.5), size=50)
    value = (vectors @ beliefs.T).max(axis=0)
    for method in ("incremental_pruning", "witness", "enumeration"):
        plan = rl.solve(pomdp, method, horizon=2)
        np.testing.assert_allclose((plan.alpha_vectors @ beliefs.T).max(axis=0), value, atol=1e-7)
        assert plan.lower_bound - 1e-9 <= (vectors @ pomdp.start).max() <= plan.upper_bound + 1e-9
        assert plan.converged


@settings(max_examples=40)
@given(seed=SEEDS, gamma=GAMMAS)
def test_one_step_back_is_the_plain_one(seed: int, gamma: float, new_pomdp: Callable) -> None:
    pomdp = new_pomdp(seed, gamma)
    P, R, O = reference.hidden_arrays(pomdp)  # noqa: E741 - the field's name
    rng = np.random.default_rng(seed)
    vectors, beliefs = rng.normal(size=(4, len(R))), rng.dirichlet(np.ones(len(R)), size=10)
    g = reference.backprojection(P, O, gamma, vectors)
    projection = Projection(pomdp)
    for a, seen in enumerate(projection.moves):
        for z in range(pomdp.n_observations):
            ours = projection.of(vectors, a, z) if z in seen else np.zeros((4, len(R)))
            np.testing.assert_allclose(ours, g[a, z], atol=1e-12)
    fast, _ = projection.at_points(vectors, beliefs)
    plain = reference.point_based_backup(P, R, O, gamma, vectors, beliefs)
    np.testing.assert_allclose((fast * beliefs).sum(axis=1), (plain * beliefs).sum(axis=1), atol=1e-12)


@settings(max_examples=8)
@given(seed=SEEDS)
def test_plain_points_are_within_the_bounds_of_sarsop(seed: int, new_pomdp: Callable) -> None:
    pomdp = new_pomdp(seed, 0.5)
    P, R, O = reference.hidden_arrays(pomdp)  # noqa: E741 - the field's name
    beliefs = [pomdp.start[None]]
    for _ in range(2):  # those that come up in two steps
        joint = np.einsum("bs,sat,atz->bazt", beliefs[-1], P, O).reshape(-1, len(P))
        seen = joint.sum(axis=1) > 1e-12
        beliefs.append(joint[seen] / joint[seen].sum(axis=1, keepdims=True))
    vectors = reference.pbvi(P, R, O, 0.5, np.concatenate(beliefs), iterations=50)
    plan = rl.solve(pomdp, "sarsop", gap=1e-2)
    assert (vectors @ pomdp.start).max() <= plan.upper_bound + 1e-9
    assert (vectors @ pomdp.start).max() >= plan.lower_bound - 0.1  # other beliefs come up later


@settings(max_examples=20)
@given(n=st.integers(1, 12), states=st.integers(1, 4), seed=SEEDS)
def test_pruning_keeps_what_is_best_somewhere(n: int, states: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-3, 4, size=(n, states)).astype(np.float64)  # few numbers: ties, and copies of vectors
    kept = reference.prune(vectors)
    beliefs = np.vstack([np.eye(states), rng.dirichlet(np.full(states, 0.5), size=300)])
    best = (vectors @ beliefs.T).max(axis=0)
    np.testing.assert_allclose((vectors[kept] @ beliefs.T).max(axis=0), best, atol=1e-9)
    for i in kept:
        assert reference.witness(vectors[i], vectors[[j for j in kept if j != i]]) is not None


def test_an_action_that_is_legal_here_and_there_is_named() -> None:
    mdp = rl.MDP.from_successors([[0, 1], [None, 0]], [[0, 0], [0, 0]], gamma=0.9)
    with pytest.raises(ModelError, match=r"^action 0 is illegal in state 1, and another action is legal there"):
        reference.hidden_arrays(rl.POMDP(mdp, np.ones((2, 2, 1))))
