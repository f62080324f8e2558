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

import functools
import hashlib
import linecache
import re
import sys
import types as python_types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, cast, overload

import numba
import numba.core.caching
import numba.core.errors
import numba.core.imputils
import numba.core.sigutils
import numba.extending
from numba.core import types

from rlsuite.core.fingerprints import fingerprint_of
from rlsuite.errors import CompilationError

Numba: TypeAlias = Any
"""Objects of numba's inner modules, which have no type annotations."""

_extending: Numba = numba.extending
_imputils: Numba = numba.core.imputils
_caching: Numba = numba.core.caching
_numba_errors: Numba = numba.core.errors
_sigutils: Numba = numba.core.sigutils
_types: Numba = types

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_known: dict[tuple[str, str], "Compiled[..., Any]"] = {}


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
        return functools.partial(Compiled, in_place=in_place)
    return Compiled(function, in_place=in_place)


class Compiled(Generic[Arguments, Result]):
    """A function with a compiled form, usable as an argument and as a global of other compiled functions."""

    def __init__(self, function: Callable[Arguments, Result], in_place: bool = False):
        functools.update_wrapper(self, function)
        self.function = function
        self.fingerprint, self._module = fingerprint_of(function)
        self.numba_type = CompiledType(function.__qualname__, self.fingerprint)
        self._options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "forceinline": True,
            "_nrt": not in_place,
            "no_cfunc_wrapper": True,  # the address is not used
        }
        self.dispatcher = self._jit()
        _known[self.numba_type.key] = self

    @functools.cached_property
    def inner(self) -> Numba:
        """The form that compiled functions call: without the wrapper for Python values, which is as long as a rule."""
        return self._jit("-inner", no_cpython_wrapper=True)

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run the compiled form."""
        try:
            return self.dispatcher(*args, **kwargs)
        except _numba_errors.NumbaError as error:
            raise CompilationError(_what_is_wrong(self, str(error))) from error

    def for_types_of(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Callable[Arguments, Result]:
        """Return the machine code for arguments like these, which does not ask for types again.

        A call costs what it does; finding out what type a tuple of many arrays has costs a thousand times that of a
        learned step. Only for callers that always pass these types: other values would be read as if they had them.
        """
        assert not kwargs
        signature = tuple(self.dispatcher.typeof_pyval(value) for value in args)
        try:
            self.dispatcher.compile(signature)
        except _numba_errors.NumbaError as error:
            raise CompilationError(_what_is_wrong(self, str(error))) from error
        return cast("Callable[Arguments, Result]", self.dispatcher.overloads[signature].entry_point)

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        """Copy and pickle by name: the code is not part of the data."""
        return _lookup, self.numba_type.key

    def __repr__(self) -> str:
        return f"<compiled {self.function.__module__}.{self.function.__qualname__}>"

    def _jit(self, form: str = "", **options: Any) -> Numba:
        source = cast(python_types.FunctionType, self.function)
        named = python_types.FunctionType(
            source.__code__, source.__globals__, source.__name__, source.__defaults__, source.__closure__
        )
        # numba names its cache files after the qualified name
        named.__qualname__ = f"{source.__qualname__}-{self.fingerprint}{form}".replace("<locals>.", "")
        named.__module__ = self._module
        dispatcher: Numba = numba.njit(named, **self._options, **options)
        try:
            dispatcher._cache = _SignatureCache(named)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            # a function typed at a prompt: there is no source file, so there is no place for the cache
        return dispatcher


def _what_is_wrong(function: Compiled[..., Any], message: str) -> str:
    """Say in one sentence what numba says in a hundred lines: the line, the reason, and what to do."""
    places = re.findall(r'File "([^"]+)", line (\d+)', message)
    ours = [place for place in places if not {"numba", "rlsuite"} & set(Path(place[0]).parts[:-1])]
    what = f"{function.function.__qualname__}()"
    if places:
        file, line = (ours or places)[0]
        what = f"line {line} of {Path(file).name}"
        if code := linecache.getline(file, int(line)).strip():
            what += f", `{code}`,"
    lines = [line.strip(" -\t") for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines()]
    said = [line for line in lines if line and not line.startswith(("Failed in", "File ", "During", "Resolution"))]
    reason = said[0] if said else "numba gives no reason"
    if unknown := re.match(r"No implementation of function Function\(<[a-z-]+ (?:function )?'?([\w.]+)", reason):
        reason = f"numba has no {unknown[1]} for these types"
    return (
        f"{what} cannot be compiled: {reason}. A compiled function is written in the part of Python and NumPy that "
        "numba knows; one that is marked in_place=True makes no new arrays, and uses no methods of arrays such as "
        ".max(): write the loop, or leave in_place out"
    )


_FunctionCache: Numba = _caching.FunctionCache


class _SignatureCache(_FunctionCache):
    """Numba's cache of one function, with an index of its own for each signature.

    Numba keeps one index for all signatures of a function. Then looking up one of them opens all, and needs the modules
    of every NamedTuple that any program has ever passed; and of two processes that write at once, one may put its
    machine code under the other's name.
    """

    def load_overload(self, signature: Numba, target_context: Numba) -> Numba:
        """Look the compiled form up; None if there is none."""
        if not self._turn_to(signature):
            return None
        return _FunctionCache.load_overload(self, signature, target_context)

    def save_overload(self, signature: Numba, data: Numba) -> None:
        """Keep the compiled form, unless no other process could ever use it."""
        if self._turn_to(signature):
            _FunctionCache.save_overload(self, signature, data)

    def _turn_to(self, signature: Numba) -> bool:
        """Select the index of a signature; return whether there can be one."""
        arguments, _ = _sigutils.normalize_signature(signature)
        classes = [named for argument in arguments for named in _named_tuples(argument)]
        if not all(map(_can_be_found, classes)):
            return False
        # the name of a type says nothing about the module of its class, nor about the order of the fields; files
        # that were cached when `CompiledType` was in another module could not be opened
        layout = [(named.__module__, named.__qualname__, named._fields) for named in classes]
        digest = hashlib.sha256(repr((arguments, layout, CompiledType.__module__)).encode()).hexdigest()[:12]
        self._cache_file = _caching.IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{digest}",
            source_stamp=self._impl.locator.get_source_stamp(),
        )
        return True


def _named_tuples(numba_type: Numba) -> Iterator[Numba]:
    """The NamedTuple classes that a type is made of."""
    if hasattr(numba_type, "instance_class"):
        yield numba_type.instance_class
    for inner in getattr(numba_type, "types", ()):
        yield from _named_tuples(inner)


def _can_be_found(named: Numba) -> bool:
    """Whether a class can be found by its name in other processes too: not one of a script, a prompt or a function."""
    if named.__module__ == "__main__":
        return False
    return getattr(sys.modules.get(named.__module__), named.__qualname__, None) is named


def _lookup(name: str, fingerprint: str) -> "Compiled[..., object]":
    return _known[name, fingerprint]


class CompiledType(types.Callable, types.Dummy):
    """The numba type of one `Compiled` function: no data, only an identity that is the same in every process."""

    def __init__(self, name: str, fingerprint: str):
        self.reference = (name, fingerprint)
        super().__init__(f"compiled({name}-{fingerprint})")

    @property
    def key(self) -> tuple[str, str]:
        """Qualified name and fingerprint."""
        return self.reference

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        return CompiledType, self.reference

    def get_call_type(self, context: Numba, args: Numba, kws: Numba) -> Numba:
        """Resolve a call: numba's protocol for callable types."""
        # a literal 0 would be a type of its own, and the function compiled once more for it
        args = tuple(_types.unliteral(each) for each in args)
        kws = {name: _types.unliteral(each) for name, each in kws.items()}
        template, python_signature, args, kws = _known[self.reference].inner.get_call_template(args, kws)
        signature = template(context).apply(args, kws)
        return signature.replace(pysig=python_signature) if signature else None

    def get_call_signatures(self) -> tuple[list[Numba], bool]:
        """Signatures compiled so far: numba's protocol for callable types."""
        return _known[self.reference].inner.nopython_signatures, True

    def get_impl_key(self, sig: Numba) -> Numba:
        """Entry of the compiled form for a signature: numba's protocol for callable types."""
        return _known[self.reference].inner.get_overload(sig.args)


_extending.register_model(CompiledType)(_extending.models.OpaqueModel)


@_extending.typeof_impl.register(Compiled)
def _typeof(value: Compiled[..., object], context: Numba) -> CompiledType:
    return value.numba_type


@_extending.unbox(CompiledType)
def _unbox(numba_type: CompiledType, value: Numba, context: Numba) -> Numba:
    return _extending.NativeValue(context.context.get_dummy_value())


@_imputils.lower_constant(CompiledType)
def _constant(context: Numba, builder: Numba, numba_type: CompiledType, value: Numba) -> Numba:
    return context.get_dummy_value()


# registered above; named here because nothing else refers to them
_registered = (_typeof, _unbox, _constant)
