"""Your own agent: two compiled functions, here ten lines of optimism about what was rarely tried.

RiverSwim pays little downstream and much upstream: an agent that explores at random hardly ever gets there. The
functions run in both loops, to the same bytes. Run as ``python examples/03_your_own_agent.py [figure.png]``.
"""

import sys

import numpy as np

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - registers rlsuite/*
from rlsuite import plotting

RIVER = "rlsuite/RiverSwim-v0"


@rl.compiled
def begin(memory, state, rng):
    """Take the action with the largest value plus bonus; the bonus shrinks with its visits."""
    return np.argmax(memory.q[state] + 10_000 / np.sqrt(1 + memory.visits[state]))


@rl.compiled
def step(memory, t, rng):
    """Learn as Q-learning does."""
    target = t.reward if t.terminated else t.reward + memory.gamma * rl.max_value(memory, t.next_state)
    memory.q[t.state, t.action] += rl.step_size(memory, t.state, t.action) * (target - memory.q[t.state, t.action])
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return begin(memory, t.next_state, rng)


class Optimist(rl.TabularAgent):
    """Q-learning that prefers what it has rarely tried."""

    begin, step = begin, step


one, other = (Optimist().learn(RIVER, steps=2_000, seed=7, loop=loop) for loop in ("compiled", "stepwise"))
print("both loops, the same bytes:", one.q_.tobytes() == other.q_.tobytes())
agents = [kind(gamma=0.95, learning_rate=rl.Inverse(1.0, 20, per="visits")) for kind in (Optimist, rl.QLearning)]
results = [rl.train(agent, RIVER, steps=20_000, seeds=30, workers=2) for agent in agents]
plotting.save(plotting.cumulative_reward(results), (sys.argv[1:] or ["03_your_own_agent.png"])[0])
