"""What the methods of an environment use besides its attributes: globals, class attributes, closures, generators.

A table is right only if a step depends on nothing outside the environment, and changes nothing there. What a method
refers to is read from its code, and compared afterwards. This is an early no: it does not see all, and a run on the
table verifies it (`rlsuite.training.verification`). What a step does to files, processes or the terminal is noticed
where the environment is asked (`rlsuite.environments.child_process`).
"""

import functools
import inspect
import io
import pickle
import random
import sys
import types
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import gymnasium
import numpy as np

from rlsuite.core.aliases import BareEnv

_TRUSTED_PACKAGES = {"rlsuite", "gymnasium", "numpy", "numba", "scipy", *sys.stdlib_module_names}
_ATOMS = (bool, int, float, complex, str, bytes, type(None), range)


class Surroundings:
    """The globals, class attributes and closures that an environment's `step` and `reset` refer to.

    Parameters
    ----------
    base : gymnasium.Env
        The unwrapped environment.

    Attributes
    ----------
    unknown : str
        What cannot be compared with itself later; empty if nothing was found.
    """

    def __init__(self, base: BareEnv):
        self._data: dict[tuple[str, int], tuple[Any, str]] = {}  # where each value is kept, and its name there
        self._seen: dict[int, tuple[types.FunctionType, types.CodeType]] = {}
        self._kinds: list[type] = []
        for kind in type(base).__mro__:
            if _of_others(kind):
                self._add_class(kind)
        for value in _parts_of(base):
            if isinstance(value, type):
                self._add_class(value)
            elif isinstance(value, _FOLLOWED) or hasattr(value, "__wrapped__"):
                self._follow(value)
            else:
                self._add_part(value)
        for name in ("step", "reset"):
            self._follow(getattr(cast("Any", type(base)), name, None))
        self._before = self._contents()
        self.unknown = next((name for (name, _), content in self._before.items() if content is _UNKNOWN), "")

    def changed(self) -> str:
        """What has changed since the start, in words; empty if nothing has."""
        now = self._contents()
        for key, content in self._before.items():
            if now[key] != content:
                return key[0]
        return ""

    def same(self, later: "Surroundings") -> bool:
        """Whether the methods are the same at a later time, and what they refer to."""
        return self._seen == later._seen and self._before == later._before

    def _contents(self) -> dict[tuple[str, int], object]:
        contents: dict[tuple[str, int], object] = {
            ("the global generator of numpy.random", 0): _bytes_of(np.random.get_state()),  # noqa: NPY002 - it may draw
            ("the global generator of random", 0): random.getstate(),
        }
        contents.update((key, _bytes_of(_value_in(*place))) for key, place in self._data.items())
        return contents

    def _watch(self, where: str, holder: Any, name: str = "") -> None:
        """Watch what a holder keeps; it must be one that is the same object when it is looked at again."""
        self._data[where, id(holder)] = holder, name

    def _add_class(self, kind: type) -> None:
        """Watch the attributes of a class, of the classes that it is derived from, and of its metaclass."""
        classes: tuple[type, ...] = (*kind.__mro__, *cast("type", type(kind)).__mro__)
        for one in classes:
            if one in self._kinds or not _of_others(one):
                continue
            self._kinds.append(one)
            for name, value in vars(one).items():
                if not (name.startswith(("__", "_abc_")) or callable(value) or isinstance(value, _DESCRIPTORS)):
                    self._watch(f"the class attribute {one.__name__}.{name}", one, name)

    def _add_part(self, value: Any) -> None:
        """Watch the class of an object in an attribute; the object itself is compared by its pickle."""
        kind = cast(Any, type(value))
        self._add_class(kind)
        if callable(method := getattr(kind, "__call__", None)):  # noqa: B004 - the function, to be looked at
            self._follow(method)

    def _follow(self, function: object) -> None:
        """Look at what a function refers to, and at the functions that it may call."""
        if callable(function):
            function = inspect.unwrap(function)
        if isinstance(function, functools.partial):
            self._watch("an argument of a functools.partial", function)
        for plain in _functions_in(function):
            if id(plain) in self._seen or _trusted(plain.__module__):
                continue
            self._seen[id(plain)] = plain, plain.__code__
            self._watch(f"an attribute of the function {plain.__name__}()", plain)
            names = _names_in(plain.__code__)
            for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
                if name == "__class__":
                    continue
                try:
                    content = cell.cell_contents
                except ValueError:
                    continue
                self._refer(f"the variable `{name}` around {plain.__name__}()", name, content, cell)
            defaults = (*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values())
            if not all(isinstance(one, _ATOMS) for one in defaults):
                self._watch(f"a default argument of {plain.__name__}()", plain, "__defaults__")
            for name in names:
                for kind in self._kinds:
                    if name in vars(kind):
                        self._follow(vars(kind)[name])
                if name in plain.__globals__:
                    self._refer(f"the global `{name}`", name, plain.__globals__[name], plain.__globals__)
                    self._look_into(plain.__globals__[name], names)

    def _refer(self, where: str, name: str, value: object, holder: Any) -> None:
        """Record something that a function refers to by a name outside itself."""
        if isinstance(value, types.ModuleType):
            return
        module = _module_of(value)
        if isinstance(value, type):
            if not _trusted(module) and value not in self._kinds:
                self._add_class(value)
                for method in ("__init__", "__call__"):
                    self._follow(vars(value).get(method))
        elif isinstance(value, _FOLLOWED) or hasattr(value, "__wrapped__"):
            self._follow(value)
        elif not callable(value) and not isinstance(value, gymnasium.Env):
            self._watch(where, holder, name)

    def _look_into(self, module: object, names: set[str]) -> None:
        """Record what a function may read or set in a module: attributes with a name that stands in its code."""
        if isinstance(module, types.ModuleType):
            for name in names:
                if not isinstance(value := vars(module).get(name), types.ModuleType):
                    self._refer(f"`{module.__name__}.{name}`", name, value, vars(module))


_WITH_FUNCTION: tuple[Any, ...] = (staticmethod, classmethod, types.MethodType)
_FOLLOWED: tuple[Any, ...] = (types.FunctionType, types.MethodType, functools.partial)
_DESCRIPTORS = (
    *(property, staticmethod, classmethod, functools.cached_property),
    *(types.MemberDescriptorType, types.GetSetDescriptorType),
)


class _Visitor(pickle.Pickler):
    """Records the functions, the classes and the objects of classes of others that it meets, however deep they are."""

    def __init__(self, base: BareEnv):
        super().__init__(io.BytesIO(), pickle.HIGHEST_PROTOCOL)
        self.base = base
        self.met: dict[int, Any] = {}

    def reducer_override(self, obj: Any) -> Any:
        """Record an object; pass over the environment, functions and classes. It sees no numbers, texts and lists."""
        kind = cast(Any, type(obj))
        layer = obj is self.base or isinstance(obj, np.random.Generator)
        if not layer and (isinstance(obj, (*_FOLLOWED, type)) or _of_others(kind)):
            self.met[id(obj)] = obj
        passed = layer or isinstance(obj, types.FunctionType | types.ModuleType | type)
        return (int, ()) if passed and obj is not int else NotImplemented


def _parts_of(base: BareEnv) -> list[Any]:
    """What the attributes of an environment hold."""
    visitor = _Visitor(base)
    for value in cast("dict[str, Any]", vars(base)).values():
        with suppress(Exception):  # classes of other packages may raise anything; what was met until then is looked at
            visitor.dump(value)
    return [*visitor.met.values()]


def _value_in(holder: Any, name: str) -> object:
    """What a cell, a partial, a function, a class, a member of an Enum or a dictionary holds."""
    if isinstance(holder, types.CellType):
        try:
            return holder.cell_contents
        except ValueError:  # empty
            return None
    if isinstance(holder, functools.partial):
        return cast("Any", holder).args, holder.keywords
    if isinstance(holder, types.FunctionType) and name:
        return holder.__defaults__, holder.__kwdefaults__
    if isinstance(holder, type):
        return vars(holder).get(name)
    if isinstance(holder, types.FunctionType):
        return {key: value for key, value in vars(holder).items() if not key.startswith("_")}
    return holder.get(name)


def _functions_in(found: Any) -> Iterator[types.FunctionType]:
    """The plain functions behind a method, property, partial or decorated function."""
    if isinstance(found, types.FunctionType):
        yield found
    elif isinstance(found, _WITH_FUNCTION):
        yield from _functions_in(found.__func__)
    elif isinstance(found, functools.partial | functools.cached_property):
        yield from _functions_in(found.func)
    elif isinstance(found, property):
        for part in (found.fget, found.fset):
            yield from _functions_in(part)


def _names_in(code: types.CodeType) -> set[str]:
    """All names that a function, or one inside it, refers to: globals, attributes and methods."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _trusted(module: object) -> bool:
    """Whether a module is of Python or of a package known to keep no counts; its name, or what is in its place."""
    return not isinstance(module, str) or module.partition(".")[0] in _TRUSTED_PACKAGES


def _of_others(kind: type) -> bool:
    return not _trusted(kind.__module__)


def _module_of(thing: object) -> str:
    return str(getattr(thing, "__module__", None) or "")


def _bytes_of(value: object) -> object:
    if isinstance(value, _ATOMS):
        return value if value == value else repr(value)
    try:
        return pickle.dumps(value)
    except Exception:  # classes of other packages may raise anything
        return _UNKNOWN


_UNKNOWN = object()
"""What stands for a value that cannot be compared with itself later."""
