"""Scores of two learners in pairs, and the result of a test of their difference."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.errors import ParameterError

ROUNDING = 1e-12
"""Differences that are smaller than this part of the scores are rounding errors, and taken as 0."""


class PairedTest(NamedTuple):
    """The result of a test of the difference between two learners."""

    difference: float
    """Mean of ``a - b``, in the unit of the scores."""
    statistic: float
    """The test statistic; each test documents its own."""
    p_value: float
    """Probability of a statistic at least as extreme, if the two learners were equally good."""
    n: int
    """Number of pairs that the statistic is computed from."""


def differences_of(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return ``a - b`` (k,), with 0 for rounding errors.

    Raises
    ------
    ParameterError
        If the scores are not two equally long, finite lists of at least 2.
    """
    first, second = (scores_of(name, scores) for name, scores in (("a", a), ("b", b)))
    if first.shape != second.shape or first.ndim != 1 or first.size < 2:
        raise ParameterError(
            f"a has shape {first.shape} and b {second.shape}; pairs of scores are two lists of the same length, at "
            "least 2, in the same order"
        )
    differences = first - second
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    return differences


def scores_of(name: str, scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores as float64, of any shape.

    Raises
    ------
    ParameterError
        If one is not finite.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        place = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        raise ParameterError(f"{name}{list(place)} = {values[place]} is not finite: leave this pair out of both lists")
    return values


def in_units_of(difference: float, error: float) -> float:
    """Return a difference in units of its error: infinite if it has none, 0 if there is no difference."""
    if error > 0.0:
        return difference / error
    return 0.0 if difference == 0.0 else float(np.copysign(np.inf, difference))
