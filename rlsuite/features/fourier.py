"""The Fourier basis: cosines of all frequencies up to an order (Konidaris, Osentoski & Thomas 2011)."""

import math
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.features.bounded import BoundedMap
from rlsuite.features.checks import grid_size
from rlsuite.features.feature_map import GRID, Bounds, FeatureRule, check_size


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
