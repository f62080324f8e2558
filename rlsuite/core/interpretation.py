"""Compiled functions run as the Python functions that they are, where that gives the same bytes.

To import numba and to load machine code takes longer than a thousand steps of Python. So a short run is interpreted
(`rlsuite.core.compilation.interpreted`).

Machine code and Python agree to the last bit in float64, int64 and bool: sums, products, quotients, square roots,
comparisons, and the functions of the C library. They do not agree where numba multiplies and Python calls ``pow``
(``x**2``; `rlsuite.core.arithmetic.power` is the same in both), and in narrower types. `interpretable` finds out which
functions use only what surely agrees.

A kernel that goes through its arrays once is `one_pass`: called with small arrays, it is interpreted as long as numba
has not been imported for something else.
"""

import builtins
import dis
import math
import sys
import threading
import time
import types as python_types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar, cast, overload

import numpy as np

from rlsuite.core.checks import is_array, is_tuple
from rlsuite.core.compilation import Arguments, Compiled, Intrinsic, Result, no_machine_code, run_in_python
from rlsuite.core.fingerprints import values_used_by

Value = TypeVar("Value")

BUILTINS = frozenset({abs, bool, divmod, enumerate, float, int, isinstance, len, max, min, range, tuple, zip})
FUNCTIONS = frozenset(
    {
        *(math.exp, math.expm1, math.log, math.log1p, math.sqrt, math.sin, math.cos, math.tanh, math.hypot, math.pow),
        *(math.isfinite, math.isinf, math.isnan),
        *(np.isfinite, np.isnan, np.floor, np.ceil, np.sqrt, np.abs, np.int64, np.float64, np.bool_),
    }
)
"""Functions that do the same in machine code and in Python."""

METHODS = frozenset({"random", "standard_normal", "normal", "gamma", "reshape"})
"""Methods of arrays and generators that are the same."""

OPERATORS = frozenset({"**", "@", "<<", ">>", "~", "^"})
"""Operators that are not, or not on all numbers."""

INSTRUCTIONS = (
    *("BUILD_MAP", "BUILD_SET", "BUILD_LIST", "BUILD_STRING", "FORMAT_VALUE", "IMPORT_NAME", "MAKE_FUNCTION"),
    *("RAISE_VARARGS", "SETUP_FINALLY", "PUSH_EXC_INFO", "BEFORE_WITH", "STORE_GLOBAL", "STORE_ATTR"),
)
"""What numba does not know, or only in part: its own error message is to come at once, not late in a long run."""

DTYPES = tuple(map(np.dtype, (np.float64, np.int64, np.int32, np.bool_)))
"""What arrays may hold. Sums of int32 are wider in machine code; here they may overflow, which NumPy reports."""

SMALL = 20_000
"""Most numbers in the arrays of a call that is interpreted: some 20 ms."""

PATIENCE = 0.3
"""Seconds after which numba is imported all the same; that and loading machine code takes about as long."""

_same: dict["Compiled[..., Any]", bool] = {}
_one_at_a_time = threading.RLock()


def interpretable(value: object) -> bool:
    """Whether a value, and all compiled functions in it, do the same in Python as in machine code."""
    if isinstance(value, Compiled):
        with _one_at_a_time:
            if value not in _same:
                _same[value] = True  # it may call itself
                _same[value] = _does_the_same(cast("python_types.FunctionType", value.function))
            return _same[value]
    if is_tuple(value):
        return all(map(interpretable, value))
    if is_array(value) or isinstance(value, np.generic):
        return cast("Any", value).dtype in DTYPES
    return isinstance(value, bool | int | float | Intrinsic | np.random.Generator)


@overload
def one_pass(function: Callable[Arguments, Result]) -> "OnePass[Arguments, Result]": ...


@overload
def one_pass(
    function: None = None, *, small: int = ...
) -> "Callable[[Callable[Arguments, Result]], OnePass[Arguments, Result]]": ...


def one_pass(function: Callable[..., object] | None = None, *, small: int = SMALL) -> Any:
    """Mark a function as `compiled` in place, and small calls of it for Python; a decorator.

    Parameters
    ----------
    function : callable
        A kernel that takes arrays, numbers and tuples of these, goes through the arrays once, and makes no new ones. It
        does the same in Python: this is not checked here, as unsigned indices may be used with care, but by a test of
        each such kernel.
    small : int
        Most numbers in the arrays of a call that is interpreted.

    Examples
    --------
    >>> @one_pass
    ... def total(x):
    ...     found = 0.0
    ...     for i in range(x.size):
    ...         found += x[i]
    ...     return found
    >>> float(total(np.ones(3)))
    3.0
    """
    if function is None:
        return partial(OnePass, small=small)
    return OnePass(function, small)


class OnePass(Compiled[Arguments, Result]):
    """A compiled function whose time grows with the size of its arrays alone."""

    def __init__(self, function: Callable[Arguments, Result], small: int):
        super().__init__(function, in_place=True)
        self._small = small

    _spent = 0.0
    """Seconds of all that has been interpreted in this process."""

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run the compiled form; or the Python form, where that is over before numba would have been imported."""
        if (
            no_machine_code()
            or "numba" in sys.modules
            or OnePass._spent > PATIENCE
            or _size_of((args, *kwargs.values())) > self._small
        ):
            return super().__call__(*args, **kwargs)
        began = time.perf_counter()
        result = run_in_python(self, *args, **kwargs)
        OnePass._spent += time.perf_counter() - began
        return result


def _size_of(value: object) -> int:
    """How many numbers are in the arrays of a value."""
    if is_tuple(value):
        return sum(map(_size_of, value))
    return value.size if is_array(value) else 0


def _does_the_same(source: python_types.FunctionType) -> bool:
    names = set[str]()
    for code in _codes(source.__code__):
        for instruction in dis.get_instructions(code):
            if instruction.opname == "LOAD_GLOBAL":
                names.add(instruction.argval)
            if instruction.opname in INSTRUCTIONS:
                return False
            if instruction.opname == "BINARY_OP" and instruction.argrepr.rstrip("=") in OPERATORS:
                return False
            if _calls_a_method(instruction) and not _known_method(instruction.argval):
                return False
    builtin = {getattr(builtins, name) for name in names if name not in source.__globals__ and hasattr(builtins, name)}
    return builtin <= BUILTINS and all(map(_known_value, values_used_by(source)))


def _calls_a_method(instruction: dis.Instruction) -> bool:
    """Whether an attribute is looked up to be called; since Python 3.12, by the instruction that loads any other."""
    return instruction.opname == "LOAD_METHOD" or (instruction.opname == "LOAD_ATTR" and "NULL" in instruction.argrepr)


def _known_method(name: str) -> bool:
    """Whether a method is the same, or none: what is called is in a field, or a global name."""
    return name in METHODS or not (hasattr(np.ndarray, name) or hasattr(np.random.Generator, name))


def _known_value(value: object) -> bool:
    if isinstance(value, type) and value is not tuple and issubclass(value, tuple):
        return hasattr(cast("Any", value), "_fields")
    if isinstance(value, python_types.ModuleType):
        return value in (math, np)
    if isinstance(value, python_types.BuiltinFunctionType | np.ufunc | type):
        return value in FUNCTIONS or value in BUILTINS
    return interpretable(value)


def _codes(code: python_types.CodeType) -> Iterator[python_types.CodeType]:
    """The code of a function, and that of the functions written inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            yield from _codes(constant)
