"""The Markov chain of an agent without memory: its states are pairs of a hidden state and the last observation."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.reachability import reachable


class ObservationChain(NamedTuple):
    """The n pairs (state, observation) that can occur, and how actions lead from one to the other.

    As in the environment, an illegal action changes nothing: it leads back to the pair in which it was taken.
    """

    n_observations: int
    """S for an MDP, Z + 1 for a POMDP"""
    state: IndexArray
    """(n,) int64, hidden state of each pair"""
    observation: IndexArray
    """(n,) int64, what the agent sees in it"""
    start: FloatArray
    """(n,) float64, distribution of the first pair"""
    matrix: Any
    """csr_array (n * A, n) float64, probability of the next pair with the episode going on; row i * A + a"""


def chain_of_states(lookahead: Lookahead) -> ObservationChain:
    """Return the chain of an agent that observes the state.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    """
    mdp = lookahead.mdp
    state = _visitable(lookahead)
    number = np.zeros(mdp.n_states, dtype=np.int64)
    number[state] = np.arange(state.size)
    edges = lookahead.continuation[_rows(state, mdp.n_actions)].tocoo()
    return ObservationChain(
        n_observations=mdp.n_states,
        state=state,
        observation=state,
        start=mdp.start[state],
        matrix=_matrix(mdp, state, edges.row, number[edges.col], edges.data),
    )


def chain_of_observations(pomdp: POMDP, lookahead: Lookahead) -> ObservationChain:
    """Return the chain of an agent that sees one of Z observations, or Z before the first one.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    lookahead : Lookahead
        Its hidden part, prepared.
    """
    mdp = lookahead.mdp
    actions, states, symbols = pomdp.observation.shape
    emission: Any = csr_array(pomdp.observation.reshape(actions * states, symbols))
    visitable = _visitable(lookahead)
    edges = lookahead.continuation[_rows(visitable, actions)].tocoo()

    # Every edge (s, a) -> s' becomes one edge per observation that can follow a in s'.
    shown = (edges.row % actions) * states + edges.col
    counts = np.diff(emission.indptr)[shown]
    edge = np.repeat(np.arange(edges.row.size), counts)
    place = emission.indptr[shown][edge] + np.arange(edge.size) - np.repeat(np.cumsum(counts) - counts, counts)
    row = edges.row[edge]
    probability = edges.data[edge] * emission.data[place]
    code = edges.col[edge].astype(np.int64) * (symbols + 1) + emission.indices[place]

    first = np.flatnonzero(mdp.start) * (symbols + 1) + symbols
    codes = np.unique(np.concatenate([code, first]))
    state, observation = codes // (symbols + 1), codes % (symbols + 1)
    start = np.zeros(codes.size)
    start[np.searchsorted(codes, first)] = mdp.start[mdp.start > 0.0]

    # Edges depend on the hidden state only, so each pair of state and observation has the edges of its state.
    number = np.zeros(states, dtype=np.int64)
    number[visitable] = np.arange(visitable.size)
    shape = (visitable.size * actions, codes.size)
    by_state = _sparse(probability, row, np.searchsorted(codes, code), shape)
    taken_over = by_state[_rows(number[state], actions)].tocoo()
    return ObservationChain(
        n_observations=symbols + 1,
        state=state,
        observation=observation,
        start=start,
        matrix=_matrix(mdp, state, taken_over.row, taken_over.col, taken_over.data),
    )


def _visitable(lookahead: Lookahead) -> IndexArray:
    """Return the states that some policy can visit, in ascending order."""
    mdp = lookahead.mdp
    edges: Any = lookahead.continuation.tocoo()
    shape = (mdp.n_states, mdp.n_states)
    graph = _sparse(np.ones(edges.row.size), edges.row // mdp.n_actions, edges.col, shape)
    return np.flatnonzero(reachable(graph, mdp.start > 0.0))


def _rows(state: IndexArray, actions: int) -> IndexArray:
    """Return the rows of all pairs (s, a) of these states in a matrix over pairs."""
    return (state[:, np.newaxis] * actions + np.arange(actions)).reshape(-1)


def _matrix(mdp: MDP, state: IndexArray, row: Any, column: Any, probability: Any) -> Any:
    illegal = np.flatnonzero(~mdp.legal[state])
    n = state.size
    return _sparse(
        np.concatenate([probability, np.ones(illegal.size)]),
        np.concatenate([row, illegal]),
        np.concatenate([column, illegal // mdp.n_actions]),
        (n * mdp.n_actions, n),
    )


def _sparse(data: Any, row: Any, column: Any, shape: tuple[int, int]) -> Any:
    """Return the csr_array with these entries; duplicates are added up."""
    return coo_array((data, (row, column)), shape=shape).tocsr()
