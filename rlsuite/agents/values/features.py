"""How weights of features answer a rule; see `rlsuite.agents.memory`.

The value of an action is a sum of a few weights: Q(s, a) = sum_i w[i, a] x_i(s), where x(s) are
the features of the observation (S&B2 eq. 9.8). Of the features only those that are not 0 are listed, so the cost of a
step does not depend on how many there are.

Two observations matter at any time: the one an action was taken in, and the one it led to. Each has a row in the
memory, in turn, and `now` says which row is the former. Row 0 is that of the first observation of an episode.

The rows of ``q`` are computed when an observation is located, and again after each update, so a rule may read them at
any time. That costs 5 % of a step, with traces 30 %. A rule with ``renews = True`` does without: an update only records
in ``stale`` which values are out of date, and the exploration computes these anew before it chooses. Predictors do not
choose by values and have no such rows: a value is computed when a rule asks for it.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import ExplorationRule
from rlsuite.agents.exploration.choosing import Select, Spread
from rlsuite.agents.memory import STATE, ActiveFeatures, Memory, Observation, Operations, add_scaled
from rlsuite.agents.prediction.policies import follow_policy, ratio_of_policies
from rlsuite.agents.schedules import EPISODES, STEPS, rate_now
from rlsuite.agents.traces import Traces, TraceUpdate, add_to_trace, set_trace, update_eligible
from rlsuite.core.compilation import compiled


def new_active_features(most_active: int) -> ActiveFeatures:
    """Make empty lists for the features of two observations."""
    rows = (2, most_active)
    return ActiveFeatures(
        np.zeros(rows, dtype=np.int64), np.zeros(rows), np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64)
    )


@compiled(in_place=True)
def compute_features(memory: Memory, observation: NDArray[np.float64], row: int) -> None:
    """Compute the features of an observation into a row."""
    active, rule = memory.active, memory.features
    active.n_active[row] = rule.active(rule.data, observation, active.indices[row], active.values[row])


@compiled(in_place=True)
def value_of(memory: Memory, row: int, action: int) -> float:
    """Q(s, a) of the observation in a row, by the present weights."""
    active = memory.active
    value = 0.0
    for k in range(active.n_active[row]):
        value += memory.weights[active.indices[row, k], action] * active.values[row, k]
    return value


@compiled(in_place=True)
def evaluate(memory: Memory, row: int) -> None:
    """Fill in ``q[row]``: Q(s, a) of all actions for the observation in a row, by the present weights."""
    active = memory.active
    for action in range(memory.weights.shape[1]):
        memory.q[row, action] = 0.0
    for k in range(active.n_active[row]):
        index, value = active.indices[row, k], active.values[row, k]
        for action in range(memory.weights.shape[1]):
            memory.q[row, action] += memory.weights[index, action] * value


@compiled(in_place=True)
def evaluate_rows(
    rule: Any,
    weights: NDArray[np.float64],
    observations: NDArray[np.float64],
    indices: NDArray[np.int64],
    values: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    """Compute Q of many observations (n, d) into (n, n_actions), adding up in the order of `evaluate`."""
    for i in range(observations.shape[0]):
        n_active = rule.active(rule.data, observations[i], indices, values)
        for action in range(weights.shape[1]):
            q[i, action] = 0.0
        for k in range(n_active):
            for action in range(weights.shape[1]):
                q[i, action] += weights[indices[k], action] * values[k]


FRESH, ALL = 0, -1
"""Values of ``stale``: no value of the row is out of date, or any of them may be; a + 1 stands for that of action a."""


@compiled(in_place=True)
def mark_stale(memory: Memory, changed: int) -> None:
    """Record that the weights of an action have changed, or those of all: what was computed by them is out of date."""
    stale = memory.stale
    first, second = stale[0], stale[1]
    stale[0] = changed if first in (FRESH, changed) else ALL
    stale[1] = changed if second in (FRESH, changed) else ALL


@compiled(in_place=True)
def refresh(memory: Memory, row: int) -> None:
    """Compute anew what is out of date in ``q[row]``."""
    changed = memory.stale[row]
    if changed != FRESH:
        if changed == ALL:
            evaluate(memory, row)
        else:
            memory.q[row, changed - 1] = value_of(memory, row, changed - 1)
        memory.stale[row] = FRESH


def by_fresh_values(rule: ExplorationRule) -> ExplorationRule:
    """The same exploration, by values that `renew` has brought up to date."""
    select, spread = _refreshed(rule.select, rule.spread)
    return rule._replace(select=select, spread=spread)


@functools.cache
def _refreshed(given_select: Select, given_spread: Spread) -> tuple[Select, Spread]:
    @compiled(in_place=True)
    def select(memory: Memory, row: int, first: float, second: float, rng: np.random.Generator) -> int:
        memory.operations.renew(memory, row)
        return given_select(memory, row, first, second, rng)

    @compiled(in_place=True)
    def spread(memory: Memory, row: int, first: float, second: float, out: NDArray[np.float64]) -> None:
        memory.operations.renew(memory, row)
        given_spread(memory, row, first, second, out)

    return select, spread


@compiled(in_place=True)
def improve(memory: Memory, row: int, action: int, amount: float) -> None:
    """Add ``amount * x(s)`` to the weights of an action: the gradient of Q(s, a) is x(s)."""
    active = memory.active
    for k in range(active.n_active[row]):
        memory.weights[active.indices[row, k], action] += amount * active.values[row, k]


@compiled(in_place=True)
def linear_step_size(memory: Memory) -> float:
    """The learning rate now."""
    return rate_now(memory.learning_rate, memory.clock, 0)


@compiled(in_place=True)
def count_and_advance(memory: Memory, over: bool) -> None:
    """Count this step, and this episode if it is over; the next observation becomes the present one.

    Every rule calls it once a step, at its end.
    """
    memory.active.now[0] = 1 - memory.active.now[0]
    memory.clock[STEPS] += 1
    if over:
        memory.clock[EPISODES] += 1


# The `Operations` of features.


@compiled(in_place=True)
def _first_row(memory: Memory, observation: NDArray[np.float64]) -> int:
    memory.active.now[0] = 0
    compute_features(memory, observation, 0)
    return 0


@compiled(in_place=True)
def _first_row_with_q(memory: Memory, observation: NDArray[np.float64]) -> int:
    row = _first_row(memory, observation)
    evaluate(memory, row)
    memory.stale[row] = FRESH
    return row


@compiled(in_place=True)
def _present_row(memory: Memory, observation: Observation) -> int:
    return memory.active.now[0]


@compiled(in_place=True)
def _next_row(memory: Memory, next_observation: NDArray[np.float64]) -> int:
    row = 1 - memory.active.now[0]
    compute_features(memory, next_observation, row)
    return row


@compiled(in_place=True)
def _next_row_with_q(memory: Memory, next_observation: NDArray[np.float64]) -> int:
    row = _next_row(memory, next_observation)
    evaluate(memory, row)
    memory.stale[row] = FRESH
    return row


@compiled(in_place=True)
def _improve_and_mark(memory: Memory, row: int, action: int, amount: float) -> None:
    improve(memory, row, action, amount)
    mark_stale(memory, action + 1)


@compiled(in_place=True)
def visit_features(memory: Memory, row: int, action: int, kind: TraceUpdate, step_size: float) -> None:
    """Visit an observation: the traces of its active features become those after a visit of this kind."""
    active, traces, n_actions = memory.active, memory.scratch.traces, memory.weights.shape[1]
    overlap = 0.0  # e . x, used by dutch traces only; the compiler removes it for the others
    for k in range(active.n_active[row]):
        overlap += traces.trace[active.indices[row, k] * n_actions + action] * active.values[row, k]
    for k in range(active.n_active[row]):
        x = active.values[row, k]
        if x != 0.0:
            entry = active.indices[row, k] * n_actions + action
            set_trace(traces, entry, kind(traces.trace[entry], overlap, x, step_size))


@compiled(in_place=True)
def _update_eligible_weights(memory: Memory, traces: Traces, amount: float, decay: float) -> None:
    update_eligible(traces, memory.weights, amount, decay)


@compiled(in_place=True)
def _update_eligible_and_mark(memory: Memory, traces: Traces, amount: float, decay: float) -> None:
    _update_eligible_weights(memory, traces, amount, decay)
    mark_stale(memory, ALL)


@compiled(in_place=True)
def _update_all_weights(memory: Memory, values: NDArray[np.float64], amount: float) -> None:
    add_scaled(memory.weights, values, amount)


@compiled(in_place=True)
def _update_all_and_mark(memory: Memory, values: NDArray[np.float64], amount: float) -> None:
    _update_all_weights(memory, values, amount)
    mark_stale(memory, ALL)


@compiled(in_place=True)
def _value_in(memory: Memory, weights: NDArray[np.float64], row: int, column: int) -> float:
    active = memory.active
    value = 0.0
    for k in range(active.n_active[row]):
        value += weights[active.indices[row, k], column] * active.values[row, k]
    return value


@compiled(in_place=True)
def _improve_in(memory: Memory, weights: NDArray[np.float64], row: int, column: int, amount: float) -> None:
    active = memory.active
    for k in range(active.n_active[row]):
        weights[active.indices[row, k], column] += amount * active.values[row, k]


@compiled(in_place=True)
def _visit_features_in(memory: Memory, traces: Traces, row: int, column: int, n_columns: int, amount: float) -> None:
    active = memory.active
    for k in range(active.n_active[row]):
        if active.values[row, k] != 0.0:
            add_to_trace(traces, active.indices[row, k] * n_columns + column, amount * active.values[row, k])


@compiled(in_place=True)
def _store_features(memory: Memory, row: int, entry: int) -> None:
    active, buffer = memory.active, memory.scratch.buffer
    for k in range(active.n_active[row]):
        buffer.indices[entry, k] = active.indices[row, k]
        buffer.values[entry, k] = active.values[row, k]
    buffer.n_active[entry] = active.n_active[row]


@compiled(in_place=True)
def _value_of_stored(memory: Memory, entry: int, action: int) -> float:
    buffer = memory.scratch.buffer
    value = 0.0
    for k in range(buffer.n_active[entry]):
        value += memory.weights[buffer.indices[entry, k], action] * buffer.values[entry, k]
    return value


@compiled(in_place=True)
def _improve_stored(memory: Memory, entry: int, action: int, amount: float) -> None:
    buffer = memory.scratch.buffer
    for k in range(buffer.n_active[entry]):
        memory.weights[buffer.indices[entry, k], action] += amount * buffer.values[entry, k]


@compiled(in_place=True)
def _improve_stored_and_mark(memory: Memory, entry: int, action: int, amount: float) -> None:
    _improve_stored(memory, entry, action, amount)
    mark_stale(memory, action + 1)


@compiled(in_place=True)
def _refresh_both(memory: Memory) -> None:
    refresh(memory, 0)
    refresh(memory, 1)


@compiled(in_place=True)
def _improve_and_refresh(memory: Memory, row: int, action: int, amount: float) -> None:
    _improve_and_mark(memory, row, action, amount)
    _refresh_both(memory)


@compiled(in_place=True)
def _update_eligible_and_refresh(memory: Memory, traces: Traces, amount: float, decay: float) -> None:
    _update_eligible_and_mark(memory, traces, amount, decay)
    _refresh_both(memory)


@compiled(in_place=True)
def _update_all_and_refresh(memory: Memory, values: NDArray[np.float64], amount: float) -> None:
    _update_all_and_mark(memory, values, amount)
    _refresh_both(memory)


@compiled(in_place=True)
def _improve_stored_and_refresh(memory: Memory, entry: int, action: int, amount: float) -> None:
    _improve_stored_and_mark(memory, entry, action, amount)
    _refresh_both(memory)


@compiled(in_place=True)
def record_vector(memory: Memory, observation: NDArray[np.float64], time: int) -> None:
    """Keep an observation as time t of the episode."""
    recorded = memory.scratch.buffer.observation
    for i in range(recorded.shape[1]):
        recorded[time, i] = observation[i]


@compiled(in_place=True)
def _recorded_row(memory: Memory, time: int) -> int:
    """The present row, which is not needed any more when an episode is over."""
    row = memory.active.now[0]
    compute_features(memory, memory.scratch.buffer.observation[time], row)
    return row


@compiled(in_place=True)
def _recorded_row_with_q(memory: Memory, time: int) -> int:
    row = _recorded_row(memory, time)
    evaluate(memory, row)
    memory.stale[row] = FRESH
    return row


@compiled(in_place=True)
def learn_vector(memory: Memory, time: int, action: int, target: float) -> None:
    """Let w <- w + alpha [G_t - w . x_t] x_t, with the weights of an action."""
    row = _recorded_row(memory, time)
    improve(memory, row, action, linear_step_size(memory) * (target - value_of(memory, row, action)))


@compiled(in_place=True)
def _learn_stored_features(memory: Memory, entry: int, target: float) -> None:
    error = target - _value_of_stored(memory, entry, STATE)
    _improve_stored(memory, entry, STATE, linear_step_size(memory) * error)


@compiled(in_place=True)
def _learn_recorded_vector(memory: Memory, time: int, target: float) -> None:
    learn_vector(memory, time, STATE, target)


@compiled(in_place=True)
def _end_step(memory: Memory, row: int, action: int, over: bool) -> None:
    count_and_advance(memory, over)


FEATURES_ON_DEMAND = Operations(
    locate_first=_first_row,
    locate=_present_row,
    locate_next=_next_row,
    value=value_of,
    update=improve,
    visit=visit_features,
    update_and_decay=_update_eligible_weights,
    update_all=_update_all_weights,
    renew=evaluate,
    value_in=_value_in,
    update_in=_improve_in,
    visit_in=_visit_features_in,
    store=_store_features,
    stored_value=_value_of_stored,
    update_stored=_improve_stored,
    learn_stored=_learn_stored_features,
    record=record_vector,
    locate_recorded=_recorded_row,
    learn_recorded=_learn_recorded_vector,
    follow=follow_policy,
    ratio=ratio_of_policies,
    end_step=_end_step,
)
"""How weights answer whose values are computed when a rule asks for them."""

FEATURES = FEATURES_ON_DEMAND._replace(
    locate_first=_first_row_with_q,
    locate_next=_next_row_with_q,
    update=_improve_and_mark,
    update_and_decay=_update_eligible_and_mark,
    update_all=_update_all_and_mark,
    renew=refresh,
    update_stored=_improve_stored_and_mark,
    locate_recorded=_recorded_row_with_q,
)
"""The same where actions are chosen by the values: ``q`` holds those of both rows, and `renew` brings it up to date."""

CURRENT_FEATURES = FEATURES._replace(
    update=_improve_and_refresh,
    update_and_decay=_update_eligible_and_refresh,
    update_all=_update_all_and_refresh,
    update_stored=_improve_stored_and_refresh,
)
"""The same where ``q`` is up to date after each update."""
