"""State values as rules of version 0.1 see them: ``memory.value[state]``, in a view of the memory.

A memory holds state values as the values of the only action, in ``memory.q[:, 0]``; see `rlsuite.agents.memory`. A rule
of a `Predictor` that reads ``memory.value`` gets a view, in which values and visits have no columns.
"""

import dis
import functools
import types
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.memory import Memory
from rlsuite.agents.schedules import EPISODES, STEPS, Rate, rate_now
from rlsuite.core.aliases import Own
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.core.fingerprints import values_used_by
from rlsuite.training.kernels import Rule, Transition
from rlsuite.training.legality import Legality


class StateValues(NamedTuple):
    """State values, and everything that following a policy and learning need: a view of a `Memory` of a table."""

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
    parameters: Own = ()  # NamedTuple of what the agent declares as `rlsuite.Parameter`


@compiled(in_place=True)
def state_values(memory: Memory) -> StateValues:
    """The view of a memory whose values have one column."""
    return StateValues(
        memory.q.reshape(memory.q.size),
        memory.visits.reshape(memory.visits.size),
        memory.behaviour,
        memory.legal,
        memory.legality,
        memory.clock,
        memory.gamma,
        memory.learning_rate,
        memory.learned,
        memory.scratch,
        memory.parameters,
    )


@compiled(in_place=True)
def value_step_size(memory: StateValues, state: int) -> float:
    """The learning rate now; a schedule per visits counts those of this state, before the present one."""
    return rate_now(memory.learning_rate, memory.clock, memory.visits[state])


@compiled(in_place=True)
def count_state(memory: StateValues, state: int, over: bool) -> None:
    """Count this step, and this episode if it is over; every rule calls it once a step."""
    memory.visits[state] += 1
    memory.clock[STEPS] += 1
    if over:
        memory.clock[EPISODES] += 1


def reads_state_values(function: object) -> bool:
    """Whether a compiled function, or one that it calls, reads the field `value` of a variable, or counts states."""
    waiting, known = [function], set[int]()
    while waiting:
        found = waiting.pop()
        source: object = getattr(found, "function", None)  # of a compiled function
        if not isinstance(source, types.FunctionType) or id(source) in known:
            continue
        known.add(id(source))
        if found in (value_step_size, count_state) or _reads_value(source.__code__):
            return True
        waiting += values_used_by(source)
    return False


def _reads_value(code: types.CodeType) -> bool:
    return any(
        one.opname.startswith("LOAD_FAST") and other.opname == "LOAD_ATTR" and other.argval == "value"
        for one, other in pairwise(dis.get_instructions(code))
    )


@functools.cache
def with_state_values(rule: Rule) -> Rule:
    """The same rule, which is given the view instead of the memory."""
    former_begin, former_step = rule

    @compiled
    def begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
        return former_begin(state_values(memory), state, rng)

    @compiled
    def step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
        return former_step(state_values(memory), t, rng)

    return Rule(begin, step)
