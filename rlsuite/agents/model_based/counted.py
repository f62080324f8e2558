"""A model of counts: how often each pair led to each state, and its mean reward; and planning on such a model.

Agents that count keep these arrays first in their memory's ``learned``, followed by their other arrays:

============ ================================== ===========================================================
outcomes     (n_pairs, n_states + 1) int64      how often a pair led to each state; last: how often to an end
successors   (n_pairs, n_states + 1) int32      the columns of `outcomes` that are not 0, in order of discovery
n_successors (n_pairs,) int64                   how many those are
mean_reward  (n_states, n_actions) float64      mean of the rewards of each pair
============ ================================== ===========================================================

Pairs are numbered ``state * n_actions + action``; how often each was taken is the memory's `visits`. An end is a
successor of its own: states may be entered both with and without ending the episode. The two large arrays grow with the
square of the number of states, but the system gives memory only to what is written, and planning only looks at what has
occurred.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import is_legal
from rlsuite.agents.memory import Memory
from rlsuite.core.checks import fits_in_memory
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.core.declared import Array, Count
from rlsuite.errors import ParameterError

Backup = Compiled[[Any, int, int], float]

MOST_SWEEPS = 100_000
"""Sweeps after which planning stops by default; the error bound then says what was reached."""


class Counts(NamedTuple):
    """Counts of outcomes; see the module."""

    outcomes: Count
    successors: Annotated[NDArray[np.int32], Array(at_least=0, at_most="n_states")]
    n_successors: Count
    mean_reward: NDArray[np.float64]


def new_counts(agent: str, n_states: int, n_actions: int, *, also: int = 0) -> Counts:
    """Make empty counts; `also` is the number of bytes per outcome that will be needed in addition.

    Raises
    ------
    ParameterError
        If they do not fit into the memory of this machine.
    """
    n_pairs, n_outcomes = n_states * n_actions, n_states + 1
    what = f"{agent}, which counts {n_outcomes:,} outcomes of {n_pairs:,} pairs of a state and an action,"
    fits_in_memory(what, n_pairs * n_outcomes * (8 + 4 + also))
    return Counts(
        outcomes=np.zeros((n_pairs, n_outcomes), dtype=np.int64),
        successors=np.zeros((n_pairs, n_outcomes), dtype=np.int32),
        n_successors=np.zeros(n_pairs, dtype=np.int64),
        mean_reward=np.zeros((n_states, n_actions)),
    )


def check_counts(model: Any) -> None:
    """Raise ValueError unless the successors of each pair are the outcomes that it had.

    Otherwise the next new outcome would be written beyond the end.
    """
    n_successors: NDArray[np.int64] = model.n_successors
    if np.any(n_successors != np.count_nonzero(model.outcomes, axis=1)):
        raise ValueError("outcomes and n_successors contradict each other")
    n_columns: int = model.successors.shape[1]
    counted: NDArray[np.int64] = np.take_along_axis(model.outcomes, model.successors.astype(np.int64), axis=1)
    if np.any((counted == 0) & (np.arange(n_columns) < n_successors[:, None])):
        raise ValueError("outcomes and successors contradict each other")


def check_discount(agent: str, gamma: float) -> None:
    """Raise unless values are discounted: there is no bound on the error otherwise, nor on the values.

    Raises
    ------
    ParameterError
        If gamma is 1.
    """
    if gamma == 1.0:
        raise ParameterError(f"gamma=1: {agent} plans for discounted rewards; give a gamma below 1, such as 0.99")


@compiled(in_place=True)
def observe(
    memory: Memory, state: int, action: int, reward: float, next_state: int, terminated: bool, tried: int
) -> None:
    """Count one outcome of a pair that has been counted `tried` times before."""
    model = memory.learned
    pair = state * memory.q.shape[1] + action
    outcome = memory.q.shape[0] if terminated else next_state
    if model.outcomes[pair, outcome] == 0:
        model.successors[pair, model.n_successors[pair]] = outcome
        model.n_successors[pair] += 1
    model.outcomes[pair, outcome] += 1
    model.mean_reward[state, action] += (reward - model.mean_reward[state, action]) / (tried + 1)


@compiled(in_place=True)
def mean_value(model: Any, pair: int, tried: int, value: NDArray[np.float64]) -> float:
    """Mean of a value (n_states + 1,) over the outcomes of a pair that was counted `tried` times, at least once."""
    total = 0.0
    for k in range(model.n_successors[pair]):
        outcome = model.successors[pair, k]
        total += model.outcomes[pair, outcome] * value[outcome]
    return total / tried


@compiled(in_place=True)
def has_doubled(memory: Memory, state: int, action: int) -> bool:
    """Whether the visits of a pair have doubled since the last plan, or it was visited for the first time."""
    before = memory.learned.planned_at[state, action]
    return memory.visits[state, action] - before >= max(before, 1)


@compiled(in_place=True)
def iterate_values(
    backup: Backup,
    memory: Memory,
    value: NDArray[np.float64],
    tol: float,
    max_iterations: int,
    iterations: NDArray[np.int64],
    error_bound: NDArray[np.float64],
) -> None:
    """Q(x, a) <- backup(memory, x, a), V(x) <- max_a Q(x, a), sweep after sweep in place, until the error is below tol.

    A sweep brings V at least by the factor gamma closer to its fixed point V*. If it changed V by c at most, V and Q
    are within gamma / (1 - gamma) c of V* and Q*. This bound and the number of sweeps go to `error_bound` and
    `iterations`; the bound exceeds `tol` if `max_iterations` sweeps were not enough. States without a legal action keep
    their value.
    """
    for sweep in range(max_iterations):
        change = 0.0
        for state in range(memory.q.shape[0]):
            best = -np.inf
            for action in range(memory.q.shape[1]):
                if is_legal(memory, state, action):
                    memory.q[state, action] = backup(memory, state, action)
                    best = max(best, memory.q[state, action])
            if best > -np.inf:
                change = max(change, abs(best - value[state]))
                value[state] = best
        iterations[0] = sweep + 1
        error_bound[0] = memory.gamma / (1.0 - memory.gamma) * change
        if error_bound[0] <= tol:
            break
