import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.agents import QLearning
from rlsuite.agents.exploration import EpsilonGreedy
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import MDP, POMDP
from rlsuite.planning import discretised, incremental_pruning, reachable_beliefs, solve
from rlsuite.planning.pomdp.bounds.discretisation import SimplexGrid

FOR_EVER = 4063900 / 209789


@pytest.mark.parametrize("states", [1, 2, 3, 5])
@pytest.mark.parametrize("resolution", [1, 2, 5])
def test_the_grid_and_what_is_made_of_it(states, resolution):
    grid = SimplexGrid(np.ones(states, dtype=bool), resolution, 10_000)
    assert len(np.unique(grid.beliefs, axis=0)) == math.comb(resolution + states - 1, states - 1)
    np.testing.assert_allclose(grid.beliefs.sum(axis=1), 1.0)
    rng = np.random.default_rng(states)
    beliefs = rng.dirichlet(np.full(states, 0.4), 40)
    beliefs[beliefs < 0.05] = 0.0
    beliefs = np.concatenate([beliefs / beliefs.sum(axis=1, keepdims=True), grid.beliefs])
    numbers, weights = grid.made_of(beliefs, "freudenthal")
    assert weights.min() > -1e-12
    np.testing.assert_allclose(np.einsum("km,kms->ks", weights, grid.beliefs[numbers]), beliefs, atol=1e-12)
    holds = (weights > 1e-9)[:, :, np.newaxis] & (grid.beliefs[numbers] > 0.0)
    assert not (holds & (beliefs == 0.0)[:, np.newaxis]).any()
    used = np.where((weights > 1e-9)[:, :, np.newaxis], grid.beliefs[numbers], beliefs[:, np.newaxis])
    assert (np.ptp(used, axis=1) <= 1.0 / resolution + 1e-12).all()  # the corners of one cell
    nearest, _ = grid.made_of(beliefs, "nearest")
    distance = np.abs(grid.beliefs - beliefs[:, np.newaxis]).sum(axis=2)
    np.testing.assert_allclose(distance[np.arange(len(beliefs)), nearest[:, 0]], distance.min(axis=1), atol=1e-12)


def test_a_finer_grid_is_closer_and_interpolation_is_never_below(tiger):
    """The value function is convex: a mean of its values around a belief is an upper bound; the nearest is none."""
    model, upper = tiger(0.95), []
    for resolution in (4, 20, 80, 320):
        cells = discretised(model, resolution=resolution)
        solution = solve(cells.mdp)
        upper.append(solution.value[cells.cell([0.5, 0.5])])
        assert solution.act(cells.cell([0.5, 0.5])) == 0
        assert solution.act(cells.cell([0.0, 1.0])) == 1
    assert (np.diff(upper) < 1e-9).all()  # the third and the fourth are equal, up to rounding
    assert FOR_EVER <= upper[2] < upper[1] < upper[0]
    assert upper[-1] < FOR_EVER + 0.05
    cells = discretised(model, resolution=100, interpolation="nearest")
    assert solve(cells.mdp).value[cells.cell([0.5, 0.5])] == pytest.approx(FOR_EVER, abs=0.3)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(data=st.data(), resolution=st.integers(1, 6))
def test_interpolation_bounds_random_models_from_above(random_pomdps, data, resolution):
    pomdp = data.draw(random_pomdps())
    exact = incremental_pruning(pomdp, horizon=4, tol=1e-5)
    cells = discretised(pomdp, resolution=resolution)
    assert solve(cells.mdp, horizon=4).value_at_start >= exact.lower_bound - 1e-9


@pytest.mark.slow
def test_a_learner_on_the_cells(tiger):
    """The lecture notes' own route: Q-learning on the discretised belief MDP finds what planning on it finds."""
    cells = discretised(tiger(0.75), resolution=20, interpolation="nearest")
    agent = QLearning(gamma=0.75, learning_rate=0.02, exploration=EpsilonGreedy(0.5))
    agent.learn(cells.mdp.to_env(), steps=400_000, seed=1)
    best = solve(cells.mdp)
    known = [cells.cell(belief) for belief in ([0.5, 0.5], [0.85, 0.15], [0.15, 0.85])]
    np.testing.assert_allclose(agent.q_[known].max(axis=1), best.value[known], atol=1.0)


def test_beliefs_over_hidden_ends():
    look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    cups = POMDP.from_arrays(
        [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
        order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    )  # fmt: skip
    cells = discretised(cups, resolution=4)
    assert cells.mdp.n_states == 5  # no grid over the state in which all is over
    assert solve(cells.mdp).value_at_start == pytest.approx(8.0)


def test_a_dead_end_for_the_belief_is_named():
    # after the first step the states 1 and 2 look alike, and have no action in common
    mdp = MDP.from_successors([[{1, 2}, None], [0, None], [None, 0]], [1, 1, 1], gamma=0.9, start=0)
    pomdp = POMDP(mdp, np.ones((2, 3, 1)))
    with pytest.raises(ModelError, match="can be reached, but no action is legal"):
        discretised(pomdp, resolution=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resolution": 0}, "resolution=0 is less than 1"),
        ({"interpolation": "nearst"}, "unknown interpolation 'nearst'; did you mean 'nearest'"),
        ({"max_beliefs": 10}, "a grid of resolution=10 over 2 states has 11 beliefs, more than max_beliefs=10"),
        ({"deadline": -1}, "deadline=-1 is not a positive number or 0"),
    ],
)
def test_arguments_are_checked(tiger, options, message):
    with pytest.raises(ParameterError, match=message):
        discretised(tiger(0.95), **options)


def test_a_deadline_that_is_too_short_is_the_one_that_was_given(tiger, monkeypatch):
    with pytest.raises(ParameterError, match=r"^deadline=1e-09 seconds are too short for a grid of 501 beliefs"):
        discretised(tiger(0.95), resolution=500, deadline=1e-9)
    monkeypatch.setattr(CompilingClock, "hurries", property(lambda clock: clock.name == "backward_induction"))
    with pytest.raises(ParameterError, match=r"^deadline=50 seconds are too short for horizon=3: 0 of these steps"):
        reachable_beliefs(tiger(0.95), horizon=3, deadline=50)
