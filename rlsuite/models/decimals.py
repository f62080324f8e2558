"""Probabilities read from text: rows whose sum differs from 1 because a few decimals were written."""

import os
import warnings
from collections.abc import Callable

import numpy as np

from rlsuite.errors import FileError, RoundingWarning, level_of_the_caller
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.validation import ROW_SUM_TOLERANCE, excess, row_sums

ROUNDING = 1e-5
"""How far the sum of a row may be off in a text file; the tolerance of pomdp-solve and of PRISM."""


def rescaled(
    file: str | os.PathLike[str],
    probability: FloatArray,
    indptr: IndexArray,
    name: Callable[[int], str],
    *,
    place: Callable[[int], str] = lambda row: "",
    worst: float = ROUNDING,
) -> FloatArray:
    """Return the probabilities with the rows that were rounded divided by their sums.

    Rows that sum to 1 within the tolerance of the models, and empty ones, keep every bit.

    Parameters
    ----------
    file
        Named in the error.
    probability : ndarray (N,) float64
        Probabilities of all rows.
    indptr : ndarray (rows + 1,) int64
        Where each row begins and ends.
    name : callable
        Describes the row of a number.
    place : callable
        Says where in the file the row of a number stands: ``":line:column"``.
    worst : float
        How far a row may be off; beyond `ROUNDING` with a warning.

    Raises
    ------
    FileError
        If a row is off by more than `worst`.

    Warns
    -----
    RoundingWarning
        If a row is off by more than the rounding of a text file explains.
    """
    filled = indptr[1:] > indptr[:-1]
    sums = np.where(filled, row_sums(probability, indptr), 1.0)
    off = np.abs(sums - 1.0)
    if (off > ROUNDING).any():
        row = int(np.argmax(off))
        wrong = f"{file}{place(row)}: {name(row)} sums to {float(sums[row]):.10g}, not 1 ({excess(float(sums[row]))})"
        if off[row] > worst:
            raise FileError(wrong)
        level = level_of_the_caller()
        warnings.warn(f"{wrong}; such rows were divided by their sums", RoundingWarning, stacklevel=level)
    if (off <= ROW_SUM_TOLERANCE).all():
        return probability
    return probability / np.repeat(np.where(off > ROW_SUM_TOLERANCE, sums, 1.0), np.diff(indptr))
