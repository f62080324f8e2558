r"""Convergence or divergence, from a record of weights or values with one row per round.

Near its end, every linear rule changes weights by :math:`w_{k+1} = A w_k + b`. Then the *changes*
:math:`w_{k+1} - w_k` are multiplied by A in each round: they shrink if the spectral radius of A is below 1, and grow
if it is above. The changes show this long before the weights are large, and whatever they converge to.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from rlsuite.errors import ParameterError

FEWEST = 8
"""Least number of rows from which a slope is estimated."""

SURE = 1e-3
"""Probability of mistaking noise for divergence."""


class Growth(NamedTuple):
    """How the changes from round to round grow."""

    rate: float
    """Factor from one change to the next; the spectral radius of a linear rule. 0 if nothing changes any more."""
    doubling: float
    """Rounds in which changes double; infinite if they do not grow."""
    diverges: bool
    """Whether changes at least double from the first row to the last, and not by chance."""


def growth(history: ArrayLike) -> Growth:
    """Decide from a record of weights whether they diverge.

    The rate is the slope of a straight line through the logarithms of the sizes of the changes (least squares).

    Parameters
    ----------
    history : array_like
        (n_rounds, ...) float: weights, values or both after each round, at least 8 of them. Leave out the first rounds,
        which are about where learning began.

    Returns
    -------
    Growth

    Raises
    ------
    ParameterError
        If there are fewer than 8 rounds, or the first of them are not finite.

    Examples
    --------
    Two states, one weight, and features 1 and 2 (S&B2 Example 11.1, least squares in each round): the weight is
    multiplied by 6 gamma / 5, which is above 1 for gamma above 5/6.

    >>> found = growth(np.cumprod(np.full(20, 6 * 0.9 / 5)))
    >>> round(found.rate, 6), round(found.doubling), found.diverges
    (1.08, 9, True)
    >>> growth(np.cumprod(np.full(20, 6 * 0.8 / 5))).diverges
    False
    """
    rows = np.asarray(history, dtype=np.float64)
    if rows.ndim == 0 or len(rows) < FEWEST:
        raise ParameterError(
            f"history has shape {rows.shape}; it must be (n_rounds, ...) with at least {FEWEST} rounds"
        )
    rows = rows.reshape(len(rows), -1)
    finite = np.isfinite(rows).all(axis=1)
    known = len(rows) if finite.all() else int(np.argmin(finite))
    if known < FEWEST:
        raise ParameterError(
            f"history is not finite in round {known}; at least the first {FEWEST} rounds must be finite"
        )
    changes = np.diff(rows[:known], axis=0)
    scale = np.abs(changes).max()
    if scale == 0.0:
        return Growth(0.0, np.inf, diverges=not finite.all())
    # Without the division the squares of very large weights would overflow.
    sizes = np.linalg.norm(changes / scale, axis=1)
    moving = np.flatnonzero(sizes)
    if moving.size < FEWEST - 1:
        return Growth(0.0, np.inf, diverges=not finite.all())
    line = stats.linregress(moving, np.log(sizes[moving]), alternative="greater")
    slope = float(line.slope)
    grows = slope * np.ptp(moving) >= np.log(2.0) and line.pvalue < SURE
    doubling = float(np.log(2.0) / slope) if slope > 0.0 else np.inf
    return Growth(float(np.exp(slope)), doubling, bool(grows) or not finite.all())
