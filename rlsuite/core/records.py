"""The state of a compiled loop as one record, whose fields have names: ``control[0].depth += 1``.

Compiled code changes arrays, not the numbers that it is given. An array of one record holds integers and floats side by
side, and Python reads and writes them under the same names.
"""

import functools
import operator
from collections.abc import Iterator
from typing import Any, Protocol, TypeVar, cast, get_type_hints

import numpy as np

Fields = TypeVar("Fields")
Fields_co = TypeVar("Fields_co", covariant=True)

_KINDS = {int: np.int64, float: np.float64}


class Record(Protocol[Fields_co]):
    """An array of one record, as type checkers see it."""

    def __getitem__(self, index: int, /) -> Fields_co: ...

    def __iter__(self) -> Iterator[Fields_co]: ...

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        ...


def record(fields: type[Fields]) -> Record[Fields]:
    """Return an array of one record with the annotated fields of a class, each ``int`` or ``float``, all 0.

    Examples
    --------
    >>> class Place:
    ...     depth: int
    ...     discount: float
    >>> place = record(Place)
    >>> place[0].depth += 1
    >>> place[0].depth, place[0].discount
    (np.int64(1), np.float64(0.0))
    """
    return cast("Record[Fields]", np.zeros(1, dtype=_dtype(fields)))


@functools.cache
def _dtype(fields: type) -> "np.dtype[Any]":
    """Return the dtype, whose scalars have properties: those of `np.record` take ten times as long."""
    kinds = get_type_hints(fields)
    row = type(fields.__name__, (np.void,), {name: _property(name) for name in kinds})
    return np.dtype((row, np.dtype([(name, _KINDS[kind]) for name, kind in kinds.items()], align=True)))


def _property(name: str) -> property:
    def write(row: np.void, value: float) -> None:
        row[name] = value

    return property(operator.itemgetter(name), write)
