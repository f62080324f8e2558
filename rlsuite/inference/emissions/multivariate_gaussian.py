"""Real vectors whose coordinates depend on each other."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.checks import fraction
from rlsuite.errors import ModelError
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.emissions.gaussian import LEAST_VARIANCE, NO_WEIGHT
from rlsuite.inference.emissions.initial_centres import Overall, distant_centres, overall
from rlsuite.inference.emissions.kernels import moments, scatter, standardised_squares
from rlsuite.inference.emissions.observation_checks import all_missing, vectors
from rlsuite.inference.emissions.pseudo_observations import Pseudo, resolved
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray


class _Group(NamedTuple):
    """The observations of which the same coordinates are there."""

    rows: IndexArray
    there: BoolArray
    """(D,)"""


@dataclass(frozen=True, eq=False)
class MultivariateGaussian(Emission):
    """A normal distribution with a covariance of its own for each state (R89 eq. 50, with one component).

    Of an observation with missing coordinates (NaN) the rest is used: its likelihood is that of the rest alone, and
    learning completes it by its expectation given the rest.

    Parameters
    ----------
    mean : array_like (K, D)
        Means, in the unit of the observations.
    covariance : array_like (K, D, D)
        Symmetric and positive definite.
    least_variance : float
        Learning keeps the variance in every direction at least so many times the variance of all observations, of each
        coordinate in its own unit. Without it a state can collapse onto one observation, which makes the likelihood
        infinite.

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
            # Of the correlations: with coordinates in different units, rounding would hide the smallest eigenvalue.
            smallest = float(np.linalg.eigvalsh(_in_units(matrix, np.sqrt(variance)))[0])
            if smallest <= 0.0:
                raise ModelError(
                    f"covariance[k={k}] is not positive definite: its correlations have the eigenvalue {smallest:g}"
                )
        object.__setattr__(self, "mean", validation.frozen(mean, self.mean))
        object.__setattr__(self, "covariance", validation.frozen(covariance, self.covariance))

    @classmethod
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
        """K D (D + 3) / 2."""
        return self.n_states * self.width * (self.width + 3) // 2

    def n_free(self, frozen: AbstractSet[str]) -> int:
        """Return the number of parameters that learning changes."""
        means = 0 if "mean" in frozen else self.mean.size
        return means + (0 if "covariance" in frozen else self.n_parameters - self.mean.size)

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
        self, z: AnyArray, weights: FloatArray, prior: Pseudo | None = None, frozen: AbstractSet[str] = frozenset()
    ) -> Self:
        """Return weighted means and covariances (R89 eqs. 53 and 54), missing coordinates being completed."""
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
            return type(self)(mean, self.covariance, self.least_variance)
        for group in groups:
            second += group.about(mean - self.mean)
        moved -= count * (mean - self.mean)
        whole = overall(np.broadcast_to(count, mean.shape), moved, np.diagonal(second, axis1=1, axis2=2), mean)
        if prior is not None:
            away = prior.mean - mean
            second += prior.number * (prior.covariance + away[:, :, np.newaxis] * away[:, np.newaxis, :])
        covariance = self.covariance.copy()
        collapsed: list[int] = []
        for k in np.flatnonzero(visited).tolist():
            covariance[k], raised = _at_least(second[k] / total[k], self.least_variance, whole, self.covariance[k])
            collapsed += [k] if raised else []
        found = type(self)(mean, covariance, self.least_variance)
        object.__setattr__(found, "_collapsed", tuple(collapsed))
        return found

    def resolve_prior(self, prior: object, z: AnyArray) -> Pseudo | None:
        """Return `PseudoObservations` for each state; a number is how many, with the moments of all observations."""
        return resolved(prior, z, self.n_states, needs_variance=True)

    def log_prior(self, prior: Any) -> float:
        """Return the expected log-density of the pseudo-observations, in nats."""
        if prior is None:
            return 0.0
        away = prior.mean - self.mean
        scatter = prior.covariance + away[:, :, np.newaxis] * away[:, np.newaxis, :]
        traces = np.trace(cast("FloatArray", np.linalg.solve(self.covariance, scatter)), axis1=1, axis2=2)
        determinants = np.linalg.slogdet(self.covariance)[1] + self.width * np.log(2.0 * np.pi)
        return float(-0.5 * prior.number * (determinants + traces).sum())

    def randomized(self, z: AnyArray, rng: np.random.Generator) -> Self:
        """Return means that are observations far from each other, and the variances of all observations."""
        return type(self).from_data(z, self.n_states, rng, least_variance=self.least_variance)

    def arrays(self) -> Mapping[str, Any]:
        """Return the parameters, for files."""
        return {"mean": self.mean, "covariance": self.covariance, "least_variance": self.least_variance}

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
        gain = cast("FloatArray", np.linalg.solve(matrix[np.ix_(there, there)], across.T)).T
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
