"""Pseudo-observations: a prior for families whose parameters are means and variances.

A prior that counts as c observations of mean m0 and covariance V0 adds c times their mean log-likelihood to what is
maximised. For a Gaussian that is the normal-inverse-Wishart prior with kappa0 = c, and for a Poisson the gamma prior
with shape c m0 + 1 and rate c, each maximised at its mode.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import BoolArray, FloatArray


class PseudoObservations(NamedTuple):
    """A prior as observations that were made in every state before the data.

    Examples
    --------
    >>> PseudoObservations(2.0, mean=[0.0, 10.0], variance=1.0).number
    2.0
    """

    number: float
    """c, how many observations the prior counts as, at least 0"""
    mean: ArrayLike
    """m0: a number, (D,), or (K, D) for each state"""
    variance: ArrayLike | None = None
    """the diagonal of V0, the rest being 0: a number, (D,) or (K, D)"""
    covariance: ArrayLike | None = None
    """V0 in full: (D, D) or (K, D, D); instead of `variance`"""


class Pseudo(NamedTuple):
    """The same, checked and for each state."""

    number: float
    mean: FloatArray
    """(K, D)"""
    covariance: FloatArray
    """(K, D, D), positive semidefinite"""


def resolved(prior: object, z: FloatArray, n_states: int, needs_variance: bool) -> Pseudo | None:
    """Return a prior for each state; a number is how many observations, with the moments of all of `z`.

    Parameters
    ----------
    prior : float, PseudoObservations or None
        What the user gave.
    z : ndarray (T, D) float64
        Checked observations, NaN where a number is missing.
    n_states : int
        K.
    needs_variance : bool
        Whether the family has one.

    Raises
    ------
    ParameterError
        If it is not a prior, or its parts do not fit.
    """
    if prior is None:
        return None
    width = z.shape[1]
    if not isinstance(prior, PseudoObservations):
        number = finite_number("prior of the emission", prior)
        with np.errstate(invalid="ignore"):
            n_observed = np.maximum((~np.isnan(z)).sum(axis=0), 1)
            mean = np.nansum(z, axis=0) / n_observed
            variance = np.nansum((z - mean) ** 2, axis=0) / n_observed
        prior = PseudoObservations(number, mean, variance)
    number = finite_number("prior.number", prior.number)
    if number < 0.0:
        raise ParameterError(f"prior.number={number:g} is negative; a number of observations is at least 0")
    if needs_variance and (prior.variance is None) == (prior.covariance is None):
        raise ParameterError("give either prior.variance or prior.covariance: how the pseudo-observations scatter")
    try:
        mean = _spread("prior.mean", prior.mean, (n_states, width))
        if prior.covariance is not None:
            covariance = _spread("prior.covariance", prior.covariance, (n_states, width, width))
        else:
            variance = _spread("prior.variance", 0.0 if prior.variance is None else prior.variance, (n_states, width))
            covariance = variance[:, :, np.newaxis] * np.eye(width)
        if np.linalg.eigvalsh(covariance).min() < 0.0:
            raise ModelError("prior.variance is negative, or prior.covariance is not positive semi-definite")
    except ModelError as cause:
        raise ParameterError(str(cause)) from cause
    return Pseudo(number, mean, covariance)


def _spread(name: str, given: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    values = validation.floats(name, given)
    try:
        return np.broadcast_to(values, shape)
    except ValueError as cause:
        raise ModelError(f"{name} has shape {values.shape}, which does not fit {shape}") from cause


ROUNDING = 1e-13
"""Standard deviations below this part of the mean are those of rounded sums."""
MAX_CANDIDATES = 5_000
"""Observations among which centres are sought."""


def constant(variance: FloatArray, mean: FloatArray) -> BoolArray:
    """Return where a variance is 0 apart from the rounding of its data."""
    return variance <= (ROUNDING * mean) ** 2


def scale(variance: FloatArray, mean: FloatArray) -> FloatArray:
    """Return a variance that is positive, in the square of the unit of the numbers.

    What is constant has none: there it is the square of the number itself, or 1 for zeros.
    """
    return np.where(constant(variance, mean), np.where(mean == 0.0, 1.0, mean * mean), variance)


class Overall(NamedTuple):
    """The moments of all observations together."""

    scale: FloatArray
    """(D,) the variance of each coordinate, see `scale`"""
    constant: BoolArray
    """(D,) where a coordinate does not vary"""


def overall(count: FloatArray, first: FloatArray, second: FloatArray, mean: FloatArray) -> Overall:
    """Return the variance of all observations, from the weighted moments of each state about its mean: (K, D) each."""
    total = np.maximum(count.sum(axis=0), np.finfo(np.float64).tiny)
    away = first / np.where(count > 0.0, count, 1.0)
    centre = (count * (mean + away)).sum(axis=0) / total
    within = np.maximum(second - first * away, 0.0)
    between = count * (mean + away - centre) ** 2
    variance = (within + between).sum(axis=0) / total
    return Overall(scale(variance, centre), constant(variance, centre))


def distant_centres(z: FloatArray, n_centres: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return centres (n, D) and the variance of all observations (D,), or their `scale` where they are constant.

    Each centre is an observation, drawn with a probability in proportion to the square of its distance to the nearest
    centre so far, in units of the standard deviation of each coordinate. A missing coordinate is taken to be the mean.

    Raises
    ------
    ModelError
        If nothing was observed.

    Examples
    --------
    >>> near_two_points = np.array([[0.0], [0.0], [9.0], [9.0]])
    >>> centres, variance = distant_centres(near_two_points, 2, np.random.default_rng(0))
    >>> sorted(centres[:, 0].tolist()), variance.tolist()
    ([0.0, 9.0], [20.25])
    """
    observed = z[~np.isnan(z).all(axis=1)]
    if not len(observed):
        raise ModelError("every observation is missing: there is nothing to choose initial parameters from")
    number = np.maximum((~np.isnan(observed)).sum(axis=0), 1)
    mean = np.nansum(observed, axis=0) / number
    variance = np.nansum((observed - mean) ** 2, axis=0) / number
    if len(observed) > MAX_CANDIDATES:
        observed = observed[rng.choice(len(observed), MAX_CANDIDATES, replace=False)]
    variance = scale(variance, mean)
    unit = np.sqrt(variance)
    points = np.where(np.isnan(observed), 0.0, (observed - mean) / unit)
    chosen = [int(rng.integers(0, len(points)))]
    distance = np.full(len(points), np.inf)
    while len(chosen) < n_centres:
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        total = distance.sum()
        # fewer different points than centres: some points are chosen again
        weights = distance / total if total > 0.0 else None
        chosen.append(int(rng.choice(len(points), p=weights)))
    centres = observed[chosen]
    return np.where(np.isnan(centres), mean, centres), variance
