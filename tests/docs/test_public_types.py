"""Whatever is public says its types: each parameter, answer and field has one, and none is `Any`."""

import ast
import collections.abc
import functools
import importlib
import inspect
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from rlsuite.core import aliases
from rlsuite.core.described import Plain
from rlsuite.core.narrowing import Table
from rlsuite.models import functions
from rlsuite.models.aliases import AnyArray

PACKAGES = (
    "rlsuite",
    "rlsuite.agents",
    "rlsuite.agents.exploration",
    "rlsuite.approximation",
    "rlsuite.errors",
    "rlsuite.experiments",
    "rlsuite.features",
    "rlsuite.inference",
    "rlsuite.models",
    "rlsuite.planning",
    "rlsuite.plotting",
    "rlsuite.reference",
    "rlsuite.rendering",
    "rlsuite.testing",
)
"""Whose names are public; the names of the packages inside `rlsuite.approximation` are its own, too."""

OPEN = {
    aliases.Env: "an environment of any observations and actions: Gymnasium writes the same",
    aliases.BareEnv: "the user's own class of environments, with attributes of its own",
    aliases.Space: "a space of any elements",
    aliases.Observation: "an element of the space of the environment",
    aliases.Action: "an element of the space of the environment",
    aliases.Info: "Gymnasium writes the same",
    aliases.Own: "a NamedTuple that the user's own class of agents may define",
    AnyArray: "an array of any type of numbers",
    Plain: "what a file holds, which is checked where it is read",
    Table: "the same",
    functions.State: "the user's functions may call a state, an action, an observation whatever they like",
    functions.Action: "as a state",
    functions.Observation: "as a state",
}
"""Types with Any inside that may be written, and why."""


EXEMPT = {
    "rlsuite.agents.storage.load() ->": "the module of `Agent` imports this one",
    "rlsuite.registry.load() ->": "which class of agents a file holds is known once it is read",
    "rlsuite.experiments.comparison.Comparison.to_frame() ->": "pandas, whose class it is, is optional",
    "rlsuite.training.results.Results.to_frame() ->": "the same",
    "rlsuite.core.shown.ShowsItself.plot() ->": "matplotlib's Axes, which is not loaded before something is drawn",
    "rlsuite.planning.kept.Kept.to_frame() ->": "pandas is optional, and ships no types",
    "rlsuite.experiments.sweeping.Sweep.to_frame() ->": "the same",
    "rlsuite.inference.emissions.base.Emission.resolve_prior() ->": "only methods of the same class take it",
    "rlsuite.synonyms.AnswersOtherWords.__getattr__() ->": "an attribute may be anything",
    "rlsuite.approximation.experience.Iterative.evaluated() ->": "only methods of the same class take it",
    "rlsuite.approximation.experience.Iterative.noted(state)": "only methods of the same class give it",
}
"""Answers of public functions that have no type, and why."""

CALLED_WITHOUT_A_NAME = ("__init__", "__call__", "__getattr__", "__getitem__", "__iter__")

INCOMPLETE = (dict, list, tuple, set, type, typing.Callable, collections.abc.Callable, np.ndarray, np.dtype)
"""Types that say too little without arguments."""


def readable(code: str) -> str:
    """What Python can read: before SciPy 1.16 only type checkers know the type of the numbers in a sparse array."""
    return code if hasattr(csr_array, "__class_getitem__") else code.replace("csr_array[np.float64]", "csr_array")


@functools.cache
def namespace(module: str) -> dict[str, Any]:
    """The names of a module, with those that it imports for type checkers only."""
    imported = importlib.import_module(module)
    names = dict(vars(imported))
    for node in ast.parse(readable(inspect.getsource(imported))).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module, "exec"), names)
    return names


def parts(hint: object, module: str) -> Iterator[object]:
    """A type and all types inside it; of an array only that of its numbers, as NDArray leaves its shape open."""
    if isinstance(hint, typing.ForwardRef):
        hint = hint.__forward_arg__
    if isinstance(hint, str):
        hint = eval(readable(hint), namespace(module))
    if isinstance(hint, list):  # the parameters in Callable[[...], ...]
        for each in hint:
            yield from parts(each, module)
        return
    yield hint
    origin = typing.get_origin(hint)
    if hint in OPEN or origin is typing.Literal or getattr(origin, "__module__", "").startswith("numpy._typing"):
        return  # the last are the parts of ArrayLike
    inside = typing.get_args(hint)
    if origin is typing.Annotated:
        inside = inside[:1]
    for each in inside[1:] if origin is np.ndarray else inside:
        yield from parts(each, module)


def faults(name: str, hint: object, module: str, *, answer: bool = False) -> Iterator[str]:
    """What is wrong with a type."""
    if name in EXEMPT:
        return
    if hint is inspect.Parameter.empty:
        yield f"{name} has no type"
        return
    found = list(parts(hint, module))
    if Any in found:
        yield f"{name} is {hint}"
    yield from (f"{name} has a {each.__name__} of what?" for each in found if each in INCOMPLETE)
    if answer and (hint is object or (isinstance(hint, types.UnionType) and object in typing.get_args(hint))):
        yield f"{name} is {hint}: anything"


def of_function(name: str, function: Any, skipped: int) -> Iterator[str]:
    """What is wrong with the types of a function, whose first parameters may have no type."""
    function = inspect.unwrap(getattr(function, "py_func", function))
    if not function.__module__.startswith("rlsuite") or function.__code__.co_filename.startswith("<"):
        return  # generated from fields, which are looked at themselves
    for signature in map(inspect.signature, typing.get_overloads(function) or [function]):
        for parameter in list(signature.parameters.values())[skipped:]:
            yield from faults(f"{name}({parameter.name})", parameter.annotation, function.__module__)
        yield from faults(f"{name}() ->", signature.return_annotation, function.__module__, answer=True)


def of_class(name: str, kind: type) -> Iterator[str]:
    """What is wrong with the types of a class and its bases in rlsuite."""
    for base in kind.__mro__:
        if not base.__module__.startswith("rlsuite"):
            continue
        name = f"{base.__module__}.{base.__qualname__}"
        for field, hint in inspect.get_annotations(base).items():
            if not field.startswith("_"):
                yield from faults(f"{name}.{field}", hint, base.__module__)
        for attribute, value in vars(base).items():
            if attribute.startswith("_") and attribute not in CALLED_WITHOUT_A_NAME:
                continue
            inner = f"{name}.{attribute}"
            if isinstance(value, property):
                yield from of_function(inner, value.fget, 1)
            elif isinstance(value, functools.cached_property):
                yield from of_function(inner, value.func, 1)
            elif isinstance(value, staticmethod):
                yield from of_function(inner, value.__func__, 0)
            elif isinstance(value, classmethod):
                yield from of_function(inner, value.__func__, 1)
            elif inspect.isfunction(value):
                yield from of_function(inner, value, 1)


def of_public(package: str) -> Iterator[str]:
    """What is wrong with the types of the public names of a package."""
    module = importlib.import_module(package)
    for name in getattr(module, "__all__", [one for one in vars(module) if not one.startswith("_")]):
        value = getattr(module, name)
        if not getattr(value, "__module__", "").startswith("rlsuite"):
            continue
        if inspect.isclass(value):
            yield from of_class(name, value)
        elif inspect.isfunction(value) or hasattr(value, "py_func"):
            of_a_class = "." in value.__qualname__
            yield from () if of_a_class else of_function(f"{value.__module__}.{name}", value, 0)


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_said(package: str) -> None:
    assert list(of_public(package)) == []


def test_exemptions_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = dict(EXEMPT)
    monkeypatch.setitem(globals(), "EXEMPT", {})
    found = {fault.partition(" is ")[0] for package in PACKAGES for fault in of_public(package)}
    assert found == set(needed)


def test_environments_have_one_type(root: Path) -> None:
    written = [path.name for path in (root / "rlsuite").rglob("*.py") if "Env[Any, Any]" in path.read_text("utf-8")]
    assert written == ["aliases.py"]


def test_signatures_show_no_private_types_of_numpy():
    modules = [importlib.import_module(package) for package in PACKAGES]
    public = {f"{module.__name__}.{name}": getattr(module, name) for module in modules for name in dir(module)}
    classes = {name: one for name, one in public.items() if inspect.isclass(one)}
    methods = {f"{name}.{key}": one for name, kind in classes.items() for key, one in vars(kind).items()}
    functions = {
        name: one for name, one in {**public, **methods}.items() if inspect.isfunction(one) and "._" not in name
    }
    assert len(functions) > 500, len(functions)
    assert not [name for name, one in functions.items() if "_typing" in str(inspect.signature(one))]
