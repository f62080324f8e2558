"""What an environment's methods use besides its attributes."""

import abc
import functools
import random
from collections import deque
from datetime import datetime
from typing import ClassVar

import gymnasium as gym
import numpy as np
import pytest

from rlsuite.environments.side_effects import Surroundings

COUNT = 0
TABLE = {"moved": 0}


def moved():
    TABLE["moved"] += 1


def clocked():
    return datetime.now()


class Base(gym.Env):
    steps: ClassVar = []

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


class Global(Base):
    def step(self, action):
        global COUNT
        COUNT += 1
        return super().step(action)


class Called(Base):
    def step(self, action):
        moved()
        return super().step(action)


class OfTheClass(Base):
    def step(self, action):
        self.steps.append(action)
        return super().step(action)


class OfPython(Base):
    def step(self, action):
        random.random()
        return super().step(action)


class OfNumpy(Base):
    def step(self, action):
        np.random.random()  # noqa: NPY002
        return super().step(action)


class Clock(Base):
    @functools.cached_property
    def now(self):
        return clocked()

    def step(self, action):
        return 0, self.now, False, False, {}


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (Global, "the global `COUNT`"),
        (Called, "the global `TABLE`"),
        (OfTheClass, "the class attribute Base.steps"),
        (OfPython, "the global generator of random"),
        (OfNumpy, "the global generator of numpy.random"),
    ],
)
def test_what_a_step_changes_outside_is_named(kind, what):
    env = kind()
    surroundings = Surroundings(env)
    assert (surroundings.forbidden, surroundings.changed()) == ("", "")
    env.step(0)
    assert surroundings.changed() == what


def test_a_clock_behind_two_calls_is_found_without_a_step():
    assert Surroundings(Clock()).forbidden == "reads a clock (datetime)"


def test_the_environments_of_gymnasium_use_nothing_else():
    for name in ("FrozenLake-v1", "Taxi-v4", "CliffWalking-v1", "Blackjack-v1"):
        env = gym.make(name).unwrapped
        surroundings = Surroundings(env)
        env.reset(seed=0)
        env.step(0)
        assert (surroundings.forbidden, surroundings.changed()) == ("", "")


class Abstract(gym.Env, abc.ABC):
    """Its class has a cache of its own, an attribute is of C code, and a number does not equal itself."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.Discrete(2)

    def __init__(self):
        self.log = deque([0], maxlen=3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(np.nan > action), 0.0, bool(action), False, {}


def test_what_cannot_change_is_not_compared():
    surroundings = Surroundings(Abstract())
    assert not surroundings.forbidden
    assert not surroundings.changed()
