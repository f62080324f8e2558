"""Shared parts of the predictors that learn from returns: Monte Carlo, n steps, the lambda-return.

The step is over when its return is known, and its state may have been left again since: so the returns of each state
are counted on their own. A learning rate per visits counts them, which makes ``Inverse(1.0, per="visits")`` the mean.
"""

from typing import Any, NamedTuple

import numpy as np

from rlsuite.agents.episode_buffer import EPISODE_TOO_LONG, EpisodeBuffer, VectorEpisodeBuffer, clear, has_capacity
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import Memory, Observation, begin_following
from rlsuite.agents.prediction.policies import follow
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count


class Returns(NamedTuple):
    """What is learned beside the values."""

    returns: Count  # (n_states,), how many returns each state has learned from


class Episode(NamedTuple):
    """What is kept during an episode."""

    buffer: EpisodeBuffer | VectorEpisodeBuffer


@compiled(in_place=True)
def begin_buffer(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Discard the steps of the last episode, and draw the first action of this one."""
    clear(memory.scratch.buffer)
    return begin_following(memory, state, rng)


@compiled(in_place=True)
def fill_returns(buffer: Any, gamma: float, future: float) -> None:
    """G_t = r_t+1 + gamma G_t+1, from the last step back to the first; `future` is the value after the last."""
    total = future
    for t in range(buffer.length[0] - 1, -1, -1):
        total = buffer.reward[t] + gamma * total
        buffer.extra[t] = total


@compiled(in_place=True)
def go_on(memory: Memory, next_state: int, over: bool, rng: np.random.Generator) -> int:
    """Draw the next action, if there is one and the buffer can store its step."""
    if over:
        return NO_ACTION
    return follow(memory, next_state, rng) if has_capacity(memory.scratch.buffer) else EPISODE_TOO_LONG
