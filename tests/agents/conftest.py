"""Walks that agents learn from, with what they had learned after each step."""

from typing import NamedTuple

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.core.compilation import Compiled, interpreted
from rlsuite.core.interpretation import interpretable
from rlsuite.training.legality import listed_actions

N_STATES, N_ACTIONS = 6, 3
LEGAL = np.array([[(s, a) not in [(2, 0), (4, 1)] for a in range(N_ACTIONS)] for s in range(N_STATES)])


@pytest.fixture(autouse=True)
def rules_in_python(monkeypatch):
    """Call rules in Python, with the same bytes: compiled by itself, outside of a loop, each takes a second."""
    in_machine_code = Compiled.__call__

    def call(function, *args):
        if function.function.__module__.startswith("rlsuite.agents.") and interpretable(function):
            with np.errstate(all="ignore"):
                return interpreted(function)(*map(interpreted, args))
        return in_machine_code(function, *args)

    monkeypatch.setattr(Compiled, "__call__", call)


class Step(NamedTuple):
    """A transition, the action that the rule chose after it, and what the rule had learned by then."""

    state: int
    action: int
    reward: float
    next_state: int
    terminated: bool
    truncated: bool
    next_action: int
    q: np.ndarray
    trace: np.ndarray


def wander(agent, seed, n_episodes=4, longest=14):
    """Let the rule act in a world of chance; return the first values and the episodes."""
    world, choices = np.random.default_rng(seed).spawn(2)
    memory = agent.init_memory(LEGAL.copy(), listed_actions)
    memory.q[:] = world.normal(size=memory.q.shape)
    first = memory.q.copy()
    episodes = []
    for _ in range(n_episodes):
        state = int(world.integers(N_STATES))
        action = type(agent).begin(memory, state, choices)
        episodes.append([])
        for t in range(longest):
            terminated = bool(world.random() < 0.1)
            truncated = t == longest - 1
            reward, next_state = float(world.normal()), int(world.integers(N_STATES))
            given = rl.Transition(state, action, reward, next_state, terminated, truncated)
            next_action = type(agent).step(memory, given, choices)
            trace = memory.scratch.traces.trace.reshape(LEGAL.shape).copy()
            episodes[-1].append(Step(*given, next_action, memory.q.copy(), trace))
            state, action = next_state, next_action
            if terminated or truncated:
                break
    return first, episodes


@pytest.fixture(scope="session", name="wander")
def wander_():
    return wander
