"""Regressors for batches: scikit-learn's by name, one for each action, gated experts.

The interface of regressors for batch methods, the checks of their results, and locally weighted regression.

Anything with ``fit(X, y)`` and ``predict(X)`` will do: scikit-learn clones what has ``get_params``, anything else is
copied as it is given. Locally weighted regression
(Atkeson, Moore & Schaal 1997), which scikit-learn does not have, is a fit for each query: the prediction at x is that
of a straight line (plane) fitted to the k nearest samples only, with larger weights for nearer ones::

    minimise over c and g    sum_i w_i (y_i - c - g.(x_i - x))^2,    w_i = (1 - (d_i / d_k)^3)^3,    prediction = c

Unlike the mean of the neighbours it has no bias on a slope, nor at the border of the samples.

A mixture of experts: regressors, and a gate that weights them in each region (Jacobs, Jordan, Nowlan & Hinton 1991).

The prediction at x is a mean of K experts, weighted by the gate (lecture notes, section 5.3)::

    y(x) = sum_k g_k(x) y_k(x),    g_k(x) >= 0,    sum_k g_k(x) = 1

Expectation maximisation learns both: each sample belongs to expert k with probability proportional to
g_k(x) N(y; y_k(x), sigma^2); with these weights the experts are fitted again, and a logistic regression as the gate.
"""

import copy
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.errors import ParameterError
from rlsuite.features.checks import naming, shown
from rlsuite.features.estimator_bases import BaseEstimator, RegressorMixin
from rlsuite.features.estimators import Matrix, Predictor, clone, kind_of, scikit_learn
from rlsuite.models.aliases import FloatArray

CHUNK: Final = 4_096
"""Queries that are answered at once."""

LEAST: Final = 1e-6
"""Least weight of a neighbour; the formula gives the farthest one 0."""


def check_regressor(regressor: object, owner: str) -> None:
    """Raise unless this is an estimator that can be cloned, fitted, and asked for predictions.

    Raises
    ------
    ParameterError
        If it is a class, a classifier, or lacks a method.
    """
    if isinstance(regressor, type):
        name = regressor.__name__
        raise errors.ParameterError(f"{owner}: the regressor is the class {name}; give an instance, {name}()")
    missing = [name for name in ("fit", "predict") if not callable(getattr(regressor, name, None))]
    if isinstance(regressor, str):
        raise errors.ParameterError(
            f"{owner}: the regressor {regressor!r} is a name, which command line and files take; in Python give the "
            "object, such as DecisionTreeRegressor()"
        )
    if missing:
        raise errors.ParameterError(
            f"{owner}: the regressor {shown(regressor)} has no {' and no '.join(missing)}; give a regressor of "
            "scikit-learn, or an object of your own with fit(X, y) and predict(X)"
        )
    name = type(regressor).__name__
    kind = kind_of(regressor)
    if kind in ("clusterer", "outlier_detector", "density_estimator"):
        raise errors.ParameterError(
            f"{owner}: {name} is a {kind.replace('_', ' ')}, which predicts labels, not values; give a regressor such "
            f"as DecisionTreeRegressor(), or {name} as features="
        )
    if kind == "classifier":
        near = name.replace("Classifier", "Regressor")
        hint = f"; did you mean {near}?" if near != name else ""
        raise errors.ParameterError(f"{owner}: {name} is a classifier, and values are numbers, not classes{hint}")


class Copies:
    """Unfitted copies of an estimator, whose randomness, where it has been left open, comes from a generator.

    A copy of the copy costs a fraction of what `sklearn.base.clone` does, which asks for all parameters by their names.
    """

    def __init__(self, estimator: Predictor):
        named = hasattr(estimator, "get_params")
        self.pattern = clone(estimator) if named else copy.deepcopy(estimator)
        self.open_seeds = sorted(
            name
            for name, value in (self.pattern.get_params(deep=True).items() if named else ())
            if name.split("__")[-1] == "random_state" and value is None
        )

    def fresh(self, rng: np.random.Generator) -> Predictor:
        """Return the next copy."""
        copied = copy.deepcopy(self.pattern)
        if self.open_seeds:
            copied.set_params(**{name: int(rng.integers(2**31 - 1)) for name in self.open_seeds})
        return copied


def fresh(estimator: Predictor, rng: np.random.Generator) -> Predictor:
    """Return one unfitted copy; see `Copies`."""
    return Copies(estimator).fresh(rng)


def fitted(
    regressor: Predictor, owner: str, inputs: Matrix, targets: NDArray[np.float64], **weights: FloatArray
) -> Predictor:
    """Return a regressor fitted to inputs (n, k) and targets (n,).

    Raises
    ------
    LearningError
        If it refuses them, by an error of whatever class.
    """
    with naming(f"{owner}: {type(regressor).__name__} cannot learn from these {len(targets)} samples"):
        regressor.fit(inputs, targets, **weights)
    return regressor


def weight_keyword(regressor: Predictor, owner: str) -> str:
    """Return the keyword under which `fit` takes the weights of samples.

    Raises
    ------
    ParameterError
        If it takes none.
    """
    takes = scikit_learn("utils.validation").has_fit_parameter
    if takes(regressor, "sample_weight"):
        return "sample_weight"
    steps = getattr(regressor, "steps", None)
    if steps and takes(steps[-1][1], "sample_weight"):  # of a pipeline's last step
        return f"{steps[-1][0]}__sample_weight"
    raise errors.ParameterError(
        f"{owner}: {type(regressor).__name__} does not accept sample weights, and the transitions of this batch have "
        "different weights; collect the batch (Batch.collect), or choose a regressor whose fit takes sample_weight"
    )


def predictions(regressor: Predictor, owner: str, inputs: Matrix) -> NDArray[np.float64]:
    """Return what a fitted regressor predicts for inputs (n, k), shape (n,) float64.

    Raises
    ------
    LearningError
        If it refuses them, by an error of whatever class, or it is not one number for each sample.
    """
    n = int(inputs.shape[0])
    with naming(f"{owner}: {type(regressor).__name__} cannot predict the values of {n} samples"):
        predicted = regressor.predict(inputs)
        found = np.asarray(predicted, dtype=np.float64)
    if found.size != n or predicted is None:
        what = "nothing" if predicted is None else f"an array of shape {found.shape}"
        raise errors.LearningError(
            f"{owner}: {type(regressor).__name__}.predict returned {what} for {n} samples; one number for each sample "
            "is needed"
        )
    return found.reshape(n)


@dataclass(eq=False, repr=False)
class LocallyWeightedRegression(RegressorMixin, BaseEstimator):
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
        samples, targets = scikit_learn("utils.validation").validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        self.samples_: NDArray[np.float64] = samples
        self.targets_ = targets.astype(np.float64)
        neighbors = scikit_learn("neighbors").NearestNeighbors(n_neighbors=min(self.n_neighbors, len(samples)))
        self.neighbors_ = neighbors.fit(samples)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Predict the targets of inputs (n, d), shape (n,) float64."""
        validation = scikit_learn("utils.validation")
        validation.check_is_fitted(self)
        inputs: FloatArray = validation.validate_data(self, X, reset=False, dtype=np.float64)
        parts = [self._predict(inputs[i : i + CHUNK]) for i in range(0, len(inputs), CHUNK)]
        return np.concatenate(parts)

    def _predict(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        distance, nearest = self.neighbors_.kneighbors(inputs)
        reach = np.where(distance[:, -1:] > 0.0, distance[:, -1:], 1.0)
        weight = np.maximum((1.0 - (distance / reach) ** 3) ** 3, LEAST)
        offset = self.samples_[nearest] - inputs[:, None]
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


SMALLEST: Final = 1e-9
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
        least = SMALLEST * float(targets.var()) or SMALLEST
        for _ in range(self.n_iterations):
            weights = np.maximum(share, SMALLEST)
            self.experts_: list[Any] = [self._expert().fit(samples, targets, sample_weight=one) for one in weights.T]
            self.gate_ = _gate(scaler, samples, weights)
            squares = (self._answers(samples) - targets[:, None]) ** 2
            variance = max(float((share * squares).sum() / len(samples)), least)
            # the logarithm of what is proportional to the share, largest 0, so that not all underflow
            belongs = np.log(self._gates(samples) + SMALLEST) - squares / (2.0 * variance)
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
