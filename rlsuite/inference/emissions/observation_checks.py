"""Checks of observations: symbols, counts and real vectors, any of which may be missing."""

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.core.compilation import compiled
from rlsuite.errors import ModelError
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray

MIN_LOG_LIKELIHOOD = -667.0
"""Logarithm of the least likelihood beside one of 1 in a table: products of it and others keep their digits."""

MIN_LIKELIHOOD = float(np.exp(MIN_LOG_LIKELIHOOD))

MISSING = -1
"""What stands for a missing symbol or count; a missing real number is NaN."""


def whole_numbers(z: ArrayLike, what: str, below: int | None) -> IndexArray:
    """Return observations as int64 of the same shape, -1 where one is missing (-1 or NaN).

    Parameters
    ----------
    z : array_like
        The observations.
    what : str
        What they are called, in the plural.
    below : int or None
        They must be less than this.

    Raises
    ------
    ModelError
        If one is not a whole number, or out of range; the message names the first.

    Examples
    --------
    >>> whole_numbers([0, 2, float("nan")], "symbols", 3).tolist()
    [0, 2, -1]
    """
    given = validation.array("z", z)
    named = "whole numbers from 0" if below is None else f"0..{below - 1}"
    allowed = f"the {what} are {named}, and -1 is a missing one"
    if given.dtype.kind == "f":
        broken = (given != np.floor(given)) & ~np.isnan(given) | np.isinf(given)
        if broken.any():
            raise ModelError(f"{first(given, broken)}; {allowed}")
        given = np.where(np.isnan(given), MISSING, given)
    numbers = given.astype(np.int64, copy=False)
    wrong = numbers < MISSING
    if below is not None:
        wrong |= numbers >= below
    if wrong.any():
        raise ModelError(f"{first(given, wrong)}; {allowed}")
    return numbers


def vectors(z: ArrayLike, width: int) -> FloatArray:
    """Return observations as float64 (T, D), NaN where a number is missing.

    Parameters
    ----------
    z : array_like (T, D), or (T,) if D is 1
        The observations.
    width : int
        D.

    Raises
    ------
    ModelError
        If the shape is another one, or a number is infinite.

    Examples
    --------
    >>> vectors([1.0, float("nan")], 1).tolist()
    [[1.0], [nan]]
    """
    numbers = np.ascontiguousarray(columns(validation.array("z", z), width), dtype=np.float64)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise ModelError(f"{first(numbers, infinite)}; observations are finite, or NaN if they are missing")
    return numbers


def columns(z: AnyArray, width: int) -> AnyArray:
    """Return observations as (T, D); (T,) will do if D is 1."""
    if z.ndim == 1 and width == 1:
        return z[:, np.newaxis]
    if z.ndim != 2 or z.shape[1] != width:
        either = "(T,) or (T, 1)" if width == 1 else f"(T, {width})"
        raise ModelError(f"z has shape {z.shape}, not {either}: one observation for each time")
    return z


def all_missing(z: AnyArray) -> BoolArray:
    """Return which observations (T, D) are missing in every coordinate: (T,) bool."""
    gone = z < 0 if z.dtype.kind == "i" else np.isnan(z)
    return np.all(gone, axis=1)


def first(z: AnyArray, wrong: BoolArray) -> str:
    """Return which observation is the first wrong one, as ``"z[t=3] is 7"``."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    inner = "".join(f", {i}" for i in index[1:])
    return f"z[t={index[0]}{inner}] is {z[index]:g}"


@compiled(in_place=True)
def take_largest_out(logs: FloatArray, largest: FloatArray, lowest: float) -> None:
    """Subtract from each row of `logs` (T, K) its largest entry, and put it into `largest` (T,).

    What is left is raised to `lowest`, unless it was minus infinity. Of a row of minus infinities 0 is taken out.
    """
    for t in range(logs.shape[0]):
        high = logs[t, 0]
        for k in range(1, logs.shape[1]):
            high = max(high, logs[t, k])
        if high == -np.inf:
            high = 0.0
        for k in range(logs.shape[1]):
            if logs[t, k] > -np.inf:
                logs[t, k] = max(logs[t, k] - high, lowest)
        largest[t] = high


def scaled(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log-densities (T, K) as what `Emission.likelihoods` returns: a table whose rows have the maximum 1.

    What is possible is at least `MIN_LIKELIHOOD`. The argument becomes the table.

    Examples
    --------
    >>> table, shift = scaled(np.array([[-1000.0, -1000.0 + np.log(2.0)], [-np.inf, -np.inf], [0.0, -9000.0]]))
    >>> table.round(12).tolist(), shift.round(3).tolist(), bool(table[2, 1] > 0.0)
    ([[0.5, 1.0], [0.0, 0.0], [1.0, 0.0]], [-999.307, 0.0, 0.0], True)
    """
    shift = np.empty(len(logs))
    take_largest_out(logs, shift, MIN_LOG_LIKELIHOOD)  # NumPy is slow for short rows
    return np.exp(logs, out=logs), shift
