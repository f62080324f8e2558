"""Statistics over seeds: a mean, or a rate of success, and its confidence interval.

The seed is the unit of replication. Episodes of one run share their history and are not independent; an interval over
them would be far too narrow.
"""

from functools import lru_cache
from typing import Final, Literal, NamedTuple, cast, get_args

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import one_of, whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import FloatArray
from rlsuite.training.results import UNKNOWN, Bounds


class Interval(NamedTuple):
    """A mean and its confidence interval, at every time."""

    mean: FloatArray
    """(T,) mean over seeds."""
    low: FloatArray
    """(T,) lower end."""
    high: FloatArray
    """(T,) upper end."""


RESAMPLED: Final = range(10, 501)
"""Numbers of seeds with which intervals are bootstrapped: fewer samples say too little about their distribution, and
the mean of more is as good as normal."""

RESAMPLES: Final = 2_000
"""Samples that the bootstrap draws."""

Ends = tuple[ArrayLike, ArrayLike] | Bounds
"""What no mean can be below or above."""


IntervalMethod = Literal["auto", "student", "bca"]


def interval_method(n_seeds: int) -> str:
    """The automatic method of `mean_interval` with this many seeds, as a phrase for captions and tables.

    >>> interval_method(5), interval_method(30)
    ('Student t, cut at known bounds', 'BCa bootstrap')
    """
    return "BCa bootstrap" if n_seeds in RESAMPLED else "Student t, cut at known bounds"


def mean_interval(
    samples: ArrayLike,
    confidence: float = 0.95,
    *,
    bounds: Ends = UNKNOWN,
    method: IntervalMethod = "auto",
) -> Interval:
    r"""Mean over seeds with its confidence interval, separately at every time.

    Student's interval of n samples with mean m and standard deviation s is :math:`m \pm t_{n-1} s / \sqrt{n}` (lecture
    notes, section 12.7). The bootstrap interval BCa (Efron 1987) stays within the range of the samples and follows
    their skewness; here its levels are widened as Student's are (Hesterberg 2015, section 4.2). Resampling has a fixed
    seed, so the same samples give the same interval. Of 10,000 experiments with nominal 95 % these covered the true
    mean (`benchmarks/intervals.py` shows more):

    =====================================  ========  =======  =======  =======
    distribution of a seed's result        interval  10       30       100
    =====================================  ========  =======  =======  =======
    normal                                 BCa       94.0 %   94.9 %   94.9 %
    \                                      Student   94.9 %   95.1 %   94.8 %
    exponential below the optimum          BCa       92.1 %   93.8 %   94.7 %
    \                                      Student   89.9 %   92.5 %   94.3 %
    normal, 86 less for one seed in ten    BCa       65.5 %   94.3 %   95.7 %
    \                                      Student   65.8 %   92.0 %   93.2 %
    =====================================  ========  =======  =======  =======

    No interval knows of a rare failure that has not happened yet; `success_interval` says how rare it may be. The
    interval holds at each time separately: a band does not cover a whole curve with that confidence.

    Parameters
    ----------
    samples
        (n_seeds, T) float: one row per seed, n_seeds at least 2; or (n_seeds,) for a single time.
    confidence
        Probability that the interval covers the true mean of a normal sample, between 0 and 1.
    bounds
        What no mean can be below or above: two numbers, or arrays of shape (T,). The interval is cut there. For values
        of policies these are the values of the worst and of the optimal policy.
    method
        ``"student"``, ``"bca"``, or ``"auto"``: BCa with 10 to 500 seeds, else Student's.

    Returns
    -------
    Interval
        Three arrays of shape (T,), float64; of shape () for a single time.

    Raises
    ------
    ParameterError
        If there are fewer than two seeds, a sample is not finite, `confidence` lies outside (0, 1), or `method` is
        unknown.

    Examples
    --------
    The differences of two methods in ten folds (lecture notes, section 12.7.3): zero lies outside the interval.

    >>> a = np.array([0.81, 0.82, 0.84, 0.78, 0.85, 0.86, 0.82, 0.83, 0.82, 0.81])
    >>> b = np.array([0.80, 0.77, 0.70, 0.83, 0.80, 0.78, 0.75, 0.80, 0.78, 0.77])
    >>> mean, low, high = mean_interval(a - b, method="student")
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
    reach = stdtrit(n_seeds - 1, 0.5 * (1.0 + confidence))
    one_of("method", method, get_args(IntervalMethod))
    if method == "bca" or (method == "auto" and n_seeds in RESAMPLED):
        low, high = _bootstrapped(values - mean, reach * np.sqrt(n_seeds / (n_seeds - 1)))
        # No resample is beyond the samples; its mean may be, by rounding.
        bounds = np.maximum(bounds[0], values.min(axis=0)), np.minimum(bounds[1], values.max(axis=0))
    else:
        # Equal samples must give an interval of width zero, even if their mean is rounded.
        spread = np.where(np.ptp(values, axis=0) > 0.0, values.std(axis=0, ddof=1), 0.0)
        high = reach * spread / np.sqrt(n_seeds)
        low = -high
    return _cut(mean, low, high, bounds)


def pointwise_band(samples: ArrayLike, confidence: float = 0.95, *, bounds: Ends = UNKNOWN) -> Interval:
    """Mean over seeds with the band of a curve that `mean_interval` gives, without its jumps.

    One seed of thirty that fails now and then might as well have failed a little earlier or later. So the distances of
    both ends from the mean are averaged over a twentieth of the times at either side, where they are bootstrapped; near
    the first and the last over as many as there are at both.

    Parameters
    ----------
    samples, confidence, bounds
        As for `mean_interval`.

    Examples
    --------
    >>> curves = np.zeros((30, 100))
    >>> curves[3, 40] = -300.0
    >>> [low, far] = mean_interval(curves).low[[40, 42]]
    >>> [steady, near] = pointwise_band(curves).low[[40, 42]]
    >>> print(f"{low:.0f} and {far:.0f}; {steady:.0f} and {near:.0f}")
    -53 and 0; -14 and -4
    """
    mean, *ends = mean_interval(samples, confidence, bounds=bounds)
    n = mean.size
    most = n // 20 if np.shape(samples)[0] in RESAMPLED else 0
    around = [slice(i - k, i + k + 1) for i in range(n) for k in [min(most, i, n - 1 - i)]]
    low, high = (np.array([(end - mean)[times].mean() for times in around]) for end in ends)
    return _cut(mean, low, high, bounds)


def _cut(mean: FloatArray, low: FloatArray, high: FloatArray, bounds: Ends) -> Interval:
    """The interval between two ends, relative to the mean, cut at bounds; the mean may be beyond them, by rounding."""
    least, most = (np.asarray(bound, dtype=np.float64) for bound in bounds[:2])
    return Interval(
        mean, np.maximum(mean + low, np.minimum(least, mean)), np.minimum(mean + high, np.maximum(most, mean))
    )


def _bootstrapped(deviations: FloatArray, reach: float) -> tuple[FloatArray, FloatArray]:
    r"""Ends, relative to the mean, of the BCa interval of samples (n, ...) with mean 0, `reach` normal deviations wide.

    The level of each end is :math:`\Phi(z_0 + z / (1 - a z))` with :math:`z = z_0 \pm reach`: :math:`z_0` corrects the
    bias of the median, the acceleration a = skewness / (6 sqrt(n)) the change of the standard error with the mean
    (Efron 1987, equations 2.3 and 4.2).
    """
    n = len(deviations)
    samples = deviations.reshape(n, -1)
    means = np.sort(_counts(n) @ samples / n, axis=0)
    # Resamples whose mean is that of the samples, but for rounding, count half.
    size = np.ptp(samples, axis=0)
    below = (np.mean(means < -1e-12 * size, axis=0) + np.mean(means <= 1e-12 * size, axis=0)) / 2.0
    z0 = cast("FloatArray", ndtri(np.clip(below, 0.5 / RESAMPLES, 1.0 - 0.5 / RESAMPLES)))
    varies = size > 0.0
    squares = np.where(varies, np.sum(samples**2, axis=0), 1.0)
    acceleration = np.sum(samples**3, axis=0) / (6.0 * squares**1.5)
    ends: list[FloatArray] = []
    for z in (z0 - reach, z0 + reach):
        level = cast("FloatArray", ndtr(z0 + z / (1.0 - acceleration * z)))
        position = level * (RESAMPLES - 1)
        first = np.floor(position).astype(np.int64)
        column = np.arange(samples.shape[1])
        before, after = means[first, column], means[np.minimum(first + 1, RESAMPLES - 1), column]
        end = before + (position - first) * (after - before)
        ends.append(np.where(varies, end, 0.0).reshape(deviations.shape[1:]))
    return ends[0], ends[1]


@lru_cache(maxsize=4)
def _counts(n: int) -> FloatArray:
    """How often each resample (RESAMPLES, n) has drawn each of n samples, always the same numbers."""
    rng = np.random.default_rng(RESAMPLES)
    return rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES).astype(np.float64)


NARROWEST: Final = 0.75
"""A simultaneous band is nowhere narrower than this share of its greatest width."""


@says_what_to_write
def simultaneous_band(samples: ArrayLike, confidence: float = 0.95, *, bounds: Ends = UNKNOWN) -> Interval:
    r"""Mean over seeds with a band in which the true mean lies at *all* times together.

    The band is :math:`m_t \pm c\, w_t` with :math:`w_t = \max(s_t, 0.75 \max_u s_u) / \sqrt{n}`: the standard deviation
    of few seeds is too small just where a rare event has not happened yet. The number c is the smallest for which a
    bound on the probability of leaving the band is small enough: Bonferroni's, the sum over all times, or that of the
    tube around the curve of correlations (Naiman 1986; for Student's t, Worsley 1994), which counts how much the curve
    turns instead of how many points it has. Of 2,000 experiments with curves of learners, nominal 95 % bands covered

    ==========================================  =======  =======  =======
    number of seeds                                   5       10       30
    ==========================================  =======  =======  =======
    rewards so far, the least of four learners   99.8 %   98.8 %   97.8 %
    regret, the least of four learners           99.3 %   98.4 %   97.7 %
    greedy value of Sarsa, cliff                100.0 %   99.7 %   98.5 %
    greedy value of Q-learning, cliff            99.7 %   98.1 %   97.8 %
    greedy value of Q-learning, lake            100.0 %  100.0 %   98.6 %
    greedy value of Q-learning, grid goal        95.9 %   96.4 %   95.2 %
    ==========================================  =======  =======  =======

    of the true curves (``python benchmarks/bands.py``).

    Parameters
    ----------
    samples
        (n_seeds, T) float: one row per seed, n_seeds at least 2.
    confidence, bounds
        As for `mean_interval`.

    Returns
    -------
    Interval
        Three arrays of shape (T,), float64.

    Raises
    ------
    ParameterError
        As for `mean_interval`.

    Examples
    --------
    >>> walks = np.random.default_rng(0).normal(size=(20, 50)).cumsum(axis=1)
    >>> band, pointwise = simultaneous_band(walks), mean_interval(walks)
    >>> bool(np.all(band.high - band.low > pointwise.high - pointwise.low))
    True
    """
    mean, low, high = mean_interval(samples, confidence, method="student")
    varies = high > low
    if mean.ndim == 0 or not varies.any():
        return mean_interval(samples, confidence, bounds=bounds, method="student")
    deviations = (np.asarray(samples, dtype=np.float64) - mean)[:, varies]
    error = deviations.std(axis=0, ddof=1) / np.sqrt(len(deviations))
    share = np.maximum(1.0, NARROWEST * error.max() / error)  # of the width in the deviation there
    width = np.full(mean.shape, NARROWEST * error.max())
    width[varies] = share * error
    width *= _reach(deviations, share, 1.0 - confidence)
    return _cut(mean, -width, width, bounds)


def _reach(deviations: FloatArray, share: FloatArray, level: float) -> float:
    """The c at which a band of half widths c * `share` deviations is left with a probability of at most `level`."""
    freedom = len(deviations) - 1
    unit = deviations / np.sqrt(np.sum(deviations**2, axis=0))
    angles = np.arccos(np.clip(np.sum(unit[:, 1:] * unit[:, :-1], axis=0), -1.0, 1.0))
    between = np.minimum(share[1:], share[:-1])

    def bound(c: float) -> float:
        tube = np.sum(angles / np.pi * (1.0 + (c * between) ** 2 / freedom) ** (0.5 * (1 - freedom)))
        each = 2.0 * stdtr(freedom, -c * share)
        return min(float(each.max() + tube), float(each.sum()))

    low, high = 0.0, 1.0
    while bound(high) > level:
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bound(middle) > level else (low, middle)
    return high


class SuccessRate(NamedTuple):
    """A rate of success and its confidence interval, all in [0, 1]."""

    rate: float
    """Successes per trial."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


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
    one_of("method", method, ("wilson", "exact"))
    found = binomtest(successes, trials).proportion_ci(confidence, method=method)
    return SuccessRate(successes / trials, float(found.low), float(found.high))
