"""Transitions laid out as arrays: W ways in which each action may turn out in each state.

A grid is built for all its squares at once in this form, and only then turned into the rows of a model; so a grid of a
million squares takes about a second.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.models import MDP


class Ways:
    """Where every action may lead, with which probability, and for which reward; each array is (S, A, W).

    Parameters
    ----------
    next_state : ndarray (S, A, W) int
    probability, reward : array_like, broadcast to (S, A, W)
    possible : array_like of bool, broadcast to (S, A, W)
        False for ways that do not exist. An action without any is illegal.
    terminated : array_like of bool, broadcast to (S, A, W)
        Whether the episode ends, wherever the way leads; ends by place are what `end` is for.

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
        next_state: NDArray[np.int64],
        probability: ArrayLike,
        reward: ArrayLike,
        possible: ArrayLike = True,
        terminated: ArrayLike = False,
    ) -> None:
        shape = next_state.shape
        self._next_state = next_state.astype(np.int32)
        self._probability = np.broadcast_to(np.asarray(probability, dtype=np.float64), shape).copy()
        self._reward = np.broadcast_to(np.asarray(reward, dtype=np.float64), shape).copy()
        self._possible = np.broadcast_to(np.asarray(possible, dtype=np.bool_), shape).copy()
        self._terminated = np.broadcast_to(np.asarray(terminated, dtype=np.bool_), shape).copy()

    def make_certain(self, states: NDArray[np.int64], next_state: ArrayLike, reward: float, terminated: bool) -> None:
        """Let all actions in some states (n,) have one outcome; `next_state` is one state, or (n, 1, 1) of them."""
        self._next_state[states] = next_state
        self._reward[states] = reward
        self._terminated[states] = terminated
        self._probability[states, :, 0] = 1.0
        self._possible[states, :, 0] = True
        self._possible[states, :, 1:] = False

    def end(self, ends: NDArray[np.bool_]) -> None:
        """Let episodes end in some states, (S,) bool: they lead to themselves with reward 0, terminated.

        So do Gymnasium's FrozenLake holes. What enters them from elsewhere keeps its reward.
        """
        self._terminated |= ends[self._next_state]
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
        """Turn the arrays into a model, and forget them; the keywords are those of `MDP.from_rows`."""
        kept = self._possible & (self._probability > 0.0)
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(kept, axis=2))])
        # Of a large grid, no array should be there twice for longer than needed.
        names = ("next_state", "probability", "reward", "terminated")
        entries = {name: self.__dict__.pop(f"_{name}")[kept] for name in names}
        n_actions = kept.shape[1]
        del kept, self._possible
        return MDP.from_rows(
            indptr,
            **entries,
            n_actions=n_actions,
            gamma=gamma,
            start=start,
            state_labels=state_labels,
            action_labels=action_labels,
        )
