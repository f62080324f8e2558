"""The features of the last n steps of an episode; `rlsuite.agents.control.n_step_buffer` with vectors.

The observation of time tau is learned from at time tau + n, from the n rewards that followed and the value by the
weights then; when an episode is over, all remaining ones are learned from the rewards that are left.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import fits_in_memory
from rlsuite.core.compilation import compiled


class FeatureBuffer(NamedTuple):
    """A ring of n steps: time t of the episode is at entry t % n."""

    indices: NDArray[np.int64]  # (n, most_active)
    values: NDArray[np.float64]  # (n, most_active)
    n_active: NDArray[np.int64]  # (n,)
    action: NDArray[np.int64]  # (n,), whose weights are updated
    reward: NDArray[np.float64]  # (n,), the reward that followed
    note: NDArray[np.float64]  # (n,), a number that the rule needs for the update
    length: NDArray[np.int64]  # (1,), steps of the episode so far
    n: int


class Recent(NamedTuple):
    """What is kept during an episode."""

    buffer: FeatureBuffer


def new_feature_buffer(n: int, most_active: int) -> FeatureBuffer:
    """Make an empty buffer for `n` steps with `most_active` features each.

    Raises
    ------
    ParameterError
        If it needs more memory than there is.
    """
    fits_in_memory(f"n={n} with {most_active} active features a step", 16 * n * (most_active + 2))
    n_active, actions = (np.zeros(n, dtype=np.int64) for _ in range(2))
    return FeatureBuffer(
        indices=np.zeros((n, most_active), dtype=np.int64),
        values=np.zeros((n, most_active)),
        n_active=n_active,
        action=actions,
        reward=np.zeros(n),
        note=np.zeros(n),
        length=np.zeros(1, dtype=np.int64),
        n=n,
    )


@compiled(in_place=True)
def note_features(memory: Any, row: int, action: int, reward: float, note: float) -> int:
    """Record a step, with the features in a row; return its time t."""
    active, buffer = memory.active, memory.scratch.buffer
    t = buffer.length[0]
    entry = t % buffer.n
    for k in range(active.n_active[row]):
        buffer.indices[entry, k] = active.indices[row, k]
        buffer.values[entry, k] = active.values[row, k]
    buffer.n_active[entry] = active.n_active[row]
    buffer.action[entry] = action
    buffer.reward[entry] = reward
    buffer.note[entry] = note
    buffer.length[0] = t + 1
    return t


@compiled(in_place=True)
def learn_features(memory: Any, tau: int, target: float, step_size: float) -> None:
    """Let w <- w + alpha [G - w . x_tau] x_tau, with the weights of the action at time tau."""
    buffer = memory.scratch.buffer
    entry = tau % buffer.n
    action, n_active = buffer.action[entry], buffer.n_active[entry]
    value = 0.0
    for k in range(n_active):
        value += memory.weights[buffer.indices[entry, k], action] * buffer.values[entry, k]
    amount = step_size * (target - value)
    for k in range(n_active):
        memory.weights[buffer.indices[entry, k], action] += amount * buffer.values[entry, k]
