"""The observation itself, and the table as a special case: `Identity` and `OneHot`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import LARGEST_COUNT, Array
from rlsuite.features.bounded import check_counts, counts
from rlsuite.features.checks import check_observations, grid_size
from rlsuite.features.estimators import Fitted
from rlsuite.features.feature_map import FeatureMap, FeatureRule, check_size

if TYPE_CHECKING:
    from sklearn.utils import Tags


class IdentityData(NamedTuple):
    """The data of the compiled form of `Identity`."""

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

    learns: ClassVar[Mapping[str, Array] | None] = {}

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn how many numbers an observation has, from observations (n, d); `y` is ignored."""
        return self._fit(check_observations(X, None, "Identity").shape[1]).name_columns(X)

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Learn how many numbers an observation has, from bounds (d,)."""
        return self._fit(len(low))

    def _fit(self, width: int) -> Self:
        self.n_features_in_ = self.n_features_out_ = self.most_active_ = width
        return self

    def check_restored(self) -> None:
        """Raise ValueError unless there is one feature for each number."""
        if self.n_features_out_ != self.n_features_in_:
            raise ValueError(
                f"n_features_out_ is {self.n_features_out_}; it must be n_features_in_, {self.n_features_in_}"
            )

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_numbers, IdentityData(self.n_features_in_))


class OneHotData(NamedTuple):
    """The data of the compiled form of `OneHot` for one id."""

    first: int
    n: int


class Combinations(NamedTuple):
    """The data of the compiled form of `OneHot` for several ids."""

    first: NDArray[np.int64]  # (d,)
    n: NDArray[np.int64]  # (d,)


@compiled(in_place=True)
def _id(
    data: OneHotData, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    if not 0.0 <= observation[0] - data.first < data.n:
        return 0
    indices[0] = int(observation[0]) - data.first
    values[0] = 1.0
    return 1


@compiled(in_place=True)
def _combination(
    data: Combinations, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """List the place of several ids together; the last changes fastest."""
    place = 0
    for j in range(data.n.size):
        if not 0.0 <= observation[j] - data.first[j] < data.n[j]:
            return 0
        place = place * data.n[j] + int(observation[j]) - data.first[j]
    indices[0] = place
    values[0] = 1.0
    return 1


@dataclass(eq=False, repr=False)
class OneHot(FeatureMap):
    """One feature per id: 1 for the id observed, 0 for the others.

    A linear function of these features is a table. So every linear method has a tabular twin, which it equals to the
    last bit. Of observations of several ids, such as those of a MultiDiscrete space, each combination has a feature.

    Parameters
    ----------
    n : int or sequence of int, optional
        How many ids there are: 0 .. n - 1; a sequence has a number for each id of an observation. By default as many as
        the space has, or up to the largest that `fit` sees.

    Attributes
    ----------
    first_, n_ids_ : ndarray of int64, shape (d,)
        The smallest id, which is 0 unless the space starts elsewhere, and how many there are.

    Raises
    ------
    ParameterError
        From `fit`, if `n` is not a whole number above 0, or there are more than 100 million combinations; from `fit`
        and `transform`, for observations that are not ids.

    Examples
    --------
    >>> OneHot(4).fit([[0]]).transform([[2], [0]]).toarray()
    array([[0., 0., 1., 0.],
           [1., 0., 0., 0.]])
    >>> OneHot((2, 3)).fit([[0, 0]]).transform([[1, 0], [1, 2]]).toarray()
    array([[0., 0., 0., 1., 0., 0.],
           [0., 0., 0., 0., 0., 1.]])
    """

    n: int | Sequence[int] | None = None

    sparse: ClassVar[bool] = True
    learns: ClassVar[Mapping[str, Array] | None] = {
        "first_": Array(shape=("d",), at_least=-LARGEST_COUNT),
        "n_ids_": Array(shape=("d",), at_least=1),
    }

    def __sklearn_tags__(self) -> "Tags":
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.positive_only = True
        return tags

    def check_parameters(self) -> None:
        """Raise unless `n` is a number of ids."""
        if self.n is not None:
            check_counts("n", self.n)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the largest ids from observations (n, d), unless `n` says how many there are; `y` is ignored."""
        observations = check_observations(X, None, "OneHot")
        if observations.min() < 0.0:
            raise errors.ParameterError(
                f"Negative values in data passed to OneHot.fit: ids begin with 0, and the smallest given is "
                f"{observations.min():g}; fit_bounds(low, high) takes other ranges"
            )
        high: NDArray[np.float64] = observations.max(axis=0)
        self.fit_bounds(np.zeros(len(high)), high)
        self.check(observations)
        return self.name_columns(X)

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Learn the first and the last ids, (d,) each."""
        self.check_parameters()
        for begins, ends in zip(low.tolist(), high.tolist(), strict=True):
            if not (float(begins).is_integer() and float(ends).is_integer()):
                raise errors.ParameterError(
                    f"OneHot takes ids, and observations from {begins:g} to {ends:g} are not ids; for numbers use "
                    "TileCoding, RadialBasis or FourierBasis"
                )
        first = low.astype(np.int64)
        n_ids = high.astype(np.int64) - first + 1
        if self.n is not None:
            given = counts("OneHot", "n", self.n, len(low))
            for n, found, begins, ends in zip(given, n_ids, low, high, strict=True):
                if n < found:
                    raise errors.ParameterError(f"OneHot: n={n} is less than the {found} ids {begins:g}..{ends:g}")
            n_ids = given
        n_features = grid_size(n_ids)
        made_of = "one for each id" if len(n_ids) == 1 else "one for each combination of ids"
        check_size(self, n_features, made_of, "use StateAggregation, which groups them")
        self.first_, self.n_ids_, self.n_features_out_ = first, n_ids, n_features
        self.n_features_in_, self.most_active_ = len(low), 1
        return self

    def check(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return ids as float64 (n, d), or raise an error for numbers that are not ids."""
        ids = super().check(X)
        wrong = (ids % 1.0 != 0.0) | (ids < self.first_) | (ids >= self.first_ + self.n_ids_)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise errors.ParameterError(
                f"OneHot: observation[{row}, {column}] is {ids[row, column]:g}, which is not an id; the ids are "
                f"{self.first_[column]}..{self.first_[column] + self.n_ids_[column] - 1}"
            )
        return ids

    def restore(self, fitted: Fitted) -> Self:
        """Restore the arrays that `fitted_` returned."""
        if "n_ids_" not in fitted:  # written by a version that knew a single id only
            fitted = fitted | {"n_ids_": np.atleast_1d(fitted["n_features_out_"])}
        return super().restore(fitted | {"first_": np.atleast_1d(fitted["first_"])})

    def check_restored(self) -> None:
        """Raise ValueError unless each combination of ids has a feature."""
        if math.prod(self.n_ids_.tolist()) != self.n_features_out_:
            raise ValueError(
                f"n_features_out_ is {self.n_features_out_}; it must be the product of n_ids_, {self.n_ids_.tolist()}"
            )

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        if len(self.n_ids_) == 1:
            return FeatureRule(_id, OneHotData(int(self.first_[0]), int(self.n_ids_[0])))
        return FeatureRule(_combination, Combinations(self.first_, self.n_ids_))
