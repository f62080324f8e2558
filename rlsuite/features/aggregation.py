"""State aggregation: observations in groups, with one value for each (S&B2 section 9.3).

The groups are boxes, clusters, or - softly - the components of a Gaussian mixture, each with the probability that it
made the observation.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import one_of, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.errors import ParameterError
from rlsuite.features.bounded import BoundedMap, cell_of, check_counts, counts
from rlsuite.features.checks import at_least, check_observations, check_seed, deviations, grid, grid_size
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import GRID, UNSEEDED, Bounds, FeatureMap, FeatureRule, check_size

COVARIANCES = ("full", "tied", "diag", "spherical")


class EqualBins(NamedTuple):
    """The data of the compiled form of `StateAggregation`."""

    low: NDArray[np.float64]  # (d,)
    scale: NDArray[np.float64]  # (d,) bins per unit
    bins: NDArray[np.int64]  # (d,)


@compiled(in_place=True)
def _box(
    data: EqualBins, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    place = 0
    for j in range(data.low.size):
        place = place * data.bins[j] + cell_of(observation[j], data.low[j], data.scale[j], data.bins[j])
    indices[0] = place
    values[0] = 1.0
    return 1


@dataclass(eq=False, repr=False)
class StateAggregation(BoundedMap):
    """Boxes of equal size: the feature of the box that holds the observation is 1 (S&B2 Example 9.1).

    The same as `TileCoding` with one tiling. Of observations that are whole numbers, such as ids, as many as divide
    evenly are in each group; with as many bins as there are numbers, each combination has a feature of its own.

    Parameters
    ----------
    bins : int or sequence of int
        Groups in each dimension.
    low, high : float or sequence of float, optional
        Where each dimension begins and ends; see `BoundedMap`. An observation beyond is in the outer group.

    Raises
    ------
    ParameterError
        From `fit`, if a number is not above 0, bounds are infinite, or there are more than 100 million groups.

    Examples
    --------
    Ids 0..999 in ten groups of 100:

    >>> groups = StateAggregation(10, low=0, high=999).fit([[0]])
    >>> groups.transform([[0], [99], [100], [999]]).indices.tolist()
    [0, 0, 1, 9]
    """

    bins: int | Sequence[int] = 10

    sparse: ClassVar[bool] = True
    expected_failed_checks: ClassVar[dict[str, str]] = GRID

    def check_parameters(self) -> None:
        """Raise unless all numbers are above 0."""
        super().check_parameters()
        check_counts("bins", self.bins)

    def lay_out(self) -> None:
        """Count the boxes."""
        bins = counts("StateAggregation", "bins", self.bins, self.n_features_in_)
        n = grid_size(bins)
        advice = "give fewer bins=, or use TileCoding(hash_size=...)"
        check_size(self, n, f"a grid of {grid(bins)} boxes", advice)
        self.n_features_out_, self.most_active_ = n, 1

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        bins = counts("StateAggregation", "bins", self.bins, self.n_features_in_)
        return FeatureRule(_box, EqualBins(self.low_, self.units(bins), bins))


class Centres(NamedTuple):
    """The data of the compiled form of `Clusters`."""

    centres: NDArray[np.float64]  # (n, d)


@compiled(in_place=True)
def _nearest(
    data: Centres, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    indices[0] = 0
    values[0] = 1.0
    least = np.inf
    for i in range(data.centres.shape[0]):
        distance = 0.0
        for j in range(data.centres.shape[1]):
            difference = observation[j] - data.centres[i, j]
            distance += difference * difference
        if distance < least:
            least = distance
            indices[0] = i
    return 1


@dataclass(eq=False, repr=False)
class Clusters(FeatureMap):
    """Groups found by k-means: the feature of the nearest centre is 1.

    Groups are small where observations are many. Distances are in the units of the observation: if these differ much,
    put `Standardization` before, ``Chain([Standardization(), Clusters(50)])``.

    Parameters
    ----------
    n_clusters : int
        How many groups.
    seed : int, optional
        Of scikit-learn's ``KMeans``, which begins with random centres.

    Attributes
    ----------
    centres_ : ndarray of float64, shape (n_clusters, d)
        The centres.

    Raises
    ------
    ParameterError
        From `fit`, if `n_clusters` is not a whole number above 0, or there are fewer observations than groups.

    Examples
    --------
    >>> groups = Clusters(2, seed=0).fit([[0.0], [0.2], [5.0], [5.2]])
    >>> sorted(groups.centres_.ravel().round(3).tolist())
    [0.1, 5.1]
    >>> groups.transform([[1.0], [0.0], [4.0]]).indices.tolist() in ([0, 0, 1], [1, 1, 0])
    True
    """

    n_clusters: int = 10
    seed: int | None = field(default=None, kw_only=True)

    sparse: ClassVar[bool] = True
    expected_failed_checks: ClassVar[dict[str, str]] = UNSEEDED
    learns: ClassVar[Mapping[str, Array] | None] = {"centres_": Array(shape=("n", "d"))}

    def check_parameters(self) -> None:
        """Raise unless the number of groups is above 0."""
        whole_number("n_clusters", self.n_clusters)
        check_seed(self.seed)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the centres of observations (n, d); `y` is ignored."""
        self.check_parameters()
        observations = check_observations(X, None, "Clusters")
        at_least("Clusters", "n_clusters", self.n_clusters, observations)
        found = scikit_learn("cluster").KMeans(self.n_clusters, random_state=self.seed, n_init="auto").fit(observations)
        self.centres_: NDArray[np.float64] = np.ascontiguousarray(found.cluster_centers_)
        self.n_features_in_, self.n_features_out_, self.most_active_ = observations.shape[1], self.n_clusters, 1
        return self.name_columns(X)

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_nearest, Centres(self.centres_))


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
    ``predict_proba`` returns, and their sum is 1. It sees the observations in units of their standard deviations,
    because it adds 1e-6 to each variance in any unit. So the features do not depend on the unit in which an
    observation is measured.

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
