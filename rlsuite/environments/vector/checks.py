"""The argument checks of a vector environment; after them, arrays are trusted."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, NDArray

from rlsuite.errors import ParameterError, unknown


def at_least_one(name: str, value: object) -> int:
    """Return `value` as an int above 0, or raise `ParameterError`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise ParameterError(f"{name}={value!r} is not a whole number above 0")
    return int(value)


def autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return the autoreset mode, or raise `ParameterError` with the choices."""
    if isinstance(mode, AutoresetMode):
        return mode
    names = {one.value: one for one in AutoresetMode}
    if mode not in names:
        raise ParameterError(unknown("autoreset_mode", mode, names))
    return names[mode]


def seeds(given: Sequence[int | None], num_envs: int) -> list[int]:
    """Return one seed per copy, none at all if all are None, or raise `ParameterError`."""
    if len(given) != num_envs:
        raise ParameterError(f"{len(given)} seeds for num_envs={num_envs} copies; give one int, or one per copy")
    numbers = [seed for seed in given if seed is not None]
    if numbers and len(numbers) < num_envs:
        raise ParameterError("some seeds are None: the copies share one generator, so give all seeds or none")
    return numbers


def reset_mask(options: dict[str, Any] | None, num_envs: int) -> NDArray[np.bool_]:
    """Return the copies to reset, all of them by default: (N,) bool, or raise `ParameterError`."""
    if options is None or "reset_mask" not in options:
        return np.ones(num_envs, dtype=np.bool_)
    mask: NDArray[Any] = np.array(options["reset_mask"])
    if mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        raise ParameterError(
            f"options['reset_mask'] has dtype {mask.dtype}, shape {mask.shape} and {np.count_nonzero(mask)} copies "
            f"to reset; a bool array of shape ({num_envs},) with at least one True is needed"
        )
    return mask


def actions(given: ArrayLike, num_envs: int, n_actions: int) -> NDArray[np.int64]:
    """Return a new array with one action per copy: (N,) int64, or raise `ParameterError`."""
    array: NDArray[Any] = np.asarray(given)
    if array.shape != (num_envs,) or array.dtype.kind not in "iu":
        raise ParameterError(
            f"actions has dtype {array.dtype} and shape {array.shape}; "
            f"integers of shape ({num_envs},) are needed, one action per copy"
        )
    if array.min() < 0 or array.max() >= n_actions:
        copy = int(np.argmax((array < 0) | (array >= n_actions)))
        raise ParameterError(f"actions[{copy}]={array[copy]} is not an action; the actions are 0..{n_actions - 1}")
    return array.astype(np.int64)


def check_none_ended(ended: NDArray[np.bool_]) -> None:
    """Raise `ParameterError` if some copies have ended and nothing will reset them."""
    if ended.any():
        copies = ", ".join(map(str, np.flatnonzero(ended)[:10]))
        raise ParameterError(
            f"the episodes of copies {copies} are over: with autoreset_mode=DISABLED reset them first, "
            "reset(options={'reset_mask': terminations | truncations})"
        )
