"""The linear system behind every exact evaluation: v = c + M v with a nonnegative matrix M whose powers vanish."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from rlsuite.models.aliases import CsrMatrix, FloatArray

DENSE_LIMIT = 64
"""Up to this many unknowns the dense solver of LAPACK is faster than setting up a sparse one."""


def solve_fixed_point(matrix: CsrMatrix, constant: FloatArray) -> FloatArray:
    """Return the v with v = constant + matrix @ v.

    Parameters
    ----------
    matrix : csr_array (n, n) float64
        Nonnegative, with powers that go to zero: a discounted transition matrix, or one from which every state
        leaves sooner or later.
    constant : ndarray (n,) float64
        The rewards, say.

    Returns
    -------
    ndarray (n,) float64
        (I - matrix)^-1 constant, P94 Theorem 6.1.1.
    """
    return fixed_point_solver(matrix)(constant)


def fixed_point_solver(matrix: CsrMatrix) -> Callable[[FloatArray], FloatArray]:
    """Return the function that solves v = constant + matrix @ v, factorised once for many constants.

    Parameters
    ----------
    matrix : csr_array (n, n) float64
        As in `solve_fixed_point`.

    Returns
    -------
    callable
        From a constant, (n,) or (n, k) float64, to v of the same shape.
    """
    n = matrix.shape[0]
    if n == 0:
        return lambda constant: constant
    if n <= DENSE_LIMIT:
        dense = np.eye(n) - matrix.toarray()
        return lambda constant: cast("FloatArray", np.linalg.solve(dense, constant))
    # I - matrix is an M-matrix: elimination without pivoting is stable, so the order may follow sparsity alone.
    system = csc_array(eye_array(n) - cast("Any", matrix))
    factors: Any = splu(
        system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True, "Equil": False}
    )
    return lambda constant: cast("FloatArray", factors.solve(constant))
