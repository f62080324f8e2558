"""Basis functions of the observation: polynomials, the Fourier basis and radial basis functions (S&B2 section 9.5).

- `Polynomial`: all products of powers of the observation's numbers, up to a degree (section 9.5.1);
- `FourierBasis`: cosines of all frequencies up to an order (Konidaris, Osentoski & Thomas 2011; section 9.5.2);
- `RadialBasis`: bumps, each highest at a centre of its own (section 9.5.5).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.features.bounded import BoundedMap, check_counts, counts, spread
from rlsuite.features.checks import check_observations, grid, grid_size
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import GRID, Bounds, FeatureMap, FeatureRule, check_size


class Monomials(NamedTuple):
    """The data of the compiled form of `Polynomial`: each product is an earlier one times one number."""

    earlier: NDArray[np.int64]  # (n,); entry 0 belongs to the constant and is not used
    factor: NDArray[np.int64]  # (n,)


@compiled(in_place=True)
def _products(
    data: Monomials, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    indices[0] = 0
    values[0] = 1.0
    for i in range(1, data.factor.size):
        indices[i] = i
        values[i] = values[data.earlier[i]] * observation[data.factor[i]]
    return data.factor.size


@dataclass(eq=False, repr=False)
class Polynomial(FeatureMap):
    """1, x, y, x^2, x y, y^2 and so on: the features of scikit-learn's ``PolynomialFeatures``, in its order.

    Powers of large numbers are huge and those of small ones vanish, so one step size suits no two of them: put
    `Scaling` before this, ``Chain([Scaling(), Polynomial(3)])``.

    Parameters
    ----------
    degree : int
        The largest sum of powers in a product.

    Attributes
    ----------
    powers_ : ndarray of int64, shape (n_features, d)
        The power of each number in each product.

    Raises
    ------
    ParameterError
        From `fit`, if `degree` is not a whole number above 0, or there are more than a million products.

    Examples
    --------
    >>> Polynomial(2).fit([[0.0, 0.0]]).transform([[2.0, 5.0]])
    array([[ 1.,  2.,  5.,  4., 10., 25.]])
    """

    degree: int = 2

    learns: ClassVar[Mapping[str, Array] | None] = {"powers_": Array(shape=("n", "d"), at_least=0)}

    def check_parameters(self) -> None:
        """Raise unless the degree is above 0."""
        whole_number("degree", self.degree)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn how many numbers an observation (n, d) has; `y` is ignored."""
        return self._fit(check_observations(X, None, "Polynomial").shape[1]).name_columns(X)

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Learn how many numbers an observation has, from bounds (d,)."""
        return self._fit(len(low))

    def _fit(self, width: int) -> Self:
        self.check_parameters()
        n = math.comb(width + self.degree, self.degree)
        check_size(self, n, f"degree {self.degree} in {width} dimensions", "lower degree=")
        found = scikit_learn("preprocessing").PolynomialFeatures(self.degree).fit(np.zeros((1, width)))
        self.powers_: NDArray[np.int64] = found.powers_
        self.n_features_in_ = width
        self.n_features_out_ = self.most_active_ = n
        return self

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        place = {tuple(powers): i for i, powers in enumerate(self.powers_.tolist())}
        factor = np.argmax(self.powers_ > 0, axis=1)
        rest = self.powers_.copy()
        rest[np.arange(1, len(rest)), factor[1:]] -= 1
        return FeatureRule(_products, Monomials(np.array([place[tuple(powers)] for powers in rest.tolist()]), factor))


class Frequencies(NamedTuple):
    """The data of the compiled form of `FourierBasis`."""

    low: NDArray[np.float64]  # (d,)
    scale: NDArray[np.float64]  # (d,) scales each dimension to length pi
    coefficients: NDArray[np.float64]  # (d, n)


@compiled(in_place=True)
def _cosines(
    data: Frequencies, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Compute cos(pi c . s) for all c, where s is the observation in the unit box."""
    n = data.coefficients.shape[1]
    for i in range(n):
        indices[i] = i
        values[i] = 0.0
    for j in range(data.low.size):
        angle = min(max((observation[j] - data.low[j]) * data.scale[j], 0.0), math.pi)
        for i in range(n):
            values[i] += data.coefficients[j, i] * angle
    for i in range(n):
        values[i] = math.cos(values[i])
    return n


@dataclass(eq=False, repr=False)
class FourierBasis(BoundedMap):
    """cos(pi c . s) for the vectors c of whole numbers from 0 to `order`, s being the observation in the unit box.

    The features are smooth and reach everywhere, so few of them say much where values are smooth, and none says it
    well where they jump (S&B2 section 9.5.2). There are (order + 1)^d of them. An observation beyond the bounds counts
    as on the border.

    Parameters
    ----------
    order : int
        The highest frequency: the number of half periods from `low` to `high`.
    low, high : float or sequence of float, optional
        Where each dimension begins and ends; see `BoundedMap`.
    most_coupled : int, optional
        How many dimensions may take part in one feature: 1 makes the *independent* basis, of 1 + d order features. By
        default all may.

    Attributes
    ----------
    coefficients_ : ndarray of float64, shape (n_features, d)
        The vectors c; the first is 0, whose feature is the constant 1.
    step_sizes_ : ndarray of float64, shape (n_features,)
        1 / ||c||, and 1 for c = 0: Konidaris and others multiply the step size of each feature with this.

    Raises
    ------
    ParameterError
        From `fit`, if a number is not above 0, bounds are infinite, or there are more than a million features.

    Examples
    --------
    >>> basis = FourierBasis(2, low=0.0, high=1.0).fit([[0.0]])
    >>> basis.transform([[0.0], [0.5], [1.0]]).round(3) + 0.0
    array([[ 1.,  1.,  1.],
           [ 1.,  0., -1.],
           [ 1., -1.,  1.]])
    >>> basis.step_sizes_
    array([1. , 1. , 0.5])
    """

    order: int = 3
    most_coupled: int | None = field(default=None, kw_only=True)

    expected_failed_checks: ClassVar[dict[str, str]] = GRID

    def check_parameters(self) -> None:
        """Raise unless all numbers are above 0."""
        super().check_parameters()
        whole_number("order", self.order)
        if self.most_coupled is not None:
            whole_number("most_coupled", self.most_coupled)

    def lay_out(self) -> None:
        """List the coefficients, the last dimension changing fastest.

        Raises
        ------
        ParameterError
            If there are too many.
        """
        d = self.n_features_in_
        coupled = d if self.most_coupled is None else min(self.most_coupled, d)
        if coupled == d:
            n = grid_size(np.full(d, self.order + 1))
        else:
            n = sum(math.comb(d, k) * self.order**k for k in range(coupled + 1))
        advice = "lower order= or most_coupled=, or use TileCoding"
        check_size(self, n, f"order {self.order} in {d} dimensions", advice)
        vectors = np.zeros((n, d))
        row = 0
        for k in range(coupled + 1):
            for dimensions in combinations(range(d), k):
                for frequencies in product(range(1, self.order + 1), repeat=k):
                    vectors[row, list(dimensions)] = frequencies
                    row += 1
        self.coefficients_ = vectors[np.lexsort(vectors.T[::-1])]
        lengths = np.linalg.norm(self.coefficients_, axis=1)
        self.step_sizes_ = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
        self.n_features_out_ = self.most_active_ = n

    def image(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bounds:
        """Cosines lie between -1 and 1."""
        return np.full(self.n_features_out_, -1.0), np.full(self.n_features_out_, 1.0)

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        coefficients = np.ascontiguousarray(self.coefficients_.T)
        return FeatureRule(_cosines, Frequencies(self.low_, self.units(math.pi), coefficients))


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

    Where few bumps are high at once, what is learned near one centre hardly changes the others; the widths say how few.
    Only `normalized` bumps say anything far from all centres, where the nearest is then 1.

    Parameters
    ----------
    centres : int or sequence of int or array_like, shape (n, d)
        A grid of that many centres a dimension, from `low` to `high`; or the centres themselves, which may be the
        ``cluster_centers_`` of scikit-learn's ``KMeans``.
    width : float or sequence of float, optional
        Standard deviation of the bumps, in the units of the observation; one number applies to all dimensions.
        By default the distance between neighbours in the grid; for centres of your own it has to be given.
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
