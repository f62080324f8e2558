r"""Which of two agents is better, looked at after every seed: a test by betting that is valid at every time.

A t test that is repeated after each seed finds a difference between equal agents sooner or later. Here a gambler bets
on the sign of each seed's difference :math:`d_t \in [-1, 1]`. Starting with 1, he has

.. math:: W_t = \prod_{i \le t} (1 + \lambda_i d_i), \qquad \lambda_i \ge 0 \text{ chosen before } d_i \text{ is seen}.

If no mean is positive, :math:`W_t` is a nonnegative supermartingale, so he ever reaches :math:`1/\alpha` with
probability at most :math:`\alpha` (Ville 1939). Nothing is assumed about the distribution but its bounds, which are
known: no policy is worse than the worst, or better than the optimal one. The bets are those of Waudby-Smith & Ramdas
(2024, section B.3, "aGRAPA"): :math:`\lambda_i = \hat\mu / (\hat\sigma^2 + \hat\mu^2)`, which is
:math:`\sum d / \sum d^2` of the seeds before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from rlsuite.models.aliases import FloatArray

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
