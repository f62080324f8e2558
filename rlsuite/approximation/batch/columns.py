"""Validation of a batch: each function returns one column in the form that the batch stores, or names the offender."""

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import legal_actions, whole_number
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import AnyArray


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
        raise ParameterError("all weights are 0; at least one must be above 0")
    return found


def terminated(given: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    """Return the flags of termination, (n,) bool."""
    if given is None:
        raise ParameterError(
            "a batch needs terminated, (n,) bool: whether each transition ended its episode, so that the target does "
            "not bootstrap. Give np.zeros(n, dtype=bool) if no episode terminated"
        )
    return _flags("terminated", given, n)


def first(given: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Return where episodes begin, (n,) bool; the first transition begins one."""
    found = _flags("first", given, n)
    if not found[0]:
        raise ParameterError("first[0] is False; it must be True, since the first transition begins an episode")
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


def masks(
    given: ArrayLike | None, given_next: ArrayLike | None, taken: NDArray[np.int64], ended: NDArray[np.bool_], many: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Return which actions were legal before and after, both (n, many) bool; None where no mask is given."""
    if given is None and given_next is None:
        return None
    if given is None or given_next is None:
        there, missing = ("next_action_mask", "action_mask") if given is None else ("action_mask", "next_action_mask")
        raise ParameterError(f"{there} is given without {missing}; give both, (n, n_actions), or none of them")
    n = taken.size
    before = legal_actions("action_mask", given, many, n)
    after = legal_actions("next_action_mask", given_next, many, n)
    forbidden = ~before[np.arange(n), taken]
    if forbidden.any():
        at = int(np.argmax(forbidden))
        raise ParameterError(
            f"action_mask[{at}] forbids action {taken[at]} (counted from 0), which action[{at}] has taken; a mask is 1 "
            "for each action that was legal"
        )
    stuck = ~ended & ~after.any(axis=1)
    if stuck.any():
        at = int(np.argmax(stuck))
        raise ParameterError(
            f"next_action_mask[{at}] leaves no action, and terminated[{at}] is False; an episode ends where no action "
            "is legal"
        )
    return before, after


def whole(name: str, given: AnyArray) -> NDArray[np.int64]:
    """Return an array of whole numbers as int64."""
    if not np.issubdtype(given.dtype, np.number) or np.issubdtype(given.dtype, np.complexfloating):
        raise ParameterError(f"{name} has dtype {given.dtype}; it must hold whole numbers")
    with np.errstate(invalid="ignore"):
        found = given.astype(np.int64)
    wrong = found != given
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ParameterError(
            f"{name}[{at}] is {given[at]}, not a whole number; batch methods choose among discrete actions: round "
            "continuous ones to a few levels, and give the number of each level"
            if name == "action"
            else f"{name}[{at}] is {given[at]}, not a whole number"
        )
    return found


def _floats(name: str, given: ArrayLike) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(given):
            raise TypeError("its numbers are complex")  # NumPy would drop the imaginary parts
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} is not an array of numbers: {error}") from error
    if not np.isfinite(found).all():
        at = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise ParameterError(f"{name}[{', '.join(map(str, at))}] is {found[at]}, not a finite number")
    return found


def _flags(name: str, given: ArrayLike, n: int) -> NDArray[np.bool_]:
    found = _of_length(name, np.asarray(given), n)
    if found.dtype != np.bool_ and not np.issubdtype(found.dtype, np.number):
        raise ParameterError(f"{name} has dtype {found.dtype}; it must hold False and True (or 0 and 1)")
    wrong = ~np.isin(found, (0, 1))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ParameterError(f"{name}[{at}] is {found[at]}; it must be False or True (or 0 or 1)")
    return found.astype(np.bool_)


def _of_length(name: str, found: AnyArray, n: int) -> AnyArray:
    if found.shape != (n,):
        raise ParameterError(f"{name} has shape {found.shape}; it must have ({n},), one entry for each observation")
    return found
