"""Radial basis functions: bumps, each highest at a centre of its own (S&B2 section 9.5.5)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.core.checks import finite_number
from rlsuite.core.compilation import compiled
from rlsuite.features.bounded import BoundedMap, check_counts, counts, spread
from rlsuite.features.checks import check_observations, grid, grid_size
from rlsuite.features.feature_map import GRID, Bounds, FeatureRule, check_size


class Bumps(NamedTuple):
    """The data of the compiled form of `RadialBasis`."""

    centres: NDArray[np.float64]  # (d, n), in widths
    scale: NDArray[np.float64]  # (d,), widths per unit
    normalized: bool


@compiled(in_place=True)
def _bumps(
    data: Bumps, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Compute exp(-distance^2 / 2) for all centres; divided by their sum if normalized."""
    n = data.centres.shape[1]
    for i in range(n):
        indices[i] = i
        values[i] = 0.0
    for j in range(data.scale.size):
        number = observation[j] * data.scale[j]
        for i in range(n):
            difference = number - data.centres[j, i]
            values[i] -= 0.5 * difference * difference
    # far from all centres every bump underflows to 0, but their ratios are not 0
    top = 0.0
    if data.normalized:
        top = -np.inf
        for i in range(n):
            top = max(top, values[i])
    total = 0.0
    for i in range(n):
        values[i] = math.exp(values[i] - top)
        total += values[i]
    if data.normalized:
        for i in range(n):
            values[i] /= total
    return n


@dataclass(eq=False, repr=False)
class RadialBasis(BoundedMap):
    """exp(-||(s - c) / width||^2 / 2) for each centre c.

    Where few bumps are high at once, what is learned in one place hardly changes others; the widths say how few. Only
    `normalized` bumps say anything far from all centres, where the nearest is then 1.

    Parameters
    ----------
    centres : int or sequence of int or array_like, shape (n, d)
        A grid of that many centres a dimension, from `low` to `high`; or the centres themselves, which may be the
        ``cluster_centers_`` of scikit-learn's ``KMeans``.
    width : float or sequence of float, optional
        Standard deviation of the bumps, in the units of the observation; one number stands for all dimensions. By
        default the distance between neighbours in the grid; for centres of your own it has to be given.
    normalized : bool
        Whether the bumps are divided by their sum.
    low, high : float or sequence of float, optional
        Where the grid begins and ends; see `BoundedMap`.

    Attributes
    ----------
    centres_ : ndarray of float64, shape (n, d)
        The centres; of a grid, the last dimension changes fastest.
    width_ : ndarray of float64, shape (d,)
        The widths.

    Raises
    ------
    ParameterError
        From `fit`, if a number is not above 0, no width is given for centres of your own, the centres are of
        another width than the observations, bounds are infinite, or there are more than a million centres.

    Examples
    --------
    >>> RadialBasis(3, low=0.0, high=1.0).fit([[0.0]]).transform([[0.5]]).round(3)
    array([[0.607, 1.   , 0.607]])
    >>> far = RadialBasis([[0.0], [1.0]], width=0.5, normalized=True).fit([[0.0]])
    >>> far.transform([[9.0]]).round(3)
    array([[0., 1.]])
    """

    centres: int | Sequence[int] | ArrayLike = 5
    width: float | Sequence[float] | None = None
    normalized: bool = field(default=False, kw_only=True)

    expected_failed_checks: ClassVar[dict[str, str]] = GRID

    def check_parameters(self) -> None:
        """Raise unless the numbers of centres and the widths are above 0, and the centres are finite."""
        super().check_parameters()
        if self._centres_are_given:
            check_observations(cast(ArrayLike, self.centres), None, "RadialBasis(centres=...)")
            if self.width is None:
                raise errors.ParameterError("RadialBasis: centres= needs a width=, in units of observations")
            if self.low is not None or self.high is not None:
                raise errors.ParameterError("RadialBasis takes centres= or a grid from low= to high=, not both")
        else:
            check_counts("centres", cast("int | Sequence[int]", self.centres))
        for number in np.ravel(np.asarray(1.0 if self.width is None else self.width, dtype=object)).tolist():
            if finite_number("width", number) <= 0.0:
                raise errors.ParameterError(f"width={number!r} is not above 0")

    @property
    def _centres_are_given(self) -> bool:
        return np.ndim(self.centres) > 1

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Lay the grid between bounds (d,), which are ignored if centres are given."""
        if self._centres_are_given:
            return super().fit_bounds(np.zeros_like(low), np.zeros_like(high))
        return super().fit_bounds(low, high)

    def lay_out(self) -> None:
        """Place the centres."""
        d = self.n_features_in_
        n = np.ones(d, dtype=np.int64)
        if self._centres_are_given:
            self.centres_ = check_observations(cast(ArrayLike, self.centres), None, "RadialBasis")
            if self.centres_.shape[1] != d:
                raise errors.ParameterError(
                    f"RadialBasis: centres have {self.centres_.shape[1]} numbers, but observations have {d}"
                )
        else:
            n = counts("RadialBasis", "centres", cast("int | Sequence[int]", self.centres), d)
            advice = "place them where observations are: centres=KMeans(100).fit(observations).cluster_centers_"
            check_size(self, grid_size(n), f"a grid of {grid(n)} centres", advice)
            places = np.indices(tuple(map(int, n))).reshape(d, -1).T
            # a single centre is in the middle
            self.centres_ = self.low_ + np.where(n > 1, places / np.maximum(n - 1, 1), 0.5) * (self.high_ - self.low_)
        if self.width is None:
            lengths = (self.high_ - self.low_) / np.maximum(n - 1, 1)
            self.width_ = np.where(lengths > 0.0, lengths, 1.0)
        else:
            self.width_ = spread("RadialBasis", "width", self.width, d)
        self.n_features_out_ = self.most_active_ = len(self.centres_)

    def image(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bounds:
        """Bumps lie between 0 and 1."""
        return np.zeros(self.n_features_out_), np.ones(self.n_features_out_)

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        centres = np.ascontiguousarray((self.centres_ / self.width_).T)
        return FeatureRule(_bumps, Bumps(centres, 1.0 / self.width_, self.normalized))
