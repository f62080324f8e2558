"""The observation itself, and the table as a special case: `Identity` and `OneHot`."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.approximation.features.feature_map import FeatureMap, FeatureRule, check_observations, check_size
from rlsuite.checks import whole_number
from rlsuite.compilation import compiled


class IdentityData(NamedTuple):
    """What the compiled form of `Identity` knows."""

    n: int


@compiled(in_place=True)
def _numbers(
    data: IdentityData, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    for i in range(data.n):
        indices[i] = i
        values[i] = observation[i]
    return data.n


@dataclass(eq=False, repr=False)
class Identity(FeatureMap):
    """The numbers of the observation, unchanged.

    For observations that are features already, such as those of `rlsuite.VectorObservation`. There is no constant
    among them: a linear function of them is 0 where the observation is.

    Examples
    --------
    >>> Identity().fit([[0.5, 2.0]]).transform([[1.0, -3.0]])
    array([[ 1., -3.]])
    """

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn how many numbers an observation has, from observations (n, d); `y` is ignored."""
        return self._fit(check_observations(X, None, "Identity").shape[1])

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Learn how many numbers an observation has, from bounds (d,)."""
        return self._fit(len(low))

    def _fit(self, width: int) -> Self:
        self.n_features_in_ = self.n_features_out_ = self.most_active_ = width
        return self

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_numbers, IdentityData(self.n_features_in_))


class OneHotData(NamedTuple):
    """What the compiled form of `OneHot` knows."""

    first: int
    n: int


@compiled(in_place=True)
def _id(
    data: OneHotData, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    if not 0.0 <= observation[0] - data.first < data.n:
        return 0
    indices[0] = int(observation[0]) - data.first
    values[0] = 1.0
    return 1


@dataclass(eq=False, repr=False)
class OneHot(FeatureMap):
    """One feature per id: 1 for the id observed, 0 for the others.

    A linear function of these features is a table. So every linear method has a tabular twin, which it equals to the
    last bit.

    Parameters
    ----------
    n : int, optional
        How many ids there are: 0 .. n - 1. By default as many as the space has, or up to the largest that `fit` sees.

    Attributes
    ----------
    first_ : int
        The id of feature 0: 0, unless the space starts elsewhere.

    Raises
    ------
    ParameterError
        If `n` is not a whole number above 0; from `fit` and `transform`, for observations that are not ids.

    Examples
    --------
    >>> OneHot(4).fit([[0]]).transform([[2], [0]]).toarray()
    array([[0., 0., 1., 0.],
           [1., 0., 0., 0.]])
    """

    n: int | None = None

    sparse: ClassVar[bool] = True

    def check_parameters(self) -> None:
        """Raise unless `n` is a number of ids."""
        if self.n is not None:
            whole_number("n", self.n)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the largest id from observations (n, 1), unless `n` says how many there are; `y` is ignored."""
        observations = check_observations(X, None, "OneHot")
        high: NDArray[np.float64] = observations.max(axis=0)
        self.fit_bounds(np.zeros(len(high)), high)
        self.check(observations)
        return self

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Learn the first and the last id, (1,) each."""
        self.check_parameters()
        if len(low) != 1:
            raise errors.ParameterError(
                f"OneHot takes observations of one number, the id, and these have {len(low)}; "
                "StateAggregation(bins=...) makes one feature of each combination of several numbers"
            )
        if not (float(low[0]).is_integer() and float(high[0]).is_integer()):
            raise errors.ParameterError(
                f"OneHot takes ids, and observations from {low[0]:g} to {high[0]:g} are none; for numbers use "
                "TileCoding, RadialBasis or FourierBasis"
            )
        self.first_ = int(low[0])
        n_ids = int(high[0]) - self.first_ + 1
        if self.n is not None and self.n < n_ids:
            raise errors.ParameterError(f"OneHot: n={self.n}, and there are {n_ids} ids, {low[0]:g}..{high[0]:g}")
        self.n_features_out_ = n_ids if self.n is None else self.n
        check_size(self, self.n_features_out_, "one for each id", "use StateAggregation, which groups them")
        self.n_features_in_ = self.most_active_ = 1
        return self

    def check(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return ids as float64 (n, 1), or raise for those that are none."""
        ids = super().check(X)
        wrong = (ids % 1.0 != 0.0) | (ids < self.first_) | (ids >= self.first_ + self.n_features_out_)
        if wrong.any():
            row = int(np.argmax(wrong[:, 0]))
            raise errors.ParameterError(
                f"OneHot: observation[{row}, 0] is {ids[row, 0]:g}, which is not an id: these are "
                f"{self.first_}..{self.first_ + self.n_features_out_ - 1}"
            )
        return ids

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_id, OneHotData(self.first_, self.n_features_out_))
