"""The same numbers in other units or on other axes, so that one step size and one width suit them all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.features.bounded import BoundedMap
from rlsuite.features.checks import check_observations, check_seed
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import Bounds, FeatureMap, FeatureRule

if TYPE_CHECKING:
    from sklearn.utils import Tags


class Units(NamedTuple):
    """The data of the compiled form of a scaling."""

    origin: NDArray[np.float64]  # (d,)
    scale: NDArray[np.float64]  # (d,)


@compiled(in_place=True)
def _scaled(
    data: Units, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    for i in range(data.origin.size):
        indices[i] = i
        values[i] = (observation[i] - data.origin[i]) * data.scale[i]
    return data.origin.size


@dataclass(eq=False, repr=False)
class Scaling(BoundedMap):
    """Scales each number from [low, high] to [0, 1]; numbers outside stay outside.

    What scikit-learn's ``MinMaxScaler`` does, which does not take bounds.

    Parameters
    ----------
    low, high : float or sequence of float, optional
        What becomes 0 and 1 in each dimension; see `BoundedMap`. A dimension without length becomes 0.

    Raises
    ------
    ParameterError
        From `fit`, if bounds are infinite.

    Examples
    --------
    >>> Scaling(low=-1.0, high=3.0).fit([[0.0]]).transform([[0.0], [5.0]])
    array([[0.25],
           [1.5 ]])
    """

    def lay_out(self) -> None:
        """Keep the width."""
        self.n_features_out_ = self.most_active_ = self.n_features_in_

    def image(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bounds:
        """Scale the bounds."""
        scale = self.units(1.0)
        return (low - self.low_) * scale, (high - self.low_) * scale

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_scaled, Units(self.low_, self.units(1.0)))


@dataclass(eq=False, repr=False)
class Standardization(FeatureMap):
    """Mean 0 and standard deviation 1 in each dimension: what scikit-learn's ``StandardScaler`` does.

    Attributes
    ----------
    mean_, scale_ : ndarray of float64, shape (d,)
        Mean and standard deviation of the observations; where these are all the same, the latter is 1.

    Examples
    --------
    >>> Standardization().fit([[1.0], [3.0]]).transform([[5.0]])
    array([[3.]])
    """

    learns: ClassVar[Mapping[str, Array] | None] = {"mean_": Array(shape=("d",)), "scale_": Array(shape=("d",))}

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn mean and standard deviation of observations (n, d); `y` is ignored."""
        observations = check_observations(X, None, "Standardization")
        found = scikit_learn("preprocessing").StandardScaler().fit(observations)
        self.mean_: NDArray[np.float64] = found.mean_
        self.scale_: NDArray[np.float64] = found.scale_
        self.n_features_in_ = self.n_features_out_ = self.most_active_ = observations.shape[1]
        return self.name_columns(X)

    def image(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bounds:
        """Scale the bounds."""
        return (low - self.mean_) / self.scale_, (high - self.mean_) / self.scale_

    def check_restored(self) -> None:
        """Raise ValueError unless there is one feature for each number."""
        if self.n_features_out_ != self.n_features_in_:
            raise ValueError(
                f"n_features_out_ is {self.n_features_out_}; it must be n_features_in_, {self.n_features_in_}"
            )

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_scaled, Units(self.mean_, 1.0 / self.scale_))


class Directions(NamedTuple):
    """The data of the compiled form of `PrincipalComponents`."""

    mean: NDArray[np.float64]  # (d,)
    directions: NDArray[np.float64]  # (n, d)


@compiled(in_place=True)
def _project(
    data: Directions, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    n = data.directions.shape[0]
    for i in range(n):
        indices[i] = i
        values[i] = 0.0
        for j in range(data.mean.size):
            values[i] += data.directions[i, j] * (observation[j] - data.mean[j])
    return n


@dataclass(eq=False, repr=False)
class PrincipalComponents(FeatureMap):
    """The observation on the axes along which observations vary most: what scikit-learn's ``PCA`` returns.

    It keeps as much of the squared distance between observations as this many numbers can. For long observations, such
    as images, before a map that would have too many features; linear in the observation, so no use on its own.

    Parameters
    ----------
    n_components : int
        How many axes.
    whiten : bool
        Whether the features are divided by their standard deviation.
    seed : int, optional
        Of the randomised singular value decomposition, which is used where the axes are few of very many.

    Attributes
    ----------
    mean_ : ndarray of float64, shape (d,)
        The mean observation.
    directions_ : ndarray of float64, shape (n_components, d)
        The axes, longest variation first; divided by the standard deviations if they whiten.
    explained_variance_ratio_ : ndarray of float64, shape (n_components,)
        Which part of the variance lies along each.

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values, or there are more axes than numbers in an observation,
        or than observations.

    Examples
    --------
    >>> axes = PrincipalComponents(1).fit([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> abs(axes.transform([[6.0, 8.0]])).round(6)
    array([[5.]])
    """

    n_components: int = 2
    whiten: bool = field(default=False, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)

    learns: ClassVar[Mapping[str, Array] | None] = {
        "mean_": Array(shape=("d",)),
        "directions_": Array(shape=("n", "d")),
        "explained_variance_ratio_": Array(shape=("n",)),
    }

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.non_deterministic = False  # except for a few components of very many dimensions
        return tags

    def check_parameters(self) -> None:
        """Raise unless the number of axes is above 0."""
        whole_number("n_components", self.n_components)
        check_seed(self.seed)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Find the axes of observations (n, d); `y` is ignored."""
        self.check_parameters()
        observations = check_observations(X, None, "PrincipalComponents")
        if self.n_components > min(observations.shape):
            raise errors.ParameterError(
                f"PrincipalComponents: n_components={self.n_components}, but {observations.shape[0]} observations of "
                f"{observations.shape[1]} numbers have at most {min(observations.shape)} "
                f"(n_samples={observations.shape[0]}, n_features={observations.shape[1]})"
            )
        pca = scikit_learn("decomposition").PCA
        found = pca(self.n_components, whiten=self.whiten, random_state=self.seed).fit(observations)
        self.mean_: NDArray[np.float64] = found.mean_
        self.explained_variance_ratio_: NDArray[np.float64] = found.explained_variance_ratio_
        self.directions_: NDArray[np.float64] = np.array(found.components_, order="C")
        if self.whiten:
            # as in scikit-learn, no divisor is less than the precision of a float
            deviations = np.sqrt(found.explained_variance_)
            self.directions_ /= np.maximum(deviations, np.finfo(np.float64).eps)[:, None]
        self.n_features_in_ = observations.shape[1]
        self.n_features_out_ = self.most_active_ = self.n_components
        return self.name_columns(X)

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_project, Directions(self.mean_, self.directions_))
