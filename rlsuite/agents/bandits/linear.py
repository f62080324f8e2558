"""The base of linear contextual bandits: features of states, or of states and arms, and a ridge regression on them.

The mean reward of an arm is taken to be x . w, with x a row of features. Two layouts share one form:

================================= ============================ =====================================================
features                          weights                      model
================================= ============================ =====================================================
(n_states, d)                     (n_arms, d)                  each arm has weights of its own ("disjoint")
(n_states, n_arms, d)             (1, d)                       one vector of weights for all arms
================================= ============================ =====================================================

In the memory the features are (n_states, F, d) and the weights (M, d), where F and M are n_arms or 1: the row of an arm
is the one with its number, or the last.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import Bandit, positive
from rlsuite.agents.memory import Memory
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fits_in_memory, row_of_id
from rlsuite.core.compilation import compiled
from rlsuite.errors import ParameterError


@compiled(in_place=True)
def row_of(arm: int, n_rows: int) -> int:
    """The row of an arm among as many rows as there are arms, or among one that all share."""
    return min(arm, n_rows - 1)


@compiled(in_place=True)
def predict(memory: Memory, weights: NDArray[np.float64], state: int, arm: int) -> float:
    """Return x . w for an arm, with these weights (M, d)."""
    features = memory.learned.features
    row, model = row_of(arm, features.shape[1]), row_of(arm, weights.shape[0])
    total = 0.0
    for i in range(features.shape[2]):
        total += features[state, row, i] * weights[model, i]
    return total


@dataclass(eq=False, kw_only=True)
class LinearBandit(Bandit):
    """Base of the contextual bandits whose mean rewards are linear in features.

    Parameters
    ----------
    features : array_like (n_states, d) or (n_states, n_arms, d), optional
        Describe the states, and each arm has weights of its own; or describe each state with each arm, and all arms
        share their weights. By default every state is its own feature (one-hot), and nothing is learned about one
        state from another.
    ridge : float
        Weight of the squared length of the weights in the regression, greater than 0.
    """

    features: "ArrayLike | None" = None
    ridge: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ridge = positive("ridge", self.ridge)
        if self.features is not None:
            shape = _finite_array(self.features).shape
            if len(shape) not in (2, 3) or 0 in shape:
                raise ParameterError(f"features have the shape {shape}, not (n_states, d) or (n_states, n_arms, d)")

    def layout(self, n_states: int, n_actions: int) -> tuple[NDArray[np.float64], int]:
        """Return the features as (n_states, F, d), and the number of models.

        Raises
        ------
        ParameterError
            If the features are not those of this many states and arms, or the matrices do not fit in memory.
        """
        width = n_states if self.features is None else np.asarray(self.features).shape[-1]
        fits_in_memory(f"{n_actions} regressions on {width} features", 8 * n_actions * width * width)
        known = np.eye(n_states) if self.features is None else _finite_array(self.features)
        if known.ndim == 2 and known.shape[0] == n_states:
            return known[:, None, :].copy(), n_actions
        if known.ndim == 3 and known.shape[:2] == (n_states, n_actions):
            return known.copy(), 1
        raise ParameterError(
            f"features have the shape {known.shape}; this environment has {n_states} states and {n_actions} arms, and "
            f"needs ({n_states}, d) or ({n_states}, {n_actions}, d)"
        )

    @property
    def q_(self) -> NDArray[np.float64]:
        """Estimated mean rewards x . w, shape (n_states, n_arms)."""
        features, weights = self.memory_.learned.features, self.memory_.learned.weights
        return features @ weights[0] if len(weights) == 1 else features[:, 0] @ weights.T

    def policy(self) -> NDArray[np.float64]:
        """Greedy policy learned so far, shape (n_states, n_arms): probabilities; ties share them equally."""
        legal: NDArray[np.bool_] = self.memory_.legal
        masked = np.where(legal, self.q_, -np.inf)
        best = (masked == masked.max(axis=1, keepdims=True)) & legal
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    def best_actions(self, state: int) -> NDArray[np.int64]:
        """Greedy arms of one state (counted from 0), in ascending order; several if tied, none at an end."""
        policy = self.policy()
        return np.flatnonzero(policy[row_of_id(state, 0, len(policy))])


def _finite_array(features: ArrayLike) -> NDArray[np.float64]:
    try:
        known = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"features are not an array of numbers: {error}") from error
    if not np.isfinite(known).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(known))[0])
        raise ParameterError(f"features{list(index)} = {known[index]} is not a finite number")
    return cast(Any, known)
