"""What an array in a file may hold: declared beside its name in the code, and checked before the array is used.

Compiled code does not look whether an index lies inside its table. So an array of whole numbers must say what its
numbers may be; one that says nothing is refused. Numbers with a fraction must be finite unless they say otherwise.

In a NamedTuple that an agent keeps as its memory, the declaration is a part of the type::

    class Model(NamedTuple):
        last_next: Annotated[NDArray[np.int64], Array(at_least=-1, below="n_states")]
        tried: Annotated[NDArray[np.int64], Array(at_least=0)]
        reward: NDArray[np.float64]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

LARGEST_COUNT = 2**53
"""What no counter of steps ever reaches."""


@dataclass(frozen=True, kw_only=True)
class Array:
    """What the numbers of an array may be.

    Parameters
    ----------
    at_least : int or float, optional
        The least number.
    below, at_most : int, float or str, optional
        What all numbers are less than, or not above: a number, or one of the sizes below. Whole numbers without either
        may be up to 2**53.
    finite : bool
        Whether infinity is refused; NaN always is.
    shape : tuple of int and str, optional
        Its shape; names that are not sizes yet become sizes. Not needed in the memory of an agent, whose `init_memory`
        says what shapes there are.

    Notes
    -----
    Sizes of an agent's memory: ``n_states``, ``n_actions`` and ``n_pairs``, their product; with features
    ``n_features``; in its scratch the name of any array beside it, too, for the length of its last dimension. Of a
    feature map: ``d``, numbers of an observation; ``n``, features; ``m``, how many of them are listed at once.
    """

    at_least: float | None = None
    below: float | str | None = None
    at_most: float | str | None = None
    finite: bool = True
    shape: tuple[int | str, ...] | None = None


Count: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=0)]
"""An array that counts."""

State: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=0, below="n_states")]
StateOrNone: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=-1, below="n_states")]
StateOrEnd: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=0, at_most="n_states")]
Action: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=0, below="n_actions")]
ActionOrNone: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=-1, below="n_actions")]
Feature: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=0, below="n_features")]
Pair: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=0, below="n_pairs")]
PairOrNone: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=-1, below="n_pairs")]
CountOfPairs: TypeAlias = Annotated[NDArray[np.int64], Array(at_least=0, at_most="n_pairs")]
"""Arrays of numbers of states, actions, features and pairs; -1 stands for none, and the number of states for an end."""


def declarations(memory: object) -> dict[str, Array]:
    """What the class of a NamedTuple declares about its fields, by name."""
    try:
        hints = get_type_hints(memory.__class__, include_extras=True)
    except NameError:  # types that were imported for type checkers only
        return {}
    found = {
        name: [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Array)]
        for name, hint in hints.items()
    }
    return {name: declared[0] for name, declared in found.items() if declared}


def check_array(name: str, array: NDArray[Any], declared: Array | None, sizes: dict[str, int]) -> None:
    """Raise unless an array is what its declaration says; sizes that its shape names first are added to `sizes`.

    Raises
    ------
    ValueError
        If it is not, or is an array of whole numbers without a declaration.
    """
    if declared is not None and declared.shape is not None:
        _check_shape(name, array.shape, declared.shape, sizes)
    if array.dtype.kind == "b":
        if array.size and array.view(np.uint8).max() > 1:
            raise ValueError(f"{name} holds bytes that are neither true nor false")
        return
    if array.dtype.kind == "f":
        if np.isnan(array).any() or ((declared is None or declared.finite) and not np.isfinite(array).all()):
            raise ValueError(f"{name} is not finite")
    elif array.dtype.kind not in "iu":
        raise ValueError(f"{name} is {array.dtype}: not an array of numbers or truth values")
    elif declared is None or declared.at_least is None:
        raise ValueError(f"{name} is an array of whole numbers without a range: {how_to_declare(name, array.dtype)}")
    if declared is not None and array.size:
        _check_range(name, array, declared, sizes)


def how_to_declare(name: str, dtype: np.dtype[Any]) -> str:
    """What to write where the range of the whole numbers in an array is missing."""
    return (
        f"in the NamedTuple that has this field, write {name.rpartition('.')[2]}: "
        f"Annotated[NDArray[np.{dtype}], rl.Array(at_least=0)], with below= or at_most= if they are indices"
    )


def _check_shape(name: str, shape: tuple[int, ...], wanted: tuple[int | str, ...], sizes: dict[str, int]) -> None:
    if len(shape) == len(wanted):
        for length, size in zip(shape, wanted, strict=True):
            if isinstance(size, str):
                sizes.setdefault(size, length)
        if shape == tuple(_number(size, sizes) for size in wanted):
            return
    raise ValueError(f"{name} has shape {shape}, not {tuple(sizes.get(str(size), size) for size in wanted)}")


def _check_range(name: str, array: NDArray[Any], declared: Array, sizes: Mapping[str, int]) -> None:
    least, largest = array.min(), array.max()
    whole = array.dtype.kind in "iu"
    if declared.at_least is not None and least < declared.at_least:
        raise ValueError(f"{name} holds {least}, less than {declared.at_least}")
    if declared.below is not None and not largest < _number(declared.below, sizes):
        raise ValueError(f"{name} holds {largest}, not below {_number(declared.below, sizes)}")
    at_most = LARGEST_COUNT if whole and declared.at_most is None else declared.at_most
    if at_most is not None and largest > _number(at_most, sizes):
        raise ValueError(f"{name} holds {largest}, more than {_number(at_most, sizes)}")


def _number(size: float | str, sizes: Mapping[str, int]) -> float:
    return sizes[size] if isinstance(size, str) else size
