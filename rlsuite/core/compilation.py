"""Functions that are compiled once and can be handed to other compiled functions.

A learning loop takes an agent's rule as an *argument*. Numba offers two ways for that, and neither will do: a plain
dispatcher is typed by its address, so the loop would be compiled again in every process, and a
``numba.types.FunctionType`` is a pointer, which cannot be inlined - a rule of ten nanoseconds would spend fifty on
the calls (measured: five times slower than one hand-written loop, against 1.2 times with what follows).

So a function marked `compiled` has a type of its own, which consists of its *name and content*; its module
is not part of it, since a file may be imported under one name and run under another. A loop that takes it is compiled
for that type: it calls the function directly, inlines it, and is found again in numba's cache by the next process. The
content of the functions that it calls in turn is part of the key, because numba's own key stops at file borders and
would serve stale machine code after an edit.
"""

import builtins
import functools
import importlib
import math
import os
import sys
import threading
import traceback
import types as python_types
import warnings
from collections.abc import Callable, Generator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

import numpy as np

from rlsuite.core.checks import is_array, is_tuple
from rlsuite.core.compiling_clock import preparing
from rlsuite.core.fingerprints import fingerprint_of, fingerprint_of_module, names_used_by
from rlsuite.core.interrupts import uninterrupted
from rlsuite.core.modules import is_installed
from rlsuite.errors import CompilationError, ParameterError, SlowWarning, level_of_the_caller

if TYPE_CHECKING:
    from rlsuite.core.machine_code import MachineCode

Numba: TypeAlias = Any
"""Objects of numba, whose inner modules have no type annotations."""


def no_machine_code() -> str:
    """Why nothing can be compiled, as a phrase; empty if it can. Everything runs in Python then, slowly.

    Nothing is imported for the answer: a numba that cannot be imported is known once something was to be compiled.
    """
    return _broken[0] if _broken else _absent()


NOT_INSTALLED: Final = "numba is not installed (pip install numba)"

_broken: list[str] = []
"""Why numba, though it is installed, cannot be imported."""


@functools.cache
def _absent() -> str:
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "NUMBA_DISABLE_JIT is set"
    if is_installed("numba"):
        return ""
    return "in a browser numba does not exist" if sys.platform == "emscripten" else NOT_INSTALLED


def has_machine_code() -> bool:
    """Whether compiled functions run as machine code; numba is imported, which takes longer than a short run.

    Otherwise a `SlowWarning` says why, once in each process.
    """
    if not no_machine_code():
        try:
            with uninterrupted(), preparing():
                import_module("rlsuite.core.machine_code")
        except Exception as error:  # numba does not know this NumPy, or its compiler lacks a library
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            _broken.append(f"numba cannot be imported ({reason})")
    if no_machine_code():
        _say_that_it_is_slow()
    return not no_machine_code()


@functools.cache
def _say_that_it_is_slow() -> None:
    if "NUMBA_DISABLE_JIT" not in no_machine_code():  # who sets that knows
        message = f"{no_machine_code()}: everything runs in Python, with the same results, and far more slowly"
        warnings.warn(message, SlowWarning, stacklevel=level_of_the_caller())


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Value = TypeVar("Value")

_forms: dict["Compiled[..., Any]", Callable[..., Any]] = {}
_forms_lock = threading.RLock()
_known: dict[tuple[str, str], "Compiled[..., Any] | Intrinsic[..., Any]"] = {}


@overload
def compiled(function: Callable[Arguments, Result]) -> "Compiled[Arguments, Result]": ...


@overload
def compiled(
    function: None = None, *, in_place: bool = False
) -> "Callable[[Callable[Arguments, Result]], Compiled[Arguments, Result]]": ...


def compiled(function: Callable[..., object] | None = None, *, in_place: bool = False) -> Any:
    """Mark a function for compilation; the decorator of every learning rule.

    Nothing is compiled before the first call, and the result is cached beside the source file (or in the user's cache
    folder where that is read-only). The function must be written in the part of Python that numba compiles.

    Parameters
    ----------
    function : callable
        A module-level function.
        What it calls must be defined above it.
    in_place : bool
        Promise that the function makes no new arrays. Then it is compiled without reference counting, and the arrays of
        a NamedTuple cost nothing to touch: the rules of rlsuite run two to three times faster for it. Methods of
        arrays, such as ``.max()``, are not possible then; loops are. Breaking the promise is an error at compile time,
        never a wrong result.

    Raises
    ------
    CompilationError
        At the first call, if numba cannot compile the function, with the line and the reason.

    Examples
    --------
    >>> @compiled
    ... def cube(x):
    ...     return x**3
    >>> cube(3)
    27
    """
    if function is None:
        return functools.partial(compiled, in_place=in_place)
    if not isinstance(function, python_types.FunctionType):
        raise ParameterError(
            f"compiled marks a function, and {function!r} is not one: write @rlsuite.compiled, or "
            "@rlsuite.compiled(in_place=True), in the line above def"
        )
    return Compiled(function, in_place=in_place)


def intrinsic(
    definition: Callable[..., Any] | str,
) -> "Callable[[Callable[Arguments, Result]], Intrinsic[Arguments, Result]]":
    """Give a function a compiled form in LLVM's instructions; a decorator of its form in plain Python.

    Parameters
    ----------
    definition : callable or str
        What numba asks of an intrinsic: a function from the types of the arguments to the signature, and to what writes
        the instructions. As "module:function", the module is imported when something is compiled.

    Examples
    --------
    >>> @intrinsic(lambda context, x: (x(x), lambda context, builder, signature, arguments: arguments[0]))
    ... def same(x):
    ...     return x
    >>> @compiled
    ... def twice(x):
    ...     return 2 * same(x)
    >>> twice(3), same(3)
    (6, 3)
    """
    return lambda function: Intrinsic(function, definition)


class Compiled(Generic[Arguments, Result]):
    """A function with a compiled form, usable as an argument and as a global of other compiled functions."""

    def __init__(
        self,
        function: Callable[Arguments, Result],
        in_place: bool = False,
        fingerprint: tuple[str, str] | None = None,
    ):
        functools.update_wrapper(self, function)
        self.function = function
        self.fingerprint, self._module = fingerprint or fingerprint_of(function)
        self._in_place = in_place
        self._called = False
        _known[self._key] = self

    @property
    def _key(self) -> tuple[str, str]:
        return self.function.__qualname__, self.fingerprint

    @functools.cached_property
    def _machine_code(self) -> "MachineCode":
        from rlsuite.core.machine_code import MachineCode

        source = cast(python_types.FunctionType, self.function)
        return MachineCode(source, self.fingerprint, self._module, self._in_place)

    @functools.cached_property
    def dispatcher(self) -> Numba:
        """Numba's dispatcher of the form that Python calls."""
        return self._machine_code.dispatcher

    @functools.cached_property
    def _numba_type_(self) -> Numba:
        """The type that numba gives this function: the name of the attribute is numba's."""
        return self._machine_code.numba_type

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run the compiled form; or the Python form, where there is no machine code."""
        if not self._called and not has_machine_code():
            return self._in_python(*args, **kwargs)
        try:
            if not self._called:  # it is compiled, or loaded
                with uninterrupted():
                    result = self.dispatcher(*args, **kwargs)
                self._called = True
                return result
            return self.dispatcher(*args, **kwargs)
        except Exception as error:  # numba raises others, too, for what it does not know
            if _is_refusal(error):
                raise self._not_compiled(error) from None
            raise

    def for_types_of(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Callable[Arguments, Result]:
        """Return the machine code for arguments like these, which does not ask for types again.

        A call costs what it does; finding out what type a tuple of many arrays has costs a thousand times that of a
        learned step. Only for callers that always pass these types: other values would be read as if they had them.
        """
        assert not kwargs
        if not has_machine_code():
            return self._in_python
        signature = tuple(self.dispatcher.typeof_pyval(value) for value in args)
        try:
            with uninterrupted():
                self.dispatcher.compile(signature)
        except Exception as error:  # numba raises others, too, for what it does not know
            raise self._not_compiled(error) from None
        return cast("Callable[Arguments, Result]", self.dispatcher.overloads[signature].entry_point)

    def returned(self) -> list[str]:
        """The types, in numba's words, that it has returned where other compiled functions call it.

        Empty if nothing was compiled in this process for a call.
        """
        return self._machine_code.returned() if "_machine_code" in vars(self) else []

    def _not_compiled(self, error: Exception) -> CompilationError:
        """Say what numba refuses; its own hundred lines are the error's hidden context."""
        from rlsuite.core.refusals import in_words

        known = [one for one in _known.values() if isinstance(one, Compiled)]
        functions = [(cast("python_types.FunctionType", one.function), one._in_place) for one in known]
        return CompilationError(in_words(cast("python_types.FunctionType", self.function), error, functions))

    def _in_python(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run the Python form."""
        try:
            return run_in_python(self, *args, **kwargs)
        except ArithmeticError as error:  # machine code has other rules for numbers
            raise CompilationError(
                f"{self.function.__qualname__}() needs machine code, and {no_machine_code()} ({type(error).__name__}: "
                f"{error})"
            ) from error

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        """Copy and pickle by name: the code is not part of the data."""
        return _lookup, self._key

    def for_another_process(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Return what makes this function there: an import, or its code if it is a script's or was made in a function.

        As `object.__reduce__`; the code has to be pickled by cloudpickle.
        """
        found: object = sys.modules.get(self.function.__module__)
        for name in self.function.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self and self.function.__module__ != "__main__":
            return _imported, (self.function.__module__, *self._key)
        return _remade, (self.function, self.fingerprint, self._module, self._in_place)

    def __repr__(self) -> str:
        return f"<compiled {self.function.__module__}.{self.function.__qualname__}>"


class Intrinsic(Generic[Arguments, Result]):
    """A function whose compiled form is written in LLVM's instructions.

    Parameters
    ----------
    function : callable
        The form in plain Python.
    definition : callable or str
        As for `intrinsic`.
    """

    def __init__(self, function: Callable[Arguments, Result], definition: Callable[..., Any] | str):
        functools.update_wrapper(self, function)
        self.function = function
        self._definition = definition
        if isinstance(definition, str):
            self._name, self.fingerprint = definition, fingerprint_of_module(definition.partition(":")[0])
        else:
            self._name, self.fingerprint = definition.__qualname__, fingerprint_of(definition)[0]
        _known[self._name, self.fingerprint] = self

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run the form in plain Python."""
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        """Copy and pickle by name."""
        return _lookup, (self._name, self.fingerprint)

    @functools.cached_property
    def _numba_type_(self) -> Numba:
        from rlsuite.core.machine_code import intrinsic_type  # imports numba

        if not isinstance(self._definition, str):
            return intrinsic_type(self._definition)
        module, _, name = self._definition.partition(":")
        return intrinsic_type(getattr(import_module(module), name))


def _is_refusal(error: BaseException) -> bool:
    """Whether numba raised it while compiling; what a compiled function raises itself is none."""
    from rlsuite.core.machine_code import refused

    return isinstance(error, refused) or any(
        frame.f_globals.get("__name__", "").startswith("numba.core.compiler")
        for frame, _ in traceback.walk_tb(error.__traceback__)
    )


def interpreted(value: Value) -> Value:
    """Return a compiled function, or a NamedTuple that holds some, with Python functions in their place."""
    if isinstance(value, Compiled):
        with _forms_lock:
            return cast("Value", _form_of(cast("Any", value)))
    if isinstance(value, Intrinsic):
        form: Any = value.function
        return form
    if is_tuple(value):
        parts: Any = [interpreted(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else cast("Value", tuple(parts))
    return value


def run_in_python(function: Compiled[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Run the Python form of a function; numbers are returned as Python's own."""
    form: Any = interpreted(function)
    with np.errstate(all="ignore"):
        result = form(*interpreted(args), **{name: interpreted(value) for name, value in kwargs.items()})
    return cast("Result", _yielded(cast("Any", result)) if isinstance(result, Generator) else _of_python(result))


def _yielded(session: Generator[Any]) -> Generator[Any]:
    """Yield what a Python form yields, as machine code does."""
    while True:
        with np.errstate(all="ignore"):
            value = next(session, _yielded)
        if value is _yielded:
            return
        yield _of_python(value)


def _of_python(result: Any) -> Any:
    """Make numbers Python's own, as machine code returns them."""
    if is_tuple(result):
        return tuple(map(_of_python, result))
    return cast("Any", result).item() if isinstance(result, np.generic) else result


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
    if isinstance(value, np.ufunc):
        return _ufuncs.get(value, value)
    if not isinstance(value, python_types.ModuleType):
        return interpreted(value)
    namespace = known if isinstance(known, python_types.SimpleNamespace) else python_types.SimpleNamespace()
    if attributes:
        name, *others = attributes
        setattr(namespace, name, _with_forms(getattr(value, name), others, getattr(namespace, name, None)))
    return namespace


def _as_c_does(name: str) -> Callable[[float], np.float64]:
    """Return a function of `math` that raises nothing, and whose result can be divided by, also if it is 0."""
    function, special = getattr(math, name), getattr(np, name)

    def computed(x: float) -> np.float64:
        try:
            return np.float64(function(x))
        except (ValueError, OverflowError):  # infinite, or not a number
            return special(np.float64(x))

    return computed


def _elementwise(function: Callable[[float], np.float64]) -> Callable[[Any], Any]:
    return lambda x: np.array([function(one) for one in x.flat]).reshape(x.shape) if is_array(x) else function(x)


_one_argument = {name: _as_c_does(name) for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh")}
_two_arguments: dict[str, Callable[[float, float], Any]] = {
    "pow": lambda x, y: np.float64(x) ** np.float64(y),
    "hypot": np.hypot,
}
_math = python_types.SimpleNamespace(**{**vars(math), **_one_argument, **_two_arguments})
_ufuncs = {getattr(np, name): _elementwise(function) for name, function in _one_argument.items() if name != "sqrt"}
"""NumPy has vector instructions of its own for these, and machine code calls the C library."""


def _imported(module: str, name: str, fingerprint: str) -> object:
    importlib.import_module(module)
    return _lookup(name, fingerprint)


def _remade(function: Callable[..., object], fingerprint: str, module: str, in_place: bool) -> object:
    """The compiled function of another process; its fingerprint was taken there, where its source is known."""
    key = function.__qualname__, fingerprint
    return _known[key] if key in _known else Compiled(function, in_place, (fingerprint, module))


def _lookup(name: str, fingerprint: str) -> "Compiled[..., object] | Intrinsic[..., object]":
    return _known[name, fingerprint]
