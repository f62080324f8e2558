"""What makes up the state of an environment, found by experiment."""

import copy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import rlsuite as rl
from rlsuite.environments.facts import facts_of
from rlsuite.environments.outcomes import leaves_of
from rlsuite.environments.tabulation import NotTabulated, tabulation_of


class Corridor(gym.Env):
    """A walk with a counter, a log, a last action that only drawing reads, and a flag that the walk reads."""

    observation_space = Discrete(4)
    action_space = Discrete(2)

    def __init__(self):
        self.place = 0
        self.taken = 0
        self.log = []
        self.last = None
        self.key = {"found": False}
        self.map = {"key": 2}
        self.blocks = {*range(100)}
        self.blocks.difference_update({*range(100)} - {1, 64})  # a copy has another order

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        self.last = None
        self.log.clear()
        self.key["found"] = False
        return 0, {}

    def step(self, action):
        self.taken += 1
        self.last = action
        self.log.append((self.place, action))
        self.place = min(3, max(0, self.place + (1 if action else -1)))
        if self.place == self.map["key"]:
            self.key["found"] = True
        end = self.place == 3
        return self.place, 1.0 if end and self.key["found"] else -0.1, end, False, {"taken": self.taken}


class Timed(Corridor):
    """Cuts its episodes off itself: the time is part of the state."""

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.time += 1
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, terminated, self.time >= 6, info


class TwoNames(Corridor):
    """A log that is read under another name."""

    def __init__(self):
        super().__init__()
        self.log = []
        self.same = self.log

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return (observation, reward + (len(self.same) > 7_000), *rest)

    def reset(self, *, seed=None, options=None):
        gym.Env.reset(self, seed=seed)
        self.place = 0
        self.key["found"] = False
        return 0, {}


def table_of(env):
    env.reset(seed=0)
    return tabulation_of(facts_of(env), seconds=5.0)


def test_only_what_decides_is_part_of_the_state():
    table = table_of(Corridor())
    assert table.probe.in_state == {"place", "key"}
    assert table.n_states == 6  # 0 and 1 without the key, all four places with it
    assert {"taken", "log"} <= table.probe.dropped


def test_a_time_limit_of_its_own_is_part_of_the_state():
    table = table_of(Timed())
    assert table.probe.in_state == {"place", "key", "time"}
    ends = [answer for row in table.rows if row for tree in row for answer in [tree.outcome] if answer.truncated]
    assert ends


@pytest.mark.slow
@pytest.mark.usefixtures("aged")
def test_a_log_with_two_names_is_not_taken_for_unread():
    with pytest.raises(NotTabulated):
        table_of(TwoNames())


def test_another_environment_can_be_put_into_a_state():
    """What can be modified is copied; what never changes is not."""
    table = table_of(Corridor())
    other = Corridor()
    other.reset(seed=0)
    kept = other.map
    for number in range(table.n_states):
        table.put(number, other)
        assert table.state_of(other) == number
    start = table.start.outcome.state
    table.put(start, other)
    one, two = copy.deepcopy(other.key), other.key
    other.step(1), other.step(1)
    assert other.key != one
    assert two is other.key
    table.put(start, other)
    assert other.key == one
    assert other.map is kept


def test_an_environment_of_the_class_with_other_constants_is_not_known():
    table = table_of(Corridor())
    same, other = Corridor(), Corridor()
    other.map = {"key": 1}
    for env in (same, other):
        env.reset(seed=3)
    assert table.probe.knows(same)
    assert not table.probe.knows(other)


def test_numbers_are_told_apart_but_not_by_their_type():
    probe = table_of(Corridor()).probe
    same = [(3, np.int64(3)), (2.5, np.float64(2.5)), ([1, 2], [1, np.int32(2)])]
    different = [(1, True), (1, 1.0), (0.0, -0.0), ("1", 1), ((1,), [1]), (None, 0), (np.zeros(2), np.zeros(3))]
    assert all(probe._key(one, {}) == probe._key(other, {}) for one, other in same)
    assert not any(probe._key(one, {}) == probe._key(other, {}) for one, other in different)


class Dice:
    """Has a generator that is somebody else's."""

    def __init__(self, rng=None):
        self.rng = rng

    def roll(self, n):
        return int(self.rng.integers(n))


class Rolls(gym.Env):
    """Nine places, to which a draw leads."""

    observation_space = Discrete(9)
    action_space = Discrete(2)

    def __init__(self):
        self.place = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        self.take()
        return 0, {}

    def take(self):
        pass

    def step(self, action):
        self.place = (self.place + action + int(self.drawn())) % 9
        return self.place, float(action), self.place == 8, False, {}


class SecondName(Rolls):
    def take(self):
        self.rng = self.np_random

    def drawn(self):
        return self.rng.integers(3) + self.np_random.integers(2)


class InAList(Rolls):
    def take(self):
        self.generators = [self.np_random]

    def drawn(self):
        return self.generators[0].random() < 0.3


class NewDice(Rolls):
    def take(self):
        self.dice = Dice(self.np_random)

    def drawn(self):
        return self.dice.roll(3)


class SameDice(Rolls):
    """The dice stay, and are known under two names."""

    def __init__(self):
        super().__init__()
        self.dice = Dice()
        self.game = {"dice": self.dice}

    def take(self):
        self.dice.rng = self.np_random

    def drawn(self):
        while (x := self.game["dice"].roll(4)) == 3:
            pass
        return x


class OwnGenerator(Rolls):
    """Two names of a generator of its own."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(5)
        self.dice = Dice(self.rng)

    def drawn(self):
        return self.dice.roll(3)


@pytest.mark.parametrize("kind", [SecondName, InAList, NewDice, SameDice, OwnGenerator])
def test_a_generator_may_have_several_names(kind):
    """Also after `learn` has ended, when the environment is looked up again."""
    env, other = kind(), kind()
    compiled = rl.QLearning(gamma=0.9).learn(env, steps=3_000, seed=1, tabulate=True)
    compiled.learn(env, steps=500)
    stepwise = rl.QLearning(gamma=0.9).learn(other, steps=3_500, seed=1, loop="stepwise")
    assert compiled.record_.loop == "compiled"
    assert np.array_equal(compiled.q_, stepwise.q_)
    rngs = [getattr(one, "rng", one.np_random) for one in (env, other)]
    assert rngs[0].bit_generator.state == rngs[1].bit_generator.state


def test_a_state_is_known_without_its_generator():
    env = NewDice()
    table = table_of(env)
    kept = copy.deepcopy(table.probe.values_of(env))
    assert table.probe.number_with(kept) == table.state_of(env)


def test_a_generator_that_stays_behind_is_named():
    """Gymnasium's `reset` makes a new one."""

    class OldDice(Rolls):
        def __init__(self):
            super().__init__()
            self.dice = Dice(self.np_random)

        def drawn(self):
            return self.dice.roll(3)

    with pytest.raises(NotTabulated, match="draws from a generator in its attribute `dice` that is not its np_random"):
        table_of(OldDice())


@pytest.mark.parametrize("kind", [float, np.float32, np.array])
def test_nan_may_belong_to_the_state(kind):
    class Measures(Corridor):
        """Its last measurement is missing in odd places, and pays where it is not."""

        def reset(self, *, seed=None, options=None):
            self.measured = kind(np.nan)
            return super().reset(seed=seed)

        def step(self, action):
            missing = bool(np.isnan(self.measured))
            place, _, end, cut, info = super().step(action)
            self.measured = kind(np.nan if place % 2 else 1.0)
            return place, float(not missing), end, cut, info

    env = Measures()
    env.reset(seed=1)
    table = tabulation_of(facts_of(env), seconds=20.0)
    rewards = set()
    for state, row in enumerate(table.rows):
        table.put(state, env)
        rewards |= {(bool(np.isnan(env.measured)), leaf.reward) for tree in row or () for leaf in leaves_of(tree)}
    assert rewards == {(True, 0.0), (False, 1.0)}
