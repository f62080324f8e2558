"""Operators as sparse matrices, for solving linear systems with them."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray

if TYPE_CHECKING:
    from typing import TypeAlias

    Matrix: TypeAlias = csr_array[np.float64]


def continuation_matrix(mdp: MDP) -> "Matrix":
    """Return c(s' | s, a), the probability to be in s' after action a in s with the episode going on.

    Parameters
    ----------
    mdp : MDP
        The model.

    Returns
    -------
    csr_array (S * A, S) float64
        Row s * A + a belongs to the pair (s, a). The probabilities of transitions that occur twice are added;
        terminated transitions are left out, so a row may sum to less than 1. The row of an illegal action is empty.

    Examples
    --------
    A coin that ends the game on heads:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning.matrices import continuation_matrix
    >>> mdp = MDP.from_rows([0, 2, 2], [0, 1], [0.5, 0.5], [-1, -1], n_actions=1, gamma=1.0)
    >>> continuation_matrix(mdp).toarray().tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    going_on = np.where(mdp.terminated, 0.0, mdp.probability)
    shape = (mdp.n_states * mdp.n_actions, mdp.n_states)
    # A copy, because adding up works in place and the arrays of a model are read-only.
    matrix: Any = csr_array((going_on, mdp.next_state, mdp.indptr), shape=shape, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def averaging(weights: FloatArray) -> Any:
    """Return the matrix that averages over actions: (averaging(pi) @ x)(s) = sum_a pi(a | s) x(s, a).

    Parameters
    ----------
    weights : ndarray (n, A) float64
        pi(a | s).

    Returns
    -------
    csr_array (n, n * A) float64
        Without stored zeros.
    """
    n, actions = weights.shape
    taken: IndexArray = np.flatnonzero(weights)
    # Row i averages the entries i * A to (i + 1) * A.
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.count_nonzero(weights, axis=1), out=indptr[1:])
    return csr_array((weights.reshape(-1)[taken], taken, indptr), shape=(n, n * actions))
