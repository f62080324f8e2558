"""Questions about the class of an object whose answers type checkers understand: of its elements nothing is known."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Table: TypeAlias = Annotated[Mapping[str, Any], "plain data"]
"""A table of a TOML or JSON file; what its values are is checked where they are read."""


def is_table(value: object) -> TypeIs[Table]:
    """Whether `value` is a table; the keys of those of TOML and JSON are text."""
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeIs[Sequence[object]]:
    """Whether `value` is a sequence; its elements may be anything."""
    return isinstance(value, Sequence)


def is_mapping(value: object) -> TypeIs[Mapping[Hashable, object]]:
    """Whether `value` is a mapping; its values may be anything."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeIs[list[object] | tuple[object, ...]]:
    """Whether `value` is a list or a tuple; its elements may be anything."""
    return isinstance(value, list | tuple)
