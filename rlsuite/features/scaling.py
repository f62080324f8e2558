"""Scaling: the same numbers in other units, so that one step size and one width suit them all."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.features.bounded import BoundedMap
from rlsuite.features.checks import check_observations
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import Bounds, FeatureMap, FeatureRule


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
