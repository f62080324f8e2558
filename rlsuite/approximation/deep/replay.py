"""Experience replay: the latest transitions, of which a learner draws a random minibatch at a time (Lin 1992)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import fits_in_memory
from rlsuite.models.aliases import AnyArray


class Transitions(NamedTuple):
    """Transitions, one a row.

    A next observation in which an episode was truncated is no end: the target bootstraps from it.
    """

    observation: AnyArray  # (n, *shape)
    action: NDArray[np.int64]  # (n,), counted from 0
    reward: NDArray[np.float32]  # (n,), that of several steps if the next observation is several steps later
    next_observation: AnyArray  # (n, *shape)
    discount: NDArray[np.float32]  # (n,), of what the next observation is worth: gamma^steps, 0 if the episode ended
    next_legal: NDArray[np.bool_]  # (n, n_actions), the actions that are legal in the next observation


class Replay:
    """The latest `capacity` transitions; a new one takes the place of the oldest.

    Parameters
    ----------
    capacity : int
        How many are kept.
    shape : tuple of int
        Shape of an observation.
    dtype : numpy.dtype
        Type of its numbers.
    n_actions : int
        Number of actions.

    Raises
    ------
    ParameterError
        If so many do not fit into the memory of this machine.

    Examples
    --------
    >>> replay = Replay(capacity=2, shape=(1,), dtype=np.dtype(np.float32), n_actions=2)
    >>> for t in range(3):
    ...     replay.add([t], 0, 1.0, [t + 1], 0.9, [True, True])
    >>> len(replay), replay.kept.observation[:, 0].tolist()
    (2, [2.0, 1.0])
    """

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], n_actions: int):
        per_transition = 2 * int(np.prod(shape)) * dtype.itemsize + n_actions + 16
        fits_in_memory(f"a replay of {capacity:,} transitions", capacity * per_transition)
        self.kept = Transitions(
            observation=np.zeros((capacity, *shape), dtype=dtype),
            action=np.zeros(capacity, dtype=np.int64),
            reward=np.zeros(capacity, dtype=np.float32),
            next_observation=np.zeros((capacity, *shape), dtype=dtype),
            discount=np.zeros(capacity, dtype=np.float32),
            next_legal=np.zeros((capacity, n_actions), dtype=np.bool_),
        )
        self.capacity = capacity
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(
        self,
        observation: object,
        action: int,
        reward: float,
        next_observation: object,
        discount: float,
        next_legal: Any,
    ) -> None:
        """Keep one transition."""
        row = self.added % self.capacity
        kept = self.kept
        kept.observation[row] = observation
        kept.action[row] = action
        kept.reward[row] = reward
        kept.next_observation[row] = next_observation
        kept.discount[row] = discount
        kept.next_legal[row] = next_legal
        self.added += 1

    def sample(self, n: int, rng: np.random.Generator) -> Transitions:
        """Draw n of the transitions, each equally likely, with replacement."""
        return self.rows(rng.integers(len(self), size=n))

    def rows(self, rows: NDArray[np.int64]) -> Transitions:
        """Return the transitions (n,) in these rows."""
        return Transitions._make(column[rows] for column in self.kept)

    def weights(self, exponent: float) -> NDArray[np.float32] | None:
        """How much each transition of the last sample counts, (n,), at most 1; None if all count alike."""
        return None

    def learned(self, error: NDArray[np.float32]) -> None:
        """Record the errors (n,) of the last sample, from before it was learned from."""
