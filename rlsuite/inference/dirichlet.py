"""Rows of probabilities from counts, with pseudo-counts.

With n_j counts and c_j pseudo-counts of the outcome j, the row is p_j = (n_j + c_j) / sum_i (n_i + c_i). That is the
mode of the posterior under the prior Dirichlet(c + 1), whose density is proportional to prod_j p_j^c_j, and also the
posterior mean under the prior Dirichlet(c): the m-estimate of the lecture notes. It maximises sum_j (n_j + c_j) ln p_j.
"""

from typing import TypeAlias

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray

PseudoCounts: TypeAlias = float | ArrayLike | None
"""How often every outcome is taken to have been seen before: one number, an array with one for each, or None for 0."""

NO_VISITS = 1e-300
"""A sum of counts below this is a rounding error: the row was not visited."""


def pseudo_counts(name: str, prior: PseudoCounts, rows: FloatArray) -> FloatArray:
    """Return pseudo-counts in the shape of `rows`.

    Parameters
    ----------
    name : str
        What the error message calls them.
    prior : float, array_like or None
        One number is added wherever `rows` is positive, so that what is impossible stays impossible; an array is taken
        as it is.
    rows : ndarray (..., n) float64
        Rows of probabilities.

    Raises
    ------
    ParameterError
        If they are negative, not finite, or of another shape.

    Examples
    --------
    >>> pseudo_counts("prior", 0.5, np.array([[0.9, 0.1], [0.0, 1.0]])).tolist()
    [[0.5, 0.5], [0.0, 0.5]]
    """
    if prior is None:
        return np.zeros(rows.shape)
    if np.ndim(prior) == 0:
        number = finite_number(name, prior)
        if number < 0.0:
            raise ParameterError(f"{name}={number:g} is negative; pseudo-counts are at least 0")
        return np.where(rows > 0.0, number, 0.0)
    try:
        table = validation.floats(name, prior)
        validation.shape(name, table, rows.shape, meaning="one pseudo-count for each probability")
    except ModelError as cause:
        raise ParameterError(str(cause)) from cause
    if (table < 0.0).any():
        index = tuple(int(i) for i in np.argwhere(table < 0.0)[0])
        where = ", ".join(map(str, index))
        raise ParameterError(f"{name}[{where}] is {table[index]:g}; pseudo-counts are at least 0")
    return table


def most_probable(counts: FloatArray, pseudo: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the rows that are most probable given the counts; where both counts are 0, those of `rows`.

    Examples
    --------
    >>> most_probable(np.array([[3.0, 0.0], [0.0, 0.0]]), np.full((2, 2), 0.5), np.eye(2)).tolist()
    [[0.875, 0.125], [0.5, 0.5]]
    >>> most_probable(np.zeros((1, 2)), np.zeros((1, 2)), np.array([[0.2, 0.8]])).tolist()
    [[0.2, 0.8]]
    """
    added = counts + pseudo
    total = added.sum(axis=-1, keepdims=True)
    visited = total > NO_VISITS
    return np.where(visited, added / np.where(visited, total, 1.0), rows)


def log_density(rows: FloatArray, pseudo: FloatArray) -> float:
    """Return sum_j c_j ln p_j over all rows, in nats: the logarithm of the prior's density up to a constant."""
    used = pseudo > 0.0
    with np.errstate(divide="ignore"):
        return float((pseudo[used] * np.log(rows[used])).sum())
