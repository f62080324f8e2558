"""Real numbers and vectors whose coordinates are independent given the hidden state."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.checks import fraction
from rlsuite.errors import ModelError
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.emissions.initial_centres import distant_centres, overall
from rlsuite.inference.emissions.kernels import moments, squared_distances
from rlsuite.inference.emissions.observation_checks import all_missing, vectors
from rlsuite.inference.emissions.pseudo_observations import Pseudo, resolved
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray

LEAST_VARIANCE = 1e-9
"""Of a state, in units of the variance of all observations: levels may be thirty thousand times their width apart."""
NO_WEIGHT = 1e-300
"""A sum of weights below this is a rounding error: the state counts as not visited."""


@dataclass(frozen=True, eq=False)
class Gaussian(Emission):
    """A normal distribution for each state and coordinate (R89 eq. 50, with one component and a diagonal covariance).

    A missing coordinate (NaN) counts for nothing, while the others of the same observation do.

    Parameters
    ----------
    mean : array_like (K,) or (K, D)
        Means, in the unit of the observations.
    variance : array_like (K,) or (K, D)
        Variances, in the square of that unit.
    least_variance : float
        Learning keeps every variance at least so many times the variance of all observations, of each coordinate in its
        own unit. Without it a state can collapse onto one observation, which makes the likelihood infinite.

    Raises
    ------
    ModelError
        If shapes differ, or a variance is not positive.

    Examples
    --------
    >>> heights = Gaussian([165.0, 178.0], [49.0, 64.0])
    >>> heights.n_states, heights.width, heights.n_parameters
    (2, 1, 4)
    >>> table, shift = heights.likelihoods(heights.check([171.0, float("nan")]))
    >>> table.round(4).tolist()
    [[1.0, 0.8616], [1.0, 1.0]]
    """

    mean: FloatArray
    variance: FloatArray
    least_variance: float = LEAST_VARIANCE

    parameter_names: ClassVar[tuple[str, ...]] = ("mean", "variance")

    def __post_init__(self) -> None:
        fraction("least_variance", self.least_variance)
        mean, variance = validation.floats("mean", self.mean), validation.floats("variance", self.variance)
        if mean.ndim == 1:
            mean = mean[:, np.newaxis]
        if variance.ndim == 1:
            variance = variance[:, np.newaxis]
        if mean.ndim != 2 or 0 in mean.shape:
            raise ModelError(f"mean has shape {mean.shape}, not (K,) or (K, D)")
        validation.shape("variance", variance, mean.shape, meaning="that of mean")
        if (variance <= 0.0).any():
            k, d = (int(i) for i in np.argwhere(variance <= 0.0)[0])
            raise ModelError(f"variance[k={k}, d={d}] is {variance[k, d]:g}; variances are positive")
        object.__setattr__(self, "mean", validation.frozen(mean, self.mean))
        object.__setattr__(self, "variance", validation.frozen(variance, self.variance))

    @classmethod
    def from_data(
        cls, z: ArrayLike, n_states: int, rng: np.random.Generator, *, least_variance: float = LEAST_VARIANCE
    ) -> Self:
        """Return means that are observations far from each other, and the variance of all observations."""
        given = validation.array("z", z)
        numbers = vectors(given, 1 if given.ndim == 1 else given.shape[1])
        mean, variance = distant_centres(numbers, n_states, rng)
        return cls(mean, np.tile(variance, (n_states, 1)), least_variance)

    @property
    def n_states(self) -> int:
        """K."""
        return self.mean.shape[0]

    @property
    def width(self) -> int:
        """D."""
        return self.mean.shape[1]

    @property
    def n_parameters(self) -> int:
        """2 K D."""
        return 2 * self.mean.size

    def n_free(self, frozen: AbstractSet[str]) -> int:
        """Return the number of parameters that learning changes."""
        return self.mean.size * (("mean" not in frozen) + ("variance" not in frozen))

    def check(self, z: ArrayLike) -> FloatArray:
        """Return observations as float64 (T, D), NaN where a number is missing."""
        return vectors(z, self.width)

    def missing(self, z: AnyArray) -> BoolArray:
        """Return which observations are missing altogether: (T,) bool."""
        return all_missing(z)

    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return the logarithms of the densities in nats, of what is there of each observation."""
        logs = np.empty((len(z), self.n_states))
        constant = -0.5 * np.log(2.0 * np.pi * self.variance)
        squared_distances(z, self.mean, 1.0 / np.sqrt(self.variance), constant, logs)
        return logs

    def sample(self, states: IndexArray, rng: np.random.Generator) -> FloatArray:
        """Draw one observation for each of the hidden states: (T, D), or (T,) if D is 1."""
        noise = rng.standard_normal((len(states), self.width))
        drawn = self.mean[states] + np.sqrt(self.variance[states]) * noise
        return drawn[:, 0] if self.width == 1 else drawn

    def fit_weighted(
        self, z: AnyArray, weights: FloatArray, prior: Pseudo | None = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return weighted means and variances (R89 eqs. 53 and 54)."""
        count, first, _ = _moments(z, weights, self.mean)
        total = count
        if prior is not None:
            total = count + prior.number
            first += prior.number * (prior.mean - self.mean)
        visited = total > NO_WEIGHT
        mean, variance = self.mean, self.variance
        collapsed = np.zeros(self.n_states, dtype=np.bool_)
        if "mean" not in frozen:
            mean = np.where(visited, self.mean + first / np.where(visited, total, 1.0), self.mean)
        if "variance" not in frozen:
            # about the new mean: the difference of two large sums would have no digits left
            count, first, second = _moments(z, weights, mean)
            whole = overall(count, first, second, mean)
            if prior is not None:
                own = np.diagonal(prior.covariance, axis1=1, axis2=2)
                second += prior.number * (own + (prior.mean - mean) ** 2)
            variance = np.where(visited, second / np.where(visited, total, 1.0), self.variance)
            # What is narrower already stays so: no step may make the observations less likely.
            least = np.minimum(self.least_variance * whole.scale, self.variance)
            collapsed = ((variance < least) & ~whole.constant).any(axis=1)
            variance = np.maximum(variance, least)
        found = type(self)(mean, variance, self.least_variance)
        object.__setattr__(found, "_collapsed", tuple(np.flatnonzero(collapsed).tolist()))
        return found

    def resolve_prior(self, prior: object, z: AnyArray) -> Pseudo | None:
        """Return `PseudoObservations` for each state; a number is how many, with the moments of all observations."""
        return resolved(prior, z, self.n_states, needs_variance=True)

    def log_prior(self, prior: Any) -> float:
        """Return the expected log-density of the pseudo-observations, in nats."""
        if prior is None:
            return 0.0
        squares = np.diagonal(prior.covariance, axis1=1, axis2=2) + (prior.mean - self.mean) ** 2
        return float(-0.5 * prior.number * (np.log(2.0 * np.pi * self.variance) + squares / self.variance).sum())

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return means that are observations far from each other, and the variance of all observations."""
        return type(self).from_data(z, self.n_states, rng, least_variance=self.least_variance)

    def arrays(self) -> Mapping[str, Any]:
        """Return the parameters, for files."""
        return {"mean": self.mean, "variance": self.variance, "least_variance": self.least_variance}


def _moments(z: FloatArray, weights: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weights of what was observed, its weighted deviations from `centre` and their squares: (K, D)."""
    sums = np.zeros(centre.shape), np.zeros(centre.shape), np.zeros(centre.shape)
    moments(z, weights, centre, *sums)
    return sums
