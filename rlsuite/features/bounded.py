"""Feature maps over a box: all they learn from observations is its bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.features.checks import check_observations
from rlsuite.features.estimators import Fitted
from rlsuite.features.feature_map import FeatureMap

Limits = float | Sequence[float] | NDArray[np.float64] | None


@compiled(in_place=True)
def cell_of(number: float, low: float, scale: float, n_cells: int) -> int:
    """Return which of the cells of width 1 / scale a number lies in; outer ones reach to infinity, NaN is in the first.

    >>> [cell_of(number, 10.0, 2.0, 4) for number in (9.0, 10.6, 99.0, float("nan"))]
    [0, 1, 3, 0]
    """
    cell = (number - low) * scale
    if not cell > 0.0:
        return 0
    return int(cell) if cell < n_cells else n_cells - 1


@dataclass(eq=False, repr=False, kw_only=True)
class BoundedMap(FeatureMap):
    """Base of the maps for which the bounds of the observations are enough; subclasses define `lay_out`.

    Parameters
    ----------
    low, high : float or sequence of float, optional
        Where each dimension begins and ends; one number applies to all dimensions. By default the bounds of the
        space that an agent learns on, or the least and the largest observation that `fit` sees.

    Attributes
    ----------
    low_, high_ : ndarray of float64, shape (d,)
        The bounds. Equal ones mean that nothing is to be learned from this dimension.

    Examples
    --------
    A map with one feature, the square of the distance from `low`:

    >>> from rlsuite.approximation import FeatureRule
    >>> @compiled(in_place=True)
    ... def square(low, observation, indices, values):
    ...     indices[0] = 0
    ...     values[0] = (observation[0] - low[0]) ** 2
    ...     return 1
    >>> class Square(BoundedMap):
    ...     def lay_out(self):
    ...         self.n_features_out_ = self.most_active_ = 1
    ...
    ...     @property
    ...     def rule(self):
    ...         return FeatureRule(square, self.low_)
    >>> Square(low=1.0).fit([[3.0]]).transform([[4.0]])
    array([[9.]])
    """

    low: Limits = None
    high: Limits = None

    def lay_out(self) -> None:
        """Set `n_features_out_`, `most_active_` and all other attributes of the map, from `low_` and `high_`."""
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the bounds that were not given from observations (n, d); `y` is ignored.

        Raises
        ------
        ParameterError
            If the observations are not finite numbers, or do not go with the parameters.
        """
        observations = check_observations(X, None, type(self).__name__)
        return self.fit_bounds(observations.min(axis=0), observations.max(axis=0)).name_columns(X)

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Take the bounds (d,) that were not given from those of a space.

        Raises
        ------
        ParameterError
            If one of them is infinite, or they do not go with the parameters; what an earlier fit has learned is kept.
        """
        before = dict(vars(self))
        try:
            return self._fit_bounds(low, high)
        except errors.ParameterError:
            self.__dict__ = before  # a mixture of two fits could read beyond the ends of arrays
            raise

    def _fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        self.check_parameters()
        asker, width = type(self).__name__, len(low)
        self.low_ = np.array(low if self.low is None else spread(asker, "low", self.low, width), dtype=np.float64)
        self.high_ = np.array(high if self.high is None else spread(asker, "high", self.high, width), dtype=np.float64)
        for j, (begins, ends) in enumerate(zip(self.low_.tolist(), self.high_.tolist(), strict=True)):
            if not np.isfinite(ends - begins):
                raise errors.ParameterError(
                    f"{asker}: dimension {j} reaches from {begins:g} to {ends:g}; give {asker} a finite low= and high= "
                    "(observations outside count as on the border), or call its fit(observations)"
                )
            if begins > ends:
                raise errors.ParameterError(f"{asker}: low={begins:g} is above high={ends:g} in dimension {j}")
        self.n_features_in_ = width
        self.lay_out()
        return self

    def restore(self, fitted: Fitted) -> Self:
        """Restore the bounds, and compute the rest again, which is not read from a file.

        Raises
        ------
        KeyError, ValueError
            If the bounds are missing or not finite, or the file has other arrays than the map.
        """
        low, high = fitted["low_"], fitted["high_"]
        for bounds in (low, high):
            if bounds.dtype != np.float64 or bounds.ndim != 1 or bounds.shape != low.shape:
                raise ValueError("low_ and high_ must be float64 arrays (d,) of the same length")
        if not (np.isfinite(high - low).all() and (low <= high).all()):
            raise ValueError("low_ and high_ must be finite, with low_ <= high_")
        self.check_parameters()
        self.low_, self.high_, self.n_features_in_ = low.copy(), high.copy(), len(low)
        self.lay_out()
        for name, array in self.fitted_.items():
            if name not in fitted or (fitted[name].dtype, fitted[name].shape) != (array.dtype, array.shape):
                raise ValueError(f"{name} is missing, or not {array.dtype} {array.shape}")
        for name in sorted(fitted.keys() - self.fitted_.keys()):
            raise ValueError(f"it has an unknown array {name!r}")
        return self

    def check_parameters(self) -> None:
        """Raise unless the bounds given are finite numbers."""
        for name, limits in (("low", self.low), ("high", self.high)):
            for number in np.ravel(np.asarray(0.0 if limits is None else limits, dtype=object)).tolist():
                finite_number(name, number)

    def units(self, per_dimension: NDArray[np.int64] | float) -> NDArray[np.float64]:
        """(d,) float64: the factors that scale each dimension to a given length; 0 where it has no length."""
        lengths = self.high_ - self.low_
        return np.divide(per_dimension, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)


def spread(asker: str, name: str, value: object, width: int) -> NDArray[np.float64]:
    """Return one number per dimension (width,), from a single number for all or a sequence.

    Raises
    ------
    ParameterError
        If there are more or fewer of them than dimensions.
    """
    found = np.asarray(value, dtype=np.float64)
    if found.ndim == 0:
        return np.full(width, found)
    if found.shape != (width,):
        raise errors.ParameterError(
            f"{asker}: {name} has shape {found.shape} but observations have {width} numbers; give one for each, or one "
            "for all"
        )
    return found


def check_counts(name: str, value: int | Sequence[int]) -> None:
    """Raise unless a parameter is a whole number above 0, or a sequence of such.

    Raises
    ------
    ParameterError
        If it is not.
    """
    if isinstance(value, Sequence | np.ndarray):
        for j, one in enumerate(value):
            whole_number(f"{name}[{j}]", one)
    else:
        whole_number(name, value)


def counts(asker: str, name: str, value: int | Sequence[int], width: int) -> NDArray[np.int64]:
    """Return whole numbers, one per dimension (width,); raises what `spread` raises."""
    return spread(asker, name, value, width).astype(np.int64)
