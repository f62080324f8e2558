"""Whether an environment's table, or its compiled dynamics, agree with its `step`.

The compiled loop never calls the environment, so it may be used only where they agree. Known wrappers around a known
`step` are checked as well: the table may have been edited, or (Taxi with a fickle passenger) the environment may do
more than its table. So a copy of the environment is replayed side by side with its table before the first step: the
same observations, rewards and ends, the same random numbers. Compiled dynamics are replayed in the same way, with
states equal up to rounding.
"""

import copy
import hashlib
import math
import pickle
from typing import Any

import numpy as np
from gymnasium.envs.toy_text import CliffWalkingEnv, FrozenLakeEnv, TaxiEnv
from numpy.random import Generator

from rlsuite import errors
from rlsuite.core.aliases import BareEnv, Env, Observation, UntypedSpace
from rlsuite.environments.compiled_env import CompiledDynamics, CompiledEnv, State, check_dynamics
from rlsuite.environments.facts import TRANSPARENT, EnvironmentFacts, replaced_methods
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.environments.wrappers import VectorObservation
from rlsuite.models import MDP, POMDP

# These are known to read the table and to keep no other state; a short replay shows the rest.
_KINDS: tuple[Any, ...] = (FrozenLakeEnv, CliffWalkingEnv, TaxiEnv, TabularEnv)
KNOWN = {(kind.step, kind.reset) for kind in _KINDS}

# for each class with its keywords: how often each of its tables, with the attributes beside it, has passed a replay in
# this process; so thirty seeds need the long one once, also where each draws a table of its own, as a bandit its arms
_passed: dict[tuple[type, str], dict[bytes, int]] = {}

LONG_WALK, SHORT_WALK, SHORTEST_WALK, DYNAMICS_WALK = 5_000, 100, 10, 300
"""Steps of a replay: of a class never seen, of one that is known, of a table that has passed before; of dynamics."""
MAX_PAIRS = 10_000
ROUNDING = 1e-12
"""Relative difference of two states that another mathematical library may cause."""
SINGLE = 1e-6
"""Relative difference of two observations, which many environments round to single precision."""
_SIMPLE = (bool, int, float, str)
_PLAIN = {bool, int, float, str, type(None)}
_ARRAYS: Any = (np.ndarray, np.generic)
_SMALL = 1_000  # an array of fewer numbers is compared itself, a larger one by its checksum
_LEFT_OUT = {"rlsuite", "gymnasium", "numba"}  # packages whose objects `attribute_record` leaves out
# what `step` may change: the state, the generator, and what only rendering reads
EXPECTED_CHANGES = {"s", "lastaction", "lastreward", "_np_random", "_np_random_seed", "taxi_orientation"}


def trusted_model(facts: EnvironmentFacts, gamma: float, *, vectors: bool = False) -> MDP | POMDP:
    """Read an environment's model, and make sure that `step` follows it.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of an environment that has been reset; it is left untouched.
    gamma : float
        Discount of the model that is returned.
    vectors : bool
        Whether a `VectorObservation` may show vectors instead of its observations.

    Raises
    ------
    UntrustedTable
        If there is no table, a wrapper could change what it says, or a replay differs from it.
    """
    facts.check_wrappers((*TRANSPARENT, VectorObservation) if vectors else TRANSPARENT)
    base = facts.base
    kind: Any = base.__class__
    model = (POMDP if isinstance(facts.model, POMDP) else MDP).from_env(base, gamma=gamma)
    passed = {} if facts.env.spec is None else _passed.setdefault((kind, repr(facts.env.spec)), {})
    known = is_known_kind(base)
    # a known step reads its table, whatever is in it: hashing ten million rows would take longer than the walk
    digest = _digest(None if known else model, attribute_record(base))
    replay = _Replay(facts, model)
    if digest in passed:
        replay.walk(max(SHORTEST_WALK, SHORT_WALK // (1 + passed[digest])))
    elif known:
        replay.walk(SHORT_WALK)
    else:  # what a class does besides its table has been looked for in each of its tables before
        replay.walk(max(SHORT_WALK, LONG_WALK // (1 + len(passed))))
        replay.every_pair()
    passed[digest] = passed.get(digest, 0) + 1
    return model


def is_known_kind(base: BareEnv) -> bool:
    """Whether an environment's `step` and `reset` are known to read its table and to keep no other state."""
    kind: Any = base.__class__
    return (kind.step, kind.reset) in KNOWN


def trusted_dynamics(facts: EnvironmentFacts, dynamics: CompiledDynamics) -> None:
    """Make sure that `step` does what the dynamics say.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of an environment that has been reset; it is left untouched.
    dynamics : CompiledDynamics

    Raises
    ------
    UntrustedTable
        If a wrapper could change what is seen, or a replay differs.
    UnsuitableEnvironment
        If the functions are not compiled, or return something else than they should.
    """
    facts.check_wrappers()
    check_dynamics(dynamics, facts.name)
    kind: Any = facts.base.__class__
    if kind.step is CompiledEnv.step and kind.reset is CompiledEnv.reset:
        return
    double = _double_of(facts)
    base: BareEnv = double.unwrapped
    rng = copy.deepcopy(base.np_random)
    space: UntypedSpace = double.action_space
    actions = np.random.default_rng(0).integers(0, space.n, DYNAMICS_WALK).tolist()
    elapsed = facts.time_limit
    state: State | None = None
    for action in actions:
        if elapsed >= facts.time_limit or state is None:
            observation, _ = double.reset()
            state = dynamics.begin(dynamics.constants, rng)
            _compare_dynamics(facts.name, base, dynamics, state, observation, rng, "reset")
            elapsed = 0
        state = dynamics.read(base)  # from the environment, so that differences of rounding do not add up
        expected, reward, terminated = dynamics.step(dynamics.constants, state, action, rng)
        observation, found_reward, found_end, _, _ = double.step(action + int(space.start))
        where = f"state {state}, action {action}"
        paid = finite_reward(found_reward, f"{facts.name}, at {where}")
        if bool(found_end) != bool(terminated) or not _close(paid, reward, ROUNDING):
            raise errors.UntrustedTable(
                f"{facts.name}: at {where} its compiled dynamics say reward {reward!r}, terminated {terminated}, but "
                f"its step {found_reward!r}, {found_end}"
            )
        _compare_dynamics(facts.name, base, dynamics, expected, observation, rng, where)
        elapsed += 1
        state = None if terminated else expected


def _compare_dynamics(
    name: str,
    base: BareEnv,
    dynamics: CompiledDynamics,
    state: object,
    observation: Observation,
    rng: Generator,
    where: str,
) -> None:
    seen = np.zeros(np.shape(observation))
    dynamics.observe(dynamics.constants, state, seen)
    for what, found, expected, tolerance in (
        ("state", dynamics.read(base), state, ROUNDING),
        ("observation", observation, seen, SINGLE),
    ):
        if not _close(found, expected, tolerance):
            raise errors.UntrustedTable(
                f"{name}: after {where} its compiled dynamics say {what} {expected!r}, but the environment {found!r}"
            )
    if not same_state(rng, base.np_random):
        raise errors.UntrustedTable(
            f"{name}: after {where} the environment has drawn other random numbers than its compiled dynamics"
        )


def _close(found: object, expected: object, tolerance: float) -> bool:
    one, other = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    return one.shape == other.shape and bool(np.all(np.abs(one - other) <= tolerance * np.maximum(1.0, np.abs(other))))


def _double_of(facts: EnvironmentFacts) -> Env:
    """Copy an environment for a replay, or raise `UntrustedTable` if it cannot be copied."""
    for layer in (*facts.wrappers, facts.base):
        for method in replaced_methods(layer):  # a copy would still call this environment
            raise errors.UntrustedTable(
                f"{facts.name}: its {method} has been replaced, so that it cannot be copied for a replay"
            )
    try:
        return copy.deepcopy(facts.env)
    except (TypeError, ValueError, RuntimeError) as error:
        raise errors.UntrustedTable(f"{facts.name} cannot be copied for a replay of its step ({error})") from error


def same_state(one: Generator, other: Generator) -> bool:
    """Whether two generators are of one kind and will draw the same; some kinds have arrays in their state."""
    return pickle.dumps(one.bit_generator.state) == pickle.dumps(other.bit_generator.state)


def finite_reward(paid: Any, name: str, step: int | None = None) -> float:
    """Return the reward that an environment has paid as a float; its name and the step are for the error.

    An array is a number only if it has no dimensions: NumPy makes no float of any other.

    Raises
    ------
    LearningError
        If it is not a finite number.

    Examples
    --------
    >>> finite_reward(np.array(1.0), "Walk-v0", 3)
    1.0
    >>> finite_reward(np.array([1.0]), "Walk-v0", 3)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    rlsuite.errors.LearningError: Walk-v0, step 3: the environment returned the reward array([1.]); rewards must be
    finite numbers, and this is an array of shape (1,): return reward.item()
    """
    hint = ""
    if type(paid) is not float and np.ndim(paid):
        remedy = "return reward.item()" if np.size(paid) == 1 else "return one number"
        hint = f", and this is an array of shape {np.shape(paid)}: {remedy}"
    else:
        try:
            if math.isfinite(paid):
                return float(paid)
        except (TypeError, OverflowError):  # text or None; an integer too large for a float
            pass
    raise errors.LearningError(
        f"{name}{'' if step is None else f', step {step}'}: the environment returned the reward {paid!r}; rewards must "
        f"be finite numbers{hint}"
    )


class _Replay:
    """An environment and its table, stepped side by side from the same generator state."""

    def __init__(self, facts: EnvironmentFacts, model: MDP | POMDP):
        self.env = _double_of(facts)
        self.name = facts.name
        self.vectors = None if facts.vectors is None else np.asarray(facts.vectors, dtype=np.float64)
        self.base: BareEnv = self.env.unwrapped
        self.table = TabularEnv(model)
        self.table.np_random = copy.deepcopy(self.base.np_random)
        self.legal = (model.mdp if isinstance(model, POMDP) else model).legal
        self.limit = facts.time_limit
        self.chooser = np.random.default_rng(0)  # which actions are tried; nothing else depends on it

    def walk(self, steps: int) -> None:
        """Random legal actions over several episodes; raise UntrustedTable at the first difference."""
        before = _simple_attributes(self.base)
        self._reset()
        elapsed = 0
        for u in self.chooser.random(steps).tolist():
            legal = np.flatnonzero(self.legal[self.table.s])
            action = int(legal[int(u * legal.size)])
            elapsed += 1
            if self._step(action, truncated=elapsed >= self.limit):
                self._reset()
                elapsed = 0
        for name, value in _simple_attributes(self.base).items():
            if name not in EXPECTED_CHANGES and before.get(name) != value:
                raise errors.UntrustedTable(
                    f"{self.name}: its step changes `{name}` (from {before.get(name)!r} to {value!r}), "
                    "which its table does not have"
                )

    def every_pair(self) -> None:
        """Try each state-action pair once, if the environment's state can be set (attribute ``s``)."""
        pairs = np.argwhere(self.legal)
        if not hasattr(self.base, "s") or len(pairs) > MAX_PAIRS:
            return
        for state, action in pairs:
            self._reset()
            self.base.s = self.table.s = int(state)
            self._step(int(action), truncated=self.limit <= 1)

    def _reset(self) -> None:
        observation, _ = self.env.reset()
        expected, _ = self.table.reset()
        self._compare("reset", (observation,), (self._shown(expected),))

    def _step(self, action: int, truncated: bool) -> bool:
        where = f"state {self.table.s}, action {action}"
        try:
            found = self.env.step(action)[:4]
        except Exception as error:  # whatever the environment raises
            raise errors.UntrustedTable(
                f"{self.name}: at {where} its table has outcomes, but its step raised {type(error).__name__}: {error}"
            ) from error
        observation, reward, terminated = self.table.step(action)[:3]
        expected = (self._shown(observation), reward, terminated, truncated)
        self._compare(where, found, expected)
        return expected[2] or truncated

    def _shown(self, observation: int) -> Any:
        return observation if self.vectors is None else self.vectors[observation]

    def _compare(self, where: str, found: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
        value: Any
        wanted: Any
        for name, value, wanted in zip(
            ("observation", "reward", "terminated", "truncated"), found, expected, strict=False
        ):
            # where a number is expected, the stepwise loop does not take an array of one element
            if np.ndim(wanted):
                same = np.array_equal(np.ravel(value), wanted)
            else:
                same = not np.ndim(value) and value == wanted
            if not same:
                raise errors.UntrustedTable(
                    f"{self.name}: at {where} its table says {name} {wanted!r}, but its step returns {value!r}"
                )
        if not same_state(self.table.np_random, self.base.np_random):
            raise errors.UntrustedTable(f"{self.name}: at {where} it draws other random numbers than its table needs")


def _digest(model: MDP | POMDP | None, attributes: list[tuple[object, ...]]) -> bytes:
    """Checksum of the attributes of an environment, and of its model."""
    digest = hashlib.blake2b(repr(attributes).encode())
    if model is None:
        return digest.digest()
    mdp = model.mdp if isinstance(model, POMDP) else model
    parts = [*mdp.rows, mdp.start, mdp.reward_std, mdp.bernoulli]
    if isinstance(model, POMDP):
        parts.append(model.observation)
    for part in parts:
        digest.update(b"-" if part is None else np.ascontiguousarray(part).data)
    return digest.digest()


def _simple_attributes(base: BareEnv) -> dict[str, Any]:
    """The attributes in which a step could keep a state of its own, by name."""
    attributes: dict[str, Any] = base.__dict__
    simple: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, _SIMPLE):
            simple[name] = value
        elif type(value) is np.ndarray and value.size < 1_000:
            simple[name] = value.tolist()
    return simple


def attribute_record(base: BareEnv) -> list[tuple[object, ...]]:
    """Return the content of all attributes that a step may read besides the table, for comparison.

    Left out are the table, models, spaces and compiled functions, which are compared in other ways or do not change,
    and what cannot be pickled. Numbers, strings and arrays, which nearly all are, are not pickled: that takes ten
    times as long, which would slow down short calls of `learn`.
    """
    attributes: dict[str, Any] = base.__dict__
    table = attributes.get("P")
    return [
        (name, type(value), value) if type(value) in _PLAIN else (name, type(value), *_content(value, table))
        for name, value in attributes.items()
        if name not in EXPECTED_CHANGES
    ]


def _content(value: Any, table: object) -> tuple[object, ...]:
    """Return what to compare of an attribute that is not a plain number or word."""
    if isinstance(value, _ARRAYS) and not value.dtype.hasobject:
        content = value.tobytes()
        return value.dtype, value.shape, content if value.size < _SMALL else _digest_of(content)
    if value is table or type(value).__module__.partition(".")[0] in _LEFT_OUT:
        return ()
    try:
        return (_digest_of(pickle.dumps(value)),)
    except Exception:  # classes of other packages may raise anything
        return ()


def _digest_of(content: bytes) -> bytes:
    return hashlib.blake2b(content).digest()
