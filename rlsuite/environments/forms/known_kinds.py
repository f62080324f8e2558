"""The classes whose `step` and `reset` are known to do what their table, or their dynamics, say.

A few classes are known. For all others a run compares as it goes (`rlsuite.training.verification`).
"""

import hashlib
import inspect
from functools import cache
from typing import Any, cast

from gymnasium.envs.toy_text import CliffWalkingEnv, FrozenLakeEnv, TaxiEnv
from gymnasium.envs.toy_text import utils as toy_text

from rlsuite.environments.compiled_env import CompiledEnv
from rlsuite.environments.facts import EnvironmentFacts, replaced_methods
from rlsuite.environments.tabular_env import TabularEnv

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
_BANDIT = "f2ec976797b9f58a"
"""Checksum of the source of `step`, `reset` and `draw_reward` of our bandit, which calls those of `TabularEnv`."""
_DECLARED = {"P", "initial_state_distrib", "model", "dynamics"}
"""What an environment declares."""
_NOT_CALLED = {"dynamics", "np_random"}


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
    kinds: Any = [one for one in kind.__mro__ if one in _GYMNASIUM or one in _OURS or _is_bandit(one)]
    if not kinds:
        return frozenset()
    known = kinds[0]
    if any((one.step, one.reset) != _OURS[one] for one in kinds if one in _OURS):  # replaced
        return frozenset()
    if (step, reset) != (known.step, known.reset):
        return frozenset()
    if known in _GYMNASIUM and _checksum(step, reset, _categorical_sample) not in _GYMNASIUM[known]:
        return frozenset()
    names = {"step", "reset", *_DECLARED}
    for one in kinds:
        names |= {*one.step.__code__.co_names, *one.reset.__code__.co_names}
    subclasses = kind.__mro__[: kind.__mro__.index(known)]
    return frozenset() if any(names & vars(one).keys() for one in subclasses) else frozenset(names - _NOT_CALLED)


def _is_bandit(kind: type) -> bool:
    """Whether a class is our bandit, which this package does not import, as it was written."""
    methods = [vars(kind).get(name) for name in ("step", "reset", "draw_reward")]
    return kind.__bases__ == (TabularEnv,) and _checksum(*methods) == _BANDIT


def _checksum(*functions: Any) -> str:
    """Checksum of the source of functions; an empty text if it cannot be found."""
    try:
        source = "".join(map(inspect.getsource, functions))
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(source.encode()).hexdigest()[:16]
