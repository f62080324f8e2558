"""A mixture of experts: regressors, and a gate that weights them in each region (Jacobs, Jordan, Nowlan & Hinton 1991).

The prediction at x is a mean of K experts, weighted by the gate (lecture notes, section 5.3)::

    y(x) = sum_k g_k(x) y_k(x),    g_k(x) >= 0,    sum_k g_k(x) = 1

Expectation maximisation learns both: each sample belongs to expert k with probability proportional to
g_k(x) N(y; y_k(x), sigma^2); with these weights the experts are fitted again, and a logistic regression as the gate.
"""

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.features.estimator_bases import BaseEstimator, RegressorMixin
from rlsuite.features.estimators import Predictor, clone, scikit_learn

LEAST: Final = 1e-9
"""Least weight of a sample, and least variance as a share of that of the targets: no expert is left without samples."""


@dataclass(eq=False, repr=False)
class GatedExperts(RegressorMixin, BaseEstimator):
    """A regressor of scikit-learn: several regressors, each for a region of its own that is learned.

    Parameters
    ----------
    n_experts : int
        K, at least 1; the number of samples if there are fewer.
    expert : estimator, optional
        A regressor whose `fit` takes ``sample_weight``; None: linear regression.
    n_iterations : int
        Rounds of expectation maximisation, at least 1.
    random_state : int or None
        Seed of the clusters from which it begins.

    Attributes
    ----------
    experts_ : list of estimators
        The experts that were fitted.
    n_features_in_ : int
        Numbers of a sample.

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values.

    Examples
    --------
    The absolute value consists of two lines:

    >>> X = np.linspace(-1.0, 1.0, 101)[:, None]
    >>> model = GatedExperts(2).fit(X, abs(X[:, 0]))
    >>> sorted(round(float(expert.coef_[0]), 2) for expert in model.experts_)
    [-1.0, 1.0]
    """

    n_experts: int = 2
    expert: Predictor | None = None
    n_iterations: int = 20
    random_state: int | None = 0

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from samples (n, d) and their targets (n,)."""
        whole_number("n_experts", self.n_experts)
        whole_number("n_iterations", self.n_iterations)
        samples, targets = scikit_learn("utils.validation").validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        targets = targets.astype(np.float64)
        scaler = scikit_learn("preprocessing").StandardScaler().fit(samples)
        k = min(self.n_experts, len(np.unique(samples, axis=0)))
        clusters = scikit_learn("cluster").KMeans(k, n_init=3, random_state=self.random_state)
        share: NDArray[np.float64] = np.eye(k)[clusters.fit_predict(scaler.transform(samples))]
        least = LEAST * float(targets.var()) or LEAST
        for _ in range(self.n_iterations):
            weights = np.maximum(share, LEAST)
            self.experts_: list[Any] = [self._expert().fit(samples, targets, sample_weight=one) for one in weights.T]
            self.gate_ = _gate(scaler, samples, weights)
            squares = (self._answers(samples) - targets[:, None]) ** 2
            variance = max(float((share * squares).sum() / len(samples)), least)
            # the logarithm of what is proportional to the share, largest 0, so that not all underflow
            belongs = np.log(self._gates(samples) + LEAST) - squares / (2.0 * variance)
            share = np.exp(belongs - belongs.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the targets of inputs (n, d), shape (n,) float64."""
        inputs = self._checked(X)
        return np.asarray((self._gates(inputs) * self._answers(inputs)).sum(axis=1))

    def gates(self, X: ArrayLike) -> NDArray[np.float64]:
        """Weights of the experts at inputs (n, d), shape (n, K); rows sum to 1."""
        return self._gates(self._checked(X))

    def _expert(self) -> Any:
        return scikit_learn("linear_model").LinearRegression() if self.expert is None else clone(self.expert)

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        validation = scikit_learn("utils.validation")
        validation.check_is_fitted(self)
        checked: NDArray[np.float64] = validation.validate_data(self, X, reset=False, dtype=np.float64)
        return checked

    def _gates(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.gate_ is None:
            return np.ones((len(inputs), 1))
        return np.asarray(self.gate_.predict_proba(inputs), dtype=np.float64)

    def _answers(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([expert.predict(inputs) for expert in self.experts_])


def _gate(scaler: Any, samples: NDArray[np.float64], weights: NDArray[np.float64]) -> Any:
    """Fit a classifier that tells for which expert a sample is; None for one expert."""
    n, k = weights.shape
    if k == 1:
        return None
    logistic = scikit_learn("linear_model").LogisticRegression(C=100.0, max_iter=1_000)
    gate = scikit_learn("pipeline").make_pipeline(scaler, logistic)
    labels: NDArray[np.int64] = np.arange(k * n, dtype=np.int64) // n
    return gate.fit(np.tile(samples, (k, 1)), labels, logisticregression__sample_weight=weights.T.ravel())
