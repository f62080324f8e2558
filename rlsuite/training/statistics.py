"""Statistics over seeds: a mean, or a rate of success, and its confidence interval.

The seed is the unit of replication. Episodes of one run share their history and are not independent; an interval over
them would be far too narrow.
"""

from typing import Final, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from rlsuite.core.checks import one_of, whole_number
from rlsuite.core.keywords import says_what_to_write
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


class SuccessRate(NamedTuple):
    """A rate of success and its confidence interval, all in [0, 1]."""

    rate: float
    """Successes per trial."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


METHODS: Final = ("wilson", "exact")


@says_what_to_write
def success_interval(
    successes: int, trials: int, confidence: float = 0.95, *, method: Literal["wilson", "exact"] = "wilson"
) -> SuccessRate:
    r"""Rate of success in independent trials, with a binomial interval.

    The interval :math:`p \pm z \sqrt{p (1 - p) / n}` of the lecture notes (section 1.3) has no width where all trials
    succeed or fail, and can leave [0, 1]. Wilson's (1927) does neither: it consists of the rates that a normal test
    does not reject.

    Parameters
    ----------
    successes
        Number of trials that succeeded: of seeds that learned to reach a goal, or of episodes of one frozen policy. The
        episodes of an agent that is learning are not independent.
    trials
        Number of all trials, at least 1.
    confidence
        Probability that the interval covers the true rate, between 0 and 1.
    method
        ``"wilson"``: near `confidence` on average. ``"exact"``: at least `confidence` for every rate, and wider
        (Clopper & Pearson 1934).

    Returns
    -------
    SuccessRate
        The rate and both ends of the interval.

    Raises
    ------
    ParameterError
        If `successes` is not between 0 and `trials`, `trials` is below 1, `confidence` lies outside (0, 1), or `method`
        is unknown.

    Examples
    --------
    >>> import rlsuite as rl
    >>> rate, low, high = rl.success_interval(8, 10)
    >>> print(f"{rate:.1f} [{low:.4f}, {high:.4f}]")
    0.8 [0.4902, 0.9433]
    """
    from scipy.stats import binomtest  # loads half a second of SciPy, which curves with intervals do not need

    whole_number("trials", trials)
    whole_number("successes", successes, at_least=0)
    if successes > trials:
        raise ParameterError(
            f"successes={successes} is more than trials={trials}: give the number of all trials second"
        )
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence={confidence}, needed between 0 and 1 (0.95 is usual)")
    known = cast("Literal['wilson', 'exact']", one_of("method", method, METHODS))
    found = binomtest(successes, trials).proportion_ci(confidence, method=known)
    return SuccessRate(successes / trials, float(found.low), float(found.high))
