"""An environment that declares its table, as `env.unwrapped.P` or `env.unwrapped.model`.

The table of a class that is known (`rlsuite.environments.forms.known_kinds`) is right. Any other is compared with the
environment while the run lasts (`rlsuite.training.verification`), or, for those who ask, on a copy beforehand
(`trusted_model`).

The compiled functions draw as Gymnasium's table environments and `rlsuite.TabularEnv` do: one uniform number for the
successor, then one for a random reward, then one for an observation; one uniform number for the start.
"""

import copy
import operator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import BareEnv, Env, Observation
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.environments.facts import TRANSPARENT, EnvironmentFacts
from rlsuite.environments.followers import Follower, TableFollower, replay, walk
from rlsuite.environments.forms.form import (
    Adapter,
    EnvironmentFunctions,
    EnvState,
    Form,
    Refusal,
    StateKeeper,
    Wish,
)
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.environments.forms.stepwise import hooks_keeper
from rlsuite.environments.observation_view import NONE, Encoding, ObservationView, View, next_row
from rlsuite.environments.wrappers import VectorObservation
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray, StateArray

LONG_WALK = 5_000
"""Steps of a replay along a table."""
MAX_PAIRS = 10_000
"""Pairs of states and actions that are tried one by one in a replay."""


class TableForm(Form):
    """The table that an environment declares."""

    kind = "table"

    @classmethod
    def of(cls, facts: EnvironmentFacts, wish: Wish) -> "TableForm | Refusal":
        """Read the table; nothing is called."""
        if not facts.has_table:
            law = errors.UnsuitableEnvironment(
                f'{facts.name} declares metadata["action_mask"] = "law": its masks say which actions exist, and its '
                "table does not; where that depends on the state alone, write P[s][a] = [] instead"
            )
            return Refusal(law if facts.comes_with_table else None)
        try:
            model = declared_model(facts, wish.gamma, vectors=wish.encode is not None)
        except errors.UnsuitableEnvironment as error:
            return Refusal(error)
        form = cls(facts, "its table", model=model)
        if isinstance(form, DeclaredTable) and not _numbers_its_state(facts.base):
            form.reason = "has a table, but does not keep the number of its state in the attribute `s`"
            form.complaint = errors.UntrustedTable(f"{facts.name} {form.reason}")
        else:
            form.adapter = _adapter(facts, model, wish.encode)
        return form

    def keeper(self) -> StateKeeper:
        """Keep the number of the state."""
        base, mdp = self.facts.base, self.mdp
        if self.adapter is None or mdp is None:
            return hooks_keeper(self.facts)

        def put_back(state: object) -> None:
            if type(state) is not int or not 0 <= state < mdp.n_states or not mdp.legal[state].any():
                raise ValueError(f"state {state!r} is terminal or unknown in this environment")
            base.s = state

        return StateKeeper("table", lambda: int(base.s), put_back, lambda: base.np_random)

    def parts(self) -> list[AnyArray]:
        """The arrays of the model."""
        return parts_of(self.model)


class KnownTable(TableForm):
    """The table of an environment whose class is known to do what its table says, and no more."""

    @classmethod
    def offer(cls, facts: EnvironmentFacts, wish: Wish) -> "Form | Refusal":
        """Offer it for known classes."""
        return cls.of(facts, wish) if facts.has_table and is_known_kind(facts) else Refusal()


class DeclaredTable(TableForm):
    """The table of any other environment."""

    @classmethod
    def offer(cls, facts: EnvironmentFacts, wish: Wish) -> "Form | Refusal":
        """Offer it for all classes."""
        return cls.of(facts, wish)

    def draws_rewards(self) -> bool:
        """Whether the model has standard deviations of rewards."""
        return self.mdp is not None and self.mdp.reward_std is not None

    def follower(self, facts: EnvironmentFacts) -> Follower | None:
        """Follow the environment by its table."""
        return None if self.model is None or self.adapter is None else TableFollower(facts, self.model)


def parts_of(model: MDP | POMDP | None) -> list[AnyArray]:
    """Return the arrays of a model by which it is recognised."""
    mdp = model.mdp if isinstance(model, POMDP) else model
    if mdp is None:
        return []
    parts: list[Any] = [mdp.indptr, mdp.next_state, mdp.probability, mdp.rows.reward, mdp.terminated, mdp.start]
    parts += [part for part in (mdp.reward_std, mdp.bernoulli) if part is not None]
    return parts + ([model.observation] if isinstance(model, POMDP) else [])


def declared_model(facts: EnvironmentFacts, gamma: float | None, *, vectors: bool = False) -> MDP | POMDP:
    """Read the model that an environment declares; nothing is called.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of the environment.
    gamma : float or None
        Discount of the model that is returned; None for that of the environment's own.
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
        If there is no table or a malformed one, a wrapper could change what it says, or a replay differs from it.
    """
    try:
        model = declared_model(facts, gamma)
    except (errors.UnsuitableEnvironment, errors.ModelError) as error:
        raise errors.UntrustedTable(str(error)) from error
    if not is_known_kind(facts):
        replay(facts, partial(_difference, facts, model))
    return model


def _difference(facts: EnvironmentFacts, model: MDP | POMDP) -> str:
    double = copy.deepcopy(facts.env)
    follower = TableFollower(facts._replace(base=double.unwrapped), model)
    walk(double, follower, LONG_WALK)
    if not follower.difference:
        _try_every_pair(double, follower, (model.mdp if isinstance(model, POMDP) else model).legal)
    return follower.difference


def _try_every_pair(double: Env, follower: TableFollower, legal: Any) -> None:
    """Try each state-action pair once, as the state of an environment with a table can be set."""
    pairs = np.argwhere(legal)
    if len(pairs) > MAX_PAIRS:
        return
    for state, action in pairs.tolist():
        follower.after_reset(*double.reset())
        follower.put(state)
        follower.take(double, action)
        if follower.difference:
            return


def _numbers_its_state(base: BareEnv) -> bool:
    """Whether the attribute ``s`` holds the number of the state, as in Gymnasium's environments with a table."""
    try:
        operator.index(base.s)
    except Exception:  # there is none, or it is computed, or it is of another type
        return False
    return True


# ------------------------------------------------------------------------------------- in the compiled loop


class Table(NamedTuple):
    """The dynamics of a model; row ``s * n_actions + a`` holds the outcomes of action ``a`` in state ``s``.

    Empty arrays stand for what the model does not have: random rewards, observations. How rewards and observations are
    drawn are two functions, so that a loop is compiled without what its table does not need.
    """

    n_actions: int
    indptr: IndexArray  # (S * A + 1,)
    next_state: StateArray  # (N,)
    probability: FloatArray  # (N,)
    reward: FloatArray  # (N,), means
    terminated: BoolArray  # (N,)
    start: FloatArray  # (S,), running sums
    reward_std: FloatArray  # (S * A,) or (0,)
    bernoulli: BoolArray  # (S * A,) or (0,)
    observation: FloatArray  # (A, S, Z), running sums over Z, or (0, 0, 0)
    draw_reward: "Compiled[[Table, int, int, np.random.Generator], float]"
    draw_observation: "Compiled[[Table, int, int, np.random.Generator], int]"


@compiled(in_place=True)
def known_reward(table: Table, pair: int, outcome: int, rng: np.random.Generator) -> float:
    """Return the reward of an outcome; nothing is drawn."""
    return table.reward[outcome]


@compiled(in_place=True)
def random_reward(table: Table, pair: int, outcome: int, rng: np.random.Generator) -> float:
    """Draw a reward around the mean of an outcome, where it is random."""
    reward = table.reward[outcome]
    if table.bernoulli.size > 0 and table.bernoulli[pair]:
        reward = 1.0 if rng.random() < reward else 0.0
    elif table.reward_std.size > 0 and table.reward_std[pair] > 0.0:
        reward += table.reward_std[pair] * rng.standard_normal()
    return reward


@compiled(in_place=True)
def state_itself(table: Table, action: int, successor: int, rng: np.random.Generator) -> int:
    """Return the state, which is what an agent observes; nothing is drawn."""
    return successor


@compiled(in_place=True)
def random_observation(table: Table, action: int, successor: int, rng: np.random.Generator) -> int:
    """Draw what is observed after an action that led to a state."""
    u = rng.random()
    for seen in range(table.observation.shape[2]):
        if table.observation[action, successor, seen] > u:
            return seen
    return 0


@compiled(in_place=True)
def table_begin(table: Table, view: View, rng: np.random.Generator) -> tuple[EnvState, Observation]:
    """Draw a start state; in a POMDP its observation is the last of the space, which means "nothing observed yet"."""
    u = rng.random()
    # the first state whose running sum is above u, by bisection; np.searchsorted takes a third of a second to compile
    state, end = 0, table.start.size
    while state < end:
        middle = (state + end) // 2
        if table.start[middle] > u:
            end = middle
        else:
            state = middle + 1
    if state == table.start.size:
        state = 0
    return state, table.observation.shape[2] if table.observation.size > 0 else state


@compiled(in_place=True)
def table_step(
    table: Table, state: int, action: int, observation: int, view: View, rng: np.random.Generator
) -> tuple[EnvState, float, bool, bool, Observation]:
    """Draw a successor, then its reward, then an observation, where these are random."""
    pair = state * table.n_actions + action
    outcome = table.indptr[pair]
    u = rng.random()
    total = 0.0
    for candidate in range(table.indptr[pair], table.indptr[pair + 1]):
        total += table.probability[candidate]
        if total > u:
            outcome = candidate
            break
    successor = int(table.next_state[outcome])
    reward = table.draw_reward(table, pair, outcome, rng)
    seen = table.draw_observation(table, action, successor, rng)
    return successor, reward, table.terminated[outcome], False, seen


class VectorTable(NamedTuple):
    """A table whose observations are shown as vectors."""

    table: Table
    vectors: FloatArray  # (n_observations, d)
    legal: BoolArray  # (n_states, n_actions), or (0, 0) if every action always exists


@compiled(in_place=True)
def _show(data: VectorTable, state: int, seen: int, row: int, view: ObservationView) -> int:
    """Write a vector, and the legal actions of a state, into the agent's view."""
    for i in range(data.vectors.shape[1]):
        view.vectors[row, i] = data.vectors[seen, i]
    if data.legal.size > 0:
        for action in range(data.legal.shape[1]):
            view.legal[row, action] = data.legal[state, action]
    return row


@compiled(in_place=True)
def vector_table_begin(data: VectorTable, view: ObservationView, rng: np.random.Generator) -> tuple[int, int]:
    """Draw a start state, and write its observation."""
    state, seen = table_begin(data.table, view, rng)
    return state, _show(data, state, seen, next_row(NONE), view)


@compiled(in_place=True)
def vector_table_step(
    data: VectorTable, state: int, action: int, observation: int, view: ObservationView, rng: np.random.Generator
) -> tuple[int, float, bool, bool, int]:
    """Draw a transition, and write its observation."""
    successor, reward, terminated, _, seen = table_step(data.table, state, action, observation, view, rng)
    return successor, reward, terminated, False, _show(data, successor, seen, next_row(observation), view)


def table_of(model: MDP | POMDP) -> Table:
    """Return the table of a model for the compiled loop; the large arrays are shared, not copied."""
    mdp = model.mdp if isinstance(model, POMDP) else model
    observation = np.cumsum(model.observation, axis=2) if isinstance(model, POMDP) else np.zeros((0, 0, 0))
    certain = mdp.reward_std is None and mdp.bernoulli is None
    return Table(
        n_actions=mdp.n_actions,
        indptr=mdp.indptr,
        next_state=mdp.next_state,
        probability=mdp.probability,
        reward=mdp.rows.reward,
        terminated=mdp.terminated,
        start=np.cumsum(mdp.start),
        reward_std=_read_only(np.zeros(0) if mdp.reward_std is None else mdp.reward_std),
        bernoulli=_read_only(np.zeros(0, dtype=np.bool_) if mdp.bernoulli is None else mdp.bernoulli),
        observation=observation,
        draw_reward=known_reward if certain else random_reward,
        draw_observation=random_observation if isinstance(model, POMDP) else state_itself,
    )


def _read_only(array: AnyArray) -> AnyArray:
    """Make an array read-only, as those of a model are: numba would compile the loop again for writable ones."""
    array.flags.writeable = False
    return array


def _adapter(facts: EnvironmentFacts, model: MDP | POMDP, encode: Encoding | None) -> Adapter:
    """Return how the compiled loop runs an environment with a table."""
    base, table = facts.base, table_of(model)

    def write(state: int) -> None:
        base.s = int(state)

    functions = EnvironmentFunctions(table, table_begin, table_step)
    if encode is not None:
        data = VectorTable(table, _vectors(facts, model, encode), _legal(model))
        functions = EnvironmentFunctions(data, vector_table_begin, vector_table_step)
    return Adapter(functions, lambda: int(base.s), write, lambda: base.np_random)


def _vectors(facts: EnvironmentFacts, model: MDP | POMDP, encode: Encoding) -> FloatArray:
    """The vector (d,) of each observation."""
    if facts.vectors is not None:
        vectors = np.ascontiguousarray(facts.vectors, dtype=np.float64)
    else:
        n_observations = model.n_observations + 1 if isinstance(model, POMDP) else model.n_states
        vectors = np.arange(float(n_observations))[:, None]
    return vectors if encode.transform is None else np.ascontiguousarray(encode.transform(vectors))


def _legal(model: MDP | POMDP) -> BoolArray:
    """Which actions exist in each state; (0, 0) if all do."""
    legal = (model.mdp if isinstance(model, POMDP) else model).legal
    return np.zeros((0, 0), dtype=np.bool_) if legal.all() else np.array(legal)
