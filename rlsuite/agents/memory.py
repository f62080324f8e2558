"""The memory of agents with action values, and what their rules ask of it.

A learning rule is written once, for tables and for features alike. It does not index a table: it asks its memory where
an observation stands, what an action is worth there, and to learn an amount. A row of a table answers, or a
vector of features; which of them is the affair of the memory, in its field ``operations``.

=============================== ======================= ====================================
a rule asks                     a table                 features
=============================== ======================= ====================================
`locate`, `locate_next`, ...    the id                  a row that holds the active features
`value`                         Q[s, a]                 w[:, a] . x(s)
`update`                        Q[s, a] += amount       w[:, a] += amount x(s)
`visit`                         e(s, a) becomes e + 1   e becomes e + x(s), say
`update_and_decay`              Q += amount e           w += amount e
`end_step`                      counts visits, steps    counts steps, moves on to the next row
=============================== ======================= ====================================

What the functions of `rlsuite.agents.exploration` need is there for both: ``memory.q[row]`` holds the values of all
actions in the row that `locate_next` has returned. Of features these are values by the weights of that moment. An
update marks them as out of date, and `choose` and `action_probabilities` compute them again first; a rule that reads
``memory.q`` or asks for `max_value` after an update calls `renew` before.
"""

from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import ChoiceMemory, ExplorationRule, choose
from rlsuite.agents.schedules import EPISODES, STEPS, Rate, rate_now
from rlsuite.agents.traces import Traces, TraceUpdate, update_eligible, visit_entry
from rlsuite.core.aliases import Own
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.declared import Count
from rlsuite.training.legality import Legality

Observation: TypeAlias = int | NDArray[np.float64]
"""What a rule is given: an id, or a vector."""

NOWHERE = -1
"""The row of what comes after the end of an episode."""


class Operations(NamedTuple):
    """The compiled functions by which a memory answers a rule; see the table above."""

    locate_first: Compiled[..., int]
    locate: Compiled[..., int]
    locate_next: Compiled[..., int]
    value: Compiled[..., float]
    update: Compiled[..., None]
    visit: Compiled[..., None]
    update_and_decay: Compiled[..., None]
    renew: Compiled[..., None]
    store: Compiled[..., None]
    stored_value: Compiled[..., float]
    update_stored: Compiled[..., None]
    end_step: Compiled[..., None]


class AskedMemory(Protocol):
    """A memory that answers a rule, of action values or of state values."""

    @property
    def operations(self) -> Any:
        """How the memory answers: as a table, or by features."""
        ...


class CountingMemory(Protocol):
    """A memory that counts visits, steps and episodes."""

    @property
    def visits(self) -> NDArray[np.int64]:
        """How often each pair was taken, shape (n_rows, n_actions)."""
        ...

    @property
    def clock(self) -> NDArray[np.int64]:
        """Steps and episodes learned from, shape (2,)."""
        ...


class Memory(ChoiceMemory, Protocol):
    """What a rule finds in its memory, be it of a table (`ActionValues`) or of features (`LinearMemory`)."""

    @property
    def gamma(self) -> float:
        """Discount per step."""
        ...

    @property
    def learning_rate(self) -> Rate:
        """The step size, or its schedule."""
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
    def parameters(self) -> Own:
        """NamedTuple of the agent's parameters that are declared as `rlsuite.Parameter`."""
        ...

    @property
    def operations(self) -> Operations:
        """How the memory answers: as a table, or by features."""
        ...


@compiled(in_place=True)
def locate_first(memory: AskedMemory, state: Observation) -> int:
    """The row of the first observation of an episode, with the values of its actions in ``memory.q[row]``."""
    return memory.operations.locate_first(memory, state)


@compiled(in_place=True)
def locate(memory: AskedMemory, state: Observation) -> int:
    """The row of the present observation: where its action was taken."""
    return memory.operations.locate(memory, state)


@compiled(in_place=True)
def locate_next(memory: AskedMemory, next_state: Observation) -> int:
    """The row of the observation that the action led to, with the values of its actions in ``memory.q[row]``."""
    return memory.operations.locate_next(memory, next_state)


@compiled(in_place=True)
def value(memory: AskedMemory, row: int, action: int) -> float:
    """The present estimate of Q(s, a)."""
    return memory.operations.value(memory, row, action)


@compiled(in_place=True)
def update(memory: AskedMemory, row: int, action: int, amount: float) -> None:
    """Let Q(s, a) <- Q(s, a) + amount; of features w <- w + amount x(s), the gradient of Q(s, a)."""
    memory.operations.update(memory, row, action, amount)


@compiled(in_place=True)
def visit(memory: AskedMemory, row: int, action: int, kind: TraceUpdate, step_size: float) -> None:
    """Let the traces of (s, a) become those after a visit of this kind: e + alpha x, say."""
    memory.operations.visit(memory, row, action, kind, step_size)


@compiled(in_place=True)
def update_and_decay(memory: AskedMemory, traces: Traces, amount: float, decay: float) -> None:
    """Let Q <- Q + amount e for all that is eligible, then e <- decay e."""
    memory.operations.update_and_decay(memory, traces, amount, decay)


@compiled(in_place=True)
def renew(memory: Memory, row: int, action: int) -> None:
    """Compute ``memory.q[row, action]`` again after an update; only to read it, as `choose` does that by itself."""
    memory.operations.renew(memory, row)


@compiled(in_place=True)
def renew_all(memory: Memory, row: int) -> None:
    """Compute ``memory.q[row]`` again after an update; only to read it, as `choose` does that by itself."""
    memory.operations.renew(memory, row)


@compiled(in_place=True)
def store(memory: Memory, row: int, entry: int) -> None:
    """Keep the row as an entry of ``memory.scratch.buffer``, for a rule that learns from it some steps later."""
    memory.operations.store(memory, row, entry)


@compiled(in_place=True)
def stored_value(memory: Memory, entry: int, action: int) -> float:
    """Q(s, a) of an entry of the buffer, by what is known now."""
    return memory.operations.stored_value(memory, entry, action)


@compiled(in_place=True)
def update_stored(memory: Memory, entry: int, action: int, amount: float) -> None:
    """Let Q(s, a) <- Q(s, a) + amount for an entry of the buffer."""
    memory.operations.update_stored(memory, entry, action, amount)


@compiled(in_place=True)
def end_step(memory: AskedMemory, row: int, action: int, over: bool) -> None:
    """Count this step, and this episode if it is over; every rule calls it once a step.

    A row that was located stays valid until the next step; a rule may choose its next action before or after.
    """
    memory.operations.end_step(memory, row, action, over)


@compiled(in_place=True)
def begin(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Choose the first action of an episode by the exploration."""
    return choose(memory, locate_first(memory, state), rng)


# The `Operations` of a table.


@compiled(in_place=True)
def _id(memory: "ActionValues", state: int) -> int:
    return state


@compiled(in_place=True)
def _entry(memory: "ActionValues", row: int, action: int) -> float:
    return memory.q[row, action]


@compiled(in_place=True)
def _add_to_entry(memory: "ActionValues", row: int, action: int, amount: float) -> None:
    memory.q[row, action] += amount


@compiled(in_place=True)
def _visit_entry(memory: "ActionValues", row: int, action: int, kind: TraceUpdate, step_size: float) -> None:
    visit_entry(memory.scratch.traces, row * memory.q.shape[1] + action, kind, step_size)


@compiled(in_place=True)
def _add_to_eligible_entries(memory: "ActionValues", traces: Traces, amount: float, decay: float) -> None:
    update_eligible(traces, memory.q.reshape(memory.q.size), amount, decay)


@compiled(in_place=True)
def _is_new(memory: "ActionValues", row: int) -> None:
    """The entries of a table are always what was learned last."""


@compiled(in_place=True)
def _store_id(memory: "ActionValues", row: int, entry: int) -> None:
    memory.scratch.buffer.state[entry] = row


@compiled(in_place=True)
def _stored_entry(memory: "ActionValues", entry: int, action: int) -> float:
    return memory.q[memory.scratch.buffer.state[entry], action]


@compiled(in_place=True)
def _add_to_stored_entry(memory: "ActionValues", entry: int, action: int, amount: float) -> None:
    memory.q[memory.scratch.buffer.state[entry], action] += amount


@compiled(in_place=True)
def count(memory: CountingMemory, state: int, action: int, over: bool) -> None:
    """Count this step, and this episode if it is over; every rule for tables calls it once a step."""
    memory.visits[state, action] += 1
    memory.clock[STEPS] += 1
    if over:
        memory.clock[EPISODES] += 1


TABLE = Operations(
    locate_first=_id,
    locate=_id,
    locate_next=_id,
    value=_entry,
    update=_add_to_entry,
    visit=_visit_entry,
    update_and_decay=_add_to_eligible_entries,
    renew=_is_new,
    store=_store_id,
    stored_value=_stored_entry,
    update_stored=_add_to_stored_entry,
    end_step=count,
)


class ActionValues(NamedTuple):
    """A table of action values, and everything that choosing and learning need."""

    q: NDArray[np.float64]  # (n_states, n_actions)
    visits: Count  # (n_states, n_actions), how often each pair was taken
    legal: NDArray[np.bool_]  # (n_states, n_actions)
    legality: Legality  # how `legal` is looked up
    clock: Count  # (2,), [steps, episodes] learned from
    gamma: float
    learning_rate: Rate
    exploration: ExplorationRule
    scores: NDArray[np.float64]  # (n_actions,); a buffer of one number per action while one is chosen
    learned: Own = ()  # NamedTuple of what else the rule learns, saved with the agent
    scratch: Own = ()  # NamedTuple of what the rule keeps during an episode; not cleared between episodes
    operations: Operations = TABLE
    parameters: Own = ()  # NamedTuple of what the agent declares as `rlsuite.Parameter`


@compiled(in_place=True)
def step_size(memory: Memory, row: int, action: int) -> float:
    """The learning rate now; a schedule per visits counts those of this pair, before the present one."""
    return rate_now(memory.learning_rate, memory.clock, memory.visits[row, action])
