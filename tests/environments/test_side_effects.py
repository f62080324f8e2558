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
    assert not surroundings.changed()
    env.step(0)
    assert surroundings.changed() == what


def test_the_environments_of_gymnasium_use_nothing_else():
    for name in ("FrozenLake-v1", "Taxi-v4", "CliffWalking-v1", "Blackjack-v1"):
        env = gym.make(name).unwrapped
        surroundings = Surroundings(env)
        env.reset(seed=0)
        env.step(0)
        assert not surroundings.changed()


# ---------------------------------------------------------------------------------- where a count may be kept


@functools.cache
def store():
    return [0]


class Meta(type(gym.Env)):
    moved = 0


def helper():
    pass


helper.moved = 0
PARTIAL = functools.partial(print, [0])


class Part:
    moved = 0
    held: ClassVar = [0]

    def move(self):
        Part.moved += 1


class Hides:
    moved = 0

    def __getstate__(self):
        return {}


class Rebuilds:
    moved = 0

    def __reduce__(self):
        return (Rebuilds, ())


class Counting(Base, metaclass=Meta):
    count = staticmethod(lambda env: None)

    def __init__(self, *parts):
        self.parts = [{"first": one} for one in parts]

    def step(self, action):
        self.count()
        return super().step(action)


def counting(count, *parts):
    return type("Counts", (Counting,), {"count": count, "__module__": __name__})(*parts)


def counts_in_a_metaclass(env):
    type(type(env)).moved += 1


def counts_in_a_function(env):
    helper.moved += 1


def counts_in_its_own_function(env):
    counts_in_its_own_function.moved = getattr(counts_in_its_own_function, "moved", 0) + 1


def counts_in_a_partial(env):
    PARTIAL.args[0][0] += 1


def counts_in_the_class_of_a_part(env):
    type(env.parts[0]["first"]).moved += 1


def counts_in_a_list_of_the_class_of_a_part(env):
    env.parts[0]["first"].held[0] += 1


def counts_in_a_module_that_it_holds(env):
    env.module.moved += 1


@pytest.mark.parametrize(
    ("env", "what"),
    [
        (counting(counts_in_a_metaclass), "the class attribute Meta.moved"),
        (counting(counts_in_a_function), "an attribute of the function helper()"),
        (counting(counts_in_its_own_function), "an attribute of the function counts_in_its_own_function()"),
        (counting(counts_in_a_partial), "an argument of a functools.partial"),
        (counting(lambda env: env.parts[0]["first"].move(), Part()), "the class attribute Part.moved"),
        (counting(counts_in_the_class_of_a_part, Part()), "the class attribute Part.moved"),
        (counting(counts_in_a_list_of_the_class_of_a_part, Part()), "the class attribute Part.held"),
    ],
)
def test_a_count_is_found_wherever_it_is_kept(env, what):
    surroundings = Surroundings(env)
    assert not surroundings.changed()
    env.step(0)
    assert surroundings.changed() == what


def test_one_name_in_two_modules_is_two_globals():
    spaces = [{"COUNT": 0, "__name__": f"{__name__}.{name}"} for name in ("one", "two")]
    for space in spaces:
        exec("def add(env):\n    global COUNT\n    COUNT += 1", space)
    first, second = (space["add"] for space in spaces)
    env = type("Both", (Base,), {"first": first, "second": second, "__module__": __name__,
                                 "step": lambda env, action: (env.first(), env.second())})()  # fmt: skip
    surroundings = Surroundings(env)
    first(env)
    assert surroundings.changed() == "the global `COUNT`"


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


def counts_in_a_default(env, kept=[0]):  # noqa: B006 - what is tested
    kept[0] += 1


def counts_in_its_class(env):
    env.steps.append(0)


@pytest.mark.parametrize("count", [counts_in_a_default, counts_in_a_partial, counts_in_its_class])
def test_looked_at_again_it_is_the_same_until_it_changes(count):
    env = counting(count, Part())
    before = Surroundings(env)
    assert before.same(Surroundings(env))
    env.step(0)
    assert before.changed()
    assert not before.same(Surroundings(env))


def test_what_cannot_change_is_not_compared():
    surroundings = Surroundings(Abstract())
    assert not surroundings.changed()
