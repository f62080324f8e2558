"""Arithmetic with the same bytes in machine code and in Python."""

import math

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
