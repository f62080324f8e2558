"""The linear systems of least-squares methods: A w = b, without the features that were never active.

Feature vectors are linearly dependent more often than not (the tiles of each tiling add up to 1, for one). Then A is
singular, but the system still has solutions, all of the same values; the shortest is taken.
"""

import warnings
from typing import Any, Final

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.core.threads import one_blas_thread
from rlsuite.features.estimators import Matrix

_sparse_linalg: Any = scipy.sparse.linalg  # its stubs ask which sparse matrix it is

SMALL: Final = 1_000
"""Unknowns up to which a sparse system is solved as a dense one."""

LARGE: Final = 6_000
"""Unknowns up to which a singular system is worth a decomposition, which takes some minutes there."""

SINGULAR: Final = 1e-13
"""Ratio of the smallest to the largest pivot of a matrix that is singular but for rounding."""

CONSISTENT: Final = 1e-7
"""Largest relative residual that rounding may cause."""


def solve(A: Matrix, b: NDArray[np.float64], ridge: float, owner: str) -> NDArray[np.float64]:
    """Return w (k,) with (A + ridge I) w = b; 0 for features that were never active, whose rows of A are empty.

    Parameters
    ----------
    A : ndarray or sparse matrix, (k, k)
    b : ndarray (k,)
    ridge : float
        Added to the diagonal.
    owner : str
        Who asks, for the messages.

    Raises
    ------
    LearningError
        If there is no solution, or one that is not finite.

    Examples
    --------
    >>> solve(np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 4.0]]), np.array([2.0, 0.0, 2.0]), 0.0, "LSTD")
    array([1. , 0. , 0.5])
    """
    sparse = hasattr(A, "tocsr")
    nonempty = np.diff(A.tocsr().indptr) > 0 if sparse else (A != 0.0).any(axis=1)
    if b[~nonempty].any():
        raise _contradiction(ridge, owner)
    unknowns = np.flatnonzero(nonempty)
    system: Matrix = A.tocsr()[unknowns][:, unknowns] if sparse else A[np.ix_(unknowns, unknowns)]
    weights = np.zeros(b.size)
    if unknowns.size:
        _finite(system.data if sparse else system, ridge, owner)
        _finite(b, ridge, owner)
        weights[unknowns] = _finite(_solved(system, b[unknowns], ridge, owner), ridge, owner)
    return weights


def _finite(numbers: NDArray[np.float64], ridge: float, owner: str) -> NDArray[np.float64]:
    if not np.isfinite(numbers).all():
        raise errors.LearningError(
            f"{owner}: the linear equations or their solution are not finite; the features or rewards may be too "
            f"large, or the features too similar: try ridge={max(10.0 * ridge, 1e-6):g}"
        )
    return numbers


def _solved(system: Matrix, b: NDArray[np.float64], ridge: float, owner: str) -> NDArray[np.float64]:
    k = b.size
    if hasattr(system, "tocsr") and k > SMALL:
        factors = _factors((system + ridge * scipy.sparse.eye_array(k)).tocsc())
        if factors is not None:
            return factors.solve(b)
        if k > LARGE:
            raise errors.LearningError(
                f"{owner}: the {k} features are linearly dependent; give a small ridge, such as ridge=1e-6, which "
                "makes the weights unique"
            )
    dense: NDArray[np.float64] = system.toarray() if hasattr(system, "toarray") else system
    dense = dense + ridge * np.eye(k)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
            return scipy.linalg.solve(dense, b)
    except (scipy.linalg.LinAlgWarning, np.linalg.LinAlgError):
        return _shortest(dense, b, ridge, owner)


def _factors(system: Matrix) -> Matrix:
    """Return the decomposition of a sparse matrix; None if it is singular."""
    try:
        with one_blas_thread():
            factors = _sparse_linalg.splu(system)
    except RuntimeError:  # exactly singular
        return None
    pivots = np.abs(factors.U.diagonal())
    return factors if pivots.min() > SINGULAR * pivots.max() else None


def _shortest(A: NDArray[np.float64], b: NDArray[np.float64], ridge: float, owner: str) -> NDArray[np.float64]:
    weights: NDArray[np.float64] = scipy.linalg.lstsq(A, b, cond=SINGULAR * len(b))[0]
    if not np.abs(A @ weights - b).max() <= CONSISTENT * np.abs(b).max():
        raise _contradiction(ridge, owner)
    return weights


def _contradiction(ridge: float, owner: str) -> errors.LearningError:
    return errors.LearningError(
        f"{owner}: the linear equations of the TD fixed point have no solution, which can happen if the batch is too "
        f"small, or was collected with another policy; try ridge={max(10.0 * ridge, 1e-6):g}"
    )
