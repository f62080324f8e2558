"""One number for an agent over several environments, whose intervals come from seeds drawn within each environment.

Scores of different environments are comparable once they are shares of the way from the uniform policy to the optimum.
The definitions are those of Agarwal et al., Deep reinforcement learning at the edge of the statistical precipice, 2021.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from rlsuite.core.checks import one_of
from rlsuite.models.aliases import FloatArray
from rlsuite.training.statistics import RESAMPLES

StatisticName = Literal["mean", "median", "iqm"]


class Aggregate(NamedTuple):
    """A number of all runs of an agent, with its 95 % interval."""

    value: float
    low: float
    """Lower end of the percentile interval of a stratified bootstrap."""
    high: float
    """Upper end."""


def interquartile_mean(scores: FloatArray) -> FloatArray:
    """Mean of the middle half of all runs, over the last axis: a quarter is cut at either end, rounded down.

    >>> float(interquartile_mean(np.array([-100.0, 1.0, 2.0, 3.0])))
    1.5
    """
    from scipy.stats import trim_mean  # loads half a second of SciPy, which tables do not need

    return np.asarray(trim_mean(scores, 0.25, axis=-1))


STATISTICS: Final[dict[str, Callable[[FloatArray], FloatArray]]] = {
    "mean": lambda scores: scores.mean(axis=-1),
    "median": lambda scores: np.median(scores, axis=-1),
    "iqm": interquartile_mean,
}
"""Name -> what it makes of the last axis, all runs of an agent."""


def aggregate(scores: Sequence[FloatArray], statistic: StatisticName = "iqm", confidence: float = 0.95) -> Aggregate:
    """Aggregate the runs of one agent, with an interval by the stratified bootstrap.

    Every resample draws as many seeds within each environment as there are. Resampling has a fixed seed, so the same
    scores give the same interval.

    Parameters
    ----------
    scores
        (n_seeds,) for each environment.
    statistic
        ``"mean"``, ``"median"`` or ``"iqm"``, the mean of the middle half, which no outlier moves and which needs fewer
        seeds than the median.
    confidence
        Probability that the interval covers the expectation, roughly.

    Examples
    --------
    >>> aggregate([np.array([0.9, 1.0, 0.8, 0.0]), np.array([0.7, 0.6, 0.5, 0.8])], "median").value
    0.75
    """
    compute = STATISTICS[one_of("statistic", statistic, tuple(STATISTICS))]
    rng = np.random.default_rng(RESAMPLES)
    drawn = [one[rng.integers(len(one), size=(RESAMPLES, len(one)))] for one in scores]
    tails = [0.5 * (1.0 - confidence), 0.5 * (1.0 + confidence)]
    low, high = np.quantile(compute(np.concatenate(drawn, axis=1)), tails)
    return Aggregate(float(compute(np.concatenate(scores))), float(low), float(high))


def profile(scores: Sequence[FloatArray], levels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of the runs that reach each level, and both ends of its 95 % interval, pointwise: a performance profile.

    Parameters
    ----------
    scores
        (n_seeds,) for each environment, each of which counts alike.
    levels
        (n_levels,) float.

    Examples
    --------
    >>> profile([np.array([0.2, 0.6, 0.9])], np.array([0.0, 0.5, 1.0]))[0].round(2).tolist()
    [1.0, 0.67, 0.0]
    """
    rng = np.random.default_rng(RESAMPLES)
    shares, resampled = np.zeros(len(levels)), np.zeros((RESAMPLES, len(levels)))
    for one in scores:
        reached = (one[:, None] >= levels[None, :]).astype(np.float64)
        shares += reached.mean(axis=0)
        counts = rng.multinomial(len(one), np.full(len(one), 1.0 / len(one)), size=RESAMPLES)
        resampled += counts @ reached / len(one)
    low, high = np.quantile(resampled, [0.025, 0.975], axis=0)
    n = len(scores)
    return shares / n, low / n, high / n
