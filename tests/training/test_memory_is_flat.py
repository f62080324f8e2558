"""A run of a million steps takes no more memory than one of a hundred thousand, but for the returns of its episodes."""

import gc
from pathlib import Path
from statistics import median

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite.agents.values import Network
from rlsuite.approximation import CrossEntropyMethod, Identity, LinearPolicy, TileCoding

PER_EPISODE = 64
"""Bytes: its return and its length, and what is copied of them while a run is recorded."""


def resident():
    """Bytes of this process that are in memory; 0 where nobody says."""
    gc.collect()
    kept = Path("/proc/self/statm")
    return int(kept.read_text(encoding="utf-8").split()[1]) * 4_096 if kept.exists() else 0


def growth(agent, env, steps, **options):
    """Bytes that a run takes once it has begun, and its episodes.

    Three times the median of its thirds: what is kept of a step grows in each, while what is loaded on the way and
    what the system takes away is seen in one.
    """
    agent.learn(env, steps=steps // 10, seed=1, **options)
    n, taken = len(agent.episodes_), [resident()]
    for _ in range(3):
        agent.learn(env, steps=steps // 3, **options)
        taken.append(resident())
    return 3 * median(np.diff(taken)), len(agent.episodes_) - n


def test_stepwise_runs_keep_nothing_of_a_step():
    more, n = growth(rl.QLearning(), "FrozenLake-v1", 3_000, loop="auto")
    assert more <= 4e6 + PER_EPISODE * n


@pytest.mark.slow
def test_a_million_steps():
    for agent, env in (
        (rl.QLearning(), "CliffWalking-v1"),
        (rl.Sarsa(features=TileCoding(), learning_rate=0.05), "MountainCar-v0"),
        (rl.QLearning(values=Network(hidden=(8,))), "CartPole-v1"),
    ):
        more, n = growth(agent, env, 1_000_000)
        assert more <= 4e6 + PER_EPISODE * n, (agent, more, n)
    growth(rl.Sarsa(), "FrozenLake-v1", 40_000, loop="stepwise")  # loads machine code on the way
    more, n = growth(rl.Sarsa(), "FrozenLake-v1", 40_000, loop="stepwise")
    assert more <= 4e6 + PER_EPISODE * n


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rlsuite.errors.StepwiseWarning")
def test_searches_and_agents_that_see_beliefs():
    for agent, env in (
        (CrossEntropyMethod(policy=LinearPolicy(features=Identity())), "CartPole-v1"),
        (rl.QLearning(), rl.find_env("rlsuite/Tiger-v0", observe="belief-grid")),
        (rl.Sarsa(features=TileCoding(), learning_rate=0.05), rl.find_env("rlsuite/Tiger-v0", observe="belief")),
    ):
        agent.learn(env, steps=10_000, seed=1)  # loads machine code on the way
        more, n = growth(agent, env, 30_000)
        assert more <= 2e6 + PER_EPISODE * n, (agent, more, n)
