"""A copy of an environment that can be put into any state, to see what a step does there.

What makes up the state is found by experiment, and never by names. An attribute belongs to it if a step changes it, and
if other answers follow when it is set to another value that it has had, or to one that lies far beyond these in the
direction in which it changes. So counters, sums and logs do not belong to the state, but where they decide something
at a number that they have not reached yet.
"""

import contextlib
import copy
import io
import math
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from time import monotonic  # the module's are out of use where an environment is asked
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Env, UntypedSpace
from rlsuite.core.checks import finite_reward
from rlsuite.environments.ageing import mask_in
from rlsuite.environments.child_process import CannotBeFollowed, called
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.environments.layers import attributes_of, layers_of, passages_of, truncates
from rlsuite.environments.outcomes import Tree, draw, outcomes_of
from rlsuite.environments.part_pickles import PartPickler, PartUnpickler, exaggerated, image_of, is_immutable
from rlsuite.environments.scripted_generator import ScriptedGenerator

WALK = 200
"""Steps of a walk on which attributes are seen to change."""
PLACES = 24
"""Places on a walk from which it is tried what an attribute decides, and values of it that are tried."""
AHEAD, BRIEFLY = 12, 3
"""Steps that are then taken, and steps after a reset."""
FAR = (100, 10_000, 1_000_000)
"""How far beyond the values that an attribute has had others are tried."""
STATES = 200
"""States of those found in which it is tried again, before a table is believed."""
FEW = 20
"""Values of an attribute that may belong to the state although nothing was seen to depend on it."""

SEED = "_np_random_seed"
"""The attribute in which Gymnasium keeps the seed of the generator, and which no step reads."""

SMALL, LOOK_EVERY = 4_096, 20
"""Bytes of an attribute that is compared after each step, and steps after which larger ones are."""


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


_Answered: TypeAlias = tuple[int, float, bool, bool, bytes]
"""An answer without its state."""


class Snapshot(NamedTuple):
    """The values of the attributes that make up the state."""

    plain: dict[str, Any]
    """Those that cannot be modified."""
    pickled: bytes
    """The others, pickled."""


class Start(NamedTuple):
    """Where an experiment begins."""

    put: Callable[[], None]
    """Puts the copy there."""
    legal: bytes


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
        Whether infos say which actions are legal.

    Attributes
    ----------
    states : list of Snapshot
        The states that have been found.
    generator : str
        The attribute with the generator that the environment draws from.
    in_state, dropped : set of str
        The attributes that make up the state, and those that change and decide nothing.

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
        self.id_of, self.horizon, self.masks, self.deadline = id_of, horizon, masks, deadline
        self.attributes = attributes_of(env)
        self.rng = ScriptedGenerator(deadline)
        space: UntypedSpace = env.action_space
        self.first_action, self.n_actions = int(space.start), int(space.n)
        self.generator = "_np_random"
        self.named: dict[str | int, Any] = {}  # functions and classes that its parts refer to, by `name_of`
        self._chooser = np.random.default_rng(0)
        self.in_state: set[str] = set()
        self.dropped: set[str] = set()
        self.states: list[Snapshot] = []
        self._index: dict[object, int] = {}
        self.generator = self._generator_in_use()
        self._replace_generator()
        self._first = {name: self._digest(name, value) for name, value in self.attributes.items()}
        self._values: dict[str, dict[object, bytes]] = {}  # what the attributes that change have had
        with self.rng.drawing():
            changing = self._walk(self._look)
            self.original = {name: self.attributes[name] for name in self._first if name not in changing}
            self._values = {name: {} for name in changing}
            self._whole = self._pickled({name: self._value(name) for name in changing}, self.env)
            starts = self._starts()
            for name in self._deciding(starts, AHEAD, far=True):
                self.in_state.add(name)
        self.dropped = changing - self.in_state
        self.learn_again()

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
        self._load(self._whole)

    def belongs(self, *names: str) -> None:
        """Note that attributes belong to the state."""
        self.dropped.difference_update(names)
        self.in_state.update(names)
        self.learn_again()

    def _changes(self, *names: str) -> None:
        """Note that attributes change after all; what depends on them will be tried in the states that are found."""
        for name in names:
            before, now = self.original.pop(name, _NOTHING), self._value(name)
            if before is now and isinstance(first := self._first[name], bytes):  # modified in place
                before = self._unpickled(first)
            self._values[name] = {self._key(one, self.env): self._pickled(one, self.env) for one in (before, now)}
            self.dropped.add(name)
        self.learn_again()

    def doubtful(self) -> set[str]:
        """The attributes that decided nothing, and have had so few values that they may belong to the state."""
        return {name for name in self.dropped if len(self._values[name]) <= FEW}

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
        for name in [name for name, value in values.items() if value is _NOTHING]:
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

    def resets_as(self, start: Tree, number: int) -> bool:
        """Whether `reset` in a state does what it does elsewhere, for some random numbers."""
        with self.rng.drawing():
            expected = draw(start, copy.deepcopy(self.rng))
            return called(partial(self._reset, number)) == expected

    def disturbed(self, legal: Mapping[int, bytes]) -> bool:
        """Whether more attributes change, or belong to the state, than was known.

        They have changed although they never did, or something depends on them in one of the states in which an episode
        continues; these are given with the actions that are legal there.
        """
        if changed := [name for name in self.original if self._digest(name, self._value(name)) != self._first[name]]:
            self._changes(*changed)
            return True
        numbers = [*legal]
        chosen = self._chooser.permutation(len(numbers))[:STATES].tolist()
        starts = [Start(partial(self.put, numbers[i]), legal[numbers[i]]) for i in chosen]
        with self.rng.drawing():
            found = [*self._deciding(starts, BRIEFLY, far=False)]
        if found:
            self.belongs(*found)
        return bool(found)

    def _step(self, number: int, action: int) -> Answer:
        self._begin(number)
        answer = self.env.step(action + self.first_action)
        self._check_passages(steps=1, resets=0)
        answered = self._answered(*answer)
        self._check()
        return Answer(self.here(), *answered)

    def _reset(self, number: int) -> Answer:
        self._begin(number)
        observation, info = self.env.reset()
        self._check_passages(steps=0, resets=1)
        answered = self._answered(observation, 0.0, False, False, info)
        self._check()
        return Answer(self.here(), *answered)

    def _answered(self, observation: Any, reward: Any, terminated: Any, truncated: Any, info: Any) -> _Answered:
        """The part of an answer that is kept."""
        over, cut = bool(terminated), truncates(truncated)
        return (
            self._id_of(observation),
            finite_reward(reward, "its step"),
            over,
            cut,
            self._legal(info, over=over or cut),
        )

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
        self.attributes[self.generator] = self.rng
        for one in self.passages:
            one.steps = one.resets = 0

    def _check(self) -> None:
        """Raise Relearn if the last answer has changed more than is believed to be the state."""
        if self.attributes.get(self.generator) is not self.rng:
            raise CannotBeFollowed("it makes a new generator")
        if self._replaced is not None and self._replaced.bit_generator.state != self._untouched:
            raise CannotBeFollowed(
                "it draws from its generator in a way that cannot be followed, such as by a stored method"
            )
        changed = [name for name, value in self.original.items() if self.attributes.get(name, _NOTHING) is not value]
        changed = [name for name in changed if self._digest(name, self._value(name)) != self._first[name]]
        changed += [name for name in self.attributes if name not in self._first and name not in self._values]
        if changed:
            self._changes(*changed)
            raise Relearn

    def _value(self, name: str) -> Any:
        return self.attributes.get(name, _NOTHING)

    def _generator_in_use(self) -> str:
        """Step at random with the environment's own generators; return the name of the one that it draws from."""
        generators = {name: v for name, v in self.attributes.items() if isinstance(v, np.random.Generator)}
        before = {name: str(v.bit_generator.state) for name, v in generators.items()}
        inner = {id(one): (name, one, str(one.bit_generator.state)) for name, one in self._inner_generators()}
        self._walk(lambda number, legal: set())
        for name, one, state in inner.values():
            if str(one.bit_generator.state) != state and all(one is not v for v in generators.values()):
                raise CannotBeFollowed(f"it draws from a generator in its attribute `{name}` that is not its np_random")
        used = [name for name, v in generators.items() if str(v.bit_generator.state) != before[name]]
        if any(self.attributes.get(name) is not v for name, v in generators.items()):
            raise CannotBeFollowed("it makes a new generator in step or reset")
        if len({id(generators[name]) for name in used}) > 1:
            raise CannotBeFollowed(f"it draws from {len(used)} generators: {', '.join(used)}")
        return used[0] if used and "_np_random" not in used else "_np_random"

    def _walk(self, look: Callable[[int, bytes | None], set[str]]) -> set[str]:
        """Take random steps; return what `look` finds, which is given their number and the legal actions, if any."""
        _, info = called(self.env.reset)
        taken = 0  # steps of this episode
        found: set[str] = set()
        for number in range(WALK):
            action = self._action(legal := self._legal(info, over=False))
            found |= look(number, legal)
            _, _, terminated, truncated, info = called(partial(self.env.step, action))
            taken += 1
            if monotonic() > self.deadline:
                raise CannotBeFollowed(f"there was not enough time for {WALK} of its steps")
            if terminated or truncates(truncated) or taken >= self.horizon:
                found |= look(number, None)
                _, info = called(self.env.reset)
                taken = 0
        return found

    def _action(self, legal: bytes) -> int:
        """A random action that is legal."""
        actions = [a for a, allowed in enumerate(legal) if allowed] or range(self.n_actions)
        return self.first_action + actions[int(self._chooser.random() * len(actions))]

    def _look(self, number: int, legal: bytes | None) -> set[str]:
        """Note which attributes are not what they were."""
        changed = {name for name in self.attributes if name not in self._first}
        for name, first in self._first.items():
            due = name not in (self.generator, SEED) and (
                not isinstance(first, bytes) or len(first) <= SMALL or number % LOOK_EVERY == 0
            )
            if due and self._digest(name, self._value(name)) != first:
                changed.add(name)
        return changed

    def _starts(self) -> list[Start]:
        """Take a walk, and keep places on it and the values that attributes have there."""
        starts: list[Start] = []

        def keep(number: int, legal: bytes | None) -> set[str]:
            if number < PLACES // 2 or number % (2 * WALK // PLACES) == 0:
                kept = self._pickled({name: self._value(name) for name in self._values}, self.env)
                if legal is not None:
                    starts.append(Start(partial(self._load, kept), legal))
                for name, values in self._values.items():
                    values[self._key(self._value(name), self.env)] = self._pickled(self._value(name), self.env)
            return set()

        self._walk(keep)
        return starts

    def _load(self, pickled: bytes) -> None:
        for name, value in self._unpickled(pickled).items():
            self._set(name, value)

    def _unpickled(self, pickled: bytes) -> Any:
        return PartUnpickler(io.BytesIO(pickled), self.named, self.env, self.attributes).load()

    def _deciding(self, starts: Sequence[Start], ahead: int, far: bool) -> Iterator[str]:
        """The attributes on which answers depend, of those that change and are not yet known to belong to the state.

        If nothing is known of other values of one, that is no reason to leave it out.
        """
        usual = [self._answers(start, ahead, i) for i, start in enumerate(starts)]
        dice = np.random.default_rng(0)
        for name in sorted(self._values.keys() - self.in_state):
            values = self._values[name]
            if len(values) < 2:
                if far:
                    yield name
                continue
            for i, start in enumerate(starts):
                start.put()
                here = self._key(self._value(name), self.env)
                known = [value for key, value in values.items() if key != here]
                others = [known[int(j)] for j in dice.integers(len(known), size=2)]
                tried = [partial(self._unpickled, other) for other in others]
                if far and i % 4 == 0:
                    now = self._pickled(self._value(name), self.env)
                    tried += [partial(self._far, now, others[0], size) for size in (*FAR, *(-size for size in FAR))]
                if any(self._answers(start, ahead, i, {name: value}) != usual[i] for value in tried):
                    yield name
                    break

    def _far(self, now: bytes, before: bytes, size: int) -> Any:
        """A value that lies beyond two of an attribute's."""
        value = self._unpickled(now)
        try:
            return exaggerated(value, self._unpickled(before), size)
        except Exception:  # whatever a class of others raises
            return self._unpickled(now)

    def _answers(
        self, start: Start, ahead: int, seed: int, values: Mapping[str, Callable[[], Any]] | None = None
    ) -> list[object]:
        """What follows from a place, with other values of some attributes: in some steps, and after a reset."""
        if monotonic() > self.deadline:
            raise CannotBeFollowed("there was not enough time to find what makes up its state")
        self._chooser = np.random.default_rng(seed)
        self.rng.bit_generator.state = np.random.PCG64(seed).state
        start.put()
        for name, value in (values or {}).items():
            self._set(name, value())
        answers: list[Any] = []
        legal, over = start.legal, False
        try:
            for taken in range(ahead + BRIEFLY):
                if over or taken == ahead:
                    observation, info = called(self.env.reset)
                    answers.append(self._answered(observation, 0.0, False, False, info))
                    legal = answers[-1][-1]
                answers.append(self._answered(*called(partial(self.env.step, self._action(legal)))))
                over, legal = answers[-1][2] or answers[-1][3], answers[-1][-1]
        except Exception as error:  # whatever the environment raises
            answers.append(type(error))
        return [*answers, str(self.rng.bit_generator.state)]

    def _set(self, name: str, value: Any) -> None:
        self.attributes[name] = value
        if value is _NOTHING:
            del self.attributes[name]

    def _replace_generator(self) -> None:
        """Put the scripted generator into the place of the environment's, under all of its names."""
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
            if not is_immutable(value):
                with contextlib.suppress(Exception):  # what cannot be pickled is refused later
                    met += [(name, one) for one in self._dumped(value, self.env, {}, False).met]
        return met

    def _key(self, value: Any, env: Env | None = None) -> object:
        """A hashable image of a value of an environment."""
        return image_of(value, lambda other: self._pickled(other, env, fast=True))

    def _taken(self, values: Mapping[str, Any], env: Env) -> Snapshot:
        plain: dict[str, Any] = {}
        others: dict[str, Any] = {}
        for name in self.in_state | self.doubtful():
            value = values.get(name, _NOTHING)
            (plain if value is _NOTHING or is_immutable(value) else others)[name] = value
        return Snapshot(plain, self._pickled(others, env) if others else b"")

    def _pickled(self, value: object, env: Env | None, fast: bool = False) -> bytes:
        """Pickle a part; to be compared, if that is possible, without a word of what is the same object in it."""
        try:
            return self._dumped(value, env, {} if env is None else attributes_of(env), fast).file.getvalue()
        except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
            if fast:
                return self._pickled(value, env)
            raise CannotBeFollowed(f"a part of its state cannot be copied ({error})") from error

    def _dumped(self, value: object, env: Env | None, attributes: Mapping[str, Any], fast: bool) -> PartPickler:
        """Pickle by naming the generator, and those of some attributes that never change."""
        constant = getattr(self, "original", ())
        names = {id(value): name for name, value in attributes.items() if name in constant and not is_immutable(value)}
        pickler = PartPickler(env, self.generator, getattr(self, "rng", None), names, self.named)
        pickler.fast = fast
        pickler.dump(value)
        return pickler

    def _digest(self, name: str, value: object, env: Env | None = None) -> object:
        """What to compare of an attribute that should not change."""
        own = attributes_of(env or self.env).get(self.generator)
        if value is _NOTHING or (isinstance(value, np.random.Generator) and value is not own):
            return None
        if is_immutable(value):
            return self._key(value)
        for fast in (True, False):
            try:
                return self._dumped(value, env or self.env, {}, fast).file.getvalue()
            except Exception as error:  # classes of other packages may raise anything; what is cyclic cannot be fast
                reason = f"{type(error).__name__}: {error}"
        if env is not None:
            return None  # of another environment: then it is another one
        raise CannotBeFollowed(f"its attribute `{name}` cannot be compared with itself later ({reason})")

    def packed(self) -> bytes:
        """What distinguishes the states, for the process that asked; the copy stays here."""
        self.original = dict.fromkeys(self.original)
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
    "dropped",
    "_first",
    "_index",
    "masks",
    "n_actions",
)
