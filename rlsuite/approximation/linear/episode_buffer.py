"""The steps since an episode began, for linear rules; `rlsuite.agents.episode_buffer` with vectors.

The observations are kept, not their features: these may be much larger, and are computed again quickly.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.linear.memory import compute_features, improve, linear_step_size, value_of
from rlsuite.core.checks import fits_in_memory
from rlsuite.core.compilation import compiled


class VectorEpisodeBuffer(NamedTuple):
    """The steps of the present episode: observation, action, the reward that followed, and later the return."""

    observation: NDArray[np.float64]  # (longest, d)
    action: NDArray[np.int64]  # (longest,)
    reward: NDArray[np.float64]  # (longest,)
    note: NDArray[np.float64]  # (longest,)
    length: NDArray[np.int64]  # (1,)


class Episode(NamedTuple):
    """What is kept during an episode."""

    buffer: VectorEpisodeBuffer


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


@compiled(in_place=True)
def vector_buffer_has_room(buffer: VectorEpisodeBuffer) -> bool:
    """Whether one more step can be remembered."""
    return buffer.length[0] < buffer.action.size


@compiled(in_place=True)
def append_vector(buffer: VectorEpisodeBuffer, observation: NDArray[np.float64], action: int, reward: float) -> None:
    """Record a step; there must be room for it."""
    t = buffer.length[0]
    for i in range(buffer.observation.shape[1]):
        buffer.observation[t, i] = observation[i]
    buffer.action[t] = action
    buffer.reward[t] = reward
    buffer.length[0] = t + 1


@compiled(in_place=True)
def learn_returns(memory: Any, of_action: int) -> None:
    """Let w <- w + alpha [G_t - w . x_t] x_t for each step of the buffer in order; its notes are the returns.

    The weights are those of the action that was taken, or of the one action `of_action` whatever was taken, if that is
    not negative. The features are listed in the present row, which is not needed any more.
    """
    buffer, row = memory.scratch.buffer, memory.active.now[0]
    alpha = linear_step_size(memory)
    for t in range(buffer.length[0]):
        action = buffer.action[t] if of_action < 0 else of_action
        compute_features(memory, buffer.observation[t], row)
        improve(memory, row, action, alpha * (buffer.note[t] - value_of(memory, row, action)))
