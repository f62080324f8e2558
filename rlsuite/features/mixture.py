"""Responsibilities of a Gaussian mixture: how probable it is that each component made the observation."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.checks import one_of, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.errors import ParameterError
from rlsuite.features.checks import at_least, check_observations, check_seed, deviations
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import UNSEEDED, Bounds, FeatureMap, FeatureRule

COVARIANCES = ("full", "tied", "diag", "spherical")


class Components(NamedTuple):
    """The data of the compiled form of `MixtureResponsibilities`."""

    means: NDArray[np.float64]  # (n, d)
    whitening: NDArray[np.float64]  # (n, d, d), of which (x - mean) @ whitening is standard normal
    log_scale: NDArray[np.float64]  # (n,), log of weight times density at the mean, up to a common constant


@compiled(in_place=True)
def _responsibilities(
    data: Components, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Compute w_k N(x; mu_k, Sigma_k) / sum_j w_j N(x; mu_j, Sigma_j), from logs: far away all densities are 0."""
    n, d = data.means.shape
    top = -np.inf
    for k in range(n):
        square = 0.0
        for i in range(d):
            whitened = 0.0
            for j in range(d):
                whitened += (observation[j] - data.means[k, j]) * data.whitening[k, j, i]
            square += whitened * whitened
        indices[k] = k
        values[k] = data.log_scale[k] - 0.5 * square
        top = max(top, values[k])
    total = 0.0
    for k in range(n):
        values[k] = math.exp(values[k] - top)
        total += values[k]
    for k in range(n):
        values[k] /= total
    return n


@dataclass(eq=False, repr=False)
class MixtureResponsibilities(FeatureMap):
    """The probability of each component of a Gaussian mixture, given the observation: a soft form of state aggregation.

    Expectation maximisation by scikit-learn's ``GaussianMixture`` finds the components; the features are what its
    ``predict_proba`` returns, and their sum is 1. It is shown the observations in units of their standard deviations,
    since what it adds to each variance lest one vanish is 1e-6 in whatever unit: so the features do not depend on the
    unit in which an observation is measured.

    Parameters
    ----------
    n_components : int
        How many Gaussians.
    covariance : {"full", "tied", "diag", "spherical"}
        Which shapes they may have: any, one for all, along the axes, or round.
    seed : int, optional
        Of the start of expectation maximisation.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_components,)
        How much of the mixture each component is.
    means_ : ndarray of float64, shape (n_components, d)
        Where they lie.
    whitening_ : ndarray of float64, shape (n_components, d, d)
        Cholesky factors of the inverse covariances: ``(x - mean) @ whitening`` is standard normal.

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values, or there are fewer observations than components.

    Examples
    --------
    >>> mixture = MixtureResponsibilities(2, seed=0).fit([[0.0], [0.4], [5.0], [5.4]])
    >>> mixture.transform([[0.1], [2.7]]).round(2).max(axis=1)
    array([1. , 0.5])
    """

    n_components: int = 10
    covariance: str = "full"
    seed: int | None = field(default=None, kw_only=True)

    expected_failed_checks: ClassVar[dict[str, str]] = UNSEEDED
    learns: ClassVar[Mapping[str, Array] | None] = {
        "weights_": Array(shape=("n",), at_least=float(np.finfo(np.float64).tiny), at_most=1.0 + 1e-9),
        "means_": Array(shape=("n", "d")),
        "whitening_": Array(shape=("n", "d", "d")),
    }

    def check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        whole_number("n_components", self.n_components)
        one_of("covariance", self.covariance, COVARIANCES)
        check_seed(self.seed)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the components from observations (n, d); `y` is ignored."""
        self.check_parameters()
        observations = check_observations(X, None, "MixtureResponsibilities")
        at_least("MixtureResponsibilities", "n_components", self.n_components, observations)
        n, d = self.n_components, observations.shape[1]
        middle, scale = observations.mean(axis=0), deviations(observations)
        if self.covariance == "spherical":  # one scale for all dimensions: spheres stay spheres
            scale = np.full(d, deviations((observations - middle).reshape(-1, 1)))
        found = (
            scikit_learn("mixture")
            .GaussianMixture(n, covariance_type=self.covariance, random_state=self.seed)
            .fit((observations - middle) / scale)
        )
        factors = found.precisions_cholesky_
        if self.covariance in ("diag", "spherical"):
            factors = np.reshape(factors, (n, -1, 1)) * np.eye(d)
        self.whitening_ = np.ascontiguousarray(np.broadcast_to(factors, (n, d, d)) / scale[:, None])
        self.weights_, self.means_ = found.weights_, np.ascontiguousarray(middle + scale * found.means_)
        self.n_features_in_ = d
        self.n_features_out_ = self.most_active_ = n
        if self._singular():
            raise ParameterError(
                f"n_components={n}: a component of the mixture has a singular covariance matrix; give fewer"
            )
        return self.name_columns(X)

    def check_restored(self) -> None:
        """Raise ValueError if a matrix of `whitening_` is singular: no observation would have a probability."""
        if self._singular():
            raise ValueError("whitening_ has a singular matrix")

    def _singular(self) -> bool:
        return not np.isfinite(np.linalg.slogdet(self.whitening_)[1]).all()

    def image(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bounds:
        """Probabilities lie between 0 and 1."""
        return np.zeros(self.n_features_out_), np.ones(self.n_features_out_)

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        log_scale = np.log(self.weights_) + np.linalg.slogdet(self.whitening_)[1]
        return FeatureRule(_responsibilities, Components(self.means_, self.whitening_, log_scale))
