"""Locally weighted regression (Atkeson, Moore & Schaal 1997), which scikit-learn does not have: a fit for each query.

The prediction at x is that of a straight line (plane) fitted to the k nearest samples only, with larger weights for
nearer ones::

    minimise over c and g    sum_i w_i (y_i - c - g.(x_i - x))^2,    w_i = (1 - (d_i / d_k)^3)^3,    prediction = c

Unlike the mean of the neighbours it has no bias on a slope, nor at the border of the samples.
"""

from dataclasses import dataclass
from typing import Any, Final, Self, cast

import numpy as np
import sklearn.base
import sklearn.neighbors
import sklearn.utils.validation
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.checks import finite_number, whole_number
from rlsuite.errors import ParameterError

# scikit-learn has no type annotations
_BaseEstimator: Any = sklearn.base.BaseEstimator
_RegressorMixin: Any = sklearn.base.RegressorMixin
_NearestNeighbors: Any = sklearn.neighbors.NearestNeighbors
_validation: Any = sklearn.utils.validation

CHUNK: Final = 4_096
"""Queries that are answered at once."""

LEAST: Final = 1e-6
"""Least weight of a neighbour; the formula gives the farthest one 0."""


@dataclass(eq=False, repr=False)
class LocallyWeightedRegression(_RegressorMixin, _BaseEstimator):
    """A regressor of scikit-learn: linear regression on the nearest neighbours of each query.

    Parameters
    ----------
    n_neighbors : int
        k, at least 1; all samples if there are fewer.
    ridge : float
        Penalty on the slopes, as a fraction of the spread of the neighbours: where they all lie in one line, only this
        says what the slope across it is.

    Attributes
    ----------
    n_features_in_ : int
        Numbers of a sample.

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values.

    Examples
    --------
    >>> X = np.arange(10.0)[:, None]
    >>> LocallyWeightedRegression(n_neighbors=5).fit(X, 2.0 * X[:, 0] + 1.0).predict([[2.5], [10.0]]).round(3)
    array([ 6., 21.])
    """

    n_neighbors: int = 20
    ridge: float = 1e-6

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Keep samples (n, d) and their targets (n,)."""
        whole_number("n_neighbors", self.n_neighbors)
        if finite_number("ridge", self.ridge) < 0.0:
            raise ParameterError(f"ridge={self.ridge:g} is negative")
        samples, targets = _validation.validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        self.samples_: NDArray[np.float64] = samples
        self.targets_ = cast("NDArray[Any]", targets).astype(np.float64)
        self.neighbors_ = _NearestNeighbors(n_neighbors=min(self.n_neighbors, len(samples))).fit(samples)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the targets of questions (n, d), shape (n,) float64."""
        _validation.check_is_fitted(self)
        questions: NDArray[np.float64] = _validation.validate_data(self, X, reset=False, dtype=np.float64)
        parts = [self._answers(questions[i : i + CHUNK]) for i in range(0, len(questions), CHUNK)]
        return np.concatenate(parts)

    def _answers(self, questions: NDArray[np.float64]) -> NDArray[np.float64]:
        distance, nearest = self.neighbors_.kneighbors(questions)
        reach = np.where(distance[:, -1:] > 0.0, distance[:, -1:], 1.0)
        weight = np.maximum((1.0 - (distance / reach) ** 3) ** 3, LEAST)
        offset = self.samples_[nearest] - questions[:, None]
        width = offset.shape[2]
        design = np.concatenate([np.ones((*nearest.shape, 1)), offset], axis=2)
        weighted = weight[:, :, None] * design
        normal: NDArray[np.float64] = np.einsum("qki,qkj->qij", weighted, design)
        moment = np.einsum("qki,qki->q", weighted[:, :, 1:], offset) / width
        # neighbours that are all equal have no slope; any penalty keeps it at 0
        penalty = np.where(moment > 0.0, self.ridge * moment, 1.0)
        normal[:, 1:, 1:] += penalty[:, None, None] * np.eye(width)
        right: NDArray[np.float64] = np.einsum("qki,qk->qi", weighted, self.targets_[nearest])
        return np.asarray(np.linalg.solve(normal, right[:, :, None])[:, 0, 0], dtype=np.float64)
