"""Belief updates in compiled code.

Few states can emit an observation, and few states lead to one of them: the update goes backwards from the states that
can have emitted the observation, and reads nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray


class BeliefTables(NamedTuple):
    """Observations and transitions of a `POMDP`, indexed by where they lead; made by `POMDP.belief_tables`."""

    emitting: IndexArray
    """(A * Z + 1,) int64: where the states that may emit z after a begin and end, at a * Z + z"""
    emitting_state: StateArray
    """(M,) int32, ascending within a row"""
    emitting_probability: FloatArray
    """(M,) float64, Pr(z | a, s')"""
    entering: IndexArray
    """(A * S + 1,) int64: where the transitions into s' under a begin and end, at a * S + s'"""
    entering_state: StateArray
    """(K,) int32: the state that is left"""
    entering_probability: FloatArray
    """(K,) float64, Pr[s', not terminated | s, a]"""
    n_states: int
    """S"""
    n_actions: int
    """A"""
    n_observations: int
    """Z"""


@compiled(in_place=True)
def update(tables: BeliefTables, belief: FloatArray, action: int, observation: int, after: FloatArray) -> float:
    """Write the belief that follows into `after` (S,), and return Pr[z, and the episode continues | b, a].

    Where that is 0, so is `after`. Nothing is checked.
    """
    for state in range(tables.n_states):
        after[state] = 0.0
    row = action * tables.n_observations + observation
    likelihood = 0.0
    for k in range(tables.emitting[row], tables.emitting[row + 1]):
        state = tables.emitting_state[k]
        pair = action * tables.n_states + state
        ahead = 0.0
        for j in range(tables.entering[pair], tables.entering[pair + 1]):
            ahead += tables.entering_probability[j] * belief[tables.entering_state[j]]
        ahead *= tables.emitting_probability[k]
        after[state] = ahead
        likelihood += ahead
    if likelihood > 0.0:
        for k in range(tables.emitting[row], tables.emitting[row + 1]):
            after[tables.emitting_state[k]] /= likelihood
    return likelihood


@compiled(in_place=True)
def update_all(
    tables: BeliefTables,
    beliefs: FloatArray,
    actions: IndexArray,
    observations: IndexArray,
    after: FloatArray,
    likelihood: FloatArray,
) -> None:
    """Update the rows of `beliefs` (n, S); `after` (n, S) and `likelihood` (n,) take the results."""
    for i in range(beliefs.shape[0]):
        likelihood[i] = update(tables, beliefs[i], actions[i], observations[i], after[i])
