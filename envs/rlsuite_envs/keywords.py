"""Checks of constructor keywords: each names the keyword, its value and what is allowed."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, cast

from rlsuite.errors import ParameterError, unknown


def number(name: str, value: object, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a finite float in [low, high].

    >>> number("slip", 0.2, 0, 1)
    0.2
    >>> number("slip", 1.5, 0, 1)
    Traceback (most recent call last):
        ...
    rlsuite.errors.ParameterError: slip=1.5 is not a number in [0, 1]
    """
    bounds = "a finite number" if (low, high) == (-math.inf, math.inf) else f"a number in [{low:g}, {high:g}]"
    as_float = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not math.isfinite(as_float) or not low <= as_float <= high:
        raise ParameterError(f"{name}={value!r} is not {bounds}")
    return as_float


def whole(name: str, value: object, least: int) -> int:
    """Return `value` as an int that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ParameterError(f"{name}={value!r} is not a whole number of at least {least}")
    return int(value)


def choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise unless `value` is one of the choices.

    >>> choice("walls", "mark", ["stay", "mask"])
    Traceback (most recent call last):
        ...
    rlsuite.errors.ParameterError: unknown walls 'mark'; did you mean 'mask'? (choices: mask, stay)
    """
    listed = list(choices)
    if value not in listed:
        raise ParameterError(unknown(name, value, listed))


def sequence(name: str, value: object, least: int = 0) -> tuple[Any, ...]:
    """Return `value` as a tuple of at least `least` entries.

    >>> sequence("wind", 3)
    Traceback (most recent call last):
        ...
    rlsuite.errors.ParameterError: wind=3 is not a sequence
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ParameterError(f"{name}={value!r} is not a sequence")
    entries = tuple(cast("Iterable[Any]", value))
    if len(entries) < least:
        raise ParameterError(f"{name}={value!r} has {len(entries)} entries; at least {least} is needed")
    return entries


def square(name: str, value: object) -> tuple[int, int]:
    """Return `value` as a pair of ints."""
    match value:
        case (Integral() as first, Integral() as second):
            return int(first), int(second)
        case _:
            raise ParameterError(f"{name}={value!r} is not a pair of whole numbers")
