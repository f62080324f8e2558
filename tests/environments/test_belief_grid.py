"""Beliefs rounded to a grid: every point has one id, and tables learn on them."""

from itertools import product

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.environments.belief_grid import BeliefGridObservation
from rlsuite.environments.wrappers import BeliefObservation
from rlsuite.errors import ParameterError

pytestmark = pytest.mark.arithmetic


@pytest.mark.parametrize("resolution", [1, 4])
def test_every_point_has_an_id_of_its_own(resolution):
    cheese = rl.POMDP.from_env("rlsuite/CheeseMaze-v0", gamma=0.9)
    env = BeliefGridObservation(BeliefObservation(cheese.to_env()), resolution)
    n = cheese.n_states
    points = [one for one in product(range(resolution + 1), repeat=3) if sum(one) == resolution]
    beliefs = [np.array([*one, *[0] * (n - 3)]) / resolution for one in points]
    ids = {env.observation(belief) for belief in beliefs}
    assert len(ids) == len(points)
    assert max(ids) < env.observation_space.n
    for belief, point in zip(beliefs, points, strict=True):
        assert env.rounded(belief)[:3].tolist() == list(point)


def test_the_largest_remainders_round_up():
    tiger = gymnasium.make("rlsuite/Tiger-v0", observe="belief-grid")
    rounded = tiger.env.env.env.rounded
    assert rounded(np.array([0.85, 0.15])).tolist() == [9, 1]
    assert rounded(np.array([0.96, 0.04])).tolist() == [10, 0]
    assert gymnasium.make("rlsuite/Tiger-v0", observe="belief-grid:20").observation_space.n == 21


def test_a_grid_beyond_a_table_names_one_that_fits():
    with pytest.raises(ParameterError, match=r"'belief-grid:[1-9]' fits"):
        gymnasium.make("rlsuite/Hallway-v0", observe="belief-grid")


@pytest.mark.slow
def test_q_learning_on_the_grid_listens_first():
    env = gymnasium.make("rlsuite/Tiger-v0", observe="belief-grid:20")
    agent = rl.QLearning(gamma=0.95, learning_rate=0.05).learn(env, steps=20_000, seed=1, loop="stepwise")
    assert agent.act(10) == 0
