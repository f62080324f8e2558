"""Nested values of plain kinds as JSON and arrays, for a file without pickles.

Plain are None, truth values, numbers, text, NumPy's arrays and numbers, and lists, tuples and dicts of these. JSON
holds None, truth values, numbers and text as they are; all else is an object with one entry, which says what it is.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import is_array, is_dict, is_list, is_tuple

KINDS = "biufcUS"
"""Kinds of arrays: truth values, numbers, text and bytes."""


def pack(value: object, arrays: dict[str, NDArray[Any]], prefix: str) -> object:
    """Return what JSON can hold of a value; its arrays are added to `arrays`, under names that begin with `prefix`.

    Raises
    ------
    TypeError
        If a part of the value is not plain; the message names it.

    Examples
    --------
    >>> arrays = {}
    >>> pack({"cards": [1, 10], "seen": np.zeros(2)}, arrays, "state.")
    {'dict': [['cards', {'list': [1, 10]}], ['seen', {'array': 'state.0'}]]}
    >>> list(arrays)
    ['state.0']
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if is_list(value) and type(value) is list:
        return {"list": [pack(one, arrays, prefix) for one in value]}
    if is_tuple(value) and type(value) is tuple:
        return {"tuple": [pack(one, arrays, prefix) for one in value]}
    if is_dict(value) and type(value) is dict:
        return {"dict": [[pack(key, arrays, prefix), pack(one, arrays, prefix)] for key, one in value.items()]}
    whole = is_array(value)
    if whole or isinstance(value, np.generic):
        array: NDArray[Any] = np.asarray(cast("Any", value))
        if array.dtype.kind in KINDS:
            name = f"{prefix}{sum(one.startswith(prefix) for one in arrays)}"
            arrays[name] = array
            return {"array" if whole else "number": name}
    kind = type(cast("object", value)).__name__
    raise TypeError(
        f"{value!r} is a {kind}, and only numbers, text, None, arrays, and lists, tuples and dicts of these are kept"
    )


def unpack(packed: object, take: Callable[[str], NDArray[Any]]) -> Any:
    """Return the value that `pack` has packed; `take` returns an array by its name.

    Raises
    ------
    KeyError, TypeError, ValueError
        If `pack` cannot have packed it.

    Examples
    --------
    >>> unpack({"tuple": [1, {"list": []}]}, {}.__getitem__)
    (1, [])
    """
    if packed is None or type(packed) in (bool, int, float, str):
        return packed
    if not is_dict(packed) or len(packed) != 1:
        raise ValueError("a value is neither plain, nor an object with one entry")
    ((kind, content),) = packed.items()
    if kind in ("array", "number") and isinstance(content, str):
        array = take(content)
        if array.dtype.kind not in KINDS or (kind == "number" and array.shape != ()):
            raise ValueError(f"{content} is {array.dtype} {array.shape}, not a plain {kind}")
        if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
            raise ValueError(f"{content} holds bytes that are neither true nor false")
        return array if kind == "array" else array[()]
    if not is_list(content):
        raise ValueError(f"an entry {kind!r} is not a list")
    if kind == "list":
        return [unpack(one, take) for one in content]
    if kind == "tuple":
        return tuple(unpack(one, take) for one in content)
    if kind == "dict":
        entries = [one for one in content if is_list(one) and len(one) == 2]
        if len(entries) == len(content):
            return {unpack(key, take): unpack(one, take) for key, one in entries}
    raise ValueError(f"a value of the kind {kind!r} is damaged, or the kind is unknown")
