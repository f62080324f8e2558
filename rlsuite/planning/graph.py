"""The graph of a model: an edge leads from s to s' if some action in s may lead to s' with the episode going on.

`edges` says which transitions of a model are edges; the functions take it as a parameter, so that they also work on
part of a graph. All take time proportional to the number of transitions.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, IndexArray, StateArray
from rlsuite.models.validation import pointers


class Predecessors(NamedTuple):
    """The predecessors of each state: those of s are ``state[indptr[s] : indptr[s + 1]]``, without repetition."""

    indptr: IndexArray
    """(S + 1,) int64"""
    state: StateArray
    """(E,) int32, ascending within each state"""


class Components(NamedTuple):
    """The strongly connected components of a graph: the largest sets of states in which each leads to each."""

    of_state: StateArray
    """(S,) int32, the component of each state; a component has a larger number than all that it leads to"""
    indptr: IndexArray
    """(n + 1,) int64; the members of component k are ``members[indptr[k] : indptr[k + 1]]``"""
    members: IndexArray
    """(S,) int64, the states by component, ascending within each"""


def edges(mdp: MDP) -> BoolArray:
    """Return which transitions (N,) bool are possible and do not end the episode."""
    return (mdp.probability > 0.0) & ~mdp.terminated


def predecessors(mdp: MDP, counts: BoolArray) -> Predecessors:
    """Return the graph with all edges reversed.

    Parameters
    ----------
    mdp : MDP
        The model.
    counts : ndarray (N,) bool
        The transitions that are edges.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning.graph import edges, predecessors
    >>> mdp = MDP.from_successors([[0, 1], [2, 2], [0, 2]], [0, 0, 0], gamma=0.9)
    >>> found = predecessors(mdp, edges(mdp))
    >>> [found.state[found.indptr[s] : found.indptr[s + 1]].tolist() for s in range(3)]
    [[0, 2], [0], [1, 2]]
    """
    first = mdp.indptr[:: mdp.n_actions]
    indptr: IndexArray = np.zeros(mdp.n_states + 1, dtype=np.int64)
    seen: StateArray = np.full(mdp.n_states, -1, dtype=np.int32)
    _count_predecessors(first, mdp.next_state, counts, seen, indptr)
    np.cumsum(indptr, out=indptr)
    state: StateArray = np.empty(int(indptr[-1]), dtype=np.int32)
    seen[:] = -1
    _list_predecessors(first, mdp.next_state, counts, seen, indptr[:-1].copy(), state)
    return Predecessors(indptr, state)


def distance_to(backwards: Predecessors, targets: BoolArray) -> StateArray:
    """Return the least number of steps (S,) int32 in which each state may reach a target; -1 where none can.

    Parameters
    ----------
    backwards : Predecessors
        The graph.
    targets : ndarray (S,) bool
        Where to get to.
    """
    distance: StateArray = np.where(targets, 0, -1).astype(np.int32)
    queue: StateArray = np.empty(targets.size, dtype=np.int32)
    begun: StateArray = np.flatnonzero(targets).astype(np.int32)
    queue[: begun.size] = begun
    _search(backwards.indptr, backwards.state, queue, begun.size, distance)
    return distance


def strong_components(mdp: MDP, counts: BoolArray) -> Components:
    """Return the strongly connected components, those first that lead to no other. Tarjan 1972.

    Parameters
    ----------
    mdp : MDP
        The model.
    counts : ndarray (N,) bool
        The transitions that are edges.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning.graph import edges, strong_components
    >>> mdp = MDP.from_successors([[1], [2], [1], [0]], [0, 0, 0, 0], gamma=0.9)
    >>> strong_components(mdp, edges(mdp)).of_state.tolist()
    [1, 0, 0, 2]
    """
    states = mdp.n_states
    of_state: StateArray = np.full(states, -1, dtype=np.int32)
    number: StateArray = np.zeros(states, dtype=np.int32)
    low, path, open_ = (np.empty(states, dtype=np.int32) for _ in range(3))
    first = mdp.indptr[:: mdp.n_actions]
    n = _tarjan(first, mdp.next_state, counts, number, low, path, open_, first[:-1].copy(), of_state)
    indptr = pointers(np.bincount(of_state, minlength=n))
    return Components(of_state, indptr, np.argsort(of_state, kind="stable"))


@compiled(in_place=True)
def _count_predecessors(
    first: IndexArray, successor: StateArray, counts: BoolArray, seen: StateArray, number: IndexArray
) -> None:
    """Fill ``number[s + 1]``; `seen` holds the state counted last, so that parallel edges count once."""
    for s in range(first.size - 1):
        for i in range(first[s], first[s + 1]):
            there = successor[i]
            if counts[i] and seen[there] != s:
                seen[there] = s
                number[there + 1] += 1


@compiled(in_place=True)
def _list_predecessors(
    first: IndexArray,
    successor: StateArray,
    counts: BoolArray,
    seen: StateArray,
    free: IndexArray,
    state: StateArray,
) -> None:
    """Fill `state`; ``free[s]`` is the next place to write to in the list of s."""
    for s in range(first.size - 1):
        for i in range(first[s], first[s + 1]):
            there = successor[i]
            if counts[i] and seen[there] != s:
                seen[there] = s
                state[free[there]] = s
                free[there] += 1


@compiled(in_place=True)
def _search(indptr: IndexArray, state: StateArray, queue: StateArray, filled: int, distance: StateArray) -> None:
    """Search breadth first, from the `filled` states in the queue."""
    done = 0
    while done < filled:
        s = queue[done]
        done += 1
        for i in range(indptr[s], indptr[s + 1]):
            before = state[i]
            if distance[before] < 0:
                distance[before] = distance[s] + 1
                queue[filled] = before
                filled += 1


@compiled(in_place=True)
def _tarjan(
    first: IndexArray,
    successor: StateArray,
    counts: BoolArray,
    number: StateArray,
    low: StateArray,
    path: StateArray,
    open_: StateArray,
    edge: IndexArray,
    component: StateArray,
) -> int:
    """Fill `component` and return how many there are.

    States are numbered, from 1, in the order in which a depth-first search finds them; `path` leads to the state it is
    at, ``edge[s]`` is the next transition to look at, `open_` holds the states whose component is not complete, and
    ``low[s]`` is the smallest number that s is known to lead to among those.
    """
    found, opened, time = 0, 0, 0
    for root in range(first.size - 1):
        if number[root] != 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            s = path[depth]
            if number[s] == 0:
                time += 1
                number[s] = time
                low[s] = time
                open_[opened] = s
                opened += 1
            # `edge` holds the next transition of s to look at: the search leaves s to go deeper and comes back later,
            # as a recursive function would.
            deeper = False
            while edge[s] < first[s + 1]:
                i = edge[s]
                edge[s] += 1
                there = successor[i]
                # A complete component leads nowhere that is still open, so it cannot be part of a cycle through s.
                if not counts[i] or component[there] >= 0:
                    continue
                if number[there] == 0:
                    depth += 1
                    path[depth] = there
                    deeper = True
                    break
                # An open state with a smaller number leads to s, and s leads to it: both are in one component.
                low[s] = min(low[s], number[there])
            if deeper:
                continue
            # All transitions of s are done: what s leads to, the state before it on the path leads to as well.
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[s])
            # No open state found before s can be reached from s. So s is the first state of its component, and the
            # others are all states opened after s.
            if low[s] == number[s]:
                while component[s] < 0:
                    opened -= 1
                    component[open_[opened]] = found
                found += 1
    return found
