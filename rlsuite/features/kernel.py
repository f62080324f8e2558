"""Kernel approximations: kernels by a fixed number of features, for linear methods.

A kernel k(x, x') is a scalar product in a space of very many dimensions. Both maps here approximate it by a scalar
product of few features: `Nystroem` by the kernel with some of the observations (Williams & Seeger 2001),
`RandomFourier` by random waves, for the radial kernel only (Rahimi & Recht 2007).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.arithmetic import power
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number, one_of, positive_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.features.checks import check_observations, check_seed
from rlsuite.features.estimators import scikit_learn
from rlsuite.features.feature_map import UNSEEDED, Bounds, FeatureMap, FeatureRule

RADIAL, LINEAR, POLYNOMIAL, SIGMOID = range(4)
KERNELS = {"rbf": RADIAL, "linear": LINEAR, "polynomial": POLYNOMIAL, "sigmoid": SIGMOID}


class Landmarks(NamedTuple):
    """The data of the compiled form of `Nystroem`."""

    kernel: int
    gamma: float
    coef0: float
    degree: int
    landmarks: NDArray[np.float64]  # (n, d)
    mixing: NDArray[np.float64]  # (n, n)


@compiled(in_place=True)
def _similarity(data: Landmarks, observation: NDArray[np.float64], i: int) -> float:
    """Compute the kernel of an observation and landmark i."""
    d = data.landmarks.shape[1]
    total = 0.0
    if data.kernel == RADIAL:
        for j in range(d):
            difference = observation[j] - data.landmarks[i, j]
            total += difference * difference
        return math.exp(-data.gamma * total)
    for j in range(d):
        total += observation[j] * data.landmarks[i, j]
    if data.kernel == LINEAR:
        return total
    if data.kernel == SIGMOID:
        return math.tanh(data.gamma * total + data.coef0)
    return power(data.gamma * total + data.coef0, data.degree)


@compiled(in_place=True)
def _mixed(
    data: Landmarks, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Combine the kernels with all landmarks, which are stored after the features meanwhile."""
    n = data.landmarks.shape[0]
    for i in range(n):
        values[n + i] = _similarity(data, observation, i)
    for i in range(n):
        indices[i] = i
        values[i] = 0.0
        for k in range(n):
            values[i] += data.mixing[i, k] * values[n + k]
    return n


@dataclass(eq=False, repr=False)
class Nystroem(FeatureMap):
    """Features whose scalar product approximates a kernel, exactly at `n_components` of the observations.

    What scikit-learn's transformer of the same name does.

    Parameters
    ----------
    kernel : {"rbf", "linear", "polynomial", "sigmoid"}
        exp(-gamma ||x - x'||^2), x . x', (gamma x . x' + coef0)^degree, or tanh(gamma x . x' + coef0).
    n_components : int
        How many of the observations become landmarks, and how many features there are: one for each observation that
        `fit` is given, if there are fewer.
    gamma : float, optional
        By default 1 / d.
    coef0 : float
        See above.
    degree : int
        See above.
    seed : int, optional
        Of the choice of landmarks.

    Attributes
    ----------
    landmarks_ : ndarray of float64, shape (n_features_out_, d)
        The observations chosen.
    mixing_ : ndarray of float64, shape (n_features_out_, n_features_out_)
        The features are the mixing times the kernels of the observation with all landmarks.

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values.

    Examples
    --------
    >>> x = [[0.0], [1.0], [2.0]]
    >>> features = Nystroem(n_components=3, gamma=0.5, seed=0).fit(x).transform(x)
    >>> (features @ features.T).round(3)
    array([[1.   , 0.607, 0.135],
           [0.607, 1.   , 0.607],
           [0.135, 0.607, 1.   ]])
    """

    kernel: str = "rbf"
    n_components: int = 100
    gamma: float | None = field(default=None, kw_only=True)
    coef0: float = field(default=1.0, kw_only=True)
    degree: int = field(default=3, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)

    expected_failed_checks: ClassVar[dict[str, str]] = UNSEEDED
    learns: ClassVar[Mapping[str, Array] | None] = {
        "gamma_": Array(shape=()),
        "landmarks_": Array(shape=("n", "d")),
        "mixing_": Array(shape=("n", "n")),
    }

    def check_parameters(self) -> None:
        """Raise unless the parameters are valid."""
        one_of("kernel", self.kernel, KERNELS)
        whole_number("n_components", self.n_components)
        if self.gamma is not None:
            positive_number("gamma", finite_number("gamma", self.gamma))
        finite_number("coef0", self.coef0)
        whole_number("degree", self.degree)
        check_seed(self.seed)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Choose landmarks among observations (n, d); `y` is ignored."""
        self.check_parameters()
        observations = check_observations(X, None, "Nystroem")
        n = min(self.n_components, len(observations))
        self.gamma_ = 1.0 / observations.shape[1] if self.gamma is None else float(self.gamma)
        shape = {
            "rbf": {"gamma": self.gamma_},
            "linear": {},
            "polynomial": {"gamma": self.gamma_, "coef0": self.coef0, "degree": self.degree},
            "sigmoid": {"gamma": self.gamma_, "coef0": self.coef0},
        }
        found = (
            scikit_learn("kernel_approximation")
            .Nystroem(kernel=self.kernel, n_components=n, random_state=self.seed, **shape[self.kernel])
            .fit(observations)
        )
        self.landmarks_: NDArray[np.float64] = np.ascontiguousarray(found.components_)
        self.mixing_: NDArray[np.float64] = np.ascontiguousarray(found.normalization_)
        self.n_features_in_, self.n_features_out_ = observations.shape[1], n
        self.most_active_ = 2 * n
        return self.name_columns(X)

    def check_restored(self) -> None:
        """Raise ValueError unless there is room for the similarities beside the features."""
        if self.most_active_ < 2 * self.n_features_out_:
            raise ValueError(
                f"most_active_ is {self.most_active_}, less than twice the {self.n_features_out_} features"
            )

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        shape = (KERNELS[self.kernel], self.gamma_, float(self.coef0), int(self.degree))
        return FeatureRule(_mixed, Landmarks(*shape, self.landmarks_, self.mixing_))


class Waves(NamedTuple):
    """The data of the compiled form of `RandomFourier`."""

    frequencies: NDArray[np.float64]  # (d, n)
    phases: NDArray[np.float64]  # (n,)


@compiled(in_place=True)
def _waves(
    data: Waves, observation: NDArray[np.float64], indices: NDArray[np.int64], values: NDArray[np.float64]
) -> int:
    """Compute sqrt(2 / n) cos(w . x + b) for all waves."""
    d, n = data.frequencies.shape
    for i in range(n):
        indices[i] = i
        values[i] = data.phases[i]
    for j in range(d):
        for i in range(n):
            values[i] += data.frequencies[j, i] * observation[j]
    height = math.sqrt(2.0 / n)
    for i in range(n):
        values[i] = height * math.cos(values[i])
    return n


@dataclass(eq=False, repr=False)
class RandomFourier(FeatureMap):
    """Random waves whose scalar product approximates exp(-gamma ||x - x'||^2): what scikit-learn's ``RBFSampler`` does.

    The error falls as 1 / sqrt(n_components), however many numbers an observation has; put `Scaling` before it.

    Parameters
    ----------
    n_components : int
        How many waves.
    gamma : float, optional
        How fast the kernel falls; by default 1 / d.
    seed : int, optional
        Of the waves.

    Attributes
    ----------
    frequencies_ : ndarray of float64, shape (d, n_components)
        Normal numbers with a variance of 2 gamma.
    phases_ : ndarray of float64, shape (n_components,)
        Uniform in [0, 2 pi).

    Raises
    ------
    ParameterError
        From `fit`, if a parameter is outside its allowed values.

    Examples
    --------
    >>> features = RandomFourier(20_000, gamma=0.5, seed=0).fit([[0.0]]).transform([[0.0], [1.0]])
    >>> (features @ features.T).round(1)
    array([[1. , 0.6],
           [0.6, 1. ]])
    """

    n_components: int = 100
    gamma: float | None = field(default=None, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)

    expected_failed_checks: ClassVar[dict[str, str]] = UNSEEDED
    learns: ClassVar[Mapping[str, Array] | None] = {
        "frequencies_": Array(shape=("d", "n")),
        "phases_": Array(shape=("n",)),
    }

    def check_parameters(self) -> None:
        """Raise unless the numbers are above 0."""
        whole_number("n_components", self.n_components)
        if self.gamma is not None:
            positive_number("gamma", finite_number("gamma", self.gamma))
        check_seed(self.seed)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw waves for observations (n, d), of which only the width matters; `y` is ignored."""
        return self._fit(check_observations(X, None, "RandomFourier").shape[1]).name_columns(X)

    def fit_bounds(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Self:
        """Draw waves for observations as wide as the bounds (d,)."""
        return self._fit(len(low))

    def _fit(self, width: int) -> Self:
        self.check_parameters()
        gamma = 1.0 / width if self.gamma is None else self.gamma
        sampler = scikit_learn("kernel_approximation").RBFSampler
        found = sampler(gamma=gamma, n_components=self.n_components, random_state=self.seed).fit(np.zeros((1, width)))
        self.frequencies_: NDArray[np.float64] = np.ascontiguousarray(found.random_weights_)
        self.phases_: NDArray[np.float64] = found.random_offset_
        self.n_features_in_ = width
        self.n_features_out_ = self.most_active_ = self.n_components
        return self

    def image(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> Bounds:
        """The amplitude of the waves is sqrt(2 / n)."""
        height = np.full(self.n_features_out_, math.sqrt(2.0 / self.n_components))
        return -height, height

    @property
    def rule(self) -> FeatureRule:
        """The fitted map in compiled form."""
        return FeatureRule(_waves, Waves(self.frequencies_, self.phases_))
