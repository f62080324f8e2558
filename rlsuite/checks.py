"""Checks of single arguments at the door, for functions that take a number or a choice from a user."""

from numbers import Real

from rlsuite.errors import ParameterError


def whole_number(name: str, value: object, at_least: int) -> int:
    """Return a whole number that is large enough, or name the argument that is not.

    Raises
    ------
    ParameterError
        If ``value`` is not an int, or smaller than ``at_least``.

    Examples
    --------
    >>> whole_number("steps", 100, at_least=1)
    100
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ParameterError(f"{name}={value!r} must be a whole number, at least {at_least}")
    return value


def fraction(name: str, value: object) -> float:
    """Return a number within [0, 1], or name the argument that is not.

    Raises
    ------
    ParameterError
        If ``value`` is not a number, or lies outside [0, 1].

    Examples
    --------
    >>> fraction("gamma", 0.9)
    0.9
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(f"{name}={value!r} must be a number")
    if not 0.0 <= float(value) <= 1.0:
        raise ParameterError(f"{name}={value!r} lies outside [0, 1]")
    return float(value)
