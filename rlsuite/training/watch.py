"""Whether an environment has changed between two calls of `learn`."""

from typing import NamedTuple

import numpy as np

from rlsuite.core.aliases import Env
from rlsuite.core.checks import is_dict
from rlsuite.environments.compiled_env import CompiledDynamics
from rlsuite.environments.facts import EnvironmentFacts, facts_of, replaced_methods
from rlsuite.environments.followers import attribute_record
from rlsuite.models import MDP, POMDP
from rlsuite.models.gymnasium_table import CopiedTable, copied_table, same_table


class _Recorded(NamedTuple):
    """The parts of an environment that can be compared."""

    facts: EnvironmentFacts
    attributes: dict[str, tuple[object, ...]]
    """What its attributes say."""
    layers: list[object]
    """The wrappers, the methods that have been replaced in them, and the vectors that one may show."""


def _recorded(facts: EnvironmentFacts) -> _Recorded:
    layers: list[object] = [facts.vectors]
    for layer in facts.wrappers:
        layers += [layer, *(vars(layer)[method] for method in replaced_methods(layer))]
    return _Recorded(facts, attribute_record(facts.base), layers)


class Watch:
    """Whether an environment has changed since its compiled form was made.

    The compiled loop runs on a table that was read, and checked, when the run began. Between two calls of `learn` a
    user may edit ``env.unwrapped.P``, assign another model, or set an attribute that `step` reads. So everything that
    could have been changed is recorded at the end of every call and compared at the start of the next: a fraction of a
    millisecond for a small table.

    Parameters
    ----------
    model : MDP, POMDP or None
        What was read from the environment's table, if it has one.
    """

    def __init__(self, model: MDP | POMDP | None):
        self.table = model if isinstance(model, MDP) else None
        self._recorded: _Recorded | None = None
        self._copy: CopiedTable | None = None  # of a table that agreed with the model

    @property
    def begun(self) -> bool:
        """Whether there was a call of `learn`."""
        return self._recorded is not None

    def record(self, env: Env) -> None:
        """Record the environment at the end of a call of `learn`."""
        self._recorded = _recorded(facts_of(env))

    def unchanged(self, facts: EnvironmentFacts) -> bool:
        """Whether nothing has been changed since the last record; True before the first one."""
        recorded = self._recorded
        if recorded is None:
            return True
        now = _recorded(facts)
        if facts.model is not recorded.facts.model or facts.time_limit != recorded.facts.time_limit:
            return False
        if list(now.attributes.items()) != list(recorded.attributes.items()) or list(map(id, now.layers)) != list(
            map(id, recorded.layers)
        ):
            return False
        if not _same(facts.dynamics, recorded.facts.dynamics):
            return False
        return isinstance(facts.model, MDP | POMDP) or self.table is None or self._same_table(facts, self.table)

    def _same_table(self, facts: EnvironmentFacts, table: MDP) -> bool:
        """Whether the environment's table is the one that was read."""
        base = facts.base
        try:
            if self._copy is not None and is_dict(base.P) and self._copy == base.P:
                return np.array_equal(base.initial_state_distrib, table.start)
        except ValueError:  # the user put an array where a number was
            pass
        same = same_table(facts.env, table.rows, table.start)
        self._copy = copied_table(facts.env) if same else None
        return same


def _same(one: CompiledDynamics | None, other: CompiledDynamics | None) -> bool:
    """Whether two descriptions of compiled dynamics have the same functions and equal constants."""
    if one is other:
        return True
    if one is None or other is None:
        return False
    if any(getattr(one, part) is not getattr(other, part) for part in ("begin", "step", "observe")):
        return False
    old, new = tuple(one.constants), tuple(other.constants)
    return len(old) == len(new) and all(map(np.array_equal, old, new))
