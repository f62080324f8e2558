"""What the methods of an environment use besides its attributes: globals, class attributes, closures, generators.

A table is right only if a step depends on nothing outside the environment, and changes nothing there. What a method
refers to is read from its code, and compared afterwards. This is an early no: it does not see all, and a run on the
table verifies it (`rlsuite.training.verification`). What a step does to files, processes or the terminal is noticed
where the environment is asked (`rlsuite.environments.child_process`).
"""

import dis
import functools
import inspect
import os
import pickle
import random
import sys
import types
from collections.abc import Iterator
from typing import Any, cast

import gymnasium
import numpy as np

from rlsuite.core.aliases import BareEnv
from rlsuite.environments.facts import Wrapper
from rlsuite.environments.signal_errors import Signal

# Only what the process in which it is asked does not notice.
FORBIDDEN_MODULES = {
    "time": "reads a clock",
    "datetime": "reads a clock",
    "gc": "uses the interpreter",
    "weakref": "refers to objects that may disappear",
    "contextvars": "reads variables of its context",
}
FORBIDDEN_FUNCTIONS = {"globals": "reads all globals", "vars": "reads all attributes"}
_TRUSTED_PACKAGES = {"rlsuite", "gymnasium", "numpy", "numba", "scipy", *sys.stdlib_module_names}
_WRAPPED = ("step", "reset", "observation", "reward", "action")
"""The methods of wrappers that are called in a step."""
_ATOMS = (bool, int, float, complex, str, bytes, type(None), range)


class Surroundings:
    """The globals, class attributes and closures that an environment's `step` and `reset` refer to.

    Parameters
    ----------
    base : gymnasium.Env
        The unwrapped environment.
    *wrappers : gymnasium.Wrapper
        Those that may change something.

    Attributes
    ----------
    forbidden : str
        What the methods do that a copy must not do, in words; empty if nothing was found.
    unknown : str
        What cannot be compared with itself later; empty if nothing was found.
    """

    def __init__(self, base: BareEnv, *wrappers: Wrapper):
        self.forbidden = ""
        self._data: dict[str, tuple[Any, str]] = {}  # where a value is kept, and its name there
        self._seen: dict[int, tuple[types.FunctionType, types.CodeType]] = {}
        layers: tuple[Any, ...] = (base, *wrappers)
        own: list[type] = [kind for layer in layers for kind in type(layer).__mro__ if not _trusted(kind.__module__)]
        self._kinds = list(dict.fromkeys(own))
        values: list[tuple[dict[str, Any], str, Any]] = [
            (vars(layer), name, value)
            for layer in layers
            for name, value in cast("dict[str, Any]", vars(layer)).items()
            if name != "env" or layer is base  # not what a wrapper wraps
        ]
        for _, _, value in values:
            kind: Any = value.__class__
            if not _trusted(kind.__module__) and kind not in self._kinds:
                self._kinds += [one for one in kind.__mro__ if not _trusted(one.__module__)]
        for kind in self._kinds:
            self._add_class(kind)
            if kind in own and "__slots__" in vars(kind):
                self._forbid("__slots__", "keeps attributes where they cannot be watched")
        for attributes, name, value in values:
            if isinstance(value, (*_CALLED, types.MethodType)):
                self._refer(f"its attribute `{name}`", name, value, attributes)
            elif callable(value):
                self._follow(cast("Any", type(value)).__call__)
        for layer in layers:
            for name in ("step", "reset") if layer is base else _WRAPPED:
                self._follow(getattr(cast("Any", type(layer)), name, None))
        self._before = self._contents()
        self.unknown = next((name for name, content in self._before.items() if content is _UNKNOWN), "")
        if self.unknown:
            what = f"refers to {self.unknown}, which cannot be compared with itself later"
            self._forbid("it cannot be pickled", what)

    def changed(self) -> str:
        """What has changed since the start, in words; empty if nothing has."""
        now = self._contents()
        return next((name for name, content in self._before.items() if now[name] != content), "")

    def same(self, later: "Surroundings") -> bool:
        """Whether the methods are the same at a later time, and what they refer to."""
        return self._seen == later._seen and self._before == later._before

    def _contents(self) -> dict[str, object]:
        contents: dict[str, object] = {
            "the global generator of numpy.random": _bytes_of(np.random.get_state()),  # noqa: NPY002 - drawn from by it
            "the global generator of random": random.getstate(),
            "the variables of the operating system": dict(os.environ),
        }
        for name, (holder, key) in self._data.items():
            if isinstance(holder, types.CellType):
                try:
                    contents[name] = _bytes_of(holder.cell_contents)
                except ValueError:  # empty
                    contents[name] = None
            elif isinstance(holder, types.FunctionType):
                contents[name] = _bytes_of(vars(holder))
            else:
                contents[name] = _bytes_of(holder.get(key))
        return contents

    def _add_class(self, kind: type) -> None:
        for name, value in vars(kind).items():
            if not name.startswith(("__", "_abc_")) and not callable(value) and not isinstance(value, _DESCRIPTORS):
                self._data[f"the class attribute {kind.__name__}.{name}"] = (vars(kind), name)

    def _follow(self, function: object) -> None:
        """Look at what a function refers to, and at the functions that it may call."""
        function = inspect.unwrap(function) if callable(function) else function
        for plain in _functions_in(function):
            if id(plain) in self._seen or _trusted(plain.__module__):
                continue
            self._seen[id(plain)] = plain, plain.__code__
            self._data[f"an attribute of the function {plain.__name__}()"] = (plain, "__dict__")
            for package in _imported_in(plain.__code__) & FORBIDDEN_MODULES.keys() - {"time"}:
                self._forbid(package, FORBIDDEN_MODULES[package])
            for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
                if name == "__class__":
                    continue
                try:
                    content = cell.cell_contents
                except ValueError:
                    continue
                self._refer(f"the variable `{name}` around {plain.__name__}()", name, content, cell)
            for default in (*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()):
                if not isinstance(default, _ATOMS):
                    self._data[f"a default argument of {plain.__name__}()"] = ({"": default}, "")
            names = _names_in(plain.__code__)
            for name in names:
                for kind in self._kinds:
                    if name in vars(kind):
                        self._follow(vars(kind)[name])
                if name in plain.__globals__:
                    self._refer(f"the global `{name}`", name, plain.__globals__[name], plain.__globals__)
                    self._look_into(plain.__globals__[name], names)
                elif name in FORBIDDEN_FUNCTIONS:
                    self._forbid(name, FORBIDDEN_FUNCTIONS[name])

    def _refer(self, where: str, name: str, value: object, holder: Any) -> None:
        """Note something that a function refers to by a name outside itself."""
        if isinstance(value, types.ModuleType):
            if value.__name__ in FORBIDDEN_MODULES.keys() - {"time"}:  # whose own clocks are out of use
                self._forbid(value.__name__, FORBIDDEN_MODULES[value.__name__])
            return
        if value is os.environ:  # of which a change is noticed
            return
        module = str(getattr(value, "__module__", None) or "")
        package = module.partition(".")[0]
        if package in FORBIDDEN_MODULES and callable(value) and name != "sleep":
            self._forbid(name, FORBIDDEN_MODULES[package])
        elif isinstance(value, type):
            if not _trusted(module) and value not in self._kinds:
                self._kinds.append(value)
                self._add_class(value)
                for method in ("__init__", "__call__"):
                    self._follow(vars(value).get(method))
        elif isinstance(value, _CALLED) or hasattr(value, "__wrapped__"):
            self._follow(value)
        elif isinstance(value, gymnasium.Env):
            self._forbid(name, "refers to an environment by another name than self")
        elif not callable(value):
            self._data[where] = (holder, name)

    def _look_into(self, module: object, names: set[str]) -> None:
        """Note what a function may read or set in a module: attributes with a name that stands in its code."""
        if isinstance(module, types.ModuleType):
            for name in names:
                if not isinstance(value := vars(module).get(name), types.ModuleType):
                    self._refer(f"`{module.__name__}.{name}`", name, value, vars(module))

    def _forbid(self, name: str, what: str) -> None:
        self.forbidden = self.forbidden or f"{what} ({name})"


_WITH_FUNCTION: tuple[Any, ...] = (staticmethod, classmethod, types.MethodType)
_CALLED: tuple[Any, ...] = (types.FunctionType, functools.partial)
_DESCRIPTORS = (
    *(property, staticmethod, classmethod, functools.cached_property),
    *(types.MemberDescriptorType, types.GetSetDescriptorType),
)


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


def _imported_in(code: types.CodeType) -> set[str]:
    """The packages that a function, or one inside it, imports when it is called."""
    found = {str(one.argval).partition(".")[0] for one in dis.get_instructions(code) if one.opname == "IMPORT_NAME"}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _imported_in(constant)
    return found


def _trusted(module: str) -> bool:
    return module.partition(".")[0] in _TRUSTED_PACKAGES


def _bytes_of(value: object) -> object:
    if isinstance(value, _ATOMS):
        return value if value == value else repr(value)
    try:
        return pickle.dumps(value)
    except Exception:  # classes of other packages may raise anything
        return _UNKNOWN
    except Signal as signal:  # a counter of the environment's has been put into it
        signal.forget()
        return object()


_UNKNOWN = object()
"""What stands for a value that cannot be compared with itself later."""
