"""The memory of agents that learn values, and what their rules ask of it.

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
`value_in`, `update_in`, ...    the same in another array, as that of a critic
`update_and_decay`              Q += amount e           w += amount e
`update_all`                    Q += amount v           w += amount v
`end_step`                      counts visits, steps    counts steps, moves on to the next row
=============================== ======================= ====================================

A state value is the value of the only action, `STATE`: a rule of prediction asks for V(s) by ``value(memory, s,
STATE)``, for the action of the policy that it follows by `next_action`, and for rho by `ratio`.

What the functions of `rlsuite.agents.exploration` need is there for both: ``memory.q[row]`` holds the values of all
actions in the row that `locate_next` has returned, also after an update. With features that costs time, which a rule
saves whose class sets ``renews = True``: an update then only marks the values as out of date, `choose` and
`action_probabilities` compute them again first, and the rule calls `renew` before it reads ``memory.q``, or calls
`max_value` or `greedy`, after an update.
"""

from typing import Annotated, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import ExplorationRule, choose
from rlsuite.agents.prediction.policies import follow
from rlsuite.agents.schedules import EPISODES, STEPS, Rate, rate_now
from rlsuite.agents.traces import Traces, TraceUpdate, add_to_trace, update_eligible, visit_entry
from rlsuite.core.aliases import Own
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.declared import Array, Count, Feature
from rlsuite.training.legality import Legality

Observation: TypeAlias = int | NDArray[np.float64]
"""What a rule is given: an id, or a vector."""

NOWHERE = -1
"""The row of what comes after the end of an episode."""

STATE = 0
"""The only action, whose values are those of the states."""

ABSENT: Any = ()
"""What a field holds that a memory does not need."""


class Operations(NamedTuple):
    """The compiled functions by which a memory answers a rule; see the table above."""

    locate_first: Compiled[..., int]
    locate: Compiled[..., int]
    locate_next: Compiled[..., int]
    value: Compiled[..., float]
    update: Compiled[..., None]
    visit: Compiled[..., None]
    update_and_decay: Compiled[..., None]
    update_all: Compiled[..., None]
    renew: Compiled[..., None]
    value_in: Compiled[..., float]
    update_in: Compiled[..., None]
    visit_in: Compiled[..., None]
    store: Compiled[..., None]
    stored_value: Compiled[..., float]
    update_stored: Compiled[..., None]
    learn_stored: Compiled[..., None]
    record: Compiled[..., None]
    locate_recorded: Compiled[..., int]
    learn_recorded: Compiled[..., None]
    follow: Compiled[..., int]
    ratio: Compiled[..., float]
    end_step: Compiled[..., None]


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


# The `Operations` of a table.


@compiled(in_place=True)
def _id(memory: "Memory", state: int) -> int:
    return state


@compiled(in_place=True)
def _entry(memory: "Memory", row: int, action: int) -> float:
    return memory.q[row, action]


@compiled(in_place=True)
def _add_to_entry(memory: "Memory", row: int, action: int, amount: float) -> None:
    memory.q[row, action] += amount


@compiled(in_place=True)
def _visit_entry(memory: "Memory", row: int, action: int, kind: TraceUpdate, step_size: float) -> None:
    visit_entry(memory.scratch.traces, row * memory.q.shape[1] + action, kind, step_size)


@compiled(in_place=True)
def _add_to_eligible_entries(memory: "Memory", traces: Traces, amount: float, decay: float) -> None:
    update_eligible(traces, memory.q, amount, decay)


@compiled(in_place=True)
def add_scaled(table: NDArray[np.float64], values: NDArray[np.float64], amount: float) -> None:
    """Let table <- table + amount * values, both of one shape."""
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            table[row, column] += amount * values[row, column]


@compiled(in_place=True)
def _add_to_all_entries(memory: "Memory", values: NDArray[np.float64], amount: float) -> None:
    add_scaled(memory.q, values, amount)


@compiled(in_place=True)
def _is_new(memory: "Memory", row: int) -> None:
    """The entries of a table are always what was learned last."""


@compiled(in_place=True)
def _entry_in(memory: "Memory", values: NDArray[np.float64], row: int, column: int) -> float:
    return values[row, column]


@compiled(in_place=True)
def _add_to_entry_in(memory: "Memory", values: NDArray[np.float64], row: int, column: int, amount: float) -> None:
    values[row, column] += amount


@compiled(in_place=True)
def _visit_entry_in(memory: "Memory", traces: Traces, row: int, column: int, n_columns: int, amount: float) -> None:
    add_to_trace(traces, row * n_columns + column, amount)


@compiled(in_place=True)
def _store_id(memory: "Memory", row: int, entry: int) -> None:
    memory.scratch.buffer.state[entry] = row


@compiled(in_place=True)
def _recorded_id(memory: "Memory", time: int) -> int:
    return memory.scratch.buffer.state[time]


@compiled(in_place=True)
def _stored_entry(memory: "Memory", entry: int, action: int) -> float:
    return memory.q[memory.scratch.buffer.state[entry], action]


@compiled(in_place=True)
def _add_to_stored_entry(memory: "Memory", entry: int, action: int, amount: float) -> None:
    memory.q[memory.scratch.buffer.state[entry], action] += amount


@compiled(in_place=True)
def learn_return(memory: "Memory", state: int, target: float) -> None:
    """V(s) <- V(s) + alpha [G - V(s)]; a schedule per visits counts the returns of this state so far."""
    returns, value = memory.learned.returns, memory.q
    alpha = rate_now(memory.learning_rate, memory.clock, returns[state])
    value[state, STATE] += alpha * (target - value[state, STATE])
    returns[state] += 1


@compiled(in_place=True)
def _learn_stored_id(memory: "Memory", entry: int, target: float) -> None:
    learn_return(memory, memory.scratch.buffer.state[entry], target)


@compiled(in_place=True)
def _follow(memory: "Memory", state: int, row: int, rng: np.random.Generator) -> int:
    return follow(memory, state, rng)


@compiled(in_place=True)
def _one(memory: "Memory", state: int, row: int, action: int) -> float:
    return 1.0


@compiled(in_place=True)
def count(memory: CountingMemory, state: int, action: int, over: bool) -> None:
    """Count this step, and this episode if it is over; every rule for tables calls it once a step."""
    memory.visits[state, action] += 1
    memory.clock[STEPS] += 1
    if over:
        memory.clock[EPISODES] += 1


@compiled(in_place=True)
def _count_state(memory: "Memory", state: int, action: int, over: bool) -> None:
    count(memory, state, STATE, over)


TABLE = Operations(
    locate_first=_id,
    locate=_id,
    locate_next=_id,
    value=_entry,
    update=_add_to_entry,
    visit=_visit_entry,
    update_and_decay=_add_to_eligible_entries,
    update_all=_add_to_all_entries,
    renew=_is_new,
    value_in=_entry_in,
    update_in=_add_to_entry_in,
    visit_in=_visit_entry_in,
    store=_store_id,
    stored_value=_stored_entry,
    update_stored=_add_to_stored_entry,
    learn_stored=_learn_stored_id,
    record=_store_id,
    locate_recorded=_recorded_id,
    learn_recorded=_learn_stored_id,
    follow=_follow,
    ratio=_one,
    end_step=count,
)
"""How a table of action values answers."""

STATE_TABLE = TABLE._replace(end_step=_count_state)
"""How a table of state values answers: it has one column, whichever action was taken."""


class ActiveFeatures(NamedTuple):
    """The features of the present and of the next observation."""

    indices: Feature  # (2, most_active)
    values: NDArray[np.float64]  # (2, most_active)
    n_active: Annotated[NDArray[np.int64], Array(at_least=0, at_most="indices")]  # (2,), how many of them there are
    now: Annotated[NDArray[np.int64], Array(at_least=0, at_most=1)]  # (1,), row of the present observation


class Memory(NamedTuple):
    """Values, and everything that choosing and learning need.

    A row is an id in a table; of features it is one of the two observations that matter, the present and the next one.
    There is a column for each action, or one for state values. What a memory does not need is an empty tuple.
    """

    q: NDArray[np.float64]  # (n_rows, n_columns); of features the values in the two rows, and none of states
    visits: Count  # (n_rows, n_columns), how often each pair was taken, or each state was left; of features 0
    legal: NDArray[np.bool_]  # (n_rows, n_actions)
    legality: Legality  # how `legal` is looked up
    clock: Count  # (2,), [steps, episodes] learned from
    gamma: float
    learning_rate: Rate
    # how actions are chosen: by the exploration,
    exploration: ExplorationRule = ABSENT
    scores: NDArray[np.float64] = ABSENT  # (n_actions,); a buffer of one number per action while one is chosen
    learned: Own = ()  # NamedTuple of what else the rule learns, saved with the agent
    scratch: Own = ()  # NamedTuple of what the rule keeps during an episode; not cleared between episodes
    operations: Operations = TABLE
    parameters: Own = ()  # NamedTuple of what the agent declares as `rlsuite.Parameter`
    # or by a policy, see `prediction.policies`: of a table, running sums of its probabilities in each state
    behaviour: NDArray[np.float64] = ABSENT  # (n_policy_rows, n_actions), the policy that is followed
    target: NDArray[np.float64] = ABSENT  # (n_policy_rows, n_actions), the one that is evaluated; (0, 0) if the same
    # with features, see `values.features`
    weights: NDArray[np.float64] = ABSENT  # (n_features, n_columns)
    features: Own = ABSENT  # FeatureRule, the compiled form of a feature map, whose package needs scikit-learn
    active: Own = ABSENT  # ActiveFeatures; of a network `values.layers.Units`
    stale: NDArray[np.int64] = ABSENT  # (2,), which values of `q` are out of date


# What a rule asks.


@compiled(in_place=True)
def locate_first(memory: Memory, state: Observation) -> int:
    """The row of the first observation of an episode, with the values of its actions in ``memory.q[row]``."""
    return memory.operations.locate_first(memory, state)


@compiled(in_place=True)
def locate(memory: Memory, state: Observation) -> int:
    """The row of the present observation: where its action was taken."""
    return memory.operations.locate(memory, state)


@compiled(in_place=True)
def locate_next(memory: Memory, next_state: Observation) -> int:
    """The row of the observation that the action led to, with the values of its actions in ``memory.q[row]``."""
    return memory.operations.locate_next(memory, next_state)


@compiled(in_place=True)
def value(memory: Memory, row: int, action: int) -> float:
    """The present estimate of Q(s, a)."""
    return memory.operations.value(memory, row, action)


@compiled(in_place=True)
def update(memory: Memory, row: int, action: int, amount: float) -> None:
    """Let Q(s, a) <- Q(s, a) + amount; of features w <- w + amount x(s), the gradient of Q(s, a)."""
    memory.operations.update(memory, row, action, amount)


@compiled(in_place=True)
def step_size(memory: Memory, row: int, action: int) -> float:
    """The learning rate now; a schedule per visits counts those of this pair, before the present one."""
    return rate_now(memory.learning_rate, memory.clock, memory.visits[row, action])


@compiled(in_place=True)
def visit(memory: Memory, row: int, action: int, kind: TraceUpdate, step_size: float) -> None:
    """Let the traces of (s, a) become those after a visit of this kind: e + alpha x, say."""
    memory.operations.visit(memory, row, action, kind, step_size)


@compiled(in_place=True)
def update_and_decay(memory: Memory, traces: Traces, amount: float, decay: float) -> None:
    """Let Q <- Q + amount e for all that is eligible, then e <- decay e."""
    memory.operations.update_and_decay(memory, traces, amount, decay)


@compiled(in_place=True)
def renew(memory: Memory, row: int, action: int) -> None:
    """Compute ``memory.q[row, action]`` again after an update; only a rule with ``renews = True`` needs it."""
    memory.operations.renew(memory, row)


@compiled(in_place=True)
def update_all(memory: Memory, values: NDArray[np.float64], amount: float) -> None:
    """Let Q <- Q + amount * values, an array as large as what is learned; of features w <- w + amount * values."""
    memory.operations.update_all(memory, values, amount)


@compiled(in_place=True)
def value_in(memory: Memory, values: NDArray[np.float64], row: int, column: int) -> float:
    """The value by a column of another array, which has a row for each row of a table, or for each feature."""
    return memory.operations.value_in(memory, values, row, column)


@compiled(in_place=True)
def update_in(memory: Memory, values: NDArray[np.float64], row: int, column: int, amount: float) -> None:
    """Let V(s) <- V(s) + amount in such a column; of features w <- w + amount x(s)."""
    memory.operations.update_in(memory, values, row, column, amount)


@compiled(in_place=True)
def visit_in(memory: Memory, traces: Traces, row: int, column: int, n_columns: int, amount: float) -> None:
    """Let e <- e + amount x(s) in the traces of a column of an array (n, n_columns)."""
    memory.operations.visit_in(memory, traces, row, column, n_columns, amount)


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
def learn_stored(memory: Memory, entry: int, target: float) -> None:
    """Let V(s) <- V(s) + alpha [G - V(s)] for an entry of the buffer; alpha counts the returns of this state so far."""
    memory.operations.learn_stored(memory, entry, target)


@compiled(in_place=True)
def record(memory: Memory, state: Observation, time: int) -> None:
    """Keep what was observed as time t of ``memory.scratch.buffer``, for a rule that learns from whole episodes."""
    memory.operations.record(memory, state, time)


@compiled(in_place=True)
def locate_recorded(memory: Memory, time: int) -> int:
    """The row of the observation of time t, with the values of its actions in ``memory.q[row]``; after an episode."""
    return memory.operations.locate_recorded(memory, time)


@compiled(in_place=True)
def learn_recorded(memory: Memory, time: int, target: float) -> None:
    """Let V(s_t) <- V(s_t) + alpha [G - V(s_t)], as `learn_stored`."""
    memory.operations.learn_recorded(memory, time, target)


@compiled(in_place=True)
def end_step(memory: Memory, row: int, action: int, over: bool) -> None:
    """Count this step, and this episode if it is over; every rule calls it once a step.

    A row that was located stays valid until the next step; a rule may choose its next action before or after.
    """
    memory.operations.end_step(memory, row, action, over)


@compiled(in_place=True)
def begin(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Choose the first action of an episode by the exploration."""
    return choose(memory, locate_first(memory, state), rng)


@compiled(in_place=True)
def next_action(memory: Memory, state: Observation, row: int, rng: np.random.Generator) -> int:
    """Draw an action of the policy that is followed."""
    return memory.operations.follow(memory, state, row, rng)


@compiled(in_place=True)
def ratio(memory: Memory, state: Observation, row: int, action: int) -> float:
    """Return rho = pi(a | s) / b(a | s): how much likelier the policy to evaluate takes the action that was taken.

    It is 1 where the policy that is followed is the one that is evaluated, as for all tables (S&B2 eq. 11.1).
    """
    return memory.operations.ratio(memory, state, row, action)


@compiled(in_place=True)
def begin_following(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Draw the first action of an episode by the policy that is followed."""
    return next_action(memory, state, locate_first(memory, state), rng)
