"""State aggregation: observations in groups, with one value for each (S&B2 section 9.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.features.bounded import BoundedMap, cell_of, check_counts, counts
from rlsuite.features.checks import at_least, check_observations, check_seed, grid, grid_size
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import GRID, UNSEEDED, FeatureMap, FeatureRule, check_size


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
