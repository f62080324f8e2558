import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text import FrozenLakeEnv

import rlsuite as rl


def assert_same_arrays(one, other):
    """Every array of two memories, bit for bit."""
    assert one._fields == other._fields
    for name, value in one._asdict().items():
        if isinstance(value, np.ndarray):
            twin = getattr(other, name)
            assert value.dtype == twin.dtype
            assert value.tobytes() == twin.tobytes(), name


def assert_same_records(one, other):
    """Every field of two records but the name of the loop and how long it took, bit for bit."""
    for name, value in vars(one).items():
        twin = getattr(other, name)
        if isinstance(value, np.ndarray):
            assert value.tobytes() == twin.tobytes(), name
        elif name not in ("loop", "loop_reason", "seconds", "compiling_seconds"):
            assert value == twin, name


@pytest.fixture
def same_agents():
    def check(one, other):
        assert_same_arrays(one.memory_, other.memory_)
        assert_same_records(one.record_, other.record_)
        assert one.episodes_.tobytes() == other.episodes_.tobytes()

    return check


@pytest.fixture
def same_records():
    return assert_same_records


class Corridor(gymnasium.Env):
    """Five cells without a table, numbered from 10; actions 3 (left) and 4 (right); the end is on the right."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Discrete(5, start=10)
        self.action_space = gymnasium.spaces.Discrete(2, start=3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return 10, {}

    def step(self, action):
        self.cell = max(self.cell + (1 if action == 4 else -1), 0)
        return 10 + self.cell, -1.0, self.cell == 4, False, {}


class MaskedCorridor(Corridor):
    """The corridor; the wall on the left is told by a mask."""

    def info(self):
        return {"action_mask": np.array([self.cell > 0, True], dtype=np.int8)}

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0], self.info()

    def step(self, action):
        assert self.cell > 0 or action == 4
        return (*super().step(action)[:4], self.info())


class Tired(FrozenLakeEnv):
    """A lake whose step keeps a count that the table does not know."""

    energy = 0

    def step(self, a):
        self.energy += 1
        return super().step(a)


class Bonus(FrozenLakeEnv):
    """A lake whose step pays, in one state, what the table does not say."""

    def step(self, a):
        state = self.s
        observation, reward, terminated, truncated, info = super().step(a)
        return observation, reward + 5 * (state == 14 and a == 2), terminated, truncated, info


class Double(gymnasium.RewardWrapper):
    """A wrapper that nobody knows."""

    def reward(self, reward):
        return 2 * reward


@pytest.fixture
def environments():
    return {kind.__name__: kind for kind in (Corridor, MaskedCorridor, Tired, Bonus, Double)}


@pytest.fixture
def q_learning():
    return rl.QLearning(gamma=0.9, learning_rate=0.5)
