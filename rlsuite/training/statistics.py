"""Statistics over seeds: a mean and its confidence interval.

The seed is the unit of replication. Episodes of one run share their history and are not independent; an interval over
them would be far too narrow.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rlsuite.errors import ParameterError
from rlsuite.models.aliases import FloatArray


class Interval(NamedTuple):
    """A mean and its confidence interval, at every time."""

    mean: FloatArray
    """(T,) mean over seeds."""
    low: FloatArray
    """(T,) lower end."""
    high: FloatArray
    """(T,) upper end."""


def mean_interval(samples: ArrayLike, confidence: float = 0.95) -> Interval:
    r"""Mean over seeds with Student's t interval, separately at every time.

    With n seeds, mean m and sample standard deviation s, the interval is :math:`m \pm t_{n-1} s / \sqrt{n}`, where
    :math:`t_{n-1}` is the quantile of Student's distribution with n - 1 degrees of freedom at ``(1 + confidence) / 2``
    (lecture notes, section 12.7). It holds at each time separately: the band does not cover a whole curve with that
    confidence.

    Parameters
    ----------
    samples
        (n_seeds, T) float: one row per seed, n_seeds at least 2; or (n_seeds,) for a single time.
    confidence
        Probability that the interval covers the true mean of a normal sample, between 0 and 1.

    Returns
    -------
    Interval
        Three arrays of shape (T,), float64; of shape () for a single time.

    Raises
    ------
    ParameterError
        If there are fewer than two seeds, a sample is not finite, or `confidence` lies outside (0, 1).

    Examples
    --------
    The differences of two methods in ten folds (lecture notes, section 12.7.3): zero lies outside the interval.

    >>> a = np.array([0.81, 0.82, 0.84, 0.78, 0.85, 0.86, 0.82, 0.83, 0.82, 0.81])
    >>> b = np.array([0.80, 0.77, 0.70, 0.83, 0.80, 0.78, 0.75, 0.80, 0.78, 0.77])
    >>> mean, low, high = mean_interval(a - b)
    >>> print(f"{mean:.3f} [{low:.4f}, {high:.4f}]")
    0.046 [0.0111, 0.0809]
    """
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim not in (1, 2):
        raise ParameterError(f"samples has shape {values.shape}, needed (n_seeds, n_times) or (n_seeds,)")
    n_seeds = len(values)
    if n_seeds < 2:
        raise ParameterError(f"an interval over seeds needs at least two seeds, got {n_seeds}")
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence={confidence}, needed between 0 and 1 (0.95 is usual)")
    finite = np.isfinite(values)
    if not finite.all():
        index = tuple(np.argwhere(~finite)[0].tolist())
        raise ParameterError(f"samples{list(index)} = {values[index]} is not finite: no interval can be computed")
    mean = values.mean(axis=0)
    # Equal samples must give an interval of width zero, even if their mean is rounded.
    spread = np.where(np.ptp(values, axis=0) > 0.0, values.std(axis=0, ddof=1), 0.0)
    reach = stdtrit(n_seeds - 1, 0.5 * (1.0 + confidence)) * spread / np.sqrt(n_seeds)
    return Interval(mean, mean - reach, mean + reach)
