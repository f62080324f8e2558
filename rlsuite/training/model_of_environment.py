"""Whether agents can learn in an environment without calling it.

They can on the table that it has, through compiled dynamics, and on a table that is made by asking it
(`rlsuite.environments.tabulation`).
"""

import operator
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import BareEnv, Env
from rlsuite.environments.compiled_env import CompiledDynamics, check_dynamics
from rlsuite.environments.facts import EnvironmentFacts, facts_of, replaced_methods
from rlsuite.environments.followers import DynamicsFollower, Follower, TableFollower
from rlsuite.environments.replay_check import attribute_record, is_known_kind, model_of
from rlsuite.environments.tabulation import NotTabulated, Tabulation, TabulationFollower, tabulation_of
from rlsuite.models import MDP, POMDP
from rlsuite.models.gymnasium_table import CopiedTable, copied_table, same_table
from rlsuite.training.environment_functions import Adapter, dynamics_adapter, table_adapter, vector_table_adapter
from rlsuite.training.observation_view import Encoding


class CompiledForm(NamedTuple):
    """The model and the compiled form of an environment, each None if it has none."""

    adapter: Adapter | None
    """How the compiled loop runs it; None if it cannot."""
    model: MDP | POMDP | None
    """The model of its table."""
    reason: str
    """What the compiled form is made of, or why there is none, as a phrase."""
    rewards: tuple[float, float] | None = None
    """The least and the largest reward, where there is no model that says so."""
    tabulation: Tabulation | None = None
    """What was found by asking, if that is what the compiled form is made of."""
    follower: Callable[[EnvironmentFacts], Follower] | None = None
    """Makes what says beside the environment what it should do; None if the form is known to be right."""


NOT_ASKED_FOR = "it has no table; tabulate=True may make one, see docs/tabulation.md"
"""The reason for stepping an environment that nobody has asked for its table."""

_tabulated: list[tuple[object, Tabulation]] = []
"""What has been tabulated in this process, with class and keywords, newest first: thirty seeds need it only once."""
_one_at_a_time = threading.Lock()

MAX_KEPT = 8
"""Tabulations that are kept."""


def compiled_form(
    facts: EnvironmentFacts, encode: Encoding | None, gamma: float, loop: str, told: bool, patience: float
) -> CompiledForm:
    """Find the compiled form of an environment for an agent that observes ids or vectors.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of an environment that has been reset; it is left untouched.
    encode : Encoding or None
        How observations become vectors; None for an agent that is shown ids.
    gamma : float
        Discount of the model.
    loop : {"auto", "compiled", "stepwise"}
        With "compiled" it is an error if there is no compiled form that can be used; with "auto" there is a warning
        if there is one that cannot be used.
    told : bool
        Whether the environment tells in each info which actions exist.
    patience : float
        Seconds that may be spent on asking an environment for its table.

    Raises
    ------
    UnsuitableEnvironment
        With ``loop="compiled"``, if there is no compiled form that can be used.
    """
    can_ask = loop == "compiled" and encode is None and not told and patience > 0.0
    try:
        if facts.has_table:
            try:
                form = _of_table(facts, encode, gamma)
                if form.adapter is None and loop == "compiled":
                    raise errors.UntrustedTable(f"{facts.name} {form.reason}")
            except errors.UntrustedTable as error:
                if not can_ask:
                    raise
                try:
                    return form_by_asking(facts, patience)
                except errors.UnsuitableEnvironment as reason:
                    raise errors.UntrustedTable(f"{error}; and it cannot be tabulated: {reason}") from error
            if form.adapter is None and loop == "auto":
                message = f"{facts.name} {form.reason}. Learning stepwise"
                warnings.warn(message, errors.StepwiseWarning, stacklevel=errors.level_of_the_caller())
            if can_ask and not is_known_kind(facts):
                return _checked_by_asking(facts, form, patience)
            return form
        if facts.comes_with_table:
            raise errors.UnsuitableEnvironment(
                f'{facts.name} declares metadata["action_mask"] = "law": its masks say which actions exist, and its '
                "table does not; where that depends on the state alone, write P[s][a] = [] instead"
            )
        if facts.dynamics is not None and encode is not None:
            if told:
                raise errors.UnsuitableEnvironment(
                    f"{facts.name} has an action_mask in its info, which compiled dynamics do not support"
                )
            facts.check_wrappers()
            check_dynamics(facts.dynamics, facts.name)
            if encode.transform is not None:
                raise errors.UnsuitableEnvironment(
                    f"{facts.name} has compiled dynamics, but these features can only be computed in Python; the "
                    "feature maps of rlsuite.approximation are compiled"
                )
            known = is_known_kind(facts)
            follower = None if known else partial(DynamicsFollower, dynamics=facts.dynamics)
            return CompiledForm(
                dynamics_adapter(facts, facts.dynamics), None, "its compiled dynamics", follower=follower
            )
    except errors.UnsuitableEnvironment as error:
        if loop == "compiled":
            raise
        if loop == "auto":
            level = errors.level_of_the_caller()
            warnings.warn(f"{error}. Learning stepwise.", errors.StepwiseWarning, stacklevel=level)
        return CompiledForm(None, None, str(error))
    if loop == "compiled":
        reason = ""
        if can_ask:
            try:
                return form_by_asking(facts, patience)
            except errors.UnsuitableEnvironment as error:
                reason = str(error)
        what = "transition table (env.unwrapped.P or .model)"
        if encode is not None:
            what += " and no compiled dynamics (env.unwrapped.dynamics)"
        hint = f", and cannot be tabulated: {reason}" if reason else ""
        raise errors.UnsuitableEnvironment(
            f"{facts.name} has no {what}, which loop='compiled' and tabulate=True need{hint}; use loop='stepwise'"
        )
    if encode is not None:
        return CompiledForm(None, None, "it has no compiled dynamics")
    if told:
        return CompiledForm(None, None, "it has no table, and its info says which actions are legal")
    return CompiledForm(None, None, NOT_ASKED_FOR)


def form_by_asking(facts: EnvironmentFacts, patience: float) -> CompiledForm:
    """Tabulate an environment, or find what has been tabulated before.

    Raises
    ------
    NotTabulated
        If that cannot be done.
    """
    from rlsuite.training.draw_trees import draw_trees, tabulation_adapter  # imports numba

    facts.check_wrappers()
    kind: Any = facts.base.__class__
    key = (kind, repr(facts.env.spec))
    with _one_at_a_time:
        tabulation = next((one for other, one in _tabulated if other == key and one.probe.knows(facts.base)), None)
        if tabulation is None:
            tabulation = tabulation_of(facts, seconds=patience)
            _tabulated[:] = [(key, tabulation), *_tabulated[: MAX_KEPT - 1]]
        trees = draw_trees(tabulation)
        reason = f"it has been tabulated, {tabulation.n_states:,} states"
        rewards = float(trees.reward.min()), float(trees.reward.max())
        follower = partial(TabulationFollower, tabulation=tabulation)
        return CompiledForm(tabulation_adapter(facts, tabulation, trees), None, reason, rewards, tabulation, follower)


def _checked_by_asking(facts: EnvironmentFacts, form: CompiledForm, patience: float) -> CompiledForm:
    """Prefer what an environment of an unknown class answers to what its table says.

    Raises
    ------
    UntrustedTable
        If it has more states than its table.
    """
    try:
        return form_by_asking(facts, patience)._replace(model=form.model)
    except NotTabulated as reason:
        mdp = form.model.mdp if isinstance(form.model, POMDP) else form.model
        if mdp is not None and reason.n_states > mdp.n_states:
            raise errors.UntrustedTable(
                f"{facts.name} has a table with {mdp.n_states:,} states, but {reason}"
            ) from reason
        return form


def _of_table(facts: EnvironmentFacts, encode: Encoding | None, gamma: float) -> CompiledForm:
    model = model_of(facts, gamma, vectors=encode is not None)
    follower = None if is_known_kind(facts) else partial(TableFollower, model=model)
    if follower is not None and not _numbers_its_state(facts.base):
        return CompiledForm(None, model, "has a table, but does not keep the number of its state in the attribute `s`")
    if encode is None:
        return CompiledForm(table_adapter(facts, model), model, "its table", follower=follower)
    if facts.vectors is not None:
        vectors = np.ascontiguousarray(facts.vectors, dtype=np.float64)
    else:
        n_observations = model.n_observations + 1 if isinstance(model, POMDP) else model.n_states
        vectors = np.arange(float(n_observations))[:, None]
    if encode.transform is not None:
        vectors = np.ascontiguousarray(encode.transform(vectors))
    return CompiledForm(vector_table_adapter(facts, model, vectors), model, "its table", follower=follower)


def _numbers_its_state(base: BareEnv) -> bool:
    """Whether the attribute ``s`` holds the number of the state, as in Gymnasium's environments with a table."""
    try:
        operator.index(base.s)
    except Exception:  # there is none, or it is computed, or it is of another type
        return False
    return True


class _Noted(NamedTuple):
    """The parts of an environment that can be compared."""

    facts: EnvironmentFacts
    attributes: list[tuple[object, ...]]
    """What its attributes say."""
    layers: list[object]
    """The wrappers, the methods that have been replaced in them, and the vectors that one may show."""


def _noted(facts: EnvironmentFacts) -> _Noted:
    layers: list[object] = [facts.vectors]
    for layer in facts.wrappers:
        layers += [layer, *(vars(layer)[method] for method in replaced_methods(layer))]
    return _Noted(facts, attribute_record(facts.base), layers)


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
        self._noted: _Noted | None = None
        self._copy: CopiedTable | None = None  # of a table that agreed with the model

    @property
    def begun(self) -> bool:
        """Whether there was a call of `learn`."""
        return self._noted is not None

    def note(self, env: Env) -> None:
        """Note the environment at the end of a call of `learn`."""
        self._noted = _noted(facts_of(env))

    def unchanged(self, facts: EnvironmentFacts) -> bool:
        """Whether nothing has been changed since the last note; True before the first one."""
        noted = self._noted
        if noted is None:
            return True
        now = _noted(facts)
        if facts.model is not noted.facts.model or facts.time_limit != noted.facts.time_limit:
            return False
        if now.attributes != noted.attributes or list(map(id, now.layers)) != list(map(id, noted.layers)):
            return False
        if not _same(facts.dynamics, noted.facts.dynamics):
            return False
        return isinstance(facts.model, MDP | POMDP) or self.table is None or self._same_table(facts, self.table)

    def _same_table(self, facts: EnvironmentFacts, table: MDP) -> bool:
        """Whether the environment's table is the one that was read."""
        base = facts.base
        try:
            if self._copy is not None and _equal(base.P, self._copy):
                return np.array_equal(base.initial_state_distrib, table.start)
        except ValueError:  # the user put an array where a number was
            pass
        same = same_table(facts.env, table.rows, table.start)
        self._copy = copied_table(facts.env) if same else None
        return same


def _equal(P: object, copied: CopiedTable) -> bool:
    """Whether a table equals a copy."""
    return isinstance(P, dict) and copied == P


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
