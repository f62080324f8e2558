"""Detecting divergence: values larger than the return of any sequence of rewards."""

import numpy as np
from numpy.typing import NDArray

LONGEST = 1e6
"""Largest number of steps over which rewards are summed, where the discount sets no limit."""

ROOM = 10.0
"""How many times the largest possible return a value may be: approximations may overshoot."""


def value_limit(reward: NDArray[np.float64], gamma: float) -> float:
    """Return how large a value learned from rewards (n,) may be: `ROOM` times the largest return, max|r| / (1 - gamma).

    Examples
    --------
    >>> value_limit(np.array([0.0, -2.0]), gamma=0.5)
    40.0
    """
    horizon = min(1.0 / (1.0 - gamma), LONGEST) if gamma < 1.0 else LONGEST
    return ROOM * (float(np.abs(reward).max()) or 1.0) * horizon


def trouble(values: NDArray[np.float64], limit: float) -> str | None:
    """Return a description of what is wrong with values; None if nothing is.

    Examples
    --------
    >>> trouble(np.array([1.0, 50.0]), limit=40.0)
    'they reach 50, and ten times the largest possible return is 40'
    >>> trouble(np.array([1.0, 3.0]), limit=40.0)
    """
    # the maximum and the minimum are NaN if any value is
    largest = float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))
    if not np.isfinite(largest):
        return "they are not finite"
    if largest > limit:
        return f"they reach {largest:g}, and ten times the largest possible return is {limit:g}"
    return None
