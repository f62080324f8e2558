"""Initial centres: observations that are far from each other (k-means++ of Arthur & Vassilvitskii 2007)."""

from typing import NamedTuple

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.models.aliases import BoolArray, FloatArray

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
