"""A model in the form that the compiled passes read: padded rows, and its matrix for both directions of time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.inference import dense, sparse
from rlsuite.inference.dense import Dense
from rlsuite.inference.sparse import Sparse
from rlsuite.models.aliases import AnyArray, CsrMatrix, FloatArray, IndexArray

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM

Matrix = Dense | Sparse

SPARSE_MIN_STATES, SPARSE_MIN_RATIO = 16, 12
"""A model is treated as sparse from so many states on, if only one in so many of its transitions is possible."""


class Both(NamedTuple):
    """The transition matrix for both directions of time."""

    forwards: Matrix
    backwards: Matrix


class Prepared:
    """A model for the passes.

    Attributes
    ----------
    n_states, width : int
        K, and the length Kp of padded rows.
    height : int
        Number of rows of dense matrices: Kp if they fit into registers, otherwise K.
    lanes : tuple
        What `rlsuite.inference.simd` calls so; Kp is a multiple of W.
    is_sparse : bool
        Whether impossible transitions are passed over.
    steps : module
        The steps of the passes, for matrices of this kind.
    """

    def __init__(self, model: HMM, is_sparse: bool | None = None) -> None:
        self.model = model
        self.n_states = model.n_states
        lanes = 2 if self.n_states <= 2 else 4 if self.n_states <= 4 else 8
        self.width = -(-self.n_states // lanes) * lanes
        worth_it = self.n_states >= SPARSE_MIN_STATES and model.n_transitions * SPARSE_MIN_RATIO < self.n_states**2
        self.is_sparse = worth_it if is_sparse is None else is_sparse
        self.steps: ModuleType = sparse if self.is_sparse else dense
        fits = self.width == lanes and not self.is_sparse
        self.lanes = ((0,) * lanes, (0,) * (lanes if fits else 0))
        self.height = lanes if fits else self.n_states

    @cached_property
    def matrices(self) -> Both:
        """The probabilities."""
        return self._both(np.asarray, 0.0)

    @cached_property
    def log_matrices(self) -> Both:
        """Their logarithms."""
        return self._both(logarithms, -np.inf)

    @cached_property
    def groups(self) -> IndexArray:
        """(K,) int64: the group of each state, whose states lead to each other; none if all states are one group.

        A state that is left at once, and never entered again, belongs to none: -1.
        """
        if self.model.n_transitions == self.n_states**2:
            return np.zeros(0, dtype=np.int64)
        from scipy.sparse.csgraph import connected_components

        number, group = connected_components(self.model.sparse_transition, connection="strong")
        if number == 1:
            return np.zeros(0, dtype=np.int64)
        stays = np.asarray(self.model.sparse_transition.diagonal()) > 0.0
        alone = np.bincount(group, minlength=number)[group] == 1
        return np.where(alone & ~stays, -1, group).astype(np.int64)

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.groups.max(initial=-1)) + 1

    @cached_property
    def rows(self) -> IndexArray:
        """(N,) int64: the state that each entry of the sparse matrix leads away from, in the order of its rows."""
        return np.repeat(np.arange(self.n_states), np.diff(self._csr.indptr))

    @cached_property
    def by_column(self) -> IndexArray:
        """(N,) int64: the entries of the sparse matrix, in the order of its columns."""
        return np.argsort(self._csr.indices, kind="stable")

    @cached_property
    def start(self) -> FloatArray:
        """(1, Kp) float64: the start distribution."""
        return self.padded(self.model.start[None, :])

    @cached_property
    def ones(self) -> FloatArray:
        """(1, Kp) float64: beta_T."""
        return self.padded(np.ones((1, self.n_states)))

    def padded(self, table: FloatArray, filling: float = 0.0) -> FloatArray:
        """Return an array (n, K) with rows of length Kp; the same array if they have it."""
        if self.width == self.n_states:
            return np.ascontiguousarray(table)
        wide = np.full((table.shape[0], self.width), filling)
        wide[:, : self.n_states] = table
        return wide

    def narrow(self, table: FloatArray) -> FloatArray:
        """Return an array (n, Kp) without the padding."""
        return table if self.width == self.n_states else table[:, : self.n_states].copy()

    def empty(self, rows: int) -> FloatArray:
        """Return an array for padded rows."""
        return np.empty((rows, self.width))

    def _both(self, function: Callable[[FloatArray], FloatArray], filling: float) -> Both:
        if not self.is_sparse:
            values = function(self.model.dense_transition)
            ahead, back = (self._square(each, filling) for each in (values, values.T))
            return Both(Dense(ahead, self.lanes), Dense(back, self.lanes))
        csr, order = self._csr, self.by_column
        values = function(csr.data)
        columns = np.asarray(csr.indices, dtype=np.int64)
        by_column = Sparse(self._pointers(np.bincount(columns)), self.rows[order], values[order], self.lanes)
        by_row = Sparse(self._pointers(np.diff(csr.indptr)), columns, values, self.lanes)
        return Both(by_column, by_row)

    def _square(self, table: FloatArray, filling: float) -> FloatArray:
        wide = self.padded(table, filling)
        below = np.full((self.height - self.n_states, self.width), filling)
        return np.vstack([wide, below]) if below.size else wide

    def _pointers(self, lengths: AnyArray) -> IndexArray:
        pointers = np.zeros(self.width + 1, dtype=np.int64)
        pointers[1 : lengths.size + 1] = lengths
        return np.cumsum(pointers)

    @property
    def _csr(self) -> CsrMatrix:
        return cast("CsrMatrix", self.model.sparse_transition)


def logarithms(values: ArrayLike) -> FloatArray:
    """Return natural logarithms, minus infinity of 0."""
    with np.errstate(divide="ignore"):
        return cast("FloatArray", np.log(values))
