"""The legal actions that a batch has at its observations."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import legal_actions
from rlsuite.errors import ParameterError


class KnownActions:
    """The actions that were legal at each observation of a batch; elsewhere all are.

    Where the same observation had different masks, an action is known as legal that was legal once.

    Parameters
    ----------
    observations : ndarray (n, d) float64
    legal : ndarray (n, n_actions) bool

    Examples
    --------
    >>> known = KnownActions(np.array([[1.0], [2.0], [1.0]]), np.array([[True, False], [False, True], [True, False]]))
    >>> known.at([[1.0], [7.0]])
    array([[ True, False],
           [ True,  True]])
    """

    def __init__(self, observations: NDArray[np.float64], legal: NDArray[np.bool_]) -> None:
        self.observations, where = np.unique(observations + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
        self.legal = np.zeros((len(self.observations), legal.shape[1]), dtype=np.bool_)
        np.logical_or.at(self.legal, where.reshape(-1), legal)
        self._rows = {row.tobytes(): i for i, row in enumerate(self.observations)}

    def and_those_at(self, observations: NDArray[np.float64], legal: NDArray[np.bool_]) -> Self:
        """Return what is known with more observations."""
        return type(self)(np.concatenate([self.observations, observations]), np.concatenate([self.legal, legal]))

    def at(self, observations: ArrayLike) -> NDArray[np.bool_]:
        """Return the legal actions (n, n_actions) at observations (n, d)."""
        seen = np.asarray(observations, dtype=np.float64) + 0.0
        rows = np.array([self._rows.get(one.tobytes(), -1) for one in seen], dtype=np.int64)
        return np.where(rows[:, None] >= 0, self.legal[rows], True)


def legal_at(
    known: KnownActions | None, observations: ArrayLike, action_mask: ArrayLike | None, n_actions: int
) -> NDArray[np.bool_] | None:
    """Return the legal actions (n, n_actions) at observations (n, d): those given, or those known; None for all.

    Raises
    ------
    ParameterError
        If the mask is not a 0 or 1 for each action at each observation, or leaves no action at one of them.
    """
    if action_mask is None:
        return None if known is None else known.at(observations)
    legal = legal_actions("action_mask", action_mask, n_actions, len(np.asarray(observations)))
    if not legal.any(axis=1).all():
        at = int(np.argmin(legal.any(axis=1)))
        raise ParameterError(f"action_mask[{at}] leaves no action; at least one must be legal at each observation")
    return legal
