"""Normal distributions: of numbers, of independent coordinates, and of coordinates that depend on each other."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError
from rlsuite.inference.emissions.base import Emission, all_missing, vectors
from rlsuite.inference.emissions.before_learning import Overall, Pseudo, distant_centres, overall, resolved
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray

LEAST_VARIANCE = 1e-9
"""Of a state, in units of the variance of all observations: levels may be thirty thousand times their width apart."""
NO_WEIGHT = 1e-300
"""A sum of weights below this is a rounding error: the state counts as not visited."""


@compiled(in_place=True)
def squared_distances(z: FloatArray, mean: FloatArray, root: FloatArray, constant: FloatArray, out: FloatArray) -> None:
    """out[t, k] = sum_d (constant[k, d] - ((z[t, d] - mean[k, d]) * root[k, d])^2 / 2) over what is not missing.

    With root = 1 / std and constant = -ln(std sqrt(2 pi)) that is the logarithm of a Gaussian density in nats. Shapes:
    z (T, D), mean, root and constant (K, D), out (T, K).
    """
    for t in range(z.shape[0]):
        for k in range(mean.shape[0]):
            total = 0.0
            for d in range(z.shape[1]):
                distance = (z[t, d] - mean[k, d]) * root[k, d]
                if distance == distance:  # not NaN
                    total += constant[k, d] - 0.5 * distance * distance
            out[t, k] = total


@compiled(in_place=True)
def moments(
    z: FloatArray, weights: FloatArray, centre: FloatArray, count: FloatArray, first: FloatArray, second: FloatArray
) -> None:
    """Add up weights, weighted deviations from `centre` and their squares, over what is not missing.

    Shapes: z (T, D), weights (T, K), the others (K, D).
    """
    for t in range(z.shape[0]):
        for k in range(centre.shape[0]):
            w = weights[t, k]
            if w > 0.0:
                for d in range(z.shape[1]):
                    deviation = z[t, d] - centre[k, d]
                    if deviation == deviation:  # not NaN
                        count[k, d] += w
                        first[k, d] += w * deviation
                        second[k, d] += w * deviation * deviation


@compiled(in_place=True)
def standardised_squares(
    z: FloatArray, mean: FloatArray, inverse_factor: FloatArray, constant: FloatArray, out: FloatArray
) -> None:
    """out[t, k] = constant[k] - |inverse_factor[k] (z[t] - mean[k])|^2 / 2, the inverse factors being lower triangles.

    Shapes: z (T, D), mean (K, D), inverse_factor (K, D, D), constant (K,), out (T, K).
    """
    for t in range(z.shape[0]):
        for k in range(mean.shape[0]):
            total = 0.0
            for i in range(z.shape[1]):
                standard = 0.0
                for j in range(i + 1):
                    standard += inverse_factor[k, i, j] * (z[t, j] - mean[k, j])
                total += standard * standard
            out[t, k] = constant[k] - 0.5 * total


@compiled(in_place=True)
def scatter(z: FloatArray, weights: FloatArray, centre: FloatArray, second: FloatArray) -> None:
    """second[k] += sum_t weights[t, k] (z[t] - centre[k]) (z[t] - centre[k])', the lower triangle of it.

    Shapes: z (T, D), weights (T, K), centre (K, D), second (K, D, D).
    """
    for t in range(z.shape[0]):
        for k in range(centre.shape[0]):
            w = weights[t, k]
            if w > 0.0:
                for i in range(z.shape[1]):
                    share = w * (z[t, i] - centre[k, i])
                    for j in range(i + 1):
                        second[k, i, j] += share * (z[t, j] - centre[k, j])


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
        Learning keeps every variance at least this many times the variance of all observations, of each coordinate in
        its own unit. Without it a state can collapse onto one observation, which makes the likelihood infinite.
    spherical : bool
        Whether all coordinates of a state have the same variance.

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
    spherical: bool = False

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
        if self.spherical and (variance != variance[:, :1]).any():
            k = int(np.argmax((variance != variance[:, :1]).any(axis=1)))
            raise ModelError(f"variance[k={k}] differs from coordinate to coordinate, and spherical=True")
        object.__setattr__(self, "mean", validation.frozen(mean, self.mean))
        object.__setattr__(self, "variance", validation.frozen(variance, self.variance))

    @classmethod
    @says_what_to_write
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
        """2 K D, or K D + K if spherical."""
        return self.n_free(frozenset())

    def n_free(self, frozen: AbstractSet[str]) -> int:
        """Return the number of parameters that learning changes."""
        variances = self.n_states if self.spherical else self.variance.size
        return self.mean.size * ("mean" not in frozen) + variances * ("variance" not in frozen)

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
        self, z: AnyArray, weights: FloatArray, prior: object = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return weighted means and variances (R89 eqs. 53 and 54)."""
        assert prior is None or isinstance(prior, Pseudo)
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
            # about the new mean: the difference of two large sums would lose its digits
            count, first, second = _moments(z, weights, mean)
            whole = overall(count, first, second, mean)
            if prior is not None:
                own = np.diagonal(prior.covariance, axis1=1, axis2=2)
                second += prior.number * (own + (prior.mean - mean) ** 2)
            scale = whole.scale
            if self.spherical:
                total, second = (np.tile(part.sum(axis=1, keepdims=True), self.width) for part in (total, second))
                visited, scale = total > NO_WEIGHT, np.full(self.width, scale.mean())
            variance = np.where(visited, second / np.where(visited, total, 1.0), self.variance)
            # A variance that is already smaller may stay: no step may make the observations less likely.
            least = np.minimum(self.least_variance * scale, self.variance)
            collapsed = ((variance < least) & ~whole.constant).any(axis=1)
            variance = np.maximum(variance, least)
        found = type(self)(mean, variance, self.least_variance, self.spherical)
        object.__setattr__(found, "_collapsed", tuple(np.flatnonzero(collapsed).tolist()))
        return found

    def resolve_prior(self, prior: object, z: AnyArray) -> Pseudo | None:
        """Return `PseudoObservations` for each state; a number is how many, with the moments of all observations."""
        return resolved(prior, z, self.n_states, needs_variance=True)

    def log_prior(self, prior: object) -> float:
        """Return the expected log-density of the pseudo-observations, in nats."""
        assert prior is None or isinstance(prior, Pseudo)
        if prior is None:
            return 0.0
        squares = np.diagonal(prior.covariance, axis1=1, axis2=2) + (prior.mean - self.mean) ** 2
        return float(-0.5 * prior.number * (np.log(2.0 * np.pi * self.variance) + squares / self.variance).sum())

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return means that are observations far from each other, and the variance of all observations."""
        found = type(self).from_data(z, self.n_states, rng, least_variance=self.least_variance)
        if not self.spherical:
            return found
        even = np.full(found.variance.shape, found.variance.mean())
        return type(self)(found.mean, even, self.least_variance, spherical=True)

    def arrays(self) -> Mapping[str, object]:
        """Return the parameters, for files."""
        spherical = {"spherical": True} if self.spherical else {}
        return {"mean": self.mean, "variance": self.variance, "least_variance": self.least_variance, **spherical}


def _moments(z: FloatArray, weights: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weights of what was observed, its weighted deviations from `centre` and their squares: (K, D)."""
    sums = np.zeros(centre.shape), np.zeros(centre.shape), np.zeros(centre.shape)
    moments(z, weights, centre, *sums)
    return sums


# ---------------------------------------------------------------------------------------- with covariances


class _Group(NamedTuple):
    """The observations of which the same coordinates are there."""

    rows: IndexArray
    there: BoolArray
    """(D,)"""


@dataclass(frozen=True, eq=False)
class MultivariateGaussian(Emission):
    """A normal distribution with a covariance of its own for each state (R89 eq. 50, with one component).

    Of an observation with missing coordinates (NaN) the rest is used: its likelihood is the likelihood of the rest, and
    learning completes it by its expectation given the rest.

    Parameters
    ----------
    mean : array_like (K, D)
        Means, in the unit of the observations.
    covariance : array_like (K, D, D)
        Symmetric and positive definite.
    least_variance : float
        Learning keeps the variance in every direction at least this many times the variance of all observations, of
        each coordinate in its own unit. Without it a state can collapse onto one observation, which makes the
        likelihood infinite.
    tied : bool
        Whether all states have the same covariance.

    Raises
    ------
    ModelError
        If shapes differ, or a covariance is not symmetric and positive definite.

    Examples
    --------
    >>> pair = MultivariateGaussian([[0, 0], [0, 0]], [[[1, 0.9], [0.9, 1]], [[1, -0.9], [-0.9, 1]]])
    >>> table, shift = pair.likelihoods(pair.check([[1.0, 1.0], [1.0, -1.0], [1.0, float("nan")]]))
    >>> table.round(4).tolist()
    [[1.0, 0.0001], [0.0001, 1.0], [1.0, 1.0]]
    """

    mean: FloatArray
    covariance: FloatArray
    least_variance: float = LEAST_VARIANCE
    tied: bool = False

    parameter_names: ClassVar[tuple[str, ...]] = ("mean", "covariance")

    def __post_init__(self) -> None:
        fraction("least_variance", self.least_variance)
        mean, covariance = validation.floats("mean", self.mean), validation.floats("covariance", self.covariance)
        if mean.ndim != 2 or 0 in mean.shape:
            raise ModelError(f"mean has shape {mean.shape}, not (K, D)")
        validation.shape("covariance", covariance, (*mean.shape, mean.shape[1]))
        for k, matrix in enumerate(covariance):
            if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=0.0):
                raise ModelError(f"covariance[k={k}] is not symmetric")
            variance = np.diagonal(matrix)
            if (variance <= 0.0).any():
                raise ModelError(f"covariance[k={k}] has the variance {variance.min():g}; variances are positive")
            # Test the correlations: with coordinates in different units, rounding could hide a negative eigenvalue.
            smallest = float(np.linalg.eigvalsh(_in_units(matrix, np.sqrt(variance)))[0])
            if smallest <= 0.0:
                raise ModelError(
                    f"covariance[k={k}] is not positive definite: its correlations have the eigenvalue {smallest:g}"
                )
        if self.tied and (covariance != covariance[0]).any():
            raise ModelError("the covariances differ from state to state, and tied=True")
        object.__setattr__(self, "mean", validation.frozen(mean, self.mean))
        object.__setattr__(self, "covariance", validation.frozen(covariance, self.covariance))

    @classmethod
    @says_what_to_write
    def from_data(
        cls, z: ArrayLike, n_states: int, rng: np.random.Generator, *, least_variance: float = LEAST_VARIANCE
    ) -> Self:
        """Return means that are observations far from each other, and the variances of all observations."""
        given = validation.array("z", z)
        numbers = vectors(given, 1 if given.ndim == 1 else given.shape[1])
        mean, variance = distant_centres(numbers, n_states, rng)
        covariance = np.diag(variance)
        return cls(mean, np.tile(covariance, (n_states, 1, 1)), least_variance)

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
        """K D (D + 3) / 2; K D + D (D + 1) / 2 if tied."""
        return self.n_free(frozenset())

    def n_free(self, frozen: AbstractSet[str]) -> int:
        """Return the number of parameters that learning changes."""
        means = 0 if "mean" in frozen else self.mean.size
        matrices = 1 if self.tied else self.n_states
        return means + (0 if "covariance" in frozen else matrices * self.width * (self.width + 1) // 2)

    def check(self, z: ArrayLike) -> FloatArray:
        """Return observations as float64 (T, D), NaN where a number is missing."""
        return vectors(z, self.width)

    def missing(self, z: AnyArray) -> BoolArray:
        """Return which observations are missing altogether: (T,) bool."""
        return all_missing(z)

    def log_likelihoods(self, z: AnyArray) -> FloatArray:
        """Return the logarithms of the densities in nats, of what is there of each observation."""
        logs = np.zeros((len(z), self.n_states))
        for rows, there in _groups(z):
            factor = _cholesky(self.covariance[:, there][:, :, there])
            inverse = np.asarray(np.linalg.inv(factor), dtype=np.float64)
            determinant = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
            constant = -determinant - 0.5 * factor.shape[1] * np.log(2.0 * np.pi)
            found = np.empty((len(rows), self.n_states))
            standardised_squares(z[rows][:, there], self.mean[:, there], inverse, constant, found)
            logs[rows] = found
        return logs

    def sample(self, states: IndexArray, rng: np.random.Generator) -> FloatArray:
        """Draw one observation for each of the hidden states: (T, D)."""
        noise = rng.standard_normal((len(states), self.width))
        for k in range(self.n_states):
            of_state = states == k
            noise[of_state] = self.mean[k] + noise[of_state] @ self._factor[k].T
        return noise

    def fit_weighted(
        self, z: AnyArray, weights: FloatArray, prior: object = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return weighted means and covariances (R89 eqs. 53 and 54), missing coordinates being completed."""
        assert prior is None or isinstance(prior, Pseudo)
        states, width = self.mean.shape
        total, first, second = np.zeros(states), np.zeros((states, width)), np.zeros((states, width, width))
        groups = [_completed(group, z, weights, self.mean, self.covariance) for group in _groups(z)]
        for group in groups:
            total += group.weights.sum(axis=0)
            first += group.first()
            second += group.weights.sum(axis=0)[:, np.newaxis, np.newaxis] * group.uncertain
        count, moved = total[:, np.newaxis].copy(), first.copy()
        if prior is not None:
            total += prior.number
            first += prior.number * (prior.mean - self.mean)
        visited = total > NO_WEIGHT
        known = np.where(visited, total, 1.0)[:, np.newaxis]
        mean = self.mean if "mean" in frozen else self.mean + np.where(visited[:, np.newaxis], first / known, 0.0)
        if "covariance" in frozen:
            return type(self)(mean, self.covariance, self.least_variance, self.tied)
        for group in groups:
            second += group.about(mean - self.mean)
        moved -= count * (mean - self.mean)
        whole = overall(np.broadcast_to(count, mean.shape), moved, np.diagonal(second, axis1=1, axis2=2), mean)
        if prior is not None:
            away = prior.mean - mean
            second += prior.number * (prior.covariance + away[:, :, np.newaxis] * away[:, np.newaxis, :])
        if self.tied:
            total, second = np.full(states, total.sum()), np.tile(second.sum(axis=0), (states, 1, 1))
            visited = total > NO_WEIGHT
        covariance = self.covariance.copy()
        collapsed: list[int] = []
        for k in np.flatnonzero(visited).tolist():
            covariance[k], raised = _at_least(second[k] / total[k], self.least_variance, whole, self.covariance[k])
            collapsed += [k] if raised else []
        found = type(self)(mean, covariance, self.least_variance, self.tied)
        object.__setattr__(found, "_collapsed", tuple(collapsed))
        return found

    def resolve_prior(self, prior: object, z: AnyArray) -> Pseudo | None:
        """Return `PseudoObservations` for each state; a number is how many, with the moments of all observations."""
        return resolved(prior, z, self.n_states, needs_variance=True)

    def log_prior(self, prior: object) -> float:
        """Return the expected log-density of the pseudo-observations, in nats."""
        assert prior is None or isinstance(prior, Pseudo)
        if prior is None:
            return 0.0
        away = prior.mean - self.mean
        scatter = prior.covariance + away[:, :, np.newaxis] * away[:, np.newaxis, :]
        solved = np.asarray(np.linalg.solve(self.covariance, scatter), dtype=np.float64)
        traces = np.trace(solved, axis1=1, axis2=2)
        determinants = np.linalg.slogdet(self.covariance)[1] + self.width * np.log(2.0 * np.pi)
        return float(-0.5 * prior.number * (determinants + traces).sum())

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return means that are observations far from each other, and the variances of all observations."""
        found = type(self).from_data(z, self.n_states, rng, least_variance=self.least_variance)
        return type(self)(found.mean, found.covariance, self.least_variance, self.tied)

    def arrays(self) -> Mapping[str, object]:
        """Return the parameters, for files."""
        tied = {"tied": True} if self.tied else {}
        return {"mean": self.mean, "covariance": self.covariance, "least_variance": self.least_variance, **tied}

    @cached_property
    def _factor(self) -> FloatArray:
        """(K, D, D): the Cholesky factors."""
        return _cholesky(self.covariance)


class _Completed(NamedTuple):
    """Observations of a group, less the mean of each state, missing coordinates replaced by their expectations."""

    deviation: FloatArray
    """(K, n, D), or (1, n, D) with `centre` still to be taken off if nothing is missing"""
    centre: FloatArray
    """(K, D)"""
    weights: FloatArray
    """(n, K)"""
    uncertain: FloatArray
    """(K, D, D): the covariance of what was missing, given the rest"""
    whole: bool
    """whether nothing is missing"""

    def first(self) -> FloatArray:
        """Return the weighted sums of the deviations: (K, D)."""
        sums = np.zeros(self.centre.shape), np.zeros(self.centre.shape), np.zeros(self.centre.shape)
        if self.whole:
            moments(self.deviation[0], self.weights, self.centre, *sums)
            return sums[1]
        return np.einsum("nk,knd->kd", self.weights, self.deviation)

    def about(self, move: FloatArray) -> FloatArray:
        """Return the weighted sums of the products of deviations from `move` (K, D): (K, D, D)."""
        states, width = self.centre.shape
        second = np.zeros((states, width, width))
        for deviation, k in zip(self.deviation, range(states), strict=False):
            if self.whole:
                scatter(deviation, self.weights, self.centre + move, second)
            else:
                scatter(deviation, self.weights[:, k : k + 1], move[k : k + 1], second[k : k + 1])
        lower = np.tril(second, -1)
        return second + lower.transpose(0, 2, 1)


def _groups(z: FloatArray) -> Iterator[_Group]:
    """Yield the observations by which coordinates are there, without those that are missing altogether."""
    there = ~np.isnan(z)
    if there.all():
        yield _Group(np.arange(len(z)), np.ones(z.shape[1], dtype=np.bool_))
        return
    patterns, member = np.unique(there, axis=0, return_inverse=True)
    member = member.reshape(-1)
    for number, pattern in enumerate(patterns):
        if pattern.any():
            yield _Group(np.flatnonzero(member == number), pattern)


def _completed(
    group: _Group, z: FloatArray, weights: FloatArray, mean: FloatArray, covariance: FloatArray
) -> _Completed:
    rows, there = group
    uncertain = np.zeros(covariance.shape)
    whole = len(rows) == len(z)
    seen, share = (z, weights) if whole else (z[rows], weights[rows])
    share = np.ascontiguousarray(share)
    if there.all():
        return _Completed(seen[np.newaxis], mean, share, uncertain, True)
    gone = ~there
    deviation = seen - mean[:, np.newaxis]
    for k, matrix in enumerate(covariance):
        across = matrix[np.ix_(gone, there)]
        gain = np.asarray(np.linalg.solve(matrix[np.ix_(there, there)], across.T), dtype=np.float64).T
        deviation[k][:, gone] = deviation[k][:, there] @ gain.T
        uncertain[k][np.ix_(gone, gone)] = matrix[np.ix_(gone, gone)] - gain @ across.T
    return _Completed(deviation, mean, share, uncertain, False)


def _at_least(matrix: FloatArray, least: float, whole: Overall, before: FloatArray) -> tuple[FloatArray, bool]:
    """Return the most probable covariance without too small eigenvalues, and whether the observations asked for them.

    Eigenvalues are those in units of all observations. The smaller ones are raised to `least`, or to the smallest of
    the covariance `before`: no step may make the observations less likely.
    """
    matrix = 0.5 * (matrix + matrix.T)
    unit = np.sqrt(whole.scale)
    values, axes = np.linalg.eigh(_in_units(matrix, unit))
    noise = 1e-14 * float(values[-1])  # below the rounding error of the largest, an eigenvalue is noise
    if values[0] >= max(least, noise):
        return matrix, False
    least = max(min(least, float(np.linalg.eigvalsh(_in_units(before, unit))[0])), noise)
    if values[0] >= least:
        return matrix, False
    raised = (axes * np.maximum(values, least)) @ axes.T
    varies = ~whole.constant
    inner = _in_units(matrix, unit)[np.ix_(varies, varies)]
    return _in_units(0.5 * (raised + raised.T), 1.0 / unit), bool(inner.size and np.linalg.eigvalsh(inner)[0] < least)


def _in_units(matrix: FloatArray, unit: FloatArray) -> FloatArray:
    """Return a covariance (D, D) of coordinates that are measured in units (D,) of their own."""
    return matrix / unit / unit[:, np.newaxis]


def _cholesky(matrices: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)
