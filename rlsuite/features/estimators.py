"""Estimators as rlsuite uses them, with types: scikit-learn, which most of them are of, has none.

An estimator is known by its methods, as in scikit-learn. What they take is up to it: arrays (n, d), or sparse matrices
too.
"""

import copy
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib import import_module
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.modules import is_installed
from rlsuite.errors import MissingPackage

Matrix: TypeAlias = Any
"""(n, k): a NumPy array, or a sparse matrix of SciPy; no type says what the two have in common."""
T = TypeVar("T")


Fitted: TypeAlias = dict[str, NDArray[Any]]
"""What a feature map has learned: arrays by the names of its attributes."""


class SparseFeatures(Protocol):
    """A ``scipy.sparse.csr_array`` (n, k) of float64."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns."""
        ...

    def toarray(self) -> NDArray[np.float64]:
        """Return the dense array."""
        ...


Features: TypeAlias = NDArray[np.float64] | SparseFeatures
"""(n, k) float64: an array, or a sparse matrix in row form."""


class Predictor(Protocol):
    """A regressor or classifier: ``fit(X, y)`` returns it, ``predict(X)`` has one number for each row of X."""

    @property
    def fit(self) -> "Callable[..., Predictor]":
        """Learn from samples (n, d) and their targets (n,)."""
        ...

    @property
    def get_params(self) -> Callable[..., Mapping[str, object]]:
        """Return the parameters by name."""
        ...

    @property
    def set_params(self) -> Callable[..., object]:
        """Change parameters."""
        ...

    @property
    def predict(self) -> Callable[..., object]:
        """Predict the targets (n,) of samples (n, d)."""
        ...


class Transformer(Protocol):
    """Features: ``fit(X)``, and ``transform(X)`` with one row for each row of X."""

    @property
    def fit(self) -> Callable[..., object]:
        """Learn from samples (n, d)."""
        ...

    @property
    def transform(self) -> Callable[..., object]:
        """Compute the features (n, k) of samples (n, d)."""
        ...


def scikit_learn(module: str) -> Any:
    """Return a module of scikit-learn, which has no type annotations.

    Raises
    ------
    MissingPackage
        If scikit-learn is not installed.

    Examples
    --------
    >>> scikit_learn("cluster").KMeans(3)
    KMeans(n_clusters=3)
    """
    try:
        return import_module(f"sklearn.{module}")
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"this needs sklearn.{module}, and scikit-learn is not installed: pip install scikit-learn"
        ) from error


def clone(estimator: T) -> T:
    """Return an unfitted copy of an estimator."""
    if is_installed("sklearn"):
        return scikit_learn("base").clone(estimator)
    found: Any = estimator
    return type(found)(**copy.deepcopy(found.get_params(deep=False)))


def kind_of(estimator: object) -> str:
    """What an estimator says that it is: "regressor", "classifier", "clusterer", ...; empty if it does not say.

    >>> kind_of(scikit_learn("cluster").KMeans(3)), kind_of(3)
    ('clusterer', '')
    """
    if not is_installed("sklearn") or not hasattr(estimator, "__sklearn_tags__"):
        return ""
    return str(scikit_learn("utils").get_tags(estimator).estimator_type or "")


def is_classifier(estimator: object) -> bool:
    """Whether an estimator says that it predicts classes."""
    return kind_of(estimator) == "classifier"


def is_frozen(estimator: object) -> bool:
    """Whether an estimator is a ``FrozenEstimator`` of scikit-learn, which `fit` leaves as it is."""
    return is_installed("sklearn") and isinstance(estimator, scikit_learn("frozen").FrozenEstimator)


def one_thread() -> Any:
    """Compute on one thread: sums of several, as those of k-means, depend on which is first."""
    try:
        return import_module("threadpoolctl").threadpool_limits(1)
    except ImportError:  # it comes with scikit-learn
        return nullcontext()


def dense(features: object) -> NDArray[np.float64]:
    """Return features (n, k) as an array, which a sparse matrix becomes."""
    found: Matrix = features
    return found.toarray() if hasattr(found, "toarray") else np.asarray(found, dtype=np.float64)
