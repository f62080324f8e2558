"""Compiled functions run as the Python functions that they are, where that gives the same bytes.

To import numba and to load machine code takes longer than a thousand steps of Python. So a short run is interpreted:
`interpreted` replaces compiled functions by their Python form, in a function, in what it calls, and in a NamedTuple.

Machine code and Python agree to the last bit in float64, int64 and bool: sums, products, quotients, square roots,
comparisons, and the functions of the C library. They do not agree where NumPy has vector instructions of its own
(``np.exp``), where Python has its own algorithm (``math.hypot``), where numba multiplies and Python calls ``pow``
(``x**2``), and in narrower types. `interpretable` finds out which functions use only what agrees.
"""

import builtins
import dis
import math
import threading
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numpy as np

from rlsuite.core.checks import is_array, is_tuple
from rlsuite.core.compilation import Compiled, Intrinsic
from rlsuite.core.fingerprints import names_used_by, values_used_by

Value = TypeVar("Value")

BUILTINS = frozenset({abs, bool, divmod, enumerate, float, int, isinstance, len, max, min, range, tuple, zip})
FUNCTIONS = frozenset(
    {
        *(math.exp, math.expm1, math.log, math.log1p, math.sqrt, math.sin, math.cos),
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

_forms: dict["Compiled[..., Any]", Callable[..., Any]] = {}
_same: dict["Compiled[..., Any]", bool] = {}
_one_at_a_time = threading.RLock()


def interpreted(value: Value) -> Value:
    """Return a compiled function, or a NamedTuple that holds some, with Python functions in their place."""
    if isinstance(value, Compiled):
        with _one_at_a_time:
            return cast("Value", _form_of(cast("Any", value)))
    if isinstance(value, Intrinsic):
        form: Any = value.function
        return form
    if is_tuple(value):
        parts: Any = [interpreted(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else cast("Value", tuple(parts))
    return value


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


def _form_of(function: "Compiled[..., Any]") -> Callable[..., Any]:
    """The Python form of a function: its code, with the Python forms of the functions that it calls."""
    if function not in _forms:
        source = cast("python_types.FunctionType", function.function)
        names: dict[str, Any] = {"__builtins__": builtins}
        cells = tuple(python_types.CellType() for _ in source.__closure__ or ())
        form = python_types.FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells)
        _forms[function] = form  # before it is complete: it may call itself
        for name, *attributes in names_used_by(source.__code__):
            if name in source.__globals__:
                names[name] = _with_forms(source.__globals__[name], attributes, names.get(name))
        for cell, original in zip(cells, source.__closure__ or (), strict=True):
            cell.cell_contents = interpreted(original.cell_contents)
    return _forms[function]


def _with_forms(value: object, attributes: list[str], known: object) -> object:
    """A global value as `interpreted` returns it; of a module, a namespace with the attributes that are used."""
    if value is math:
        return _math
    if value is np or not isinstance(value, python_types.ModuleType):
        return interpreted(value)
    namespace = known if isinstance(known, python_types.SimpleNamespace) else python_types.SimpleNamespace()
    if attributes:
        name, *others = attributes
        setattr(namespace, name, _with_forms(getattr(value, name), others, getattr(namespace, name, None)))
    return namespace


def _log(x: float) -> np.float64:
    return np.float64(math.log(x)) if x > 0.0 else np.log(np.float64(x))


def _numpy_result(function: Callable[[float], float]) -> Callable[[float], np.float64]:
    """Return a function whose result can be divided by, also if it is 0, as in machine code."""
    return lambda x: np.float64(function(x))


_numpy_math = {name: _numpy_result(getattr(math, name)) for name in ("exp", "expm1", "log1p", "sqrt")}
_math = python_types.SimpleNamespace(**{**vars(math), **_numpy_math, "log": _log})


def _does_the_same(source: python_types.FunctionType) -> bool:
    for code in _codes(source.__code__):
        for instruction in dis.get_instructions(code):
            if instruction.opname in INSTRUCTIONS:
                return False
            if instruction.opname == "BINARY_OP" and instruction.argrepr.rstrip("=") in OPERATORS:
                return False
            if _calls_a_method(instruction) and not _known_method(instruction.argval):
                return False
    names = {name for code in _codes(source.__code__) for name in code.co_names}
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
