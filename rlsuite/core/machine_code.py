"""What numba makes of compiled functions: their types, their machine code, and the files that keep it.

Numba is imported here, and only here: `rlsuite.core.compilation` imports this module when the first function is to be
compiled. To import numba takes longer than a short run.
"""

import functools
import hashlib
import sys
import types as python_types
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numba
import numba.core.caching
import numba.core.errors
import numba.core.event
import numba.core.imputils
import numba.core.registry
import numba.core.sigutils
import numba.extending
from numba.core import types

from rlsuite.core import compiling_clock

Numba: TypeAlias = Any
"""Objects of numba's inner modules, which have no type annotations."""

_extending: Numba = numba.extending
_imputils: Numba = numba.core.imputils
_caching: Numba = numba.core.caching
_numba_errors: Numba = numba.core.errors
_events: Numba = numba.core.event
_registry: Numba = numba.core.registry
_sigutils: Numba = numba.core.sigutils
_types: Numba = types

_known: dict[tuple[str, str], "MachineCode"] = {}

refused: type[Exception] = _numba_errors.NumbaError
"""What numba raises where it cannot compile."""


class MachineCode:
    """The compiled forms of one function, and its numba type.

    Parameters
    ----------
    function : function
        The function.
    fingerprint, module : str
        As `rlsuite.core.fingerprints.fingerprint_of` returns them.
    in_place : bool
        Whether it makes no new arrays.
    """

    def __init__(self, function: python_types.FunctionType, fingerprint: str, module: str, in_place: bool):
        self._function = function
        self._fingerprint = fingerprint
        self._module = module
        self._options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "forceinline": True,
            "_nrt": not in_place,
            "no_cfunc_wrapper": True,  # the address is not used
        }
        self.numba_type = CompiledType(function.__qualname__, fingerprint)
        _known[self.numba_type.key] = self

    @functools.cached_property
    def dispatcher(self) -> Numba:
        """The form that Python calls."""
        return self._jit()

    @functools.cached_property
    def inner(self) -> Numba:
        """The form that compiled functions call: without the wrapper for Python values, which is as long as a rule."""
        return self._jit("-inner", no_cpython_wrapper=True)

    def returned(self) -> list[str]:
        """The types that the form returns which compiled functions call, as far as it has been compiled."""
        return [str(signature.return_type) for signature in self.inner.nopython_signatures]

    def _jit(self, form: str = "", **options: Any) -> Numba:
        source = self._function
        named = python_types.FunctionType(
            source.__code__, source.__globals__, source.__name__, source.__defaults__, source.__closure__
        )
        # numba names its cache files after the qualified name
        named.__qualname__ = f"{source.__qualname__}-{self._fingerprint}{form}".replace("<locals>.", "")
        named.__module__ = self._module
        dispatcher: Numba = numba.njit(named, **self._options, **options)
        try:
            dispatcher._cache = _SignatureCache(named)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            # a function typed at a prompt: there is no source file, so there is no place for the cache
        return dispatcher


def intrinsic_type(definition: Callable[..., Any]) -> Numba:
    """Return the numba type of an intrinsic, given the function that writes its instructions."""
    written = _extending.intrinsic(definition)
    context = _registry.cpu_target.typing_context
    context.refresh()  # makes what was registered known
    return context.resolve_value_type(written)


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


@_extending.unbox(CompiledType)
def _unbox(numba_type: CompiledType, value: Numba, context: Numba) -> Numba:
    return _extending.NativeValue(context.context.get_dummy_value())


@_imputils.lower_constant(CompiledType)
def _constant(context: Numba, builder: Numba, numba_type: CompiledType, value: Numba) -> Numba:
    return context.get_dummy_value()


class _Events(numba.core.event.Listener):
    """Tells those who listen to a kind of event that it begins and ends."""

    def __init__(self, listeners: list[compiling_clock.Listener]):
        self._listeners = listeners

    def on_start(self, event: object) -> None:
        for listener in [*self._listeners]:
            listener.on_start()

    def on_end(self, event: object) -> None:
        for listener in [*self._listeners]:
            listener.on_end()


_events.register("numba:compile", _Events(compiling_clock.compiling))
# what numba does under this lock is compiling, and loading what was compiled before from its cache
_events.register("numba:compiler_lock", _Events(compiling_clock.getting_ready))

# registered above; named here because nothing else refers to them
_registered = (_unbox, _constant)
