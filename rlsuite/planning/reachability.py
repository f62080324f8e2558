"""Which states can be reached from which, and which can never occur in an episode."""

from typing import Any, cast

import numpy as np

from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, IndexArray

NAMED = 5
"""How many unreachable states an error names."""


def reachable(matrix: Any, sources: BoolArray) -> BoolArray:
    """Return the states that can be reached from `sources`, themselves included.

    Parameters
    ----------
    matrix : sparse (n, n)
        An edge leads from i to j where ``matrix[i, j]`` is stored.
    sources : ndarray (n,) bool
        Where to begin.

    Returns
    -------
    ndarray (n,) bool
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    n = sources.size
    edges = matrix.tocoo()
    first = np.flatnonzero(sources)
    # With one more node that has an edge to every source, one search is enough.
    row = np.concatenate([edges.row, np.full(first.size, n)])
    column = np.concatenate([edges.col, first])
    graph = coo_array((np.ones(row.size), (row, column)), shape=(n + 1, n + 1)).tocsr()
    order = cast("IndexArray", breadth_first_order(graph, n, return_predecessors=False))
    found = np.zeros(n + 1, dtype=np.bool_)
    found[order] = True
    return found[:n]


@says_what_to_write
def reachable_states(mdp: MDP) -> BoolArray:
    """Return the states that an episode can be in under any policy: (S,) bool.

    An episode begins where ``mdp.start`` is positive; it also visits the state in which it ends. What lies behind such
    an end counts only if it can be reached in another way.

    Examples
    --------
    Of the 500 states of Taxi, 100 have the passenger at his destination already; he is there in 4 of them at the end:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import reachable_states
    >>> int(reachable_states(MDP.from_env("Taxi-v4", gamma=0.99)).sum())
    404
    """
    from scipy.sparse import coo_array

    possible = mdp.probability > 0.0
    goes_on = possible & ~mdp.terminated
    state = np.repeat(np.arange(mdp.n_states), np.diff(mdp.indptr[:: mdp.n_actions]))
    edges = coo_array(
        (np.ones(np.count_nonzero(goes_on)), (state[goes_on], mdp.next_state[goes_on])),
        shape=(mdp.n_states, mdp.n_states),
    )
    found = reachable(edges, mdp.start > 0.0)
    found[mdp.next_state[possible & found[state]]] = True
    return found


def check_reachable(mdp: MDP) -> None:
    """Raise `ModelError` if an episode can never be in some state; the message names the first of them."""
    missing = np.flatnonzero(~reachable_states(mdp))
    if missing.size == 0:
        return
    labels = mdp.state_labels
    named = ", ".join(f"{s} ({labels[s]!r})" if labels else str(s) for s in missing[:NAMED].tolist())
    more = f" and {missing.size - NAMED} more" if missing.size > NAMED else ""
    raise ModelError(
        f"no episode can be in state {named}{more}: no sequence of actions leads there from a state in which episodes "
        "begin. Correct the transitions or start=, or pass unreachable='allow' to solve such states too"
    )
