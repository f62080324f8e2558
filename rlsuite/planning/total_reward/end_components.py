"""End components: sets of states in which a policy can stay for ever. de Alfaro 1997, section 3.3.

An end component is a set of states with, for each of them, some actions that surely stay inside, by which each state
can be reached from each. A policy that never terminates stays, from some time on, in one of them, with probability 1;
and each one is contained in a maximal one.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.clock import Clock
from rlsuite.core.compilation import compiled
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.planning.graph import Predecessors, strong_components


class EndComponents(NamedTuple):
    """The maximal end components."""

    of_state: StateArray
    """(S,) int32, the number of the component that a state belongs to, -1 for none"""
    staying: BoolArray
    """(S * A,) bool, the actions that stay inside"""


def end_components(
    mdp: MDP, possible: BoolArray, backwards: Predecessors, allowed: BoolArray, clock: Clock
) -> EndComponents:
    """Return the maximal end components of a part of a model.

    Strongly connected components lose the actions that may lead out of them, and the states without actions, until
    each is an end component; usually after two or three rounds.

    Parameters
    ----------
    mdp : MDP
        The model.
    possible : ndarray (N,) bool
        Its edges (`rlsuite.planning.graph.edges`).
    backwards : Predecessors
        The graph of these edges.
    allowed : ndarray (S * A,) bool
        The legal actions that belong to the part; none may end the episode.
    clock : Clock
        Looked at in each round.

    Raises
    ------
    OutOfTime
        If the clock says so.

    Examples
    --------
    >>> from rlsuite.core.clock import Clock
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning.graph import edges, predecessors
    >>> from rlsuite.planning.total_reward.end_components import end_components
    >>> mdp = MDP.from_successors([[1, 2], [0, {0, 2}], [2, None]], [0, 0, 0], gamma=0.9)
    >>> legal = mdp.legal.reshape(-1)
    >>> found = end_components(mdp, edges(mdp), predecessors(mdp, edges(mdp)), legal, Clock("this example"))
    >>> found.of_state.tolist(), found.staying.tolist()
    ([0, 0, 1], [True, False, True, False, True, False])
    """
    staying = allowed.copy()
    lengths = np.diff(mdp.indptr)
    stack: StateArray = np.empty(mdp.n_states, dtype=np.int32)
    while True:
        clock.check()
        of_state = strong_components(mdp, possible & np.repeat(staying, lengths)).of_state
        rows = (mdp.n_actions, mdp.indptr, mdp.next_state, mdp.probability)
        if not _prune(*rows, backwards.indptr, backwards.state, stack, of_state, staying):
            return EndComponents(of_state, staying)


@compiled(in_place=True)
def _leaves(
    s: int,
    n_actions: int,
    indptr: IndexArray,
    next_state: StateArray,
    probability: FloatArray,
    component: StateArray,
    staying: BoolArray,
) -> bool:
    """Remove the actions of s that may lead out of its component; return whether there were any."""
    pruned = False
    for row in range(s * n_actions, (s + 1) * n_actions):
        if staying[row]:
            for i in range(indptr[row], indptr[row + 1]):
                if probability[i] > 0.0 and component[next_state[i]] != component[s]:
                    staying[row] = False
                    pruned = True
                    break
    return pruned


@compiled(in_place=True)
def _stays(s: int, n_actions: int, staying: BoolArray) -> bool:
    number = 0
    for row in range(s * n_actions, (s + 1) * n_actions):
        number += staying[row]
    return number > 0


@compiled(in_place=True)
def _prune(
    n_actions: int,
    indptr: IndexArray,
    next_state: StateArray,
    probability: FloatArray,
    before_indptr: IndexArray,
    before: StateArray,
    stack: StateArray,
    component: StateArray,
    staying: BoolArray,
) -> bool:
    """Remove actions that may leave their component, then states without actions, whose number becomes -1.

    Returns whether an action was taken away. `stack` holds the states that were taken away and whose predecessors have
    not been looked at since.
    """
    waiting, pruned = 0, False
    for s in range(component.size):
        if _leaves(s, n_actions, indptr, next_state, probability, component, staying):
            pruned = True
        if not _stays(s, n_actions, staying):
            component[s] = -1
            stack[waiting] = s
            waiting += 1
    while waiting > 0:
        waiting -= 1
        gone = stack[waiting]
        for i in range(before_indptr[gone], before_indptr[gone + 1]):
            s = before[i]
            if component[s] < 0:
                continue
            if _leaves(s, n_actions, indptr, next_state, probability, component, staying):
                pruned = True
            if not _stays(s, n_actions, staying):
                component[s] = -1
                stack[waiting] = s
                waiting += 1
    return pruned
