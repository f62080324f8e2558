"""The linear system behind every exact evaluation: v = c + M v with a nonnegative matrix M whose powers vanish."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rlsuite.core.threads import one_blas_thread
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix

SMALL, DENSE_LIMIT = 64, 160
"""Up to DENSE_LIMIT unknowns LAPACK is faster than setting up a sparse solver; up to SMALL, without SciPy, too."""

PER_SECOND, DENSE_PER_SECOND = 4e9, 1.6e10
"""Operations of a sparse elimination that a machine does in a second, and of a dense one, at least."""

MOSTLY_FILLED = 0.5
"""A sparse elimination with more than this share of the operations of a dense one takes longer than that does."""

SPARSE, MOST_DENSE = 4, 10_000
"""Rows with fewer entries than that on average fill in less; so many unknowns make a dense matrix of 800 MB."""

PER_SYSTEM, PER_ENTRY = 3e5, 300.0
"""To order the unknowns of a linear system takes what a sweep takes for so many entries, and so many for each entry."""

PER_PLACE, PER_STEP = 8.0, 2.0
"""What one place of a band takes, and one operation of the elimination within it, in entries of a sweep."""

SECONDS_WITHIN = 2e-9
"""Seconds for each entry of those, at most."""

CROWDED = 10.0
"""Unknowns with more neighbours than this many times the root of their number are eliminated last."""


def solve_fixed_point(matrix: "Matrix", constant: FloatArray) -> FloatArray:
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


def seconds_to_eliminate(matrix: "Matrix") -> float:
    """Estimate the seconds that `fixed_point_solver` takes for a matrix (n, n), rather too many than too few.

    An elimination cannot check the clock, so callers with a deadline call this before.
    """
    n = matrix.shape[0]
    densely = 2.0 / 3.0 * n**3 / DENSE_PER_SECOND
    if n <= DENSE_LIMIT or densely < 1e-3:
        return densely
    if (band := band_of(matrix)) is not None:
        return SECONDS_WITHIN * _work_within(n, *band)
    share = _share_of_operations(matrix)
    return densely if _fills_in(matrix, share) else share * densely * DENSE_PER_SECOND / PER_SECOND


def _fills_in(matrix: "Matrix", share: float | None = None) -> bool:
    """Return whether a dense elimination is the faster one."""
    n = matrix.shape[0]
    if n > MOST_DENSE or matrix.nnz < SPARSE * n:
        return False
    return (_share_of_operations(matrix) if share is None else share) > MOSTLY_FILLED


def _share_of_operations(matrix: "Matrix") -> float:
    """Estimate the operations of a sparse elimination, as a share of those of a dense one; rather too many.

    The fill-in lies between the diagonal and the first entry of each row, if the unknowns are ordered by the method of
    Cuthill and McKee; the order that is used is as a rule a better one.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = matrix.shape[0]
    if matrix.nnz > MOSTLY_FILLED * n**2:
        return 1.0
    pattern = csr_matrix(matrix + matrix.T)
    few: BoolArray = np.diff(pattern.indptr) <= CROWDED * n**0.5
    kept: IndexArray = np.flatnonzero(few)
    if kept.size == 0:
        return 1.0
    pattern = pattern[kept][:, kept]
    order = np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True))
    position = np.empty(kept.size, dtype=np.int64)
    position[order] = np.arange(kept.size)
    first = position.copy()
    rows = np.repeat(np.arange(kept.size), np.diff(pattern.indptr))
    np.minimum.at(first, rows, position[pattern.indices])
    crowded = n - kept.size
    reach = (position - first + crowded).astype(np.float64)
    return min(1.0, float(2.0 * (reach**2).sum() + crowded**3) / (2.0 / 3.0 * n**3))


def band_of(matrix: "Matrix", left_out: BoolArray | None = None) -> tuple[int, int] | None:
    """Return how far entries lie below and above the diagonal, if that is so little that unknowns need no other order.

    As in a queue, whose states lead to their neighbours: the elimination within the band takes less than to look for an
    order in which it would take the least.

    Parameters
    ----------
    matrix : csr_array (n, n) float64
        The matrix.
    left_out : ndarray (n,) bool, optional
        Columns that do not count.
    """
    n = matrix.shape[0]
    offset = matrix.indices - np.repeat(np.arange(n), np.diff(matrix.indptr))
    if left_out is not None:
        offset = offset[~left_out[matrix.indices]]
    below, above = max(0, -int(offset.min(initial=0))), int(offset.max(initial=0))
    return (below, above) if worth_a_band(n, matrix.nnz, below, above) else None


def worth_a_band(n: int, entries: float, below: int, above: int) -> bool:
    """Return whether to eliminate n unknowns within a band that wide takes less than to look for an order of them."""
    return _work_within(n, below, above) <= PER_SYSTEM + PER_ENTRY * entries


def _work_within(n: int, below: int, above: int) -> float:
    """Return the work of eliminating n unknowns within a band, in entries of a sweep."""
    return float(n) * (2 * below + above + 1) * (PER_PLACE + PER_STEP * below)


def fixed_point_solver(matrix: "Matrix") -> Callable[[FloatArray], FloatArray]:
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
    if n <= SMALL:
        dense = np.eye(n) - matrix.toarray()
        return lambda constant: cast("FloatArray", np.linalg.solve(dense, constant))
    if (band := band_of(matrix)) is not None:
        return _band_solver(matrix, *band)
    return _dense_solver(matrix) if n <= DENSE_LIMIT or _fills_in(matrix) else _sparse_solver(matrix)


def _dense_solver(matrix: "Matrix") -> Callable[[FloatArray], FloatArray]:
    """`fixed_point_solver` of a csr_array (n, n), by LAPACK."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    system = matrix.toarray().T  # as LAPACK wants it: the transposed system, which is solved as such
    np.negative(system, out=system)
    system.flat[:: matrix.shape[0] + 1] += 1.0
    with one_blas_thread():
        factors, exchanges, singular = dgetrf(system, overwrite_a=True)
    if singular:
        raise np.linalg.LinAlgError("singular matrix")

    def solve(constant: FloatArray) -> FloatArray:
        with one_blas_thread():
            return dgetrs(factors, exchanges, constant, trans=1)[0]

    return solve


def _sparse_solver(matrix: "Matrix") -> Callable[[FloatArray], FloatArray]:
    """`fixed_point_solver` of a csr_array (n, n), in an order in which little is filled in."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    # I - matrix is an M-matrix: elimination without pivoting is stable, so the order may follow sparsity alone.
    system = csc_array(eye_array(matrix.shape[0]) - matrix)
    options = {"SymmetricMode": True, "Equil": False}
    with one_blas_thread():
        factors: Any = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)

    def solve(constant: FloatArray) -> FloatArray:
        with one_blas_thread():
            return factors.solve(constant)

    return solve


def _band_solver(matrix: "Matrix", below: int, above: int) -> Callable[[FloatArray], FloatArray]:
    """`fixed_point_solver` of a csr_array (n, n), within its band."""
    from scipy.linalg.lapack import dgbtrf, dgbtrs

    n = matrix.shape[0]
    rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    # LAPACK keeps the entry (i, j) in row below + above + i - j of column j; the rows above are for exchanges of rows.
    height = 2 * below + above + 1
    place = (below + above + rows - matrix.indices) * n + matrix.indices
    table: FloatArray = np.zeros((height, n))
    table[below + above] = 1.0
    table -= np.bincount(place, weights=matrix.data, minlength=height * n).reshape(height, n)
    with one_blas_thread():
        factors, exchanges, singular = dgbtrf(table, below, above)
    if singular:
        raise np.linalg.LinAlgError("singular matrix")
    return lambda constant: dgbtrs(factors, below, above, constant, exchanges)[0]
