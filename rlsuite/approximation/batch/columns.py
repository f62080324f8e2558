"""Validation of a batch: each function returns one column in the form that the batch stores, or names the offender."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.checks import whole_number
from rlsuite.errors import ParameterError


def observations(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """Return observations as (n, d) float64, n at least 1; a one-dimensional array holds one number per observation."""
    found = _floats(name, given)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2 or not found.size:
        raise ParameterError(f"{name} has shape {np.shape(given)}; give (n, d), one row for each of n >= 1 transitions")
    return np.ascontiguousarray(found)


def numbers(name: str, given: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return a column of finite numbers, (n,) float64."""
    return _of_length(name, _floats(name, given), n)


def weights(given: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return the weights, (n,) float64: none negative, not all 0."""
    found = numbers("weight", given, n)
    if (found < 0.0).any():
        at = int(np.argmax(found < 0.0))
        raise ParameterError(f"weight[{at}] is {found[at]:g}; weights are at least 0")
    if not found.any():
        raise ParameterError("all weights are 0; there is nothing to learn from")
    return found


def terminated(given: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    """Return the flags of termination, (n,) bool."""
    if given is None:
        raise ParameterError(
            "a batch needs terminated, which says of each transition whether the episode ended by it: that decides "
            "whether something follows. Give np.zeros(n, dtype=bool) if no episode ever ended"
        )
    return _flags("terminated", given, n)


def first(given: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Return where episodes begin, (n,) bool; the first transition begins one."""
    found = _flags("first", given, n)
    if not found[0]:
        raise ParameterError("first[0] is False, but the first transition has none before it")
    return found


def actions(given: ArrayLike, n: int, lowest: int, n_actions: int | None) -> tuple[NDArray[np.int64], int]:
    """Return the actions counted from 0, (n,) int64, and how many there are."""
    found = _of_length("action", np.asarray(given), n)
    taken = whole("action", found) - lowest
    many = int(taken.max()) + 1 if n_actions is None else whole_number("n_actions", n_actions)
    wrong = (taken < 0) | (taken >= many)
    if wrong.any():
        at = int(np.argmax(wrong))
        last = lowest + many - 1
        raise ParameterError(f"action[{at}] is {found[at]}, and the actions are {lowest}..{last} (see first_action=)")
    return taken, many


def whole(name: str, given: NDArray[Any]) -> NDArray[np.int64]:
    """Return an array of whole numbers as int64."""
    if not np.issubdtype(given.dtype, np.number) or np.issubdtype(given.dtype, np.complexfloating):
        raise ParameterError(f"{name} holds {given.dtype}, not whole numbers")
    with np.errstate(invalid="ignore"):
        found = given.astype(np.int64)
    wrong = found != given
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ParameterError(
            f"{name}[{at}] is {given[at]}, not a whole number; batch methods choose among discrete actions: round "
            "continuous ones to a few levels, and give the numbers of the levels"
            if name == "action"
            else f"{name}[{at}] is {given[at]}, not a whole number"
        )
    return found


def _floats(name: str, given: ArrayLike) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(given):
            raise TypeError("they are complex")  # NumPy would leave half of each out
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} is not an array of numbers: {error}") from error
    if not np.isfinite(found).all():
        at = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise ParameterError(f"{name}[{', '.join(map(str, at))}] is {found[at]}, not a finite number")
    return found


def _flags(name: str, given: ArrayLike, n: int) -> NDArray[np.bool_]:
    found = _of_length(name, np.asarray(given), n)
    if found.dtype != np.bool_ and not (np.issubdtype(found.dtype, np.number) and np.isin(found, (0, 1)).all()):
        raise ParameterError(f"{name} must hold flags, False or True (0 or 1), and holds {found.dtype}")
    return found.astype(np.bool_)


def _of_length(name: str, found: NDArray[Any], n: int) -> NDArray[Any]:
    if found.shape != (n,):
        raise ParameterError(f"{name} has shape {found.shape}, not ({n},): one entry for each observation")
    return found
