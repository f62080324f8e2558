"""Exact planning in a POMDP: sets of alpha vectors, and linear programs that say which of them matter. KLC98 section 4.

The exact value of t steps is the upper surface of finitely many vectors. Of the n^Z sums of one vector for each
observation most are nowhere the best. Incremental pruning forms the sums one observation at a time, and leaves out at
once what does not matter (Cassandra, Littman & Zhang 1997).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlsuite.reference.pomdp import backprojection

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray, IndexArray


def witness(vector: FloatArray, others: FloatArray, tol: float = 1e-9) -> FloatArray | None:
    """Return a belief in which a vector is better than all others by more than `tol`, if there is one.

    The linear program of KLC98 section 4.2: maximise d subject to b . (vector - other) >= d for all others, with b a
    distribution.

    Parameters
    ----------
    vector : ndarray (S,) float64
        An alpha vector.
    others : ndarray (n, S) float64
        Other ones; none at all is allowed.
    tol : float
        How much better is better, in the unit of the reward.

    Returns
    -------
    ndarray (S,) float64, or None

    Examples
    --------
    >>> witness(np.array([2.0, 2.0]), np.array([[3.0, 0.0], [0.0, 3.0]])).round(6).tolist()
    [0.5, 0.5]
    >>> witness(np.array([1.0, 1.0]), np.array([[3.0, 0.0], [0.0, 3.0]])) is None
    True
    """
    from scipy.optimize import linprog

    S = len(vector)
    if not len(others):
        return np.full(S, 1.0 / S)
    # The variables are b and d; `linprog` minimises -d subject to A_ub x <= b_ub: d - b . (vector - other) <= 0.
    program: Any = linprog(
        c=np.append(np.zeros(S), -1.0),
        A_ub=np.column_stack([others - vector, np.ones(len(others))]),
        b_ub=np.zeros(len(others)),
        A_eq=np.append(np.ones(S), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[(0.0, None)] * S + [(None, None)],
    )
    return program.x[:S] if program.x[S] > tol else None


def prune(vectors: FloatArray, tol: float = 1e-9) -> IndexArray:
    """Return the indices of the vectors that are the best in some belief: Lark's algorithm, White 1991.

    Parameters
    ----------
    vectors : ndarray (n, S) float64
        alpha vectors.
    tol : float
        What need not be better than the others by more than this is left out, in the unit of the reward.

    Returns
    -------
    ndarray (m,) int64

    Examples
    --------
    >>> prune(np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 3.0], [2.0, 2.0]])).tolist()
    [3, 0, 2]
    """
    left = list(range(len(vectors)))
    kept: list[int] = []
    while left:
        b = witness(vectors[left[0]], vectors[kept], tol)
        if b is None:
            left.pop(0)
            continue
        # Keep the vector that is best in b; it need not be the one for which b was found. Of several that are equally
        # good in b, the lexicographically largest is also the best near b.
        value = vectors[left] @ b
        tied = [i for i, v in zip(left, value, strict=True) if v >= value.max() - 1e-12 * np.abs(value).max()]
        kept.append(max(tied, key=lambda i: tuple(vectors[i])))
        left.remove(kept[-1])
    return np.array(kept, dtype=np.int64)


def incremental_pruning(
    P: FloatArray,
    R: FloatArray,
    O: FloatArray,
    gamma: float,
    horizon: int,
) -> FloatArray:
    """Return the alpha vectors of all plans for `horizon` steps that are the best in some belief.

    Parameters
    ----------
    P, R, O : ndarray (S, A, S), (S, A) and (A, S, Z) float64
        The model, see `rlsuite.reference.hidden_arrays`.
    gamma : float
        Discount per step.
    horizon : int
        Number of steps.

    Returns
    -------
    ndarray (n, S) float64
        The optimal value of a belief b is ``(vectors @ b).max()``.

    Examples
    --------
    The tiger of KLC98: listen, open left, open right.

    >>> P = np.stack([np.eye(2), np.full((2, 2), 0.5), np.full((2, 2), 0.5)], axis=1)
    >>> R = np.array([[-1.0, -100.0, 10.0], [-1.0, 10.0, -100.0]])
    >>> O = np.stack([np.array([[0.85, 0.15], [0.15, 0.85]]), np.full((2, 2), 0.5), np.full((2, 2), 0.5)])
    >>> vectors = incremental_pruning(P, R, O, 1.0, horizon=3)
    >>> len(vectors), round(float((vectors @ [0.5, 0.5]).max()), 9)
    (7, 2.72)
    """
    vectors = np.zeros((1, len(R)))
    for _ in range(horizon):
        stage: list[FloatArray] = []
        for a, by_observation in enumerate(backprojection(P, O, gamma, vectors)):
            sums = np.zeros((1, len(R)))
            for g in by_observation:
                sums = (sums[:, np.newaxis] + g[prune(g)]).reshape(-1, len(R))
                sums = sums[prune(sums)]
            stage.append(R[:, a] + sums)
        every = np.concatenate(stage)
        vectors = every[prune(every)]
    return vectors
