"""Parts of an environment, and their pickles: the environment, its generator and its constants are named, not copied.

So what was found on one environment can be compared with another, and put into it, also in another process.
"""

import io
import pickle
import sys
import types
from collections import deque
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

import numpy as np

from rlsuite.core.aliases import Env
from rlsuite.environments.layers import attributes_of, layers_of

_ARRAY: Any = np.ndarray
_INTEGERS: Any = np.integer
_FLOATS: Any = np.floating
_NUMBERS: tuple[Any, ...] = (int, float, np.number)
_SERIES: tuple[Any, ...] = (str, bytes, bytearray, list, tuple, deque)
_BY_NAME = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)

_LAYER, _OBJECT, _ATTRIBUTE, _SET, _FROZEN = range(5)
"""The kinds of named things. They are numbers, and names of attributes are bytes: if they were strings that the
environment holds as well, the pickle would depend on whether both are the same object, which differs by process."""


class PartPickler(pickle.Pickler):
    """Pickles a part of an environment.

    Parameters
    ----------
    env : gymnasium.Env or None
        The environment, which is named, layer by layer; None if only a part of it is known.
    generator : str
        The attribute with the generator that it draws from.
    rng : numpy.random.Generator or None
        The generator that may have replaced its own.
    constants : mapping
        The attributes that are named, by the identity of their values.
    objects : mapping
        Functions, classes and modules that were met, by `name_of`: it is added to.
    """

    def __init__(
        self,
        env: Env | None,
        generator: str,
        rng: np.random.Generator | None,
        constants: Mapping[int, str],
        objects: MutableMapping[str | int, Any],
    ):
        self.file = io.BytesIO()
        super().__init__(self.file, pickle.HIGHEST_PROTOCOL)
        self.met: list[np.random.Generator] = []
        self._layers = [] if env is None else layers_of(env)
        self._generator, self._constants, self._objects = generator, constants, objects
        # of a part alone, any generator is the one that is named
        self._generators = None if env is None else (rng, attributes_of(env).get(generator))

    def persistent_id(self, obj: Any) -> Any:
        """Name an object that is not to be copied."""
        for depth, layer in enumerate(self._layers):
            if obj is layer:
                return (_LAYER, depth)
        if isinstance(obj, _BY_NAME) and isinstance(getattr(obj, "__self__", None), types.ModuleType | None):
            name = name_of(obj)
            self._objects[name] = obj
            return (_OBJECT, name)
        if isinstance(obj, np.random.Generator):
            self.met.append(obj)
            if self._generators is None or any(one is obj for one in self._generators):
                return (_ATTRIBUTE, self._generator.encode())
        if self.fast and type_of(obj) in (set, frozenset):  # to be compared: a copy has another order
            items: Any = obj
            return (_SET if isinstance(obj, set) else _FROZEN, sorted(map(pickle.dumps, items)))
        constant = self._constants.get(id(obj))
        return None if constant is None else (_ATTRIBUTE, constant.encode())


class PartUnpickler(pickle.Unpickler):
    """Puts the pickle of a part together, in an environment or without one."""

    def __init__(
        self, file: io.BytesIO, named: Mapping[str | int, Any], env: Env | None, attributes: Mapping[str, Any]
    ):
        super().__init__(file)
        self.named = named
        self.layers = [] if env is None else layers_of(env)
        self.attributes = attributes

    def persistent_load(self, pid: Any) -> Any:
        """Return the object that a name stands for."""
        kind, name = pid
        if kind == _OBJECT:
            return self.named[name]
        if kind in (_SET, _FROZEN):
            return (set if kind == _SET else frozenset)(map(pickle.loads, name))
        return self.layers[name] if kind == _LAYER else self.attributes[name.decode()]


def name_of(thing: Any) -> str | int:
    """The name of a function, class or module, "module:name" if it is found there, and otherwise its identity."""
    if isinstance(thing, types.ModuleType):
        return f"{thing.__name__}:" if sys.modules.get(thing.__name__) is thing else id(thing)
    name = f"{getattr(thing, '__module__', None)}:{getattr(thing, '__qualname__', None)}"
    return name if object_named(name) is thing else id(thing)


def object_named(name: str) -> Any:
    """The function, class or module with a name, None if no module that has been imported has it."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split(".") if path else ():
        found = getattr(found, "__dict__", {}).get(part)
    return found


def type_of(value: object) -> Any:
    """The class of a value, of which nothing is known."""
    return type(value)


def image_of(value: Any, pickled: Callable[[Any], bytes]) -> object:
    """Return a hashable image of a value, different for different values; `pickled` is that of what has no other."""
    kind = type_of(value)
    if kind is int or issubclass(kind, _INTEGERS):
        return int(value)
    if kind is bool or value is None or kind is str:
        return (kind.__name__, value)
    if kind is float or issubclass(kind, _FLOATS):
        return ("float", float(value).hex(), str(value))  # NaN equals itself, and 0.0 is not -0.0
    if kind is np.bool_:
        return ("bool", bool(value))
    if kind is np.ndarray and not value.dtype.hasobject:
        return (value.dtype.str, value.shape, value.tobytes())
    if kind in (tuple, list):
        return (kind.__name__, *(image_of(one, pickled) for one in value))
    if kind is dict:
        return ("dict", *((image_of(k, pickled), image_of(v, pickled)) for k, v in value.items()))
    if kind in (set, frozenset):
        return (kind.__name__, frozenset(image_of(one, pickled) for one in value))
    return pickled(value)


def is_immutable(value: Any) -> bool:
    """Whether a value cannot be modified."""
    kind = type_of(value)
    if kind is tuple:
        return all(map(is_immutable, value))
    return kind in (bool, int, float, str, bytes, type(None), complex) or issubclass(kind, np.generic)


def exaggerated(now: Any, before: Any, size: int, depth: int = 6) -> Any:
    """Change a value where it differs from an earlier one: numbers become larger by a size, and series longer.

    Examples
    --------
    >>> exaggerated({"steps": 7, "log": [0, 0], "size": 5}, {"steps": 6, "log": [0], "size": 5}, 3)
    {'steps': 10, 'log': [0, 0, 0, 0, 0], 'size': 5}
    """
    kind = type_of(now)
    numbers = issubclass(kind, _NUMBERS) and issubclass(type_of(before), _NUMBERS)
    if kind is bool or not depth or not (numbers or kind is type_of(before)):
        return now
    if numbers:
        return now if now == before else kind(now + size)
    if kind in _SERIES and len(now) != len(before):
        one = (now or before)[0]
        return now + (one if kind is str else kind([one])) * max(size, 0)
    if kind in _SERIES[3:]:
        return kind(exaggerated(one, other, size, depth - 1) for one, other in zip(now, before, strict=True))
    if issubclass(kind, _ARRAY) and now.shape == before.shape and now.dtype.kind in "iuf":
        return now + (now != before) * now.dtype.type(size)
    if issubclass(kind, dict):
        for key in now.keys() & before.keys():
            now[key] = exaggerated(now[key], before[key], size, depth - 1)
        return now
    names: list[str] = [*getattr(now, "__dict__", ()), *getattr(kind, "__slots__", ())]
    for name in names:
        object.__setattr__(now, name, exaggerated(getattr(now, name), getattr(before, name), size, depth - 1))
    return now
