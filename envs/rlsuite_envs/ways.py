"""Transitions laid out as arrays: W ways in which each action may turn out in each state.

A grid is built for all its squares at once in this form, and only then turned into the rows of a model. The arrays
become those of the model, in place: for a grid of ten million squares they take most of the memory.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.models import MDP

# States per block: temporary arrays of this size stay in the processor's cache and take little memory.
BLOCK = 2**14


class Ways:
    """Where every action may lead, with which probability, and for which reward; each array is (S, A, W).

    An array that is given in full, and in the type of the model's (int32, float64 or bool), is taken over: it must not
    be used afterwards. All others are copied.

    Parameters
    ----------
    next_state : ndarray (S, A, W) int, of which the model keeps int32
    probability, reward : array_like, broadcast to (S, A, W)
    possible : array_like of bool, broadcast to (S, A, W)
        False for ways that do not exist. An action without any is illegal.
    terminated : array_like of bool, broadcast to (S, A, W)
        Whether the episode ends, wherever the way leads; for states in which every episode ends there is `end`.

    Examples
    --------
    A step to the right that fails with probability 0.1, and ends in the last state:

    >>> ways = Ways(np.array([[[1, 0]], [[1, 1]]]), [0.9, 0.1], -1.0)
    >>> ways.end(np.array([False, True]))
    >>> ways.to_model(gamma=1.0, start=[1, 0]).P[0][0]
    [(0.9, 1, -1.0, True), (0.1, 0, -1.0, False)]
    """

    def __init__(
        self,
        next_state: NDArray[np.integer[Any]],
        probability: ArrayLike,
        reward: ArrayLike,
        possible: ArrayLike = True,
        terminated: ArrayLike = False,
    ) -> None:
        shape = next_state.shape
        self._next_state = _writeable(next_state, np.int32, shape)
        self._probability = _writeable(probability, np.float64, shape)
        self._reward = _writeable(reward, np.float64, shape)
        self._terminated = _writeable(terminated, np.bool_, shape)
        # A way that does not exist is one of probability 0.
        np.copyto(self._probability, 0.0, where=np.logical_not(possible))

    def make_certain(self, states: NDArray[np.int64], next_state: ArrayLike, reward: float, terminated: bool) -> None:
        """Let all actions in some states (n,) have one outcome; `next_state` is one state, or (n, 1, 1) of them."""
        self._next_state[states] = next_state
        self._reward[states] = reward
        self._terminated[states] = terminated
        self._probability[states, :, 0] = 1.0
        self._probability[states, :, 1:] = 0.0

    def end(self, ends: NDArray[np.bool_]) -> None:
        """Let episodes end in some states, (S,) bool: they lead to themselves with reward 0, terminated.

        So do Gymnasium's FrozenLake holes. What enters them from elsewhere keeps its reward.
        """
        for block in _blocks(len(ends)):
            self._terminated[block] |= ends[self._next_state[block]]
        states = np.flatnonzero(ends)
        self.make_certain(states, states[:, None, None], 0.0, True)

    def to_model(
        self,
        *,
        gamma: float,
        start: ArrayLike,
        state_labels: Sequence[str] | None = None,
        action_labels: Sequence[str] | None = None,
    ) -> MDP:
        """Turn the arrays into a model, which takes them over; the keywords are those of `MDP.from_rows`."""
        n_states, n_actions, _ = self._probability.shape
        names = ("next_state", "probability", "reward", "terminated")
        entries: dict[str, NDArray[Any]] = {name: self.__dict__.pop(f"_{name}") for name in names}
        indptr = np.zeros(n_states * n_actions + 1, dtype=np.int64)
        filled = 0
        for block in _blocks(n_states):
            kept = entries["probability"][block] > 0.0
            indptr[1 + block.start * n_actions : 1 + block.stop * n_actions] = kept.sum(axis=2).ravel()
            # The kept entries move to the front, over entries that have been read before.
            n_kept = np.count_nonzero(kept)
            for values in entries.values():
                values.reshape(-1)[filled : filled + n_kept] = values[block][kept]
            filled += n_kept
        np.cumsum(indptr, out=indptr)
        for values in entries.values():
            # Shortened in place; no other reference to the array is used from here on.
            values.resize(filled, refcheck=False)
        for values in (indptr, *entries.values()):
            # The model keeps read-only arrays without copying them.
            values.setflags(write=False)
        return MDP.from_rows(
            indptr,
            entries["next_state"],
            entries["probability"],
            entries["reward"],
            terminated=entries["terminated"],
            n_actions=n_actions,
            gamma=gamma,
            start=start,
            state_labels=state_labels,
            action_labels=action_labels,
        )


def _writeable(values: ArrayLike, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return `values` in this type and shape, in writable memory that no other array shares."""
    array = np.asarray(values, dtype=dtype)
    if array.shape == shape:
        return np.require(array, requirements=["C", "OWNDATA", "WRITEABLE"])
    return np.broadcast_to(array, shape).copy()


def _blocks(n_states: int) -> Iterator[slice]:
    for first in range(0, n_states, BLOCK):
        yield slice(first, min(first + BLOCK, n_states))
