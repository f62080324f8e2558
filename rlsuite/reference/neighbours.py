"""Nearest neighbours, and distances by a kernel: lecture notes, section 5.2.

Fast forms: `sklearn.neighbors.KNeighborsRegressor` and `sklearn.neighbors.KNeighborsClassifier`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray


def kernel_distances(within: FloatArray, between: FloatArray, known: FloatArray) -> FloatArray:
    """Distances in the space of a kernel's features: |x - x'|^2 = k(x, x) + k(x', x') - 2 k(x, x').

    By the linear kernel x . x' they are Euclidean.

    Parameters
    ----------
    within : ndarray (m,) float64
        k(x, x) of each point.
    between : ndarray (m, n) float64
        k(x, x') of each point and each known one.
    known : ndarray (n,) float64
        k(x', x') of each known one.

    Returns
    -------
    ndarray (m, n) float64

    Examples
    --------
    >>> X, known = np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 0.0]])
    >>> kernel_distances((X**2).sum(axis=1), X @ known.T, (known**2).sum(axis=1)).tolist()
    [[5.0, 4.0]]
    """
    squares = within[:, np.newaxis] + known - 2.0 * between
    return np.sqrt(np.maximum(squares, 0.0))


def nearest_neighbours(distances: FloatArray, y: FloatArray, k: int) -> FloatArray:
    """The mean over the k nearest examples. B06 section 2.5.2.

    If y has a column of 0 and 1 for each class, these are the probabilities of the classes.

    Parameters
    ----------
    distances : ndarray (m, n) float64
        From each point to each example; of equally near examples the first ones count.
    y : ndarray (n,) or (n, q) float64
        The targets of the examples.
    k : int
        How many are near.

    Returns
    -------
    ndarray (m,) or (m, q) float64

    Examples
    --------
    >>> nearest_neighbours(np.array([[2.0, 0.5, 1.0]]), np.array([10.0, 1.0, 3.0]), k=2).tolist()
    [2.0]
    """
    return y[np.argsort(distances, axis=1, kind="stable")[:, :k]].mean(axis=1)
