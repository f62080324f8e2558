"""Observation models: dense tables, one sparse matrix per action, and the rows that both stand for.

Most states can emit only few observations: of the A S Z probabilities of a large problem almost all are 0. So a
model may be given, kept and written as rows, and turned into a dense table only if one is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fits_in_memory
from rlsuite.errors import ModelError
from rlsuite.models import row_checks, validation
from rlsuite.models.aliases import FloatArray, IndexArray, SparseLike, StateArray
from rlsuite.models.arrays import is_sparse, listed_by_action

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class ObservationRows(NamedTuple):
    """What can be observed, as rows over (action, next state) in the compressed form of sparse matrices.

    The row of the pair (a, s') is ``indptr[a * S + s'] : indptr[a * S + s' + 1]``. Observations ascend within a row,
    and none has probability 0.
    """

    indptr: IndexArray
    """(A * S + 1,) int64"""
    observation: StateArray
    """(M,) int32"""
    probability: FloatArray
    """(M,) float64, Pr(z | a, s')"""
    n_observations: int
    """Z"""


Observations: TypeAlias = ArrayLike | Sequence[SparseLike] | ObservationRows
"""``O[a, s', z]`` as a dense array, as one sparse (S, Z) matrix per action, or as rows."""


def checked(given: Observations, actions: int, states: int) -> FloatArray | ObservationRows:
    """Return a validated observation model: read-only, in the form in which it was given.

    Raises
    ------
    ModelError
        If it is invalid; the message names the offender.
    """
    if isinstance(given, ObservationRows):
        return _checked_rows(given, actions, states)
    tables, _ = listed_by_action("observation", given)
    if is_sparse(tables):
        return _checked_rows(_rows_of_matrices(tables, actions, states), actions, states)
    table = validation.floats("observation", tables)
    if table.ndim != 3 or table.shape[:2] != (actions, states) or table.shape[2] < 1:
        raise ModelError(f"observation has shape {table.shape}, not ({actions}, {states}, Z): observation[a, s', z]")
    row_checks.observation_rows(table.reshape(-1), np.arange(actions * states + 1) * table.shape[2], states)
    return validation.frozen(table, given)


def rows_of_table(table: FloatArray) -> ObservationRows:
    """Return the rows of a dense (A, S, Z) table."""
    actions, states, symbols = table.shape
    flat = table.reshape(actions * states, symbols)
    row, observation = np.nonzero(flat)
    indptr = validation.pointers(np.bincount(row, minlength=actions * states))
    rows = ObservationRows(indptr, observation.astype(np.int32), flat[row, observation], symbols)
    return _frozen(rows, None)


def table_of_rows(rows: ObservationRows, states: int) -> FloatArray:
    """Return the dense (A, S, Z) table of some rows.

    Raises
    ------
    ParameterError
        If it needs more memory than there is.
    """
    pairs, symbols = rows.indptr.size - 1, rows.n_observations
    fits_in_memory(f"a dense table of {pairs // states} x {states} x {symbols} observations", 8 * pairs * symbols)
    table = np.zeros((pairs, symbols))
    table[np.repeat(np.arange(pairs), np.diff(rows.indptr)), rows.observation] = rows.probability
    table = table.reshape(-1, states, symbols)
    table.setflags(write=False)
    return table


def matrix_of_rows(rows: ObservationRows, action: int, states: int) -> csr_array[np.float64]:
    """Return Pr(z | action, s') as a sparse (S, Z) matrix, a copy."""
    from scipy.sparse import csr_array

    pointers = rows.indptr[action * states : (action + 1) * states + 1]
    inside = slice(int(pointers[0]), int(pointers[-1]))
    parts = (rows.probability[inside].copy(), rows.observation[inside].copy(), pointers - pointers[0])
    return cast("csr_array[np.float64]", csr_array(parts, shape=(states, rows.n_observations)))


def _rows_of_matrices(given: Sequence[SparseLike], actions: int, states: int) -> ObservationRows:
    if len(given) != actions:
        raise ModelError(f"observation has {len(given)} sparse matrices, not {actions}, one (S, Z) matrix per action")
    lengths: list[IndexArray] = []
    observation: list[IndexArray] = []
    probability: list[FloatArray] = []
    for a, one in enumerate(given):
        if len(one.shape) != 2 or one.shape[0] != states or one.shape[1] != given[0].shape[1] or one.shape[1] < 1:
            wanted = (states, given[0].shape[1] if a and len(given[0].shape) == 2 else "Z")
            raise ModelError(f"observation[{a}] has shape {one.shape}, not ({wanted[0]}, {wanted[1]})")
        matrix = one.tocsr().copy()
        matrix.sum_duplicates()  # also sorts the columns
        validation.floats(f"observation[{a}].data", matrix.data)
        matrix.eliminate_zeros()
        lengths.append(np.diff(matrix.indptr))
        observation.append(matrix.indices)
        probability.append(matrix.data.astype(np.float64))
    return ObservationRows(
        validation.pointers(np.concatenate(lengths)),
        np.concatenate(observation).astype(np.int32),
        np.concatenate(probability),
        int(given[0].shape[1]),
    )


def _checked_rows(given: ObservationRows, actions: int, states: int) -> ObservationRows:
    indptr = validation.integers("observation.indptr", given.indptr).astype(np.int64, copy=False)
    observation = validation.integers("observation.observation", given.observation)
    probability = validation.floats("observation.probability", given.probability)
    symbols = int(given.n_observations)
    if symbols < 1:
        raise ModelError(f"observation.n_observations is {symbols}; at least one observation is needed")
    validation.shape("observation.indptr", indptr, (actions * states + 1,), meaning="one row per action and state")
    validation.shape("observation.observation", observation, (probability.size,), meaning="one entry per probability")
    falls = np.diff(indptr) < 0
    if indptr[0] != 0 or falls.any() or indptr[-1] != probability.size:
        raise ModelError(
            f"observation.indptr does not increase from 0 to the number of probabilities, {probability.size}"
        )
    row = np.repeat(np.arange(actions * states), np.diff(indptr))

    def indices(entry: int) -> str:
        return f"a={row[entry] // states}, s'={row[entry] % states}"

    if observation.size and (observation.min() < 0 or observation.max() >= symbols):
        entry = int(np.argmax((observation < 0) | (observation >= symbols)))
        raise ModelError(
            f"observation[{indices(entry)}] lists observation {observation[entry]}; "
            f"the observations are 0..{symbols - 1}"
        )
    row_checks.observation_rows(probability, indptr, states)
    if (probability == 0.0).any():
        kept = probability > 0.0
        indptr = validation.pointers(np.bincount(row[kept], minlength=actions * states))
        row, observation, probability = row[kept], observation[kept], probability[kept]
    increases = (observation[1:] > observation[:-1]) | (row[1:] > row[:-1])
    if not increases.all():
        where = indices(int(np.argmin(increases)) + 1)
        raise ModelError(f"the observations of observation[{where}] are not strictly increasing")
    return _frozen(ObservationRows(indptr, observation.astype(np.int32, copy=False), probability, symbols), given)


def _frozen(rows: ObservationRows, given: ObservationRows | None) -> ObservationRows:
    before = given or ObservationRows(*[None] * 4)  # pyright: ignore[reportArgumentType] - filled below
    return ObservationRows(
        validation.frozen(rows.indptr, before.indptr),
        validation.frozen(rows.observation, before.observation),
        validation.frozen(rows.probability, before.probability),
        rows.n_observations,
    )
