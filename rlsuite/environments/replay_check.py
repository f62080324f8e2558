"""Whether an environment's table, or its compiled dynamics, agree with its `step`.

A few classes are known to do nothing but what their table says. For all others a run compares as it goes
(`rlsuite.training.verification`). What is here is for those who ask: a copy of the environment is replayed beside its
table or its dynamics.
"""

import copy
import hashlib
import inspect
import pickle
from functools import cache
from typing import Any, cast

import numpy as np
from gymnasium.envs.toy_text import CliffWalkingEnv, FrozenLakeEnv, TaxiEnv
from gymnasium.envs.toy_text import utils as toy_text

from rlsuite import errors
from rlsuite.core.aliases import BareEnv, Env
from rlsuite.environments.compiled_env import CompiledDynamics, CompiledEnv, check_dynamics
from rlsuite.environments.facts import TRANSPARENT, EnvironmentFacts, facts_of, replaced_methods
from rlsuite.environments.followers import EXPECTED_CHANGES, DynamicsFollower, TableFollower, walk
from rlsuite.environments.tabular_env import TabularEnv
from rlsuite.environments.wrappers import VectorObservation
from rlsuite.models import MDP, POMDP

# Classes that are known to read their table and to keep no other state. For those of Gymnasium, the checksums of the
# source of `step`, `reset` and `categorical_sample` in its versions 1.3 and 1.4: an edited or another one is not known.
_GYMNASIUM: dict[type, frozenset[str]] = {
    FrozenLakeEnv: frozenset({"a751f91ac25da573"}),
    CliffWalkingEnv: frozenset({"5da26bdcca85e099"}),
    TaxiEnv: frozenset({"0db3b092b55ed8cc"}),
}
_toy_text: Any = toy_text  # without types
_categorical_sample = _toy_text.categorical_sample
_OURS = {kind: (kind.step, kind.reset) for kind in (TabularEnv, CompiledEnv)}
_DECLARED = {"P", "initial_state_distrib", "model", "dynamics"}
"""What an environment declares."""
_NOT_CALLED = {"dynamics", "np_random"}

LONG_WALK, DYNAMICS_WALK = 5_000, 300
"""Steps of a replay along a table, and along dynamics."""
MAX_PAIRS = 10_000
_PLAIN = {bool, int, float, str, type(None)}
_ARRAYS: Any = (np.ndarray, np.generic)
_SMALL = 1_000  # an array of fewer numbers is compared itself, a larger one by its checksum
_LEFT_OUT = {"rlsuite", "gymnasium", "numba"}  # packages whose objects `attribute_record` leaves out


def is_known_kind(facts: EnvironmentFacts) -> bool:
    """Whether an environment's `step` and `reset` are known to do what its table, or its dynamics, say, and no more."""
    base = facts.base
    if any(map(replaced_methods, facts.wrappers)) or getattr(base, "fickle_passenger", False):
        return False
    kind: Any = base.__class__
    used, own = _used_names(kind, kind.step, kind.reset), cast("dict[str, object]", vars(base))
    return bool(used) and not any(callable(value) and name in used for name, value in own.items())


@cache
def _used_names(kind: type, step: Any, reset: Any) -> frozenset[str]:
    """What `step` and `reset` of a known class use; empty if a class is not known, or has one of these of its own."""
    known: Any = next((one for one in kind.__mro__ if one in _GYMNASIUM or one in _OURS), None)
    if known is None or (step, reset) != _OURS.get(known, (known.step, known.reset)):
        return frozenset()
    if known in _GYMNASIUM and _checksum(step, reset, _categorical_sample) not in _GYMNASIUM[known]:
        return frozenset()
    names = {"step", "reset", *step.__code__.co_names, *reset.__code__.co_names, *_DECLARED}
    subclasses = kind.__mro__[: kind.__mro__.index(known)]
    return frozenset() if any(names & vars(one).keys() for one in subclasses) else frozenset(names - _NOT_CALLED)


def _checksum(*functions: Any) -> str:
    """Checksum of the source of functions; an empty text if it cannot be found."""
    try:
        source = "".join(map(inspect.getsource, functions))
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def model_of(facts: EnvironmentFacts, gamma: float, *, vectors: bool = False) -> MDP | POMDP:
    """Read the model that an environment declares; nothing is called.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of the environment.
    gamma : float
        Discount of the model that is returned.
    vectors : bool
        Whether a `VectorObservation` may show vectors instead of its observations.

    Raises
    ------
    UntrustedTable
        If there is no table, or a wrapper could change what it says.
    """
    facts.check_wrappers((*TRANSPARENT, VectorObservation) if vectors else TRANSPARENT)
    return (POMDP if isinstance(facts.model, POMDP) else MDP).from_env(facts.base, gamma=gamma)


def trusted_model(facts: EnvironmentFacts, gamma: float) -> MDP | POMDP:
    """Read an environment's model, and make sure, on a copy, that `step` follows it.

    Raises
    ------
    UntrustedTable
        If there is no table, a wrapper could change what it says, or a replay differs from it.
    """
    model = model_of(facts, gamma)
    if not is_known_kind(facts):
        double = _double_of(facts)
        follower = TableFollower(facts_of(double), model)
        walk(double, follower, LONG_WALK)
        if not follower.difference:
            _try_every_pair(double, follower, (model.mdp if isinstance(model, POMDP) else model).legal)
        if follower.difference:
            raise errors.UntrustedTable(f"{facts.name}: {follower.difference}")
    return model


def _try_every_pair(double: Env, follower: TableFollower, legal: Any) -> None:
    """Try each state-action pair once, as the state of an environment with a table can be set."""
    pairs = np.argwhere(legal)
    if len(pairs) > MAX_PAIRS:
        return
    for state, action in pairs.tolist():
        follower.after_reset(double.reset()[0])
        follower.put(state)
        follower.take(double, action)
        if follower.difference:
            return


def trusted_dynamics(facts: EnvironmentFacts, dynamics: CompiledDynamics) -> None:
    """Make sure, on a copy, that `step` does what the dynamics say.

    Raises
    ------
    UntrustedTable
        If a wrapper could change what is seen, or a replay differs.
    UnsuitableEnvironment
        If the functions are not compiled, or return something else than they should.
    """
    facts.check_wrappers()
    check_dynamics(dynamics, facts.name)
    if is_known_kind(facts):
        return
    double = _double_of(facts)
    follower = DynamicsFollower(facts_of(double), dynamics)
    walk(double, follower, DYNAMICS_WALK)
    if follower.difference:
        raise errors.UntrustedTable(f"{facts.name}: {follower.difference}")


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
