"""Polynomials: all products of powers of the observation's numbers, up to a degree (S&B2 section 9.5.1)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.features.checks import check_observations
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import FeatureMap, FeatureRule, check_size


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
