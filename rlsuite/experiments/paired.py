"""Two agents that learned with the same seeds: the difference, how sure it is, and how many seeds would settle it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from rlsuite.models.aliases import FloatArray
from rlsuite.training.results import Bounds
from rlsuite.training.statistics import mean_interval

LEVEL = 0.05
"""Probability of finding a difference between any two agents where there is none."""
POWER = 0.8
"""Probability of finding a difference that is as large as the one seen; seeds are counted for it."""

ROUNDING = 1e-12
"""Relative difference up to which two numbers are the same."""


class Pair(NamedTuple):
    """Two agents in one environment, paired by seed."""

    environment: str
    first: str
    """The agent with the greater mean; of equal ones, that which comes first."""
    second: str
    seeds: int
    difference: float
    """Mean over the seeds of the first agent's number less the second's; not negative."""
    low: float
    """Lower end of its 95 % interval."""
    high: float
    """Upper end."""
    t_p_value: float
    """Of the paired t test, two-sided."""
    wilcoxon_p_value: float
    """Of Wilcoxon's signed-rank test, two-sided."""
    p_value: float
    """Wilcoxon's, with Holm's correction for all pairs of a comparison."""
    improvement: float
    """Probability that a run of the first agent is better than a run of the second, whatever their seeds."""
    seeds_needed: int | None
    """About how many seeds would show this difference, in as many pairs, with 80 % power; None if it is zero."""

    @property
    def is_significant(self) -> bool:
        """Whether the corrected p value is at most 5 %."""
        return self.p_value <= LEVEL


def pair_of(
    environment: str, names: tuple[str, str], samples: tuple[FloatArray, FloatArray], bounds: Bounds, n_pairs: int = 1
) -> Pair:
    """Compare two agents whose samples have the same seeds, in the same order; the p value is not yet corrected.

    Parameters
    ----------
    environment
        Its label.
    names
        Labels of both agents.
    samples
        (n_seeds,) of each; at least two.
    bounds
        What no sample can be below or above.
    n_pairs
        Number of pairs of which none may be found different by accident.

    Examples
    --------
    >>> pair = pair_of("cliff", ("Sarsa", "Q"), (np.full(6, -17.0), np.arange(-49.0, -43.0)), Bounds())
    >>> pair.first, pair.difference, pair.wilcoxon_p_value, pair.improvement
    ('Sarsa', 29.5, 0.03125, 1.0)
    """
    from rlsuite.approximation.selection.paired_tests import paired_t, wilcoxon  # load half a second of SciPy

    samples = (samples[0], samples[0] - differing(*samples))
    if np.mean(samples[0]) < np.mean(samples[1]):
        names, samples = (names[1], names[0]), (samples[1], samples[0])
    differences = differing(*samples)
    reach = bounds.high - bounds.low  # infinite if either is
    mean, low, high = map(float, mean_interval(differences, bounds=(-reach, reach)))
    signed = wilcoxon(*samples).p_value
    return Pair(
        environment,
        *names,
        len(differences),
        mean,
        low,
        high,
        paired_t(*samples).p_value,
        signed,
        signed,
        improvement(*samples),
        seeds_needed(differences, LEVEL / n_pairs),
    )


def differing(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return differences, 0 where numbers differ by rounding alone: two policies that never reach an end, say.

    >>> differing(np.array([-100.0, 2.0]), np.array([-100.00000000000001, 1.0])).tolist()
    [0.0, 1.0]
    """
    same = np.abs(first - second) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))
    return np.where(same, 0.0, first - second)


def corrected(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with p values that are corrected for their number, with Holm's method."""
    from rlsuite.approximation.selection.paired_tests import holm  # loads half a second of SciPy

    p_values = holm([pair.wilcoxon_p_value for pair in pairs])
    return [pair._replace(p_value=float(p)) for pair, p in zip(pairs, p_values, strict=True)]


def improvement(first: FloatArray, second: FloatArray) -> float:
    """Probability that a sample of the first is greater than one of the second; equal samples count half.

    Agarwal et al. (2021) call it the probability of improvement; it is the Mann-Whitney statistic as a share.

    >>> improvement(np.array([1.0, 2.0]), np.array([0.0, 2.0]))
    0.625
    """
    ahead: FloatArray = np.sign(first[:, np.newaxis] - second[np.newaxis, :])
    return float(0.5 * (1.0 + ahead.mean()))


def seeds_needed(differences: FloatArray, level: float = LEVEL) -> int | None:
    r"""Number of seeds with which a paired test shows the mean difference with 80 % power; None if it is zero.

    It is :math:`((z_{1 - \alpha/2} + z_{0.8}) s / \bar d)^2` for differences with standard deviation s, a normal
    approximation, and at least 6 for a level of 5 %: with fewer seeds no signed-rank test reaches it.

    Examples
    --------
    >>> seeds_needed(np.array([1.0, -0.5, 2.0, 0.5, -1.0, 1.5]))
    31
    """
    mean = abs(float(differences.mean()))
    if mean == 0.0:
        return None
    reach = float(ndtri(1.0 - level / 2.0) + ndtri(POWER))
    least = math.ceil(math.log2(2.0 / level))  # the smallest p value of n seeds is 2 / 2^n
    return max(least, math.ceil((reach * float(differences.std(ddof=1)) / mean) ** 2))
