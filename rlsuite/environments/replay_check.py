"""Whether an environment's table agrees with its `step`.

The compiled loop never calls the environment, so it may be used only where table and `step` agree. Known wrappers
around a known `step` are checked as well: the table may have been edited, or (Taxi with a fickle passenger) the
environment may do more than its table. So both are replayed side by side, on copies, before the first step.
"""

import copy
import hashlib
import math
import pickle
from collections.abc import Mapping
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.envs.toy_text import CliffWalkingEnv, FrozenLakeEnv, TaxiEnv
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.environments.vector_observation import VectorObservation
from rlsuite.models import MDP, POMDP

NO_LIMIT = np.iinfo(np.int64).max

# These change nothing that an agent sees, except that TimeLimit truncates, which the compiled loop does too.
TRANSPARENT: tuple[type, ...] = (PassiveEnvChecker, OrderEnforcing, TimeLimit)
# These are known to read the table and to keep no other state; a short replay shows the rest.
_KINDS: tuple[Any, ...] = (FrozenLakeEnv, CliffWalkingEnv, TaxiEnv, TabularEnv)
KNOWN = {(kind.step, kind.reset) for kind in _KINDS}

# classes, with their keywords, tables and attributes, that have passed the long replay in this process: so thirty
# seeds need it only once
_proven: set[tuple[type, str, bytes]] = set()

SHORT_WALK, LONG_WALK = 100, 5_000
MAX_PAIRS = 10_000
_SIMPLE = (bool, int, float, str)
_PLAIN = {bool, int, float, str, type(None)}
_ARRAYS: Any = (np.ndarray, np.generic)
_SMALL = 1_000  # an array of fewer numbers is compared itself, a larger one by its checksum
_LEFT_OUT = {"rlsuite", "gymnasium", "numba"}  # packages whose objects `attribute_record` leaves out
# what `step` may change: the state, the generator, and what only rendering reads
EXPECTED_CHANGES = {"s", "lastaction", "lastreward", "_np_random", "_np_random_seed", "taxi_orientation"}


def has_table(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether the environment comes with a model of ours or with Gymnasium's ``P`` that says which actions exist."""
    return not masks_are_law(env) and comes_with_table(env)


def comes_with_table(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether the environment comes with a model of ours or with Gymnasium's ``P``, whatever its masks say."""
    base = env.unwrapped
    return isinstance(getattr(base, "model", None), MDP | POMDP) or getattr(base, "P", None) is not None


def masks_are_law(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether the class declares ``metadata["action_mask"] = "law"``: what the mask forbids cannot be done.

    Without it, a mask beside a full table only leaves out what would do nothing, as Taxi's. Where the legal actions
    depend on the state alone, an empty list ``P[s][a] = []`` says the same, and is learned at compiled speed.
    """
    return env.unwrapped.metadata.get("action_mask") == "law"


def actions_are_told(env: gymnasium.Env[Any, Any], info: Mapping[str, Any]) -> bool:
    """Whether ``info["action_mask"]`` says which actions exist.

    It does not where a table knows all of them in every state, unless the masks are law (`masks_are_law`).
    """
    if "action_mask" not in info:
        return False
    if masks_are_law(env):
        return True
    model = getattr(env.unwrapped, "model", None)
    if isinstance(model, MDP | POMDP):
        return not (model.mdp if isinstance(model, POMDP) else model).legal.all()
    return getattr(env.unwrapped, "P", None) is None


def time_limit(env: gymnasium.Env[Any, Any]) -> int:
    """Steps after which an episode is truncated; NO_LIMIT if it never is."""
    return min((layer._max_episode_steps for layer in time_limits(env)), default=NO_LIMIT)


def time_limits(env: gymnasium.Env[Any, Any]) -> list[Any]:
    """The TimeLimit wrappers of an environment."""
    return [layer for layer in wrappers(env) if type(layer) is TimeLimit]


def shown_vectors(env: gymnasium.Env[Any, Any]) -> NDArray[np.float64] | None:
    """The vectors (n_observations, d) that a `VectorObservation` shows; None without one."""
    layers = [layer for layer in wrappers(env) if type(layer) is VectorObservation]
    return np.ascontiguousarray(layers[0].vectors, dtype=np.float64) if layers else None


def wrappers(env: gymnasium.Env[Any, Any]) -> list[Any]:
    """All wrappers, outermost first."""
    found: list[Any] = []
    layer = cast(Any, env)
    while layer is not env.unwrapped:
        found.append(layer)
        layer = layer.env
    return found


def trusted_model(
    env: gymnasium.Env[Any, Any], gamma: float, vectors: NDArray[np.float64] | None = None
) -> MDP | POMDP:
    """Read an environment's model, and make sure that `step` follows it.

    Parameters
    ----------
    env : gymnasium.Env
        An environment that has been reset; it is left untouched.
    gamma : float
        Discount of the model that is returned.
    vectors : ndarray (n_observations, d), optional
        What a `VectorObservation` around the environment shows instead of its observations.

    Raises
    ------
    UntrustedTable
        If there is no table, a wrapper could change what it says, or a replay differs from it.
    """
    check_wrappers(env, TRANSPARENT if vectors is None else (*TRANSPARENT, VectorObservation))
    kind: Any = env.unwrapped.__class__
    hidden = isinstance(getattr(env.unwrapped, "model", None), POMDP)
    model = POMDP.from_env(env.unwrapped, gamma=gamma) if hidden else MDP.from_env(env.unwrapped, gamma=gamma)
    known = (kind.step, kind.reset) in KNOWN
    specification = (kind, repr(env.spec), b"" if known else _digest(model, attribute_record(env.unwrapped)))
    known = known or specification in _proven
    replay = _Replay(double_of(env), model, vectors)
    replay.walk(SHORT_WALK if known else LONG_WALK)
    if not known:
        replay.every_pair()
        if env.spec is not None:
            _proven.add(specification)
    return model


def double_of(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Copy an environment for a replay.

    Raises
    ------
    UntrustedTable
        If it cannot be copied.
    """
    for layer in (*wrappers(env), env.unwrapped):
        for method in replaced_methods(layer):  # a copy would still call this environment
            raise errors.UntrustedTable(
                f"{name_of(env)}: its {method} has been replaced, so that it cannot be copied for a replay"
            )
    try:
        return copy.deepcopy(env)
    except (TypeError, ValueError, RuntimeError) as error:
        raise errors.UntrustedTable(f"{name_of(env)} cannot be copied for a replay of its step ({error})") from error


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


def name_of(env: gymnasium.Env[Any, Any]) -> str:
    """Id of an environment, or the name of its class."""
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def check_wrappers(env: gymnasium.Env[Any, Any], transparent: tuple[type, ...] = TRANSPARENT) -> None:
    """Raise UntrustedTable if a wrapper may change what an agent observes."""
    for layer in wrappers(env):
        if type(layer) not in transparent:
            raise errors.UntrustedTable(
                f"{name_of(env)} is wrapped in {type(layer).__name__}, which may change its dynamics or observations"
            )


def only_transparent(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether only known wrappers, unmodified, are between an agent and the environment's own step."""
    return all(type(layer) in TRANSPARENT and not replaced_methods(layer) for layer in wrappers(env))


def replaced_methods(layer: Any) -> list[str]:
    """Which of `step` and `reset` an environment or a wrapper has as an attribute, instead of its class's."""
    return [method for method in ("step", "reset") if method in vars(layer)]


class _Replay:
    """An environment and its table, stepped side by side from the same generator state."""

    def __init__(self, env: gymnasium.Env[Any, Any], model: MDP | POMDP, vectors: NDArray[np.float64] | None):
        self.env = env
        self.vectors = vectors
        self.base = cast(Any, env.unwrapped)
        self.table = TabularEnv(model)
        self.table.np_random = copy.deepcopy(self.base.np_random)
        self.legal = (model.mdp if isinstance(model, POMDP) else model).legal
        self.limit = time_limit(env)
        self.chooser = np.random.default_rng(0)  # which actions are tried; nothing else depends on it

    def walk(self, steps: int) -> None:
        """Random legal actions over several episodes; raise UntrustedTable at the first difference."""
        before = simple_attributes(self.base)
        self._reset()
        elapsed = 0
        for u in self.chooser.random(steps).tolist():
            legal = np.flatnonzero(self.legal[self.table.s])
            action = int(legal[int(u * legal.size)])
            elapsed += 1
            if self._step(action, truncated=elapsed >= self.limit):
                self._reset()
                elapsed = 0
        for name, value in simple_attributes(self.base).items():
            if name not in EXPECTED_CHANGES and before.get(name) != value:
                raise errors.UntrustedTable(
                    f"{name_of(self.env)}: its step changes `{name}` (from {before.get(name)!r} to {value!r}), "
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
                f"{name_of(self.env)}: at {where} its table has outcomes, but its step raised "
                f"{type(error).__name__}: {error}"
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
                    f"{name_of(self.env)}: at {where} its table says {name} {wanted!r}, but its step returns {value!r}"
                )
        if self.table.np_random.bit_generator.state != self.base.np_random.bit_generator.state:
            raise errors.UntrustedTable(
                f"{name_of(self.env)}: at {where} it draws other random numbers than its table needs"
            )


def _digest(model: MDP | POMDP, attributes: list[tuple[object, ...]]) -> bytes:
    """Checksum of a model and of the attributes of its environment."""
    mdp = model.mdp if isinstance(model, POMDP) else model
    digest = hashlib.blake2b(repr(attributes).encode())
    parts = [*mdp.rows, mdp.start, mdp.reward_std, mdp.bernoulli]
    if isinstance(model, POMDP):
        parts.append(model.observation)
    for part in parts:
        digest.update(b"-" if part is None else np.ascontiguousarray(part).data)
    return digest.digest()


def simple_attributes(base: Any) -> dict[str, Any]:
    """The attributes in which a step could keep a state of its own, by name."""
    attributes: dict[str, Any] = base.__dict__
    simple: dict[str, Any] = {}
    for name, value in attributes.items():
        if isinstance(value, _SIMPLE):
            simple[name] = value
        elif type(value) is np.ndarray and value.size < 1_000:
            simple[name] = value.tolist()
    return simple


def attribute_record(base: Any) -> list[tuple[object, ...]]:
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
