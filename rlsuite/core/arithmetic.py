"""Arithmetic with the same bytes in machine code and in Python, and on any number of cores."""

import math

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.compilation import compiled

LARGEST_EXPONENT = 2**16
"""From here on the C library's power is faster than multiplying."""


@compiled(in_place=True)
def power(base: float, exponent: int) -> float:
    """Return ``base ** exponent`` for exponents from 0 on, by squaring: so numba does it, while Python calls ``pow``.

    >>> power(0.5, 3)
    0.125
    """
    if exponent > LARGEST_EXPONENT:
        return math.pow(base, float(exponent))
    result = 1.0
    while exponent != 0:
        if exponent & 1:
            result *= base
        exponent //= 2
        base *= base
    return result


def weighted_sum(weights: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the sum of ``weights * values`` over the weights above 0, both (n,) float64.

    BLAS cuts long sums by the number of its threads, so that their last bits depend on the machine.

    >>> weighted_sum(np.array([0.25, 0.75, 0.0]), np.array([1.0, 2.0, np.inf]))
    1.75
    """
    counted = weights > 0.0
    return float(np.add.reduce(weights[counted] * values[counted]))
