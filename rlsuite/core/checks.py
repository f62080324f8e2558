"""Checks of arguments that are single numbers; each error names the argument and what is allowed.

The functions ``is_...`` say of what type an object is, for the type checker too: what it holds may be anything.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import LearningError, ParameterError, unknown

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator
"""A seed or a generator of random numbers."""


def is_tuple(value: object) -> TypeIs[tuple[object, ...]]:
    """Whether `value` is a tuple."""
    return isinstance(value, tuple)


def is_list(value: object) -> TypeIs[list[object]]:
    """Whether `value` is a list."""
    return isinstance(value, list)


def is_dict(value: object) -> TypeIs[dict[str, Any]]:
    """Whether `value` is a dict; its keys are taken for strings."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeIs[NDArray[Any]]:
    """Whether `value` is an array of NumPy."""
    return isinstance(value, np.ndarray)


def whole_number(name: str, value: object, at_least: int = 1) -> int:
    """Return `value` as an int that is at least `at_least`.

    Raises
    ------
    ParameterError
        If `value` is not a whole number, or smaller.

    Examples
    --------
    >>> whole_number("steps", 100)
    100
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        meant = _meant(cast("object", value))
        raise ParameterError(f"{name}={value!r} is not a whole number{'' if meant is None else f': write {meant}'}")
    if int(value) < at_least:
        raise ParameterError(f"{name}={value!r} is less than {at_least}")
    return int(value)


def whole_amount(name: str, value: object, at_least: int = 1) -> int:
    """Return `value`, a number of steps or the like, as `whole_number` does; 1e4 is 10,000 here.

    Raises
    ------
    ParameterError
        If `value` is not a whole number, or smaller.

    Examples
    --------
    >>> whole_amount("steps", 1e4)
    10000
    """
    return whole_number(name, int(value) if isinstance(value, float) and value.is_integer() else value, at_least)


def worker_number(workers: object) -> int:
    """Return `workers` as an int of at least 1.

    Raises
    ------
    ParameterError
        If it is something else.

    Examples
    --------
    >>> worker_number(2)
    2
    """
    if workers is None or workers == -1:
        raise ParameterError(f"workers={workers} is not a number of cores: write workers=os.cpu_count() for all")
    return whole_number("workers", workers)


def _meant(value: object) -> int | None:
    """The whole number that was probably meant; None if there is no such."""
    try:
        number = float(value) if isinstance(value, str | float) else math.nan
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def finite_number(name: str, value: object) -> float:
    """Return `value` as a finite float.

    Raises
    ------
    ParameterError
        If `value` is not a number, NaN or infinite.
    """
    number = _as_float(value)
    if not math.isfinite(number):
        raise ParameterError(f"{name}={value!r} is not a finite number")
    return number


def fraction(name: str, value: object) -> float:
    """Return `value` as a float in [0, 1].

    Raises
    ------
    ParameterError
        If `value` is not a number, or lies outside.

    Examples
    --------
    >>> fraction("gamma", 0.9)
    0.9
    """
    number = finite_number(name, value)
    if not 0.0 <= number <= 1.0:
        raise ParameterError(f"{name}={number:g} is not in [0, 1]")
    return number


def positive_number(name: str, value: object, *, or_zero: bool = False) -> float:
    """Return `value` as a positive float, which may be infinite, and 0 if that is allowed.

    Raises
    ------
    ParameterError
        If `value` is not a number, NaN, or not above 0.

    Examples
    --------
    >>> positive_number("tol", 1e-6)
    1e-06
    """
    number = _as_float(value)
    if not (number > 0.0 or (or_zero and number == 0.0)):
        raise ParameterError(f"{name}={value!r} is not a positive number{' or 0' if or_zero else ''}")
    return number


def one_of(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of a few words.

    Raises
    ------
    ParameterError
        If it is not; the message names the nearest of them, and all.

    Examples
    --------
    >>> one_of("loop", "auto", ("auto", "compiled"))
    'auto'
    """
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise ParameterError(unknown(name, value, known))
    return value


def row_of_id(observation: object, first: int, n: int) -> int:
    """Return the row of a table that an id of ``Discrete(n, start=first)`` stands for.

    An integer of Python or NumPy is one, and so is an integer array of one element.

    Raises
    ------
    ParameterError
        If `observation` is something else, or out of range.

    Examples
    --------
    >>> row_of_id(4, 1, 16), row_of_id(np.array([4]), 1, 16)
    (3, 3)
    """
    found: object = observation
    if is_array(found) and found.size == 1:
        found = found.reshape(-1)[0]
    if isinstance(found, bool | np.bool_) or not isinstance(found, Integral):
        raise ParameterError(f"observation {observation!r} is not an integer in {first}..{first + n - 1}")
    row = int(found) - first
    if not 0 <= row < n:
        raise ParameterError(f"observation {observation!r} is not in {first}..{first + n - 1}")
    return row


def legal_actions(name: str, mask: object, n_actions: int, n: int | None = None) -> NDArray[np.bool_]:
    """Return a mask of the legal actions as bool (n_actions,), or of those at `n` observations, (n, n_actions).

    Raises
    ------
    ParameterError
        If it is not an array of 0 and 1, one for each action.

    Examples
    --------
    >>> legal_actions("action_mask", [1, 0, 1], 3)
    array([ True, False,  True])
    >>> legal_actions("action_mask", [[1, 0, 1]], 3, n=1)
    array([[ True, False,  True]])
    """
    try:
        found = np.asarray(mask)
    except ValueError:  # lists of different lengths
        found = np.asarray(None)
    if found.dtype.kind not in "biuf" or not ((found == 0) | (found == 1)).all():
        raise ParameterError(f"{name}={mask!r} is not an array of 0 and 1 (1: the action is legal)")
    shape, where = ((n_actions,), "") if n is None else ((n, n_actions), f" at {n} observations")
    if found.shape != shape:
        raise ParameterError(f"{name} has shape {found.shape}; for {n_actions} actions{where} it must have {shape}")
    return found.astype(np.bool_)


def written(count: int) -> str:
    """Write a count with commas, and one too large to mean anything as a power of ten.

    >>> written(1_048_576), written(8**100_800)
    ('1,048,576', '10^91031')
    """
    return f"{count:,}" if count < 10**15 else f"10^{round(math.log10(count))}"


def seed_list(seeds: int | Sequence[int]) -> list[int]:
    """Turn a number of seeds into the seeds 0, 1, ...; check a list, or an array, of them.

    >>> seed_list(3)
    [0, 1, 2]
    """
    seeds = seeds.tolist() if isinstance(seeds, np.ndarray) else seeds
    if isinstance(seeds, str) or not isinstance(seeds, Sequence):
        return list(range(whole_amount("seeds", seeds)))
    chosen = [whole_number(f"seeds[{index}]", seed, at_least=0) for index, seed in enumerate(seeds)]
    if not chosen:
        raise ParameterError("seeds=[] must be a number of seeds, at least 1, or a list of seeds")
    if len(set(chosen)) != len(chosen):
        raise ParameterError(f"seeds={seeds!r} has one seed twice: runs with the same seed are not replicates")
    return chosen


def fits_in_memory(what: str, n_bytes: int) -> None:
    """Raise unless `n_bytes` are no more than this machine has: a system may grant them, and then kill the process.

    Raises
    ------
    ParameterError
        If `what` needs more.

    Examples
    --------
    >>> fits_in_memory("a table of 10 numbers", 80)
    """
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > there:
        raise ParameterError(f"{what} needs {written(n_bytes // 10**9)} GB, and this machine has {there / 1e9:,.0f} GB")


def _as_float(value: object) -> float:
    """A number as a float; NaN for what is not a number, or is too large to be a float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def generator(seed: Seed) -> np.random.Generator:
    """Return the generator of a seed.

    Raises
    ------
    ParameterError
        If it is None or no seed: nothing here draws from a global generator.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if not isinstance(seed, np.random.SeedSequence):
        seed = whole_number("seed", seed, at_least=0)
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as cause:
        raise ParameterError(f"seed={seed!r} is not a seed: {cause}") from cause


def finite_reward(paid: Any, name: str, step: int | None = None) -> float:
    """Return the reward that an environment has paid as a float; its name and the step are for the error.

    An array is a number only if it has no dimensions: NumPy makes no float of any other.

    Raises
    ------
    LearningError
        If it is not a finite number.

    Examples
    --------
    >>> finite_reward(np.array(1.0), "Walk-v0", 3)
    1.0
    >>> finite_reward(np.array([1.0]), "Walk-v0", 3)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    rlsuite.errors.LearningError: Walk-v0, step 3: the environment returned the reward array([1.]); rewards must be
    finite numbers, and this is an array of shape (1,): return reward.item()
    """
    hint = ""
    if type(paid) is not float and np.ndim(paid):
        remedy = "return reward.item()" if np.size(paid) == 1 else "return one number"
        hint = f", and this is an array of shape {np.shape(paid)}: {remedy}"
    else:
        try:
            if math.isfinite(paid):
                return float(paid)
        except (TypeError, OverflowError):  # text or None; an integer too large for a float
            pass
    raise LearningError(
        f"{name}{'' if step is None else f', step {step}'}: the environment returned the reward {paid!r}; rewards must "
        f"be finite numbers{hint}"
    )
