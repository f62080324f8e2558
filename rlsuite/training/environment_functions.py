"""An environment in the form that the compiled loop runs: two compiled functions and their data.

``begin(data, view, rng) -> (state, observation)``
    draws the beginning of an episode.
``step(data, state, action, observation, view, rng) -> (state, reward, terminated, truncated, next observation)``
    takes an action. Truncated is what the environment itself cuts off; the loop adds the limit of `TimeLimit`.

They write the vector that an agent observes into its view (see `rlsuite.training.observation_view`), which is empty for
ids. They draw from the environment's own generator, exactly as the environment does. A *table* draws as Gymnasium's
table environments and `rlsuite.TabularEnv` do: one uniform number for the successor, then one for a random reward, then
one for an observation; one uniform number for the start. *Compiled dynamics* draw whatever the environment's own step
draws.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rlsuite.core.aliases import BareEnv, Observation
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.environments.compiled_env import CompiledDynamics, State
from rlsuite.environments.facts import EnvironmentFacts
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import AnyArray, BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.training.observation_view import NONE, ObservationView, View, next_row

EnvState: TypeAlias = Any
"""The state of an environment: an int if it has a table, a tuple of floats if it has compiled dynamics."""


class EnvironmentFunctions(NamedTuple):
    """An environment in compiled form."""

    data: object
    begin: Compiled[..., tuple[EnvState, int]]
    step: Compiled[..., tuple[EnvState, float, bool, bool, int]]


class Adapter(NamedTuple):
    """How the compiled loop reads an environment's state before a run, and sets it afterwards."""

    functions: EnvironmentFunctions
    read: Callable[[], EnvState]
    """The state of the environment, in the form that the functions use."""
    write: Callable[[EnvState], None]
    """Sets the environment to a state."""
    generator: Callable[[], np.random.Generator]
    """The generator that the environment draws from."""


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


class DynamicsFunctions(NamedTuple):
    """The functions of compiled dynamics, and their constants."""

    constants: object
    begin: Compiled[..., State]
    step: Compiled[..., tuple[State, float, bool]]
    observe: Compiled[..., None]


@compiled(in_place=True)
def dynamics_begin(data: DynamicsFunctions, view: ObservationView, rng: np.random.Generator) -> tuple[State, int]:
    """Draw a start state, and write its observation."""
    state = data.begin(data.constants, rng)
    row = next_row(NONE)
    data.observe(data.constants, state, view.vectors[row])
    return state, row


@compiled(in_place=True)
def dynamics_step(
    data: DynamicsFunctions,
    state: State,
    action: int,
    observation: int,
    view: ObservationView,
    rng: np.random.Generator,
) -> tuple[State, float, bool, bool, int]:
    """Take an action, and write the next observation."""
    successor, reward, terminated = data.step(data.constants, state, action, rng)
    row = next_row(observation)
    data.observe(data.constants, successor, view.vectors[row])
    return successor, reward, terminated, False, row


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


def table_adapter(facts: EnvironmentFacts, model: MDP | POMDP) -> Adapter:
    """Adapter in an environment with a table, for an agent that observes ids."""
    base = facts.base
    functions = EnvironmentFunctions(table_of(model), table_begin, table_step)
    return Adapter(functions, lambda: int(base.s), _set_state_of(base), lambda: base.np_random)


def vector_table_adapter(facts: EnvironmentFacts, model: MDP | POMDP, vectors: FloatArray) -> Adapter:
    """Adapter in an environment with a table, for an agent that observes the vector (d,) of each observation."""
    base = facts.base
    mdp = model.mdp if isinstance(model, POMDP) else model
    legal = np.zeros((0, 0), dtype=np.bool_) if mdp.legal.all() else np.array(mdp.legal)
    data = VectorTable(table_of(model), vectors, legal)
    functions = EnvironmentFunctions(data, vector_table_begin, vector_table_step)
    return Adapter(functions, lambda: int(base.s), _set_state_of(base), lambda: base.np_random)


def dynamics_adapter(facts: EnvironmentFacts, dynamics: CompiledDynamics) -> Adapter:
    """Adapter in an environment whose own step is compiled."""
    base = facts.base
    data = DynamicsFunctions(dynamics.constants, dynamics.begin, dynamics.step, dynamics.observe)
    return Adapter(
        EnvironmentFunctions(data, dynamics_begin, dynamics_step),
        partial(dynamics.read, base),
        partial(dynamics.write, base),
        lambda: base.np_random,
    )


def _set_state_of(base: BareEnv) -> Callable[[int], None]:
    def write(state: int) -> None:
        base.s = int(state)

    return write
