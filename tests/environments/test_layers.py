"""Environments are asked through their wrappers: what these do, and what they keep, is part of the table."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.spaces import Discrete, MultiDiscrete

import rlsuite as rl
from rlsuite.environments.facts import facts_of
from rlsuite.environments.layers import attributes_of, layers_of, without_counting
from rlsuite.environments.tabulation import NotTabulated, tabulation_of
from rlsuite.errors import UnsuitableEnvironment


class Walk(gym.Env):
    """Up and down the numbers 0 to 4; where it is slippery, one stays."""

    observation_space = Discrete(5)
    action_space = Discrete(2)

    def __init__(self):
        self.seen = {"here": 0}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = 2
        return 2, {}

    def step(self, action):
        moved = (1 if action else -1) if self.np_random.random() < 0.8 else 0
        self.x = min(4, max(0, self.x + moved))
        self.seen["here"] = self.x
        return self.x, float(self.x), self.x == 4, False, {}


def limited():
    return wrappers.TimeLimit(Walk(), 12)


class Mirrored(gym.ObservationWrapper):
    def observation(self, observation):
        return 4 - observation


class Counting(gym.RewardWrapper):
    """Counts, and pays as if it did not."""

    def __init__(self, env):
        super().__init__(env)
        self.scale, self.n = 0.5, 0

    def reward(self, reward):
        self.n += 1
        return reward * self.scale


class Tired(Counting):
    """Pays less from some step on."""

    def reward(self, reward):
        return super().reward(reward) - (self.n > 7_000)


class Growing(gym.RewardWrapper):
    """Pays more with each step of an episode, up to some."""

    def reset(self, **options):
        self.n = 0
        return super().reset(**options)

    def reward(self, reward):
        self.n = min(self.n + 1, 3)
        return reward * self.n


class Weighted(gym.Wrapper):
    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, np.dot([reward, 1.0], [2.0, -1.0]), terminated, truncated, {**info, "vector": reward}


class Bonus(gym.Wrapper):
    """Pays at the end, whoever ends it."""

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward + (terminated or truncated), terminated, truncated, info


class Twice(gym.Wrapper):
    def step(self, action):
        self.env.step(action)
        return self.env.step(action)


def looks_elsewhere():
    env = limited()
    return wrappers.TransformObservation(env, lambda observation: env.unwrapped.x, None)


def shares():
    env = limited()
    seen = env.unwrapped.seen
    return wrappers.TransformReward(env, lambda reward: reward + seen["here"])


MASTERED = {
    "TransformReward": lambda: wrappers.TransformReward(limited(), lambda reward: 0.1 * reward),
    "two": lambda: wrappers.TransformReward(wrappers.TransformReward(limited(), lambda r: r + 1), lambda r: 2 * r),
    "ClipReward": lambda: wrappers.ClipReward(limited(), 0.5, 2.5),
    "TransformObservation": lambda: wrappers.TransformObservation(limited(), lambda seen: seen // 2, Discrete(3)),
    "TimeAwareObservation": lambda: wrappers.TimeAwareObservation(limited(), flatten=False),
    "StickyAction": lambda: wrappers.StickyAction(limited(), 0.25),
    "ObservationWrapper": lambda: Mirrored(limited()),
    "a counter that decides nothing": lambda: Counting(limited()),
    "a counter that decides": lambda: Growing(limited()),
    "Wrapper": lambda: Weighted(limited()),
    "a bonus inside": lambda: wrappers.TimeLimit(Bonus(Walk()), 12),
    "two steps inside": lambda: wrappers.TimeLimit(Twice(Walk()), 12),
    "statistics outside": lambda: wrappers.RecordEpisodeStatistics(Counting(limited())),
    "statistics inside": lambda: Mirrored(wrappers.RecordEpisodeStatistics(limited())),
    "a table inside": lambda: wrappers.TransformReward(gym.make("FrozenLake-v1"), lambda reward: reward - 0.01),
}


@pytest.mark.cases("TransformReward", "TimeAwareObservation", "a counter that decides", "statistics outside")
@pytest.mark.parametrize("name", MASTERED)
def test_agents_learn_the_bytes_of_the_stepwise_loop(name):
    learned = []
    for options in ({"tabulate": True}, {"loop": "stepwise"}):
        env = MASTERED[name]()
        agent = rl.QLearning(gamma=0.9).learn(env, steps=2_500, seed=4, **options).learn(env, steps=300)
        learned.append((agent, env))
    (one, env), (other, same) = learned
    assert (one.record_.loop, other.record_.loop) == ("compiled", "stepwise")
    assert one.q_.tobytes() == other.q_.tobytes()
    assert one.visits_.tobytes() == other.visits_.tobytes()
    assert env.unwrapped.np_random.bit_generator.state == same.unwrapped.np_random.bit_generator.state
    if isinstance(env, wrappers.RecordEpisodeStatistics):
        assert list(env.return_queue) == list(same.return_queue)
    if name == "TimeAwareObservation":
        assert env.timesteps == same.timesteps


REFUSED = {
    "more states than|there was not enough time": lambda: Tired(limited()),
    "one of its wrappers looks at whether TimeLimit has ended the episode": lambda: Bonus(limited()),
    "one of its wrappers calls step or reset inside its TimeLimit on its own": lambda: Twice(limited()),
    "its reset depends on the state": looks_elsewhere,
    "its reset depends on the state in": shares,
    "wrapped in NormalizeReward": lambda: wrappers.NormalizeReward(limited()),
    "reset has been replaced": lambda: _replaced(),
}


def _replaced():
    env = Mirrored(limited())
    env.reset = env.env.reset
    return env


@pytest.mark.usefixtures("aged")
@pytest.mark.parametrize("reason", REFUSED)
def test_what_wrappers_may_not_do_is_said(reason):
    env = REFUSED[reason]()
    env.reset(seed=1)
    before = env.unwrapped.np_random.bit_generator.state
    with pytest.raises(NotTabulated, match=reason):
        tabulation_of(facts_of(env), seconds=1.0)
    assert env.unwrapped.np_random.bit_generator.state == before


def test_statistics_inside_of_what_changes_rewards_would_be_others():
    env = Counting(wrappers.RecordEpisodeStatistics(limited()))
    with pytest.raises(UnsuitableEnvironment, match="RecordEpisodeStatistics is inside of Counting"):
        rl.QLearning().learn(env, steps=300, seed=1, tabulate=True)


@pytest.mark.slow
def test_the_time_ends_the_states():
    env = MASTERED["TimeAwareObservation"]()
    env.reset(seed=1)
    table = tabulation_of(facts_of(env), seconds=9.0)
    assert table.probe.in_state == {"x", "TimeAwareObservation.timesteps"}
    times = [state.plain["TimeAwareObservation.timesteps"] for state in table.probe.states]
    assert {time for time, row in zip(times, table.rows, strict=True) if row} == {*range(12)}
    assert max(times) == 12
    model = rl.tabulate(env, gamma=1.0)
    assert "its time limit of 12 steps ends the episodes" in model.origin
    assert rl.solve(model).value.max() < 12 * 4.0
    untimed = rl.tabulate(Mirrored(limited()))
    assert untimed.n_states == 5
    assert "its time limit of 12 steps is left out" in untimed.origin


@pytest.mark.slow
def test_a_wrapped_run_that_was_kept_goes_on(tmp_path):
    make = MASTERED["TimeAwareObservation"]
    whole = rl.QLearning().learn(make(), steps=1_405, seed=5, loop="stepwise")
    rl.QLearning().learn(make(), steps=1_005, seed=5, tabulate=True).save(tmp_path / "half.npz")
    rest = rl.load(tmp_path / "half.npz").learn(make(), steps=400, tabulate=True)
    assert rest.q_.tobytes() == whole.q_.tobytes()
    assert rest.record_.loop == "compiled"


def test_another_environment_is_known_by_what_its_wrappers_hold():
    def double(reward):
        return 2 * reward

    functions = [double, double, lambda reward: 2 * reward]
    envs = [wrappers.TransformReward(limited(), function) for function in functions]
    for env in envs:
        env.reset(seed=0)
    probe = tabulation_of(facts_of(envs[0]), seconds=9.0).probe
    assert [probe.knows(env) for env in envs] == [True, True, False]
    assert not probe.knows(limited())


def test_attributes_are_named_by_their_layer():
    env = Counting(Counting(Mirrored(limited())))
    assert [type(layer).__name__ for layer in layers_of(env)] == ["Walk", "Mirrored", "Counting", "Counting"]
    attributes = attributes_of(env)
    assert {"seen", "Counting.n", "Counting 2.n", "Mirrored._cached_spec"} <= attributes.keys()
    assert not any(name.endswith("env") for name in attributes)
    attributes["Counting 2.n"] = 7
    assert (env.n, env.env.n) == (7, 0)
    del attributes["Counting.n"]
    assert not hasattr(env.env, "n")
    assert len(attributes) == len(list(attributes))


@pytest.mark.parametrize("limits", [True, False])
def test_what_only_counts_is_taken_off(limits):
    made = gym.make("FrozenLake-v1")
    assert without_counting(made, limits=limits) is made.unwrapped
    wrapped = Mirrored(wrappers.RecordEpisodeStatistics(gym.make("FrozenLake-v1")))
    inside = without_counting(wrapped, limits=limits).env
    assert type(inside).__name__ == ("TimeLimit" if limits else "Passage")
    assert inside.env is wrapped.unwrapped


def test_actions_of_a_wrapper_are_asked():
    class Pairs(Walk):
        action_space = MultiDiscrete([2, 2])

        def step(self, action):
            return super().step(int(action[0] and action[1]))

    env = wrappers.TransformAction(Pairs(), lambda a: np.array([a // 2, a % 2]), Discrete(4))
    env.reset(seed=1)
    assert tabulation_of(facts_of(env), seconds=9.0).n_actions == 4
