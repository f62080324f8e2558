"""Whether an environment has changed since its compiled form was made.

The compiled loop runs on a table that was read, and checked, when the run began. Between two calls of `learn` a user
may edit ``env.unwrapped.P``, assign another model, or set an attribute that `step` reads. So everything that could have
been changed is recorded at the end of every call and compared at the start of the next: a fraction of a millisecond for
a small table.
"""

from typing import Any, NamedTuple

import gymnasium
import numpy as np

from rlsuite.environments.dynamics_check import dynamics_of
from rlsuite.environments.replay_check import attribute_record, has_table, replaced_methods, time_limit, wrappers
from rlsuite.environments.vector_observation import VectorObservation
from rlsuite.models import MDP, POMDP
from rlsuite.models.gymnasium_table import copied_table, same_table


class Noted(NamedTuple):
    """The parts of an environment that can be compared."""

    model: object
    """Its own model, if it has one; models do not change."""
    limit: int
    attributes: list[tuple[object, ...]]
    """What its attributes say."""
    wrappers: tuple[object, ...]
    """The wrappers, the methods that have been replaced in them, and the vectors that one may show."""
    dynamics: object


def note(env: gymnasium.Env[Any, Any]) -> Noted:
    """Note what `Watch.unchanged` compares."""
    base: Any = env.unwrapped
    layers: list[object] = []
    for layer in wrappers(env):
        layers += [layer, *(vars(layer)[method] for method in replaced_methods(layer))]
        layers.append(getattr(layer, "vectors", None) if type(layer) is VectorObservation else None)
    dynamics = None if has_table(env) else dynamics_of(env)
    return Noted(getattr(base, "model", None), time_limit(env), attribute_record(base), tuple(layers), dynamics)


class Watch:
    """Compares an environment with what it was at the end of the last call of `learn`.

    Parameters
    ----------
    env : gymnasium.Env
        The environment.
    model : MDP, POMDP or None
        What was read from its table, if it has one.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], model: MDP | POMDP | None):
        self.env = env
        self.table = model if isinstance(model, MDP) else None
        self._noted: Noted | None = None
        self._copy: dict[Any, Any] | None = None  # of a table that agreed with the model

    @property
    def begun(self) -> bool:
        """Whether there was a call of `learn`."""
        return self._noted is not None

    def note(self) -> None:
        """Note the environment at the end of a call of `learn`."""
        self._noted = note(self.env)

    def unchanged(self) -> bool:
        """Whether nothing has been changed since the last note; True before the first one."""
        noted = self._noted
        if noted is None:
            return True
        now = note(self.env)
        if now.model is not noted.model or (now.limit, now.attributes) != (noted.limit, noted.attributes):
            return False
        if list(map(id, now.wrappers)) != list(map(id, noted.wrappers)):
            return False
        if not _same(now.dynamics, noted.dynamics):
            return False
        return isinstance(now.model, MDP | POMDP) or self.table is None or self._same_table(self.table)

    def _same_table(self, table: MDP) -> bool:
        """Whether the environment's table is the one that was read."""
        base: Any = self.env.unwrapped
        try:
            if self._copy is not None and _equal(base.P, self._copy):
                return np.array_equal(base.initial_state_distrib, table.start)
        except ValueError:  # the user put an array where a number was
            pass
        same = same_table(self.env, table.rows, table.start)
        self._copy = copied_table(self.env) if same else None
        return same


def _equal(P: object, copied: dict[Any, Any]) -> bool:
    """Whether a table equals a copy."""
    return isinstance(P, dict) and copied == P


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
