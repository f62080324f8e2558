"""The steps since an episode began, for rules that need them later: Monte Carlo, n steps, the lambda-return.

A buffer is written from the front while the episode lasts, and begun again by the next one. Its arrays are as long as
the longest episode that is expected; the system gives memory only to what is written. If an episode is longer, the rule
returns `EPISODE_TOO_LONG` instead of an action, and learning ends with an error: no step is dropped silently.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import fits_in_memory
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Action, Array, State
from rlsuite.training.kernels import EPISODE_TOO_LONG

LONGEST = 1_000_000
"""Default number of steps of an episode that a rule stores."""


class EpisodeBuffer(NamedTuple):
    """The steps of the present episode: state, action, the reward that followed, and a number for the rule."""

    state: State  # (longest,)
    action: Action  # (longest,)
    reward: NDArray[np.float64]  # (longest,)
    extra: NDArray[np.float64]  # (longest,), such as the probability of the action
    length: Annotated[NDArray[np.int64], Array(at_least=0, at_most="action")]  # (1,)

    written_first = ("state", "action", "reward", "extra")
    """What a rule reads only where it has written before: a new run need not find it as it was made."""


class VectorEpisodeBuffer(NamedTuple):
    """The same for an agent that observes vectors, which are kept: their features may be much larger."""

    observation: NDArray[np.float64]  # (longest, d)
    action: Action  # (longest,)
    reward: NDArray[np.float64]  # (longest,)
    extra: NDArray[np.float64]  # (longest,)
    length: Annotated[NDArray[np.int64], Array(at_least=0, at_most="action")]  # (1,)


def new_vector_buffer(longest: int, width: int) -> VectorEpisodeBuffer:
    """Make an empty buffer for episodes of up to `longest` steps, with observations of `width` numbers.

    Raises
    ------
    ParameterError
        If it needs more memory than there is.
    """
    fits_in_memory(f"longest_episode={longest} with observations of {width} numbers", 8 * longest * (width + 3))
    actions = np.zeros(longest, dtype=np.int64)
    return VectorEpisodeBuffer(
        np.zeros((longest, width)), actions, np.zeros(longest), np.zeros(longest), np.zeros(1, dtype=np.int64)
    )


def new_episode_buffer(longest: int) -> EpisodeBuffer:
    """Make an empty buffer for episodes of up to `longest` steps."""
    states, actions = (np.zeros(longest, dtype=np.int64) for _ in range(2))
    return EpisodeBuffer(states, actions, np.zeros(longest), np.zeros(longest), np.zeros(1, dtype=np.int64))


__all__ = ["EPISODE_TOO_LONG", "LONGEST", "EpisodeBuffer", "append_step", "clear", "has_capacity", "new_episode_buffer"]


@compiled(in_place=True)
def clear(buffer: EpisodeBuffer | VectorEpisodeBuffer) -> None:
    """Begin a new episode."""
    buffer.length[0] = 0


@compiled(in_place=True)
def has_capacity(buffer: EpisodeBuffer | VectorEpisodeBuffer) -> bool:
    """Whether one more step can be remembered."""
    return buffer.length[0] < buffer.action.size


@compiled(in_place=True)
def append_step(buffer: EpisodeBuffer, state: int, action: int, reward: float, extra: float) -> None:
    """Record a step; the buffer must have the capacity."""
    t = buffer.length[0]
    buffer.state[t] = state
    buffer.action[t] = action
    buffer.reward[t] = reward
    buffer.extra[t] = extra
    buffer.length[0] = t + 1
