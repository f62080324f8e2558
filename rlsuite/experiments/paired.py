r"""Two agents that learned with the same seeds: the difference, how sure it is, and how many seeds would settle it.

A t test that is repeated after each seed finds a difference between equal agents sooner or later. `verdict` may look
after every seed: a gambler bets on the sign of each seed's difference :math:`d_t \in [-1, 1]`. Starting with 1, he has

.. math:: W_t = \prod_{i \le t} (1 + \lambda_i d_i), \qquad \lambda_i \ge 0 \text{ chosen before } d_i \text{ is seen}.

If no mean is positive, :math:`W_t` is a nonnegative supermartingale, so he ever reaches :math:`1/\alpha` with
probability at most :math:`\alpha` (Ville 1939). Nothing is assumed about the distribution but its bounds, which are
known: no policy is worse than the worst, or better than the optimal one. The bets are those of Waudby-Smith & Ramdas
(2024, section B.3, "aGRAPA"): :math:`\lambda_i = \hat\mu / (\hat\sigma^2 + \hat\mu^2)`, which is
:math:`\sum d / \sum d^2` of the seeds before.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

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


VerdictWord = Literal["first", "second", "equal", "undecided"]

LARGEST_STAKE: Final = 0.9
"""Share of his money that a gambler risks at most, so that no seed can ruin him."""


def log_wealth(differences: FloatArray, *, margin: float = 0.0) -> FloatArray:
    r"""Logarithm of the gambler's wealth after each seed, if he bets that the mean lies above ``-margin``.

    Parameters
    ----------
    differences
        (n_seeds, ...) of one pair of agents, or of many experiments side by side, in [-1, 1].
    margin
        He bets on ``differences + margin``, so that a wealth of :math:`1/\alpha` says that the mean is not below
        ``-margin``, at level :math:`\alpha`.

    Returns
    -------
    ndarray
        As `differences`; nats.

    Examples
    --------
    After 12 of these 20 seeds the wealth is more than 20, so the mean is above zero at the level of 5 %.

    >>> wealth = np.exp(log_wealth(np.tile([0.2, 0.6], 10)))
    >>> int(np.argmax(wealth >= 20.0)) + 1
    12
    """
    gains = np.asarray(differences, dtype=np.float64) + margin
    most = LARGEST_STAKE / (1.0 - margin)  # the largest loss is 1 - margin
    # Sums over the seeds before each one; the first is preceded by an imagined seed, whose gain is 0.5 or -0.5.
    total = np.cumsum(gains, axis=0) - gains
    squares = np.cumsum(gains**2, axis=0) - gains**2 + 0.25
    return np.cumsum(np.log1p(np.clip(total / squares, 0.0, most) * gains), axis=0)


@dataclass(frozen=True)
class Verdict:
    """What is known of two agents, and after how many seeds.

    Attributes
    ----------
    word
        ``"first"`` or ``"second"``: this agent is better. ``"equal"``: the means differ by less than the margin.
        ``"undecided"``: the seeds did not suffice.
    seeds
        Number of seeds after which it was clear; with ``"undecided"`` all of them.
    last_seed
        The last of these seeds.
    """

    word: VerdictWord
    seeds: int
    last_seed: int


def verdict(
    differences: FloatArray,
    margin: float,
    level: float,
    seeds: Sequence[int],
    may_be_equal: Callable[[int], bool] = lambda n: True,
) -> Verdict:
    """The first verdict, looking after every seed; it is false with a probability of at most `level`.

    Better and equal are tried side by side, each at half of the level and each in both directions: if the mean is zero
    or less, only "the first is better" and "equal" can be false, and so on.

    Parameters
    ----------
    differences
        (n_seeds,) first agent less second, paired by seed, as shares of the distance from the worst policy to the best.
    margin
        The means are equal if they differ by less than this share.
    level
        Probability of a false verdict, at most.
    seeds
        (n_seeds,) their numbers.
    may_be_equal
        Whether nothing else that is known of the first n seeds tells the agents apart. A verdict "equal" waits for it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> verdict(np.clip(rng.normal(0.2, 0.3, 500), -1, 1), margin=0.02, level=0.05, seeds=range(500)).word
    'first'
    >>> verdict(np.zeros(500), margin=0.02, level=0.05, seeds=range(500))
    Verdict(word='equal', seeds=209, last_seed=208)
    >>> verdict(np.zeros(30), margin=0.02, level=0.05, seeds=range(30))
    Verdict(word='undecided', seeds=30, last_seed=29)
    """
    enough = np.log(2.0 / level)
    times: dict[VerdictWord, int] = {}
    times["first"] = _first(log_wealth(differences) >= enough)
    times["second"] = _first(log_wealth(-differences) >= enough)
    both = [log_wealth(sign * differences, margin=margin) for sign in (1.0, -1.0)]
    # Not below -margin and not above it: each may be found at a time of its own.
    n, earliest = len(differences), max(_first(money >= enough) for money in both)
    before = min(n + 1, *times.values())
    times["equal"] = next((one for one in range(earliest, before) if may_be_equal(one)), n + 1)
    word = min(times, key=lambda one: times[one])
    if times[word] > n:
        return Verdict("undecided", n, seeds[-1] if seeds else -1)
    return Verdict(word, times[word], seeds[times[word] - 1])


def _first(reached: FloatArray) -> int:
    """Number of seeds until something is true; one more than all of them if it never is."""
    return int(np.argmax(reached)) + 1 if reached.any() else len(reached) + 1
