"""Whether an environment has changed since its compiled form was made.

The compiled loop runs on a table that was read, and checked, when the run began. Between two calls of `learn` a user
may edit ``env.unwrapped.P``, assign another model, or set an attribute that `step` reads. So everything that could have
been changed is recorded at the end of every call and compared at the start of the next: a fraction of a millisecond for
a small table.
"""

from typing import Any, NamedTuple

import gymnasium
import numpy as np

from rlsuite.models import MDP, POMDP
from rlsuite.models.gymnasium_table import same_table
from rlsuite.trust import EXPECTED_CHANGES, has_table, simple_attributes, time_limit
from rlsuite.trusted_dynamics import dynamics_of


class Noted(NamedTuple):
    """What an environment consists of, as far as it can be compared."""

    model: object
    """Its own model, if it has one; models do not change."""
    limit: int
    attributes: dict[str, Any]
    """Numbers, words and small arrays among its attributes, and the names of all."""
    dynamics: object


def note(env: gymnasium.Env[Any, Any]) -> Noted:
    """Note what `unchanged` compares."""
    base: Any = env.unwrapped
    attributes = {key: value for key, value in simple_attributes(base).items() if key not in EXPECTED_CHANGES}
    names = sorted(base.__dict__.keys() - EXPECTED_CHANGES)
    dynamics = None if has_table(env) else dynamics_of(env)
    return Noted(getattr(base, "model", None), time_limit(env), {**attributes, "": names}, dynamics)


def unchanged(env: gymnasium.Env[Any, Any], noted: Noted, model: MDP | POMDP | None) -> bool:
    """Whether nothing has been changed since; `model` is what was read from the environment's table, if it has one."""
    now = note(env)
    if now.model is not noted.model or (now.limit, now.attributes) != (noted.limit, noted.attributes):
        return False
    if not _same(now.dynamics, noted.dynamics):
        return False
    if isinstance(now.model, MDP | POMDP) or not isinstance(model, MDP):
        return True
    return same_table(env, model.rows, model.start)


def _same(one: Any, other: Any) -> bool:
    """Whether two descriptions of compiled dynamics have the same functions and equal constants."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    if any(getattr(one, part) is not getattr(other, part) for part in ("begin", "step", "observe")):
        return False
    old, new = tuple(one.constants), tuple(other.constants)
    return len(old) == len(new) and all(map(np.array_equal, old, new))
