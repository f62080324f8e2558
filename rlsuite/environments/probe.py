"""A copy of an environment that can be put into any state and asked what a step does there.

What makes up the state is found by experiment, and never by names. An attribute belongs to it if a step changes it and
a later step *reads it before writing it*; which it does is watched while the environment runs. Counters, sums and logs
are read only to be added to. They are replaced by numbers and containers that raise as soon as they decide anything
(`rlsuite.environments.symbolic`); so one that decides nothing is known not to belong to the state, at any value that it
may ever have.
"""

import contextlib
import copy
import io
import math
import pickle
import sys
import time
import types
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from rlsuite.core.aliases import BareEnv
from rlsuite.environments.outcomes import Tree, outcomes_of
from rlsuite.environments.scripted_generator import CameBack, ScriptedGenerator
from rlsuite.environments.signal_errors import CannotBeFollowed, Signal, called
from rlsuite.environments.symbolic import UnreadContainer, UnreadNumber

WALK = 200
"""Steps of the walk on which attributes are seen to change."""

SEED = "_np_random_seed"
"""The attribute in which Gymnasium keeps the seed of the generator, and which no step reads."""

SMALL = 4_096
"""Bytes of an attribute that is compared after each step."""

LOOK_EVERY = 20
"""Larger ones are compared after each of so many steps."""

_BY_NAME = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType, type)
_NOTHING = object()
_ANY = object()
"""Stands for the generator of an environment of which only the state is known."""
_INTEGERS: Any = np.integer
_FLOATS: Any = np.floating
_CONTAINERS: tuple[Any, ...] = (list, dict, set, deque, defaultdict, Counter, np.ndarray)


class Relearn(Exception):
    """More attributes than it seemed belong to the state; everything has to be asked again."""


class Answer(NamedTuple):
    """What a step, or a reset, returns."""

    state: int
    observation: int
    """Its id."""
    reward: float
    terminated: bool
    truncated: bool


class Snapshot(NamedTuple):
    """The values of the attributes that make up the state."""

    plain: dict[str, Any]
    """Those that cannot be modified."""
    pickled: bytes
    """The others, pickled."""


class Probe:
    """A copy of an environment, whose state can be set.

    Parameters
    ----------
    base : gymnasium.Env
        The unwrapped copy. It has been reset. It is used up.
    id_of : callable
        The number of an observation. It raises ValueError for what is no observation.
    deadline : float
        The time, of `time.monotonic`, until which it may be stepped to see what changes.

    Attributes
    ----------
    states : list of Snapshot
        The states that have been found.
    generator : str
        The attribute with the generator that the environment draws from.

    Raises
    ------
    CannotBeFollowed
        If its state cannot be found, or cannot be set.
    """

    def __init__(self, base: BareEnv, id_of: Callable[[Any], int], deadline: float = math.inf):
        self.base = base
        self.id_of = id_of
        self.attributes = _attributes_of(base)
        self.written: set[str] = set()
        self.read: set[str] = set()
        self.rng = ScriptedGenerator(deadline)
        self.first_action = int(base.action_space.start)
        self.generator = "_np_random"
        self.named: dict[int, Any] = {}  # functions and classes that a part of the state refers to
        self._plain: set[str] = set()  # attributes in which nothing is to be named
        self._watch_attributes()
        self.changing: set[str] = set()
        self._asked = 0
        self.generator = self._walk(deadline)
        self._replace_generator()
        self.changing -= {self.generator, SEED}
        self.in_state: set[str] = set()
        self.unread = {
            name: stand_in
            for name in self.changing
            if name in self.attributes and (stand_in := _unread(name, self.attributes)) is not None
        }
        self.original = {name: value for name, value in self.attributes.items() if name not in self.changing}
        self._first = {name: self._digest(name, value) for name, value in self.attributes.items()}
        self._mutable = [name for name, value in self.original.items() if not _immutable(value)]
        self.states: list[Snapshot] = []
        self._index: dict[object, int] = {}
        self.reset_reads: set[str] = set()
        self.rng.knows = self._knows
        self.rng.named = {id(self.base): "environment", id(self.rng): "generator", id(self): "probe"}
        self.rng.below = {id(self._step.__code__), id(self._reset.__code__)}

    def knows(self, base: BareEnv) -> bool:
        """Whether another environment of this kind has the same constants, and is in one of the states found."""
        values = _attributes_of(base)
        if values.keys() != self._first.keys():
            return False
        constant = self.original.keys() - {self.generator, SEED}
        generator = values[self.generator]
        if any(self._digest(name, values[name], generator) != self._first[name] for name in constant):
            return False
        return self.number_of(base, known_only=True) >= 0

    def learn_again(self) -> None:
        """Forget the states: another attribute belongs to them."""
        self.states = []
        self._index = {}
        self.reset_reads = set()
        for name in self.changing:
            first = self._first.get(name)
            if name not in self._first:
                self.attributes.pop(name, None)
            elif isinstance(first, bytes):
                self.attributes[name] = _Unpickler(io.BytesIO(first), self.named, self.base, self.attributes).load()

    def belongs(self, name: str) -> None:
        """Note that an attribute belongs to the state."""
        self.unread.pop(name, None)
        self.in_state.add(name)
        self._changes(name)

    def _changes(self, name: str) -> None:
        """Note that an attribute changes, whether or not it belongs to the state."""
        self.changing.add(name)
        self.original.pop(name, None)

    def here(self) -> int:
        """Return the number of the state in which the copy is."""
        return self.number_of(self.base)

    def number_of(self, base: BareEnv, known_only: bool = False) -> int:
        """Return the number of the state of an environment, -1 if it is new and only known ones are asked for."""
        values = _attributes_of(base)
        key = self._key_of(values)
        number = self._index.get(key)
        if number is None:
            if known_only:
                return -1
            number = self._index[key] = len(self.states)
            self.states.append(self._taken(values))
        return number

    def values_of(self, base: BareEnv) -> dict[str, Any]:
        """Return the attributes that make up the state of an environment."""
        values = _attributes_of(base)
        return {name: values[name] for name in sorted(self.in_state) if name in values}

    def number_with(self, values: Mapping[str, Any]) -> int:
        """Return the number of the state that consists of these attributes, -1 if it is none of those found."""
        named = {**values, self.generator: _ANY}
        return self._index.get(self._key_of(named), -1) if values.keys() <= self.in_state else -1

    def _key_of(self, values: Mapping[str, Any]) -> object:
        return tuple(self._key(values.get(name, _NOTHING), values) for name in sorted(self.in_state))

    def put(self, number: int, base: BareEnv | None = None) -> None:
        """Put the copy, or another environment of this kind, into a state."""
        values = self.attributes if base is None else _attributes_of(base)
        snapshot = self.states[number]
        values.update(snapshot.plain)
        if snapshot.pickled:
            values.update(_Unpickler(io.BytesIO(snapshot.pickled), self.named, base or self.base, values).load())
        for name in self.in_state:
            if values.get(name) is _NOTHING:
                del values[name]

    def step(self, number: int, action: int) -> Tree:
        """Return all outcomes of an action in a state, as a tree whose leaves are answers."""
        return outcomes_of(lambda: self._step(number, action), self.rng)

    def reset(self, number: int) -> Tree:
        """Return all outcomes of `reset` in a state, as a tree whose leaves are answers."""
        return outcomes_of(lambda: self._reset(number), self.rng)

    def disturbed(self) -> str:
        """The name of an attribute that does not belong to the state and has changed all the same, or an empty text."""
        if self._names_of_class() != self._class_attributes:
            raise CannotBeFollowed("it sets an attribute of its class")
        for name, digest in self._first.items():
            if name in self.original and self._digest(name, self.attributes.get(name, _NOTHING)) != digest:
                return name
        return ""

    def _names_of_class(self) -> set[str]:
        names: dict[str, Any] = _type_of(self.base).__dict__
        return set(names)

    def _knows(self) -> object:
        """What a step knows of the environment's attributes while it draws."""
        values = {name: self.attributes.get(name, _NOTHING) for name in self.in_state | self.written}
        for name in self._mutable:
            if name in self.read and name in self.original:  # modified for a while, perhaps
                digest = self._digest(name, self.attributes.get(name, _NOTHING))
                values[name] = None if digest == self._first[name] else digest
        shared: list[dict[str, Any]] = [  # what its classes hold, too
            {
                name: value
                for name, value in vars(cls).items()
                if _type_of(value) in (*_CONTAINERS, int, float, str, tuple)
            }
            for cls in _type_of(self.base).__mro__
        ]
        return sorted(self.written - self.in_state), values, shared

    @contextlib.contextmanager
    def _checked(self) -> Generator[None]:
        """Check what was read, also by a run that has come back to where it was, and so has not been ended."""
        try:
            yield
        except Signal as signal:
            if isinstance(signal.error, CameBack):
                self._check_reads(self.read)
            raise

    def _step(self, number: int, action: int) -> Answer:
        self._begin(number)
        with self._checked():
            answer: Any = self.base.step(action + self.first_action)
        if type(answer) is not tuple or len(cast("tuple[Any, ...]", answer)) != 5:
            raise CannotBeFollowed("its step does not return five things")
        observation, reward, terminated, truncated, _ = cast("tuple[Any, ...]", answer)
        end = bool(terminated), bool(truncated)
        seen = self._id_of(observation)
        self._check_reads(self.read)
        return Answer(self.here(), seen, float(reward), *end)

    def _reset(self, number: int) -> Answer:
        self._begin(number)
        with self._checked():
            observation, _ = self.base.reset()
        seen = self._id_of(observation)
        self.reset_reads |= self.read & self.in_state
        self._check_reads(self.read)
        return Answer(self.here(), seen, 0.0, False, False)

    def _id_of(self, observation: Any) -> int:
        pickle.dumps(observation)  # raises if a counter, or a random number, is shown in it
        try:
            return self.id_of(observation)
        except ValueError as error:
            raise CannotBeFollowed(f"it returns an observation that is not in its space: {error}") from error

    def _begin(self, number: int) -> None:
        self.put(number)
        self.attributes.update(self.unread)
        self.attributes[self.generator] = self.rng
        self.written.clear()
        self.read.clear()

    def _check_reads(self, read: set[str]) -> None:
        """Raise Relearn if the last answer depends on, or has changed, more than is believed to be the state."""
        self._asked += 1
        # what was modified in place was read before; large attributes are looked at now and then, and at the end
        for name in self._mutable:
            if name in read and name in self.original:
                first = self._first[name]
                due = _is_small(first) or self._asked % LOOK_EVERY == 0
                if due and self._digest(name, self.attributes.get(name, _NOTHING)) != first:
                    self.belongs(name)
                    raise Relearn
        if self.attributes.get(self.generator) is not self.rng:
            raise CannotBeFollowed("it makes itself a new generator")
        if self._replaced is not None and self._replaced.bit_generator.state != self._untouched:
            raise CannotBeFollowed(
                "it draws from its generator where that cannot be replaced, as by a method of it that is kept"
            )
        new = {name for name in self.written if name not in self.changing and name != self.generator}
        needed = {name for name in read if name in (self.changing | new) and name not in self.in_state}
        needed -= self.unread.keys()
        if new:
            for name in new:
                self._changes(name)
        for name in needed:
            self.belongs(name)
        if needed or new:
            raise Relearn

    def _watch_attributes(self) -> None:
        """Have all reading and writing of attributes noted, by a subclass that does nothing else."""
        kind = _type_of(self.base)
        read, written, attributes = self.read, self.written, self.attributes

        def get(env: Any, name: str) -> Any:
            if name in attributes:
                if name not in written:
                    read.add(name)
            elif name == "__dict__":
                raise Signal(CannotBeFollowed("it reads all its attributes at once"))
            return kind.__getattribute__(env, name)

        def put(env: Any, name: str, value: object) -> None:
            written.add(name)
            kind.__setattr__(env, name, value)

        def remove(env: Any, name: str) -> None:
            written.add(name)
            kind.__delattr__(env, name)

        names = {"__getattribute__": get, "__setattr__": put, "__delattr__": remove, "__slots__": ()}
        names |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        try:
            self.base.__class__ = type(kind)(kind.__name__, (kind,), names)
            self._class_attributes = self._names_of_class()
        except TypeError as error:
            raise CannotBeFollowed(f"its attributes cannot be watched ({error})") from error

    def _walk(self, deadline: float) -> str:
        """Step at random with the environment's own generators; return the name of the one that it draws from."""
        generators = {name: v for name, v in self.attributes.items() if isinstance(v, np.random.Generator)}
        before = {name: str(v.bit_generator.state) for name, v in generators.items()}
        inner = {id(one): (name, one, str(one.bit_generator.state)) for name, one in self._inner_generators()}
        chooser = np.random.default_rng(0)
        digests = {name: self._digest(name, value) for name, value in self.attributes.items() if not _immutable(value)}

        def look(number: int) -> None:
            """Note what was written, and what was modified in place."""
            self.changing |= self.written
            for name, digest in digests.items():
                due = name in self.read and (_is_small(digest) or number < LOOK_EVERY)
                if due and self._digest(name, self.attributes.get(name, _NOTHING)) != digest:
                    self.changing.add(name)
            self.written.clear()
            self.read.clear()

        called(self.base.reset)
        for number, action in enumerate(chooser.integers(int(self.base.action_space.n), size=WALK).tolist()):
            _, _, terminated, truncated, _ = called(partial(self.base.step, action + self.first_action))
            look(number)
            if time.monotonic() > deadline:
                raise CannotBeFollowed(f"there was not enough time for {WALK} of its steps")
            if terminated or truncated:
                called(self.base.reset)
                look(number)
        for name, one, state in inner.values():
            if str(one.bit_generator.state) != state and all(one is not v for v in generators.values()):
                raise CannotBeFollowed(f"it draws from a generator in its attribute `{name}` that is not its np_random")
        used = [name for name, v in generators.items() if str(v.bit_generator.state) != before[name]]
        if any(self.attributes.get(name) is not v for name, v in generators.items()):
            raise CannotBeFollowed("it makes itself a new generator in step or reset")
        if len({id(generators[name]) for name in used}) > 1:
            raise CannotBeFollowed(f"it draws from {len(used)} generators: {', '.join(used)}")
        return used[0] if used and "_np_random" not in used else "_np_random"

    def _replace_generator(self) -> None:
        """Put the scripted generator into the place of the environment's, under all of its names."""
        self._plain.clear()  # only now it is known which generator is to be named
        self._replaced = self.attributes.get(self.generator)
        if self._replaced is not None:
            self._untouched = self._replaced.bit_generator.state
            if any(one is self._replaced and name != self.generator for name, one in self._inner_generators()):
                same = {id(self.base): self.base, id(self._replaced): self.rng}
                self.attributes.update(copy.deepcopy({**self.attributes}, same))
        self.attributes[self.generator] = self.rng

    def _inner_generators(self) -> list[tuple[str, np.random.Generator]]:
        """All generators to which a part of the environment refers, and the attribute with that part."""
        met: list[tuple[str, np.random.Generator]] = []
        for name, value in self.attributes.items():
            if not _immutable(value):
                pickler = _Pickler(io.BytesIO(), self, {})
                with contextlib.suppress(Exception):  # what cannot be pickled is met until there
                    pickler.dump(value)
                met += [(name, one) for one in pickler.met]
        return met

    def _key(self, value: Any, attributes: Mapping[str, Any]) -> object:
        """A hashable image of a value of an environment with these attributes, different for different values."""
        kind = _type_of(value)
        if kind is int or isinstance(value, _INTEGERS):
            return int(value)
        if kind is bool or value is None or kind is str:
            return (kind.__name__, value)
        if kind is float or isinstance(value, _FLOATS):
            return ("float", float(value), str(value))  # tells 0.0 from -0.0
        if kind is np.bool_:
            return ("bool", bool(value))
        if kind is np.ndarray and not value.dtype.hasobject:
            return (value.dtype.str, value.shape, value.tobytes())
        if kind in (tuple, list):
            return (kind.__name__, *(self._key(one, attributes) for one in value))
        if kind is dict:
            return ("dict", *((self._key(k, attributes), self._key(v, attributes)) for k, v in value.items()))
        if kind in (set, frozenset):
            return (kind.__name__, frozenset(self._key(one, attributes) for one in value))
        return self._pickled(value, attributes)

    def _taken(self, values: Mapping[str, Any]) -> Snapshot:
        plain: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for name in self.in_state:
            value = values.get(name, _NOTHING)
            (plain if value is _NOTHING or _immutable(value) else others)[name] = value
        return Snapshot(plain, self._pickled(others, values) if others else b"")

    def _pickled(self, value: object, attributes: Mapping[str, Any]) -> bytes:
        pickler = _Pickler(io.BytesIO(), self, attributes)
        try:
            pickler.dump(value)
        except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise CannotBeFollowed(f"a part of its state cannot be copied ({error})") from error
        return pickler.file.getvalue()

    def _digest(self, name: str, value: object, generator: object = None) -> object:
        """What to compare of an attribute that should not change, of an environment with this generator."""
        generator = self.attributes.get(self.generator) if generator is None else generator
        if value is _NOTHING or (_is_generator(value) and value is not generator):
            return None
        try:
            if name in self._plain:
                return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            pickler = _Pickler(io.BytesIO(), self, {self.generator: generator})
            pickler.dump(value)
            if pickler.named:
                return pickler.file.getvalue()
            try:
                plain = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            except Exception:  # it holds a function that has no name
                return pickler.file.getvalue()
            self._plain.add(name)
            return plain
        except Exception:  # classes of other packages may raise anything
            return id(value)
        except Signal as signal:  # a counter that nothing has read is in it
            signal.forget()
            return id(value)


class _Pickler(pickle.Pickler):
    """Pickles a part of an environment: the environment itself and what never changes are named, not copied."""

    def __init__(self, file: io.BytesIO, probe: Probe, attributes: Mapping[str, Any]):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.file = file
        self.named = False  # the environment or its generator
        self.met: list[np.random.Generator] = []
        self.probe = probe
        self.names = {id(value): name for name, value in attributes.items() if name in getattr(probe, "original", ())}
        self.generators = (probe.rng, attributes.get(probe.generator))

    def persistent_id(self, obj: Any) -> Any:
        """Name an object that is not to be copied."""
        if obj is self.probe.base:
            self.named = True
            return ("env", "")
        if isinstance(obj, _BY_NAME):
            self.probe.named[id(obj)] = obj
            return ("object", id(obj))
        if isinstance(obj, np.random.Generator):
            self.met.append(obj)
            if any(one is obj or one is _ANY for one in self.generators):
                self.named = True
                return ("attribute", self.probe.generator)
        name = self.names.get(id(obj))
        return None if name is None or _immutable(obj) else ("attribute", name)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, named: Mapping[int, Any], base: BareEnv, attributes: Mapping[str, Any]):
        super().__init__(file)
        self.named = named
        self.base = base
        self.attributes = attributes

    def persistent_load(self, pid: Any) -> Any:
        """Return the object that a name stands for."""
        kind, name = pid
        if kind == "object":
            return self.named[name]
        return self.base if kind == "env" else self.attributes[name]


def _attributes_of(base: BareEnv) -> dict[str, Any]:
    """The attributes of an environment, unseen by the watch."""
    return object.__getattribute__(base, "__dict__")


def _type_of(value: object) -> Any:
    """The class of a value, of which nothing is known."""
    return type(value)


def _is_generator(value: object) -> bool:
    return isinstance(value, np.random.Generator)


def _is_small(digest: object) -> bool:
    return not isinstance(digest, bytes) or len(digest) <= SMALL


def _immutable(value: Any) -> bool:
    kind = _type_of(value)
    if kind is tuple:
        return all(map(_immutable, value))
    return kind in (bool, int, float, str, bytes, type(None), complex) or isinstance(value, np.generic)


def _unread(name: str, attributes: Mapping[str, Any]) -> UnreadNumber | UnreadContainer | None:
    """What stands for an attribute of which it is to be shown that nothing reads it; None for other kinds of values."""
    value = attributes[name]
    kind = _type_of(value)
    if isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_):
        return UnreadNumber(name)
    plain_object = kind.__module__ not in ("builtins", "numpy") and not kind.__module__.startswith("gymnasium.")
    if kind in _CONTAINERS or (plain_object and hasattr(value, "__dict__")):
        del value
        # what somebody else holds, too, may be read under another name
        return UnreadContainer(name, kind) if sys.getrefcount(attributes[name]) <= ONE_OWNER else None
    return None


_alone = {"": object()}
ONE_OWNER = sys.getrefcount(_alone[""])
"""What `sys.getrefcount` says of an object to which one dict refers, and nothing else."""
