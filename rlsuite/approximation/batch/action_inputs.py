"""Two ways to give a regressor of single numbers the action.

One regressor for each action is fitted to its transitions only; or one regressor for all has, after the features, one
more column for each action, which is 1 for the action taken and 0 for the others. Either way the matrices are built
once, and the values of all actions of many observations take as few calls as there are regressors.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite.approximation.batch.regressors import predictions
from rlsuite.errors import ParameterError
from rlsuite.features.estimators import Matrix, Predictor

Fit: TypeAlias = Callable[[Matrix, NDArray[np.float64], NDArray[np.float64]], Predictor]
"""``(inputs (n, k), targets (n,), weights (n,)) -> fitted regressor``"""


def rows_of_actions(action: NDArray[np.int64], n_actions: int, fix: str) -> list[NDArray[np.int64]]:
    """Return the indices of the transitions of each action.

    Raises
    ------
    ParameterError
        If an action has none; the message ends with what to do.
    """
    rows = [np.flatnonzero(action == a) for a in range(n_actions)]
    missing = [a for a in range(n_actions) if not rows[a].size]
    if missing:
        raise ParameterError(
            f"the batch has no transition with action {', '.join(map(str, missing))} (of 0..{n_actions - 1}), so its "
            f"value cannot be learned; {fix}"
        )
    return rows


class OnePerAction:
    """Training inputs of one regressor per action."""

    def __init__(self, features: Matrix, action: NDArray[np.int64], weight: NDArray[np.float64], n_actions: int):
        fix = "collect more transitions, or let one regressor see all actions (one_per_action=False)"
        self.rows = rows_of_actions(action, n_actions, fix)
        self.inputs = [features[rows] for rows in self.rows]
        self.weights = [weight[rows] for rows in self.rows]

    def fit(self, fit: Fit, target: NDArray[np.float64]) -> list[Predictor]:
        """Fit a regressor to the targets of each action."""
        parts = zip(self.inputs, self.rows, self.weights, strict=True)
        return [fit(inputs, target[rows], weight) for inputs, rows, weight in parts]

    @staticmethod
    def inputs_of_all_actions(features: Matrix, n_actions: int) -> Matrix:
        """Return the inputs whose predictions are the values of all actions: the features themselves."""
        return features

    @staticmethod
    def values(fitted: Sequence[Predictor], owner: str, inputs: Matrix, n_actions: int) -> NDArray[np.float64]:
        """Predict the values (n_actions, n)."""
        return np.stack([predictions(one, owner, inputs) for one in fitted])


class OneForAll:
    """Training inputs of one regressor whose inputs include the action."""

    def __init__(self, features: Matrix, action: NDArray[np.int64], weight: NDArray[np.float64], n_actions: int):
        self.weight = weight
        self.inputs = _side_by_side(features, np.eye(n_actions)[action])

    def fit(self, fit: Fit, target: NDArray[np.float64]) -> list[Predictor]:
        """Fit the regressor to all targets."""
        return [fit(self.inputs, target, self.weight)]

    @staticmethod
    def inputs_of_all_actions(features: Matrix, n_actions: int) -> Matrix:
        """Return the inputs (n_actions * n, k + n_actions) whose predictions are the values of all actions."""
        n = int(features.shape[0])
        return _side_by_side(features[np.tile(np.arange(n), n_actions)], np.repeat(np.eye(n_actions), n, axis=0))

    @staticmethod
    def values(fitted: Sequence[Predictor], owner: str, inputs: Matrix, n_actions: int) -> NDArray[np.float64]:
        """Predict the values (n_actions, n)."""
        return predictions(fitted[0], owner, inputs).reshape(n_actions, -1)


def _side_by_side(features: Matrix, indicators: NDArray[np.float64]) -> Matrix:
    """Return the columns of both, as a sparse matrix if the features are one."""
    if hasattr(features, "tocsr"):
        from scipy.sparse import csr_array, hstack

        return hstack([features, csr_array(indicators)], format="csr")
    return np.hstack([features, indicators])
