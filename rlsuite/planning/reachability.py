"""Which states can be reached from which."""

from typing import Any, cast

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from rlsuite.models.aliases import BoolArray, IndexArray


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
    n = sources.size
    edges = matrix.tocoo()
    first = np.flatnonzero(sources)
    # One more node, with an edge to every source, makes one search out of many.
    row = np.concatenate([edges.row, np.full(first.size, n)])
    column = np.concatenate([edges.col, first])
    graph = coo_array((np.ones(row.size), (row, column)), shape=(n + 1, n + 1)).tocsr()
    order = cast("IndexArray", breadth_first_order(graph, n, return_predecessors=False))
    found = np.zeros(n + 1, dtype=np.bool_)
    found[order] = True
    return found[:n]
