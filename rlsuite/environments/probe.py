"""A copy of an environment that can be put into any state, to see what a step does there.

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
from collections.abc import Callable, Generator, Mapping
from functools import partial
from time import monotonic  # the module's are out of use where an environment is asked
from typing import Any, NamedTuple, Self

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Env, UntypedSpace
from rlsuite.core.checks import finite_reward
from rlsuite.environments.ageing import mask_in
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.environments.layers import (
    attributes_of,
    layers_of,
    names_of_class,
    passages_of,
    truncates,
    watch,
)
from rlsuite.environments.outcomes import Tree, outcomes_of
from rlsuite.environments.part_pickles import PartPickler, PartUnpickler
from rlsuite.environments.scripted_generator import ScriptedGenerator, Unscripted
from rlsuite.environments.signal_errors import CannotBeFollowed, Signal, WasRead, called
from rlsuite.environments.symbolic import stand_in_for

WALK = 200
"""Steps of the walk on which attributes are seen to change."""

SEED = "_np_random_seed"
"""The attribute in which Gymnasium keeps the seed of the generator, and which no step reads."""

SMALL = 4_096
"""Bytes of an attribute that is compared after each step."""

LOOK_EVERY = 20
"""Larger ones are compared after each of this many steps."""

_INTEGERS: Any = np.integer
_FLOATS: Any = np.floating


class _NOTHING:
    """Stands for an attribute that does not exist."""


class Relearn(Exception):
    """More attributes belong to the state than were known; the environment has to be probed again."""


class Answer(NamedTuple):
    """What a step, or a reset, returns."""

    state: int
    observation: int
    """Its id."""
    reward: float
    terminated: bool
    truncated: bool
    legal: bytes = b""
    """Which actions are legal then, a bool for each; empty if its info does not say so."""


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
    env : gymnasium.Env
        The copy, in those of its wrappers that may change something (`rlsuite.environments.layers`). It has been reset.
        It is used up.
    id_of : callable
        The number of an observation. It raises ValueError for what is no observation.
    deadline : float
        The time, of `time.monotonic`, until which it may be stepped to see what changes.
    horizon : int
        Steps after which every episode is over.
    masks : bool
        Whether each info says which actions are legal.

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

    def __init__(
        self,
        env: Env,
        id_of: Callable[[Any], int],
        deadline: float = math.inf,
        horizon: int = NO_LIMIT,
        masks: bool = False,
    ):
        self.env = env
        self.passages = passages_of(env)
        self.id_of, self.horizon, self.masks = id_of, horizon, masks
        self.attributes = attributes_of(env)
        self.written: set[str] = set()
        self.read: set[str] = set()
        self.rng = ScriptedGenerator(deadline)
        space: UntypedSpace = env.action_space
        self.first_action, self.n_actions = int(space.start), int(space.n)
        self.generator = "_np_random"
        self.named: dict[str | int, Any] = {}  # functions and classes that its parts refer to, by `name_of`
        self._plain: set[str] = set()  # attributes in which nothing is to be named
        layers = layers_of(env)
        self._class_attributes = [watch(layers, depth, self.read, self.written) for depth in range(len(layers))]
        self.changing: set[str] = set()
        kinds = {name: _type_of(value) for name, value in self.attributes.items()}
        self._asked = 0
        self.generator = self._walk(deadline)
        self._replace_generator()
        self.changing -= {self.generator, SEED}
        self.in_state: set[str] = set()
        self.unread = {
            name: stand_in
            for name in self.changing
            if name in self.attributes
            and (stand_in := stand_in_for(name, self.attributes, kinds.get(name))) is not None
        }
        self.original = {name: value for name, value in self.attributes.items() if name not in self.changing}
        self._first = {name: self._digest(name, value) for name, value in self.attributes.items()}
        self._mutable = [name for name, value in self.original.items() if not _immutable(value)]
        self.states: list[Snapshot] = []
        self._index: dict[object, int] = {}
        self.reset_reads: set[str] = set()

    def knows(self, env: Env) -> bool:
        """Whether another environment of this kind has the same constants, and is in one of the states found."""
        values = attributes_of(env)
        if values.keys() != self._first.keys():
            return False
        constant = self.original.keys() - {self.generator, SEED}
        if any(self._digest(name, values[name], env) != self._first[name] for name in constant):
            return False
        return self.number_of(env, known_only=True) >= 0

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
                self.attributes[name] = PartUnpickler(io.BytesIO(first), self.named, self.env, self.attributes).load()

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
        return self.number_of(self.env)

    def number_of(self, env: Env, known_only: bool = False) -> int:
        """Return the number of the state of an environment, -1 if it is new and only known ones are asked for."""
        values = attributes_of(env)
        key = self._key_of(values, env)
        number = self._index.get(key)
        if number is None:
            if known_only:
                return -1
            number = self._index[key] = len(self.states)
            self.states.append(self._taken(values, env))
        return number

    def values_of(self, env: Env) -> dict[str, Any]:
        """Return the attributes that make up the state of an environment."""
        values = attributes_of(env)
        return {name: values[name] for name in sorted(self.in_state) if name in values}

    def number_with(self, values: Mapping[str, Any]) -> int:
        """Return the number of the state that consists of these attributes, -1 if it is none of those found."""
        return self._index.get(self._key_of(values), -1) if values.keys() <= self.in_state else -1

    def _key_of(self, values: Mapping[str, Any], env: Env | None = None) -> object:
        return tuple(self._key(values.get(name, _NOTHING), env) for name in sorted(self.in_state))

    def put(self, number: int, env: Env | None = None) -> None:
        """Put the copy, or another environment of this kind, into a state."""
        values = self.attributes if env is None else attributes_of(env)
        snapshot = self.states[number]
        values.update(snapshot.plain)
        if snapshot.pickled:
            values.update(PartUnpickler(io.BytesIO(snapshot.pickled), self.named, env or self.env, values).load())
        for name in self.in_state:
            if values.get(name) is _NOTHING:
                del values[name]

    def most_values(self) -> tuple[str, int]:
        """The attribute of the state that has had the most values, and how many."""
        keys: Any = self._index
        counts = {name: len({key[i] for key in keys}) for i, name in enumerate(sorted(self.in_state))}
        return max(counts.items(), key=lambda one: one[1], default=("", 0))

    def generator_of(self, env: Env) -> np.random.Generator:
        """Return the generator that an environment of this kind draws from."""
        return attributes_of(env)[self.generator]

    def step(self, number: int, action: int) -> Tree:
        """Return all outcomes of an action in a state, as a tree whose leaves are answers."""
        return outcomes_of(lambda: self._step(number, action), self.rng)

    def reset(self, number: int) -> Tree:
        """Return all outcomes of `reset` in a state, as a tree whose leaves are answers."""
        return outcomes_of(lambda: self._reset(number), self.rng)

    def disturbed(self) -> str:
        """The name of an attribute that does not belong to the state and has changed all the same, or an empty text."""
        if list(map(names_of_class, layers_of(self.env))) != self._class_attributes:
            raise CannotBeFollowed("it sets an attribute of its class")
        for name, digest in self._first.items():
            if name in self.original and self._digest(name, self.attributes.get(name, _NOTHING)) != digest:
                return name
        return ""

    @contextlib.contextmanager
    def _checked(self) -> Generator[None]:
        """Check what was read by a run that ends early: it has come back to where it was, or raises.

        The environment may raise whatever it likes, as where it is not yet put into its whole state, or where it asks
        for the `type` of what stands for a counter.
        """
        try:
            yield
        except Exception:  # the environment's own
            self._check_reads(self.read)
            believed = sorted(self.unread.keys() & self.read)
            for name in believed:
                self.belongs(name)
            if believed:
                raise Relearn from None
            raise
        except Signal as signal:
            if isinstance(signal.error, Unscripted):
                self._check_reads(self.read)
            raise

    def _step(self, number: int, action: int) -> Answer:
        self._begin(number)
        with self._checked():
            observation, reward, terminated, truncated, info = self.env.step(action + self.first_action)
        end = bool(terminated), truncates(truncated)
        self._check_passages(steps=1, resets=0)
        seen, legal = self._id_of(observation), self._legal(info, over=any(end))
        self._check_reads(self.read)
        return Answer(self.here(), seen, finite_reward(reward, "its step"), *end, legal)

    def _reset(self, number: int) -> Answer:
        self._begin(number)
        with self._checked():
            observation, info = self.env.reset()
        self._check_passages(steps=0, resets=1)
        seen, legal = self._id_of(observation), self._legal(info, over=False)
        self.reset_reads |= self.read & self.in_state
        self._check_reads(self.read)
        return Answer(self.here(), seen, 0.0, False, False, legal)

    def _check_passages(self, steps: int, resets: int) -> None:
        """Raise CannotBeFollowed if a wrapper around a time limit does not call it once each time."""
        for one in self.passages:
            if (one.steps, one.resets) != (steps, resets):
                raise CannotBeFollowed("one of its wrappers calls step or reset inside its TimeLimit on its own")

    def _legal(self, info: Mapping[str, Any], over: bool) -> bytes:
        """Which actions are legal, as bytes; empty where that is neither said nor needed."""
        try:
            legal = self.mask_in(info)
        except errors.ParameterError as error:
            raise CannotBeFollowed(str(error)) from error
        if self.masks and not over and not any(legal):
            raise CannotBeFollowed("its info['action_mask'] is missing, or leaves no action, and the episode continues")
        return legal

    def mask_in(self, info: Mapping[str, Any]) -> bytes:
        """Return a bool for each action; empty if masks are not followed, or if there is none."""
        return mask_in(info, self.n_actions if self.masks else 0)

    def legal_in(self, answer: Answer) -> list[bool]:
        """Which actions are legal after an answer."""
        return list(map(bool, answer.legal)) if self.masks else [True] * self.n_actions

    def _id_of(self, observation: Any) -> int:
        pickle.dumps(observation)  # raises if a counter, or a random number, is shown in it
        try:
            return self.id_of(observation)
        except ValueError as error:
            raise CannotBeFollowed(f"it returns an observation outside its space: {error}") from error

    def _begin(self, number: int) -> None:
        self.put(number)
        self.attributes.update(self.unread)
        self.attributes[self.generator] = self.rng
        for one in self.passages:
            one.steps = one.resets = 0
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
            raise CannotBeFollowed("it makes a new generator")
        if self._replaced is not None and self._replaced.bit_generator.state != self._untouched:
            raise CannotBeFollowed(
                "it draws from its generator in a way that cannot be followed, such as by a stored method"
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

        _, info = called(self.env.reset)
        taken = 0  # steps of this episode
        for number, u in enumerate(chooser.random(WALK).tolist()):
            legal = self._legal(info, over=False)
            actions = [a for a in range(self.n_actions) if not self.masks or legal[a]]
            action = actions[int(u * len(actions))]
            _, _, terminated, truncated, info = called(partial(self.env.step, action + self.first_action))
            taken += 1
            look(number)
            if monotonic() > deadline:
                raise CannotBeFollowed(f"there was not enough time for {WALK} of its steps")
            if terminated or truncates(truncated) or taken >= self.horizon:
                _, info = called(self.env.reset)
                taken = 0
                look(number)
        for name, one, state in inner.values():
            if str(one.bit_generator.state) != state and all(one is not v for v in generators.values()):
                raise CannotBeFollowed(f"it draws from a generator in its attribute `{name}` that is not its np_random")
        used = [name for name, v in generators.items() if str(v.bit_generator.state) != before[name]]
        if any(self.attributes.get(name) is not v for name, v in generators.items()):
            raise CannotBeFollowed("it makes a new generator in step or reset")
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
                same = {id(layer): layer for layer in layers_of(self.env)} | {id(one): one for one in self.passages}
                same[id(self._replaced)] = self.rng
                self.attributes.update(copy.deepcopy({**self.attributes}, same))
        self.attributes[self.generator] = self.rng

    def _inner_generators(self) -> list[tuple[str, np.random.Generator]]:
        """All generators to which a part of the environment refers, and the attribute with that part."""
        met: list[tuple[str, np.random.Generator]] = []
        for name, value in self.attributes.items():
            if not _immutable(value):
                pickler = self._pickler(self.env, {})
                with contextlib.suppress(Exception):  # what cannot be pickled is met until there
                    pickler.dump(value)
                met += [(name, one) for one in pickler.met]
        return met

    def _key(self, value: Any, env: Env | None = None) -> object:
        """A hashable image of a value of an environment, different for different values."""
        kind = _type_of(value)
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
            return (kind.__name__, *(self._key(one, env) for one in value))
        if kind is dict:
            return ("dict", *((self._key(k, env), self._key(v, env)) for k, v in value.items()))
        if kind in (set, frozenset):
            return (kind.__name__, frozenset(self._key(one, env) for one in value))
        return self._pickled(value, env)

    def _taken(self, values: Mapping[str, Any], env: Env) -> Snapshot:
        plain: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for name in self.in_state:
            value = values.get(name, _NOTHING)
            (plain if value is _NOTHING or _immutable(value) else others)[name] = value
        return Snapshot(plain, self._pickled(others, env) if others else b"")

    def _pickled(self, value: object, env: Env | None) -> bytes:
        pickler = self._pickler(env, {} if env is None else attributes_of(env))
        try:
            pickler.dump(value)
        except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise CannotBeFollowed(f"a part of its state cannot be copied ({error})") from error
        return pickler.file.getvalue()

    def _pickler(self, env: Env | None, attributes: Mapping[str, Any]) -> PartPickler:
        """A pickler that names the generator, and those of the attributes that never change."""
        constant = getattr(self, "original", ())
        names = {id(value): name for name, value in attributes.items() if name in constant and not _immutable(value)}
        return PartPickler(env, self.generator, getattr(self, "rng", None), names, self.named)

    def _digest(self, name: str, value: object, env: Env | None = None) -> object:
        """What to compare of an attribute that should not change."""
        own = attributes_of(env or self.env).get(self.generator)
        if value is _NOTHING or (isinstance(value, np.random.Generator) and value is not own):
            return None
        try:
            if name in self._plain:
                with contextlib.suppress(Exception):  # it holds a function that has no name now
                    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            pickler = self._pickler(env or self.env, {})
            pickler.dump(value)
            if pickler.named:
                return pickler.file.getvalue()
            try:
                plain = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            except Exception:  # it holds a function that has no name
                return pickler.file.getvalue()
            self._plain.add(name)
            return plain
        except Exception as error:  # classes of other packages may raise anything
            if env is not None:
                return None  # of another environment: then it is another one
            raise CannotBeFollowed(
                f"its attribute `{name}` cannot be compared with itself later ({type(error).__name__}: {error})"
            ) from error
        except Signal as signal:  # a counter that nothing has read is in it
            if not isinstance(signal.error, WasRead):
                raise
            signal.forget()
            return id(value)

    def packed(self) -> bytes:
        """What distinguishes the states, for the process that asked; the copy stays here."""
        self.original, self.unread = dict.fromkeys(self.original), dict.fromkeys(self.unread)
        return self._pickled({name: vars(self)[name] for name in _KEPT}, None)

    @classmethod
    def unpacked(cls, packed: bytes, named: Mapping[str | int, Any]) -> Self:
        """Return a probe that has no copy: it tells states apart, and puts environments into them."""
        probe = cls.__new__(cls)
        vars(probe).update(PartUnpickler(io.BytesIO(packed), named, None, {}).load(), named=named, env=None)
        return probe


_KEPT = (
    "generator",
    "id_of",
    "in_state",
    "original",
    "states",
    "unread",
    "_first",
    "_index",
    "_plain",
    "masks",
    "n_actions",
)


def _type_of(value: object) -> Any:
    """The class of a value, of which nothing is known."""
    return type(value)


def _is_small(digest: object) -> bool:
    return not isinstance(digest, bytes) or len(digest) <= SMALL


def _immutable(value: Any) -> bool:
    kind = _type_of(value)
    if kind is tuple:
        return all(map(_immutable, value))
    return kind in (bool, int, float, str, bytes, type(None), complex) or issubclass(kind, np.generic)
