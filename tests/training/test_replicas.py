"""Many seeds in one call give the bytes of runs by themselves."""

import os
import signal
import threading

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs
from rlsuite.agents.storage import learned_arrays
from rlsuite.errors import LearningError, ParameterError
from rlsuite.registry import agent_classes
from rlsuite.testing import problems
from rlsuite.training import replicas
from rlsuite.training.budget import Budget
from rlsuite.training.optimum import Optima
from rlsuite.training.replicas import Replica, Replicas

gymnasium.register_envs(rlsuite_envs)

OURS = sorted(name for name, kind in agent_classes().items() if getattr(rl, name, None) is kind)
ARRAYS = ("episode_return", "episode_length", "episode_regret", "time", "cumulative_reward", "regret")


def prepared(agent, env, budget):
    return Replicas.of(agent.first_run(env, 0, "compiled", Optima(), budget), agent, budget)


def assert_same(one, other):
    for name in ARRAYS:
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype
        assert first.tobytes() == second.tobytes(), name
    for name in ("seed", "loop", "loop_reason", "unit", "optimal_value", "optimum_unknown"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.cases("(QLearning|TD)-ring")
@pytest.mark.filterwarnings("ignore::rlsuite.errors.RewardWarning")
@pytest.mark.parametrize("problem", ["gamble", "ring"])  # random rewards, and a time limit; both with a mask
@pytest.mark.parametrize("name", OURS)
def test_every_agent_learns_the_same_among_other_seeds(name, problem):
    kind, budget = agent_classes()[name], Budget.of(400, None, None)
    many = prepared(kind(), problems.environments()[problem], budget)
    assert many is not None
    replica = Replica(many, threading.Event())
    for seed, record in zip(range(5), replica.records(range(5)), strict=True):
        agent = kind().learn(problems.environments()[problem], steps=400, seed=seed, regret=True)
        assert_same(record, agent.record_)
        among, alone = learned_arrays(replica.memory), learned_arrays(agent.memory_)
        for field, values in alone.items():
            assert values.tobytes() == among[field].tobytes(), field


@pytest.mark.cases(".*-FrozenLake-v1-length0")
@pytest.mark.parametrize("length", [{"steps": 501, "record_every": 7}, {"episodes": 31}, {"episodes": 1}])
@pytest.mark.parametrize("env", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4", "rlsuite/WindyGrid-v0"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_neither_threads_nor_blocks_change_a_byte(length, env, workers, monkeypatch):
    monkeypatch.setattr(replicas, "BLOCK", 4)
    env = gymnasium.make(env, max_episode_steps=60)
    seeds = [8, 2**40, 0, 3, 3**90, 12, 1, 99, 4, 5, 6]
    results = rl.train(rl.QLearning(), env, seeds=seeds, workers=workers, **length)
    for seed, record in zip(seeds, results.records, strict=True):
        assert_same(record, rl.QLearning().learn(env, seed=seed, regret=True, **length).record_)


def test_a_run_of_several_calls_is_the_same(monkeypatch):
    monkeypatch.setattr(replicas, "CHUNK", 100)
    results = rl.train(rl.Sarsa(), "FrozenLake-v1", steps=1_050, seeds=3, record_every=333)
    for record in results.records:
        alone = rl.Sarsa().learn("FrozenLake-v1", steps=1_050, seed=record.seed, record_every=333, regret=True)
        assert_same(record, alone.record_)


def test_evaluations_are_those_of_a_run_by_itself():
    measured = ("evaluation_time", "evaluation", "evaluation_return", "value_error")
    for agent, env in ((rl.QLearning(gamma=0.9), "FrozenLake-v1"), (rl.TD(gamma=0.9), "rlsuite/RandomWalk-v0")):
        length = {"steps": 300, "evaluate_every": 70, "record_every": 50}
        for record in rl.train(agent, env, seeds=3, **length).records:
            alone = type(agent)(gamma=0.9).learn(env, seed=record.seed, regret=True, **length).record_
            assert_same(record, alone)
            assert all(getattr(record, name).tobytes() == getattr(alone, name).tobytes() for name in measured)
            for name in ("end_probability", "follows", "value_bounds", "return_bounds"):
                assert getattr(record, name) == getattr(alone, name)


def test_a_run_that_takes_too_long_is_given_up_and_no_other_is_begun(monkeypatch):
    monkeypatch.setattr(replicas, "CHUNK", 100)
    many = prepared(rl.QLearning(), gymnasium.make("FrozenLake-v1"), Budget.of(1_000))
    assert list(Replica(many, threading.Event(), longest=0.0).records(range(3))) == [None] * 3


def test_one_memory_serves_all_seeds(monkeypatch):
    made = []
    init_memory = rl.QLearning.init_memory
    monkeypatch.setattr(rl.QLearning, "init_memory", lambda self, *known: made.append(1) or init_memory(self, *known))
    rl.train(rl.QLearning(), "FrozenLake-v1", steps=100, seeds=500, workers=2)
    assert len(made) == 3  # of the first look, and of each thread


class MovedStart(rl.TabularEnv):
    """A table whose reset with a seed is not that of tables."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None if seed is None else seed + 1, options=options)


def test_an_environment_of_an_unknown_kind_is_reset_itself():
    env = MovedStart(problems.ring())
    results = rl.train(rl.QLearning(), env, steps=400, seeds=3)
    for record in results.records:
        assert_same(record, rl.QLearning().learn(env, steps=400, seed=record.seed, regret=True).record_)


class Drunk(gymnasium.Env):
    """A corridor without a table."""

    observation_space = gymnasium.spaces.Discrete(6)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return 0, {}

    def step(self, action):
        self.cell = min(max(self.cell + (1 if self.np_random.random() < 0.8 else -1) * (2 * action - 1), 0), 5)
        return self.cell, -1.0, self.cell == 5, False, {}


CALLS = [0]


def calls(by=1):
    """Count the steps of all copies, where nobody looks: in what is said to be of the standard library."""
    CALLS[0] += by
    return CALLS[0]


calls.__module__ = "typing"


class CountedDrunk(Drunk):
    """Its table is right until so many steps of all copies; later it pays less."""

    def __init__(self, later):
        self.model, self.s, self.later = rl.tabulate(Drunk()), 0, later

    def reset(self, *, seed=None, options=None):
        gymnasium.Env.reset(self, seed=seed)
        self.np_random.random()  # as tables do
        self.s = 0
        return 0, {}

    def step(self, action):
        count = calls()
        row = self.model.P[self.s][action]
        sums = np.cumsum([outcome[0] for outcome in row])
        _, self.s, reward, over = row[int(np.searchsorted(sums, self.np_random.random(), side="right"))]
        return self.s, reward - (count > self.later), over, False, {}


@pytest.mark.slow
def test_many_seeds_of_an_unknown_kind_are_asked_and_verified_together():
    """And give the bytes of runs by themselves."""
    stepped = rl.train(rl.QLearning(), Drunk(), steps=300, seeds=40, loop="stepwise")
    asked = rl.train(rl.QLearning(), Drunk(), steps=300, seeds=40, tabulate=True)
    for one, other in zip(stepped.records, asked.records, strict=True):
        assert other.loop == "compiled"
        assert one.cumulative_reward.tobytes() == other.cumulative_reward.tobytes()
        assert one.episode_return.tobytes() == other.episode_return.tobytes()
    CALLS[0] = 0
    rl.train(rl.QLearning(), CountedDrunk(10**9), steps=300, seeds=40)
    assert CALLS[0] == 300 * 9  # the seeds 0, 1, 2, 4, 7, 11, 17, 26, 39


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rlsuite.errors.StepwiseWarning")
def test_a_difference_that_one_of_many_seeds_finds_makes_all_of_them_step():
    CALLS[0] = 0
    rl.train(rl.QLearning(), CountedDrunk(1_500), steps=300, seeds=40)
    assert CALLS[0] > 300 * 40


def test_another_way_to_seed_a_generator_is_noticed(monkeypatch):
    np_random = gymnasium.utils.seeding.np_random
    monkeypatch.setattr(gymnasium.utils.seeding, "np_random", lambda seed=None: np_random(seed and seed + 1))
    assert prepared(rl.QLearning(), problems.ring().to_env(), Budget.of(400, None, None)) is None


@rl.compiled
def wrong_later(memory, t, rng):
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return 99 if memory.clock[0] == 150 else rl.choose(memory, t.next_state, rng)


class WrongLater(rl.TabularAgent):
    step = wrong_later


@pytest.mark.slow
def test_an_error_is_that_of_a_run_by_itself():
    with pytest.raises(LearningError) as alone:
        WrongLater().learn("FrozenLake-v1", steps=1_000, seed=0)
    for workers in (1, 2):
        with pytest.raises(LearningError) as caught:
            rl.train(WrongLater(), "FrozenLake-v1", steps=1_000, seeds=200, workers=workers, fail_fast=True)
        assert str(caught.value) == f"seed 0: {alone.value}"


def test_episodes_that_cannot_end_are_refused():
    with pytest.raises(ParameterError, match=r"no episode of TabularEnv can end"):
        rl.train(rl.QLearning(), problems.ring().to_env(), episodes=5, seeds=3)


def test_ctrl_c_ends_all_threads_soon():
    many = prepared(rl.QLearning(), problems.ring().to_env(), Budget.of(10**12, None, None))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        many.runs(range(100), 2, None, None, None)
