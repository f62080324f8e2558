"""What a function consists of, as a hash: the key under which its machine code is kept.

Two functions with the same hash do the same, whatever file or module they come from; a function whose hash has not
changed does what it did. So the hash covers the code, defaults, and all that the code refers to: other compiled
functions with what they refer to in turn, numbers, strings, tuples and arrays, and the classes of NamedTuples.
"""

import builtins
import dis
import hashlib
import types as python_types
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

import numpy as np

from rlsuite import __version__
from rlsuite.core.checks import is_array, is_list, is_tuple
from rlsuite.errors import ParameterError
from rlsuite.synonyms import nearest


class Digest(Protocol):
    """A hash of `hashlib`."""

    def update(self, data: bytes, /) -> None:
        """Add some bytes."""
        ...


def fingerprint_of(function: Callable[..., object]) -> tuple[str, str]:
    """Hash of a function's code and of everything that it refers to, and the module that its machine code names.

    A file may be imported under several names, and its machine code serves all: what is cached names a module that is
    always there. Only where a function runs Python in its midst, or uses what cannot be compared by content, the name
    of its own module is part of the hash.
    """
    source = cast(python_types.FunctionType, function)
    # cache files of another version may contain types that have been renamed, and then cannot be opened
    digest = hashlib.sha256(__version__.encode())
    _add_code(digest, source.__code__)
    used = list(values_used_by(source))
    contents = [_content(value) for value in (*(source.__defaults__ or ()), *used)]
    digest.update(repr(contents).encode())
    by_name = None in contents or "objmode" in source.__code__.co_names
    if by_name:
        digest.update(source.__module__.encode())
    return digest.hexdigest()[:12], source.__module__ if by_name else __name__


@cache
def fingerprint_of_module(name: str) -> str:
    """Hash of a module's source, which is not imported for that."""
    specification = find_spec(name)
    if specification is None or specification.origin is None:
        raise ParameterError(f"there is no module {name}")
    return hashlib.sha256(__version__.encode() + Path(specification.origin).read_bytes()).hexdigest()[:12]


def values_used_by(source: python_types.FunctionType) -> Iterator[object]:
    """What a function refers to: names of its module, names around it, and attributes of modules among these."""
    cells = source.__closure__ or ()
    around = dict(zip(source.__code__.co_freevars, (cell.cell_contents for cell in cells), strict=True))
    for name, *attributes in names_used_by(source.__code__):
        if name == source.__name__:
            continue
        if name not in around and name not in source.__globals__:
            if hasattr(builtins, name):
                continue
            raise ParameterError(
                f"{_place_of(source)} uses {name}, which is not defined yet: "
                "define it above, because the content of all that a compiled function uses is part of its name in the "
                f"cache. {_alike(name, (*source.__globals__, *source.__code__.co_varnames))}".rstrip(". ")
            )
        value = around[name] if name in around else source.__globals__[name]
        for attribute in attributes:
            if not isinstance(value, python_types.ModuleType):
                break
            if not hasattr(value, attribute):
                raise ParameterError(
                    f"{_place_of(source)} uses {name}.{attribute}, but the module {value.__name__} has no {attribute}; "
                    f"{_alike(attribute, dir(value)) or 'look up its name'}"
                )
            value = getattr(value, attribute)
        yield value


def _place_of(source: python_types.FunctionType) -> str:
    code = source.__code__
    return f"{source.__qualname__}() (line {code.co_firstlineno} of {Path(code.co_filename).name})"


def _alike(name: str, names: Iterable[str]) -> str:
    """Ask whether another name was meant; empty if nothing is like it."""
    found = nearest(name, [one for one in names if not one.startswith("_")])
    return f"did you mean {found[0]}?" if found else ""


def reads(function: object, attribute: str) -> bool:
    """Whether a compiled function, or one that it calls, looks up an attribute of this name.

    >>> from rlsuite.agents.exploration import EpsilonGreedy, UpperConfidence
    >>> [reads(one().rule.select, "visits") for one in (EpsilonGreedy, UpperConfidence)]
    [False, True]
    """
    waiting, known = [function], set[int]()
    while waiting:
        source: object = getattr(waiting.pop(), "function", None)  # of a compiled function
        if not isinstance(source, python_types.FunctionType) or id(source) in known:
            continue
        if attribute in source.__code__.co_names:
            return True
        known.add(id(source))
        waiting += values_used_by(source)
    return False


def _content(value: object) -> str | None:
    """What identifies a value in every process, whatever its module is called; None if nothing does."""
    known: object = getattr(value, "fingerprint", None)  # of a compiled function
    if isinstance(known, str):
        return known
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return repr(cast("object", value))
    if isinstance(value, python_types.ModuleType):
        return "module"  # the attributes that are used come next
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
    if is_list(value) or is_tuple(value):
        parts = [_content(type(value)), *map(_content, value)]
        return None if None in parts else repr(parts)
    if is_array(value):
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return None if value.dtype.hasobject else f"{value.dtype.str} {value.shape} {content}"
    function: object = getattr(value, "py_func", value)
    if isinstance(function, python_types.FunctionType):
        digest = hashlib.sha256()
        _add_code(digest, function.__code__)
        return digest.hexdigest()
    name: object = getattr(value, "__qualname__", getattr(value, "__name__", None))
    return f"{getattr(value, '__module__', '')}.{name}" if callable(value) and isinstance(name, str) else None


def names_used_by(code: python_types.CodeType) -> Iterator[list[str]]:
    """Names that code looks up outside of itself, each with the attributes that it asks for at once."""
    chain: list[str] = []
    local = code.co_cellvars
    for instruction in dis.get_instructions(code):
        operation = instruction.opname
        if chain and operation in ("LOAD_ATTR", "LOAD_METHOD"):
            chain.append(instruction.argval)
            continue
        if chain:
            yield chain
        outside = operation == "LOAD_GLOBAL" or (operation == "LOAD_DEREF" and instruction.argval not in local)
        chain = [instruction.argval] if outside else []
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            yield from (inner for inner in names_used_by(constant) if inner[0] not in (*local, *code.co_varnames))


def _add_code(digest: Digest, code: python_types.CodeType) -> None:
    digest.update(code.co_code)
    digest.update(repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            _add_code(digest, constant)
        else:
            digest.update(repr(constant).encode())
