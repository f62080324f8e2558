"""Initial centres: observations that are far from each other (k-means++ of Arthur & Vassilvitskii 2007)."""

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.models.aliases import FloatArray

ENOUGH = 5_000
"""Observations among which centres are sought."""


def distant_centres(z: FloatArray, n_centres: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return centres (n, D) and the variance of all observations (D,).

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
    told = np.maximum((~np.isnan(observed)).sum(axis=0), 1)
    mean = np.nansum(observed, axis=0) / told
    variance = np.nansum((observed - mean) ** 2, axis=0) / told
    if len(observed) > ENOUGH:
        observed = observed[rng.choice(len(observed), ENOUGH, replace=False)]
    unit = np.sqrt(np.where(variance > 0.0, variance, 1.0))
    points = np.where(np.isnan(observed), 0.0, (observed - mean) / unit)
    chosen = [int(rng.integers(0, len(points)))]
    distance = np.full(len(points), np.inf)
    while len(chosen) < n_centres:
        distance = np.minimum(distance, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        total = distance.sum()
        # fewer different points than centres: the rest are points again
        weights = distance / total if total > 0.0 else None
        chosen.append(int(rng.choice(len(points), p=weights)))
    centres = observed[chosen]
    return np.where(np.isnan(centres), mean, centres), variance
