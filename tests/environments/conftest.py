from types import SimpleNamespace

import numpy as np
import pytest

from rlsuite.models import MDP, POMDP


class Dice:
    """A generator that returns the numbers it was given, in order."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)

    standard_normal = random


@pytest.fixture
def dice():
    return Dice


@pytest.fixture
def noisy():
    """Two states; rewards that are fixed, normal and Bernoulli, in one model."""
    return MDP.from_arrays(
        [[[0.3, 0.7], [1, 0], [0.5, 0.5]], [[0, 1], [0.25, 0.75], [0.1, 0.9]]],
        [[1.0, 2.0, 0.25], [3.0, -1.0, 0.5]],
        gamma=0.9,
        start=[0.5, 0.5],
        reward_std=[[0, 0.5, 0], [0, 2.0, 0]],
        bernoulli=[[False, False, True], [False, False, True]],
    )


@pytest.fixture
def masked():
    """Three states, of which the last is an end; action 1 is illegal in state 0."""
    return MDP.from_successors(
        [[{0, 1}, None], [2, {0, 1}], [None, None]], [[1, 0], [5, 2], [0, 0]], gamma=0.9, start=0
    )


@pytest.fixture
def hidden(noisy):
    """A POMDP with random rewards: two states, three actions, four observations, one of them impossible in places."""
    rng = np.random.default_rng(3)
    observation = rng.random((3, 2, 4))
    observation[:, 0, 0] = 0.0
    observation /= observation.sum(axis=2, keepdims=True)
    return POMDP(noisy, observation)


@pytest.fixture
def models(noisy, masked, hidden):
    lake = MDP.from_env("FrozenLake-v1", gamma=0.9)
    return SimpleNamespace(noisy=noisy, masked=masked, hidden=hidden, lake=lake)
