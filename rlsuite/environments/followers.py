"""What an environment should do next, computed beside it and compared with what it does.

A follower takes the state and the generator of an environment once. From then on it is given each answer of `reset` and
`step`, makes the same draws with a generator of its own, and keeps the first difference as a sentence. It never calls
the environment.
"""

import copy
import hashlib
import io
import pickle
import types
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from gymnasium.utils.seeding import np_random
from numpy.random import Generator

from rlsuite import errors
from rlsuite.core.aliases import BareEnv, Env, Info, Observation, UntypedSpace
from rlsuite.core.compilation import interpreted
from rlsuite.environments.child_process import CannotBeFollowed, in_child
from rlsuite.environments.compiled_env import CompiledDynamics, State
from rlsuite.environments.facts import EnvironmentFacts, replaced_methods
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.models import MDP, POMDP
from rlsuite.models.gymnasium_table import table_in

ROUNDING = 1e-12
"""Relative difference of two states that another mathematical library may cause."""
SINGLE = 1e-6
"""Relative difference of two observations, which many environments round to single precision."""

SECONDS = 60.0
"""After which a replay is given up."""

AT_RESET = "at reset"
_SIMPLE = (bool, int, float, str)
_PLAIN = {*_SIMPLE, type(None)}
_ARRAYS: Any = (np.ndarray, np.generic)
_SMALL = 1_000  # an array of fewer numbers is compared itself, a larger one by its checksum
_LEFT_OUT = {"rlsuite", "gymnasium", "numba"}  # packages whose objects are left out
_BY_NAME = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
# what `step` may change: the state, the generator, and what only rendering reads
EXPECTED_CHANGES = {"s", "lastaction", "lastreward", "_np_random", "_np_random_seed", "taxi_orientation", "_shown"}


class Follower:
    """Follows an environment; see the module.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of the environment.
    says, needs : str
        What the follower goes by, as the beginning of a sentence: "its table says", "its table needs".
    """

    def __init__(self, facts: EnvironmentFacts, says: str, needs: str):
        self.base: BareEnv = facts.base
        self.limit = facts.time_limit
        self.says, self.needs = says, needs
        self.difference = ""
        """The first difference, as a sentence; empty as long as there is none."""
        self._elapsed = 0
        self._rng: Generator

    def begin(self, elapsed: int) -> None:
        """Take the state and the generator of the environment, this many steps after the beginning of an episode."""
        self._elapsed = elapsed
        self._rng = copy.deepcopy(self.generator())
        self.take_state()

    def after_seeded_reset(self, seed: int, observation: Observation, info: Info) -> None:
        """Take the state of an environment that has been reset with a seed, and compare the answer with that draw."""
        self._rng, _ = np_random(seed)
        self.take_state()
        self.after_reset(observation, info)

    def after_reset(self, observation: Observation, info: Info) -> None:
        """Compare the answer of `reset`."""
        if not self.difference:
            self._elapsed = 0
            self._compare(AT_RESET, ("observation",), (observation,), (self.reset(),), info)

    def after_step(self, action: int, found: tuple[Any, ...]) -> None:
        """Compare the answer of `step` to an action, counted from 0."""
        if self.difference:
            return
        where = f"at {self.state_in_words()}, action {action}"
        self._elapsed += 1
        observation, reward, terminated, truncated = self.step(action)
        expected = (observation, reward, terminated, truncated or self._elapsed >= self.limit)
        self._compare(where, ("observation", "reward", "terminated", "truncated"), found[:4], expected, found[4])

    def take(self, env: Env, action: int) -> bool:
        """Take an action, counted from 0, in the environment, and compare; return whether the episode is over."""
        where = f"at {self.state_in_words()}, action {action}"
        space: UntypedSpace = env.action_space
        try:
            found = env.step(action + int(space.start))
        except Exception as error:  # whatever the environment raises
            self.difference = f"{where} {self.says} what happens, but its step raised {type(error).__name__}: {error}"
            return True
        self.after_step(action, found)
        return bool(found[2] or found[3])

    def _compare(
        self, where: str, names: tuple[str, ...], found: tuple[Any, ...], expected: tuple[Any, ...], info: Info
    ) -> None:
        for name, value, wanted in zip(names, found, expected, strict=True):
            if not self.same(name, value, wanted):
                called = "reset" if where == AT_RESET else "step"
                self.difference = f"{where} {self.says} {name} {wanted!r}, but its {called} returns {value!r}"
                return
        if not same_state(self._rng, self.generator()):
            self.difference = f"{where} it draws other random numbers than {self.needs}"
            return
        self.difference = self.other_info(where, info) or self.other_state(where)

    # ------------------------------------------------------------------------- what a kind of follower knows

    def generator(self) -> Generator:
        """The generator that the environment draws from."""
        return self.base.np_random

    def take_state(self) -> None:
        """Take the state of the environment."""
        raise NotImplementedError

    def state_in_words(self) -> str:
        """Where the environment should be, as a phrase."""
        raise NotImplementedError

    def reset(self) -> Any:
        """Begin an episode; return what should be observed."""
        raise NotImplementedError

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """Take an action; return what `step` should."""
        raise NotImplementedError

    def legal_actions(self, n_actions: int) -> Sequence[int]:
        """The actions that can be taken, counted from 0."""
        return range(n_actions)

    def same(self, name: str, found: Any, expected: Any) -> bool:
        """Whether a part of an answer is what it should be."""
        if type(found) is type(expected) and type(found) in _SIMPLE:
            return found == expected
        # where a number is expected, the stepwise loop does not take an array of one element
        if np.ndim(expected):
            return np.array_equal(np.ravel(found), expected)
        return not np.ndim(found) and bool(found == expected)

    def other_info(self, where: str, info: Info) -> str:
        """How the rest of the answer differs from what it should be, as a sentence; empty if it does not."""
        return ""

    def other_state(self, where: str) -> str:
        """How the state of the environment differs from what it should be, as a sentence; empty if it does not."""
        raise NotImplementedError

    def end(self) -> None:
        """Compare what can be compared only after a number of steps."""


class TableFollower(Follower):
    """Follows an environment by its table.

    Besides the state, the table has nothing that a step may change: an attribute that changes is a difference.
    """

    def __init__(self, facts: EnvironmentFacts, model: MDP | POMDP):
        super().__init__(facts, "its table says", "its table needs")
        self.table = TabularEnv(model)
        self.vectors = None if facts.vectors is None else np.asarray(facts.vectors, dtype=np.float64)
        self._legal = (model.mdp if isinstance(model, POMDP) else model).legal
        self._before: dict[str, tuple[object, ...]] | None = None

    def take_state(self) -> None:
        """Take the state of the environment; for the first time, record its attributes."""
        self.table.s = int(self.base.s)
        self.table.np_random = self._rng
        if self._before is None:
            self._before = attribute_record(self.base)

    def put(self, state: int) -> None:
        """Put the environment into a state."""
        self.base.s = self.table.s = state

    def state_in_words(self) -> str:
        """Name the state."""
        return f"state {self.table.s}"

    def legal_actions(self, n_actions: int) -> Sequence[int]:
        """The actions that exist in the state."""
        legal: list[int] = np.flatnonzero(self._legal[self.table.s]).tolist()
        return legal

    def reset(self) -> Any:
        """Draw a start state."""
        return self._shown(self.table.reset()[0])

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """Draw a transition."""
        observation, reward, terminated, _, _ = self.table.step(action)
        return self._shown(observation), reward, terminated, False

    def _shown(self, observation: int) -> Any:
        return observation if self.vectors is None else self.vectors[observation]

    def other_state(self, where: str) -> str:
        """Compare the state."""
        found: object = self.base.s
        return "" if found == self.table.s else f"{where} it is in state {found!r}, but {self.says} {self.table.s}"

    def end(self) -> None:
        """Compare the attributes with those at the very beginning."""
        if self.difference or self._before is None:
            return
        for name, content in attribute_record(self.base).items():
            was = self._before.get(name)
            if content != was:
                plain = cast("Any", content[0]) in _PLAIN
                values = f" (from {was[-1]!r} to {content[-1]!r})" if was and plain else ""
                self.difference = f"its step changes `{name}`{values}, which its table does not have"


class DynamicsFollower(Follower):
    """Follows an environment by its compiled dynamics, up to rounding."""

    def __init__(self, facts: EnvironmentFacts, dynamics: CompiledDynamics):
        super().__init__(facts, "its compiled dynamics say", "its compiled dynamics need")
        self.dynamics = dynamics
        functions: tuple[Any, ...] = dynamics.begin, dynamics.step, dynamics.observe
        self._begin, self._step, self._observe = map(interpreted, functions)
        self._constants = interpreted(dynamics.constants)
        self._state: State = ()
        self._expected: State = ()
        self._shape: tuple[int, ...] = tuple(facts.base.observation_space.shape)

    def take_state(self) -> None:
        """Take the numbers of the state."""
        self._state = self.dynamics.read(self.base)

    def state_in_words(self) -> str:
        """Show the state."""
        return f"state {self._state}"

    def reset(self) -> Any:
        """Draw a start state."""
        self._expected = self._begin(self._constants, self._rng)
        return self._seen()

    def step(self, action: int) -> tuple[Any, float, bool, bool]:
        """Take an action."""
        self._expected, reward, terminated = self._step(self._constants, self._state, action, self._rng)
        return self._seen(), reward, bool(terminated), False

    def _seen(self) -> Any:
        seen = np.zeros(self._shape)
        self._observe(self._constants, self._expected, seen)
        return seen

    def same(self, name: str, found: Any, expected: Any) -> bool:
        """Compare up to rounding."""
        if name in ("terminated", "truncated"):
            return bool(found) == expected
        return _close(found, expected, SINGLE if name == "observation" else ROUNDING)

    def other_state(self, where: str) -> str:
        """Compare the numbers of the state, and continue from those of the environment: differences do not add up."""
        found = self.dynamics.read(self.base)
        if not _close(found, self._expected, ROUNDING):
            return f"after {where.removeprefix('at ')} {self.says} state {self._expected!r}, but it is in {found!r}"
        self._state = found
        return ""


def begin(env: Env) -> Info:
    """Reset an environment, with a seed if it has never been reset; return its info."""
    base: BareEnv = env.unwrapped
    fresh = getattr(base, "_np_random", None) is None
    _, info = env.reset(seed=0 if fresh else None)
    if fresh and getattr(base, "_np_random", None) is None:
        base.np_random = np.random.default_rng(0)
    return info


def walk(env: Env, follower: Follower, steps: int) -> None:
    """Take random legal actions over several episodes, until something differs.

    Parameters
    ----------
    env : gymnasium.Env
        A copy of an environment; its own generator decides what happens.
    follower : Follower
        Of this copy.
    steps : int
        How many.
    """
    space: UntypedSpace = env.action_space
    chooser = np.random.default_rng(0)  # which actions are tried; nothing else depends on it
    begin(env)
    follower.begin(0)
    follower.after_reset(*env.reset())
    over = False
    for u in chooser.random(steps).tolist():
        if follower.difference:
            return
        if over:
            follower.after_reset(*env.reset())
        legal = follower.legal_actions(int(space.n))
        over = follower.take(env, int(legal[int(u * len(legal))]))
    follower.end()


def replay(facts: EnvironmentFacts, difference: Callable[[], str]) -> None:
    """Call what compares a copy of an environment with what it declares, in a process of its own.

    Raises
    ------
    UntrustedTable
        If there is a difference, or it cannot be done.
    """
    for layer in (*facts.wrappers, facts.base):
        for method in replaced_methods(layer):  # a copy would still call this environment
            raise errors.UntrustedTable(
                f"{facts.name}: its {method} has been replaced, so that it cannot be copied for a replay"
            )
    try:
        found = in_child(difference, SECONDS)
    except CannotBeFollowed as error:
        found = f"it cannot be replayed: {error}"
    if found:
        raise errors.UntrustedTable(f"{facts.name}: {found}")


def _close(found: object, expected: object, tolerance: float) -> bool:
    one, other = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    return one.shape == other.shape and bool(np.all(np.abs(one - other) <= tolerance * np.maximum(1.0, np.abs(other))))


def same_state(one: Generator, other: Generator) -> bool:
    """Whether two generators are of one kind and will draw the same."""
    state, found = one.bit_generator.state, other.bit_generator.state
    if state["bit_generator"] == "PCG64":
        return state == found
    return pickle.dumps(state) == pickle.dumps(found)  # some kinds have arrays in their state


def attribute_record(base: BareEnv) -> dict[str, tuple[object, ...]]:
    """Return the content of all attributes that a step may read besides the state and the table, for comparison.

    Left out are the table, models, spaces and compiled functions, which are compared in other ways or do not change,
    and what cannot be pickled. Numbers, strings and arrays, which nearly all are, are not pickled: that takes ten
    times as long, which would slow down short calls of `learn`.
    """
    attributes: dict[str, Any] = base.__dict__
    unseen = table_in(base), attributes.get("_np_random")
    return {
        name: (type(value), value) if type(value) in _PLAIN else (type(value), *_content(value, unseen))
        for name, value in attributes.items()
        if name not in EXPECTED_CHANGES
    }


def _content(value: Any, unseen: tuple[object, ...]) -> tuple[object, ...]:
    """Return what to compare of an attribute that is not a plain number or word."""
    if isinstance(value, _ARRAYS) and not value.dtype.hasobject:
        content = value.tobytes()
        return value.dtype, value.shape, content if value.size < _SMALL else _digest_of(content)
    if any(value is one for one in unseen) or type(value).__module__.partition(".")[0] in _LEFT_OUT:
        return ()
    try:
        return (_digest_of(pickle.dumps(value)),)
    except Exception:  # classes of other packages may raise anything
        pass
    try:
        (pickler := _ByName(file := io.BytesIO())).dump(value)
        return _digest_of(file.getvalue()), *pickler.named
    except Exception:  # as above
        return ()


class _ByName(pickle.Pickler):
    """Pickles objects whose classes and functions have no name that pickle would find."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self.named: list[object] = []

    def persistent_id(self, obj: Any) -> Any:
        """Name classes, functions and modules by their index in a list."""
        if not isinstance(obj, _BY_NAME):
            return None
        self.named.append(obj)
        return len(self.named)


def _digest_of(content: bytes) -> bytes:
    return hashlib.blake2b(content).digest()
