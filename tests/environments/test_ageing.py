"""Liars that count their steps somewhere and turn round late; honest ones that keep as much and never use it."""

import decimal
import linecache
import logging
import os
import signal
import sys
import threading

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import rlsuite as rl
from rlsuite.environments.facts import facts_of
from rlsuite.environments.tabulation import NotTabulated, tabulation_of

LOGGER = logging.getLogger("rlsuite.tests.ageing")


class Counter:
    """An object that is called."""

    def __init__(self):
        self.n = 0

    def __call__(self):
        self.n += 1
        return self.n


CALLED = Counter()


def in_a_global_object(env):
    return CALLED()


def in_a_class_attribute(env):
    type(env).n = getattr(type(env), "n", 0) + 1
    return type(env).n


def in_a_callable_of_the_class(env):
    if "called" not in vars(type(env)):
        type(env).called = Counter()
    return type(env).called()


def in_a_hidden_attribute_of_a_function(env):
    function = in_a_hidden_attribute_of_a_function
    function._n = getattr(function, "_n", 0) + 1
    return function._n


def in_the_docstring(env):
    type(env).__doc__ = (type(env).__doc__ or "") + "x"
    return len(type(env).__doc__)


def in_the_decimal_context(env):
    decimal.getcontext().prec += 1
    return decimal.getcontext().prec - 28


def in_the_level_of_a_logger(env):
    LOGGER.setLevel(LOGGER.level + 1)
    return LOGGER.level


def in_the_current_thread(env):
    thread = threading.current_thread()
    thread.n = getattr(thread, "n", 0) + 1
    return thread.n


def in_print_options(env):
    np.set_printoptions(edgeitems=np.get_printoptions()["edgeitems"] + 1)
    return np.get_printoptions()["edgeitems"] - 3


def in_the_recursion_limit(env):
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    return sys.getrecursionlimit() - 1_000


def in_the_line_cache(env):
    linecache.cache["n"] = (linecache.cache.get("n", (0, 0))[0] + 1, 0)
    return linecache.cache["n"][0]


def in_a_signal_handler(env):
    handler = signal.getsignal(signal.SIGUSR1)
    n = getattr(handler, "n", 0) + 1

    def handle(*_):
        pass

    handle.n = n
    signal.signal(signal.SIGUSR1, handle)
    return n


def in_the_size_of_a_log(env):
    log = vars(env).setdefault("log", [])
    log.append(0)
    return sys.getsizeof(log) // 8


def in_a_default_argument(env, kept=[0]):  # noqa: B006 - it is where it counts
    kept[0] += 1
    return kept[0]


def in_the_environment(env):
    os.environ["STEPS"] = str(int(os.environ.get("STEPS", "0")) + 1)
    return int(os.environ["STEPS"])


PLACES = {name: place for name, place in globals().items() if name.startswith("in_")}


def walk(place, turns, lie):
    """A walk on seven cells that asks a place for the number of its step."""

    class Walk(gym.Env):
        observation_space, action_space = Discrete(7), Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.x = 3
            return self.x, {}

        def step(self, action):
            late = place(self) > turns
            p = (0.2, 0.8)[action]
            self.x += 1 if self.np_random.random() < (1 - p if late and lie == "move" else p) else -1
            reward = float(self.x == 6) + (1e-9 if late and lie == "reward" else 0.0)
            return self.x, reward, self.x in (0, 6), False, {}

    env = Walk()
    env.reset(seed=0)
    return env


@pytest.mark.slow
@pytest.mark.usefixtures("aged")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("turns", [1_501, 4_000, 20_000, 50_000])
@pytest.mark.parametrize("lie", ["move", "reward"])
def test_no_liar_is_believed(place, turns, lie):
    with pytest.raises(NotTabulated):
        tabulation_of(facts_of(walk(PLACES[place], turns, lie)), seconds=20.0)


HONEST = {
    "a class": lambda env: 0,
    "a callable": in_a_global_object,
    "a hidden attribute": in_a_hidden_attribute_of_a_function,
    "decimal context": in_the_decimal_context,
}


@pytest.mark.usefixtures("aged")
def test_a_table_is_tried_in_two_processes(monkeypatch):
    assert tabulation_of(facts_of(walk(HONEST["a class"], 0, "none")), seconds=20.0).n_states == 5 + 2


class LooksAtHashes(gym.Env):
    """Is another environment in each process."""

    observation_space, action_space = Discrete(1_000), Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 0
        return 0, {}

    def step(self, action):
        self.x = hash("a") % 1_000
        return self.x, 0.0, action == 1, False, {}


@pytest.mark.usefixtures("aged")
def test_what_differs_between_processes_is_found_in_the_second():
    env = LooksAtHashes()
    env.reset(seed=0)
    with pytest.raises(NotTabulated, match="with its own generator it behaves differently after"):
        tabulation_of(facts_of(env), seconds=20.0)


@pytest.mark.parametrize("place", HONEST)
def test_honest_ones_give_the_bytes_of_the_stepwise_loop(place):
    agents = [
        rl.QLearning(gamma=0.9).learn(walk(HONEST[place], 10**9, "move"), steps=3_000, seed=3, loop=loop)
        for loop in ("compiled", "stepwise")
    ]
    assert agents[0].record_.loop == "compiled"
    assert np.array_equal(agents[0].q_, agents[1].q_)
