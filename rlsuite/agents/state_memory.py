"""The memory of agents with state values, and what their rules ask of it: they follow a policy, and evaluate it.

As in control (see `rlsuite.agents.memory`), a rule asks its memory and not a table, so that it is written once for
tables and for features: where an observation stands (`locate`, `locate_next`), what it is worth (`state_value`), to
learn an amount (`update_state`), and which action the policy takes next (`next_action`). The state values of features
are those of one action, 0.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import MaskedMemory, is_legal
from rlsuite.agents.memory import Observation, locate_first, update, value, visit
from rlsuite.agents.schedules import EPISODES, STEPS, Rate, rate_now
from rlsuite.agents.traces import Traces, TraceUpdate, update_eligible, visit_entry
from rlsuite.core.aliases import Own
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.declared import Count
from rlsuite.training.legality import Legality

STATE = 0
"""The action whose values are those of the states."""


class StateOperations(NamedTuple):
    """The compiled functions by which a memory of state values answers a rule."""

    locate_first: Compiled[..., int]
    locate: Compiled[..., int]
    locate_next: Compiled[..., int]
    value: Compiled[..., float]
    update: Compiled[..., None]
    visit: Compiled[..., None]
    update_and_decay: Compiled[..., None]
    step_size: Compiled[..., float]
    store: Compiled[..., None]
    learn_stored: Compiled[..., None]
    record: Compiled[..., None]
    learn_recorded: Compiled[..., None]
    follow: Compiled[..., int]
    ratio: Compiled[..., float]
    end_step: Compiled[..., None]


class StateMemory(MaskedMemory, Protocol):
    """What a rule of prediction finds in its memory: of a table (`StateValues`) or of features (`LinearValues`)."""

    @property
    def clock(self) -> NDArray[np.int64]:
        """Steps and episodes learned from, shape (2,)."""
        ...

    @property
    def gamma(self) -> float:
        """Discount per step."""
        ...

    @property
    def learned(self) -> Own:
        """NamedTuple of what else the rule learns, saved with the agent."""
        ...

    @property
    def scratch(self) -> Own:
        """NamedTuple of what the rule keeps during an episode."""
        ...

    @property
    def operations(self) -> StateOperations:
        """How the memory answers: as a table, or by features."""
        ...


@compiled(in_place=True)
def state_value(memory: StateMemory, row: int) -> float:
    """V(s) by what is known now."""
    return value(memory, row, STATE)


@compiled(in_place=True)
def update_state(memory: StateMemory, row: int, amount: float) -> None:
    """Let V(s) <- V(s) + amount; of features w <- w + amount x(s)."""
    update(memory, row, STATE, amount)


@compiled(in_place=True)
def visit_state(memory: StateMemory, row: int, kind: TraceUpdate, step_size: float) -> None:
    """Let the traces of s become those after a visit of this kind."""
    visit(memory, row, STATE, kind, step_size)


@compiled(in_place=True)
def state_step_size(memory: StateMemory, row: int) -> float:
    """The learning rate now; a schedule per visits counts those of this state, before the present one."""
    return memory.operations.step_size(memory, row)


@compiled(in_place=True)
def store_state(memory: StateMemory, row: int, entry: int) -> None:
    """Keep the row as an entry of ``memory.scratch.buffer``, for a rule that learns from it some steps later."""
    memory.operations.store(memory, row, entry)


@compiled(in_place=True)
def learn_stored(memory: StateMemory, entry: int, target: float) -> None:
    """Let V(s) <- V(s) + alpha [G - V(s)] for an entry of the buffer; alpha counts the returns of this state so far."""
    memory.operations.learn_stored(memory, entry, target)


@compiled(in_place=True)
def record_state(memory: StateMemory, state: Observation, time: int) -> None:
    """Keep what was observed as time t of ``memory.scratch.buffer``, for a rule that learns from whole episodes."""
    memory.operations.record(memory, state, time)


@compiled(in_place=True)
def learn_recorded(memory: StateMemory, time: int, target: float) -> None:
    """Let V(s_t) <- V(s_t) + alpha [G - V(s_t)], as `learn_stored`."""
    memory.operations.learn_recorded(memory, time, target)


@compiled(in_place=True)
def next_action(memory: StateMemory, state: Observation, row: int, rng: np.random.Generator) -> int:
    """Draw an action of the policy that is followed."""
    return memory.operations.follow(memory, state, row, rng)


@compiled(in_place=True)
def ratio(memory: StateMemory, state: Observation, row: int, action: int) -> float:
    """Return rho = pi(a | s) / b(a | s): how much likelier the policy to evaluate takes the action that was taken.

    It is 1 where the policy that is followed is the one that is evaluated, as for all tables (S&B2 eq. 11.1).
    """
    return memory.operations.ratio(memory, state, row, action)


@compiled(in_place=True)
def begin_predicting(memory: StateMemory, state: Observation, rng: np.random.Generator) -> int:
    """Draw the first action of an episode."""
    return next_action(memory, state, locate_first(memory, state), rng)


# The `StateOperations` of a table.


@compiled(in_place=True)
def _id(memory: "StateValues", state: int) -> int:
    return state


@compiled(in_place=True)
def _entry(memory: "StateValues", row: int, action: int) -> float:
    return memory.value[row]


@compiled(in_place=True)
def _add_to_entry(memory: "StateValues", row: int, action: int, amount: float) -> None:
    memory.value[row] += amount


@compiled(in_place=True)
def _visit_entry(memory: "StateValues", row: int, action: int, kind: TraceUpdate, step_size: float) -> None:
    visit_entry(memory.scratch.traces, row, kind, step_size)


@compiled(in_place=True)
def _add_to_eligible_entries(memory: "StateValues", traces: Traces, amount: float, decay: float) -> None:
    update_eligible(traces, memory.value, amount, decay)


@compiled(in_place=True)
def learn_return(memory: "StateValues", state: int, target: float) -> None:
    """V(s) <- V(s) + alpha [G - V(s)]; a schedule per visits counts the returns of this state so far."""
    returns = memory.learned.returns
    memory.value[state] += rate_now(memory.learning_rate, memory.clock, returns[state]) * (target - memory.value[state])
    returns[state] += 1


@compiled(in_place=True)
def _store_id(memory: "StateValues", row: int, entry: int) -> None:
    memory.scratch.buffer.state[entry] = row


@compiled(in_place=True)
def _learn_stored_id(memory: "StateValues", entry: int, target: float) -> None:
    learn_return(memory, memory.scratch.buffer.state[entry], target)


@compiled(in_place=True)
def _one(memory: "StateValues", state: int, row: int, action: int) -> float:
    return 1.0


@compiled(in_place=True)
def _follow_mask(memory: "StateValues", state: int, forbidden: int, rng: np.random.Generator) -> int:
    """Draw an action of the policy that is legal now; if the policy takes none of these, the forbidden one."""
    total = before = 0.0
    for action in range(memory.behaviour.shape[1]):
        if is_legal(memory, state, action):
            total += memory.behaviour[state, action] - before
        before = memory.behaviour[state, action]
    u = rng.random() * total
    choice = forbidden
    reached = before = 0.0
    for action in range(memory.behaviour.shape[1]):
        probability = memory.behaviour[state, action] - before
        before = memory.behaviour[state, action]
        if probability > 0.0 and is_legal(memory, state, action):
            choice = action
            reached += probability
            if u < reached:
                break
    return choice


@compiled(in_place=True)
def follow(memory: "StateValues", state: int, rng: np.random.Generator) -> int:
    """Draw an action of the policy; where a mask forbids it, draw again among those that the mask allows."""
    last = memory.behaviour.shape[1] - 1
    u = rng.random() * memory.behaviour[state, last]
    choice = last
    for action in range(last):
        if u < memory.behaviour[state, action]:
            choice = action
            break
    return choice if is_legal(memory, state, choice) else _follow_mask(memory, state, choice, rng)


@compiled(in_place=True)
def value_step_size(memory: "StateValues", state: int) -> float:
    """The learning rate now; a schedule per visits counts those of this state, before the present one."""
    return rate_now(memory.learning_rate, memory.clock, memory.visits[state])


@compiled(in_place=True)
def count_state(memory: "StateValues", state: int, over: bool) -> None:
    """Count this step, and this episode if it is over; every rule calls it once a step."""
    memory.visits[state] += 1
    memory.clock[STEPS] += 1
    if over:
        memory.clock[EPISODES] += 1


@compiled(in_place=True)
def _follow(memory: "StateValues", state: int, row: int, rng: np.random.Generator) -> int:
    return follow(memory, state, rng)


@compiled(in_place=True)
def _count(memory: "StateValues", row: int, action: int, over: bool) -> None:
    count_state(memory, row, over)


STATE_TABLE = StateOperations(
    locate_first=_id,
    locate=_id,
    locate_next=_id,
    value=_entry,
    update=_add_to_entry,
    visit=_visit_entry,
    update_and_decay=_add_to_eligible_entries,
    step_size=value_step_size,
    store=_store_id,
    learn_stored=_learn_stored_id,
    record=_store_id,
    learn_recorded=_learn_stored_id,
    follow=_follow,
    ratio=_one,
    end_step=_count,
)


class StateValues(NamedTuple):
    """State values, and everything that following a policy and learning need."""

    value: NDArray[np.float64]  # (n_states,)
    visits: Count  # (n_states,), how often each state was left
    behaviour: NDArray[np.float64]  # (n_states, n_actions), running sums of the probabilities of the policy
    legal: NDArray[np.bool_]  # (n_states, n_actions)
    legality: Legality  # how `legal` is looked up
    clock: Count  # (2,), [steps, episodes] learned from
    gamma: float
    learning_rate: Rate
    learned: Own = ()  # NamedTuple of what else the rule learns, saved with the agent
    scratch: Own = ()  # NamedTuple of what the rule keeps during an episode; not cleared between episodes
    operations: StateOperations = STATE_TABLE
    parameters: Own = ()  # NamedTuple of what the agent declares as `rlsuite.Parameter`
