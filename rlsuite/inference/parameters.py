"""The parameters of a hidden Markov model, checked, and in the form that the compiled passes read.

R89 calls them lambda = (A, B, pi): the transition matrix, the emission, and the start distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, Self, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.inference.emissions.base import Emission
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.simd import Lanes
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, CsrMatrix, FloatArray, IndexArray, SparseLike
from rlsuite.models.row_checks import chain_rows

SPARSE_MIN_STATES, SPARSE_MIN_RATIO = 16, 12
"""A model is treated as sparse from so many states on, if only one in so many of its transitions is possible."""


class SparseMatrix(CsrMatrix, Protocol):
    """A ``scipy.sparse.csr_array`` of float64: what inference uses of it."""

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        ...

    @property
    def T(self) -> SparseMatrix:  # noqa: N802 - SciPy's name
        """The transposed matrix."""
        ...

    def diagonal(self) -> FloatArray:
        """Return the main diagonal."""
        ...

    def tocsr(self) -> Self:
        """Return the matrix in compressed row form."""
        ...

    def check_format(self, full_check: bool = True) -> None:
        """Raise `ValueError` unless the indices are inside the rows and columns."""
        ...

    def __getitem__(self, index: tuple[IndexArray, IndexArray], /) -> SparseMatrix | FloatArray:
        """Return the entries at pairs of a row and a column; some releases of SciPy keep them sparse."""
        ...


def csr(data: FloatArray, indices: AnyArray, indptr: AnyArray, n: int) -> SparseMatrix:
    """Return a sparse matrix (n, n) from the arrays of its compressed rows."""
    from scipy.sparse import csr_array

    return _typed(csr_array((data, indices, indptr), shape=(n, n)))


def _typed(matrix: object) -> SparseMatrix:
    """Return a ``csr_array`` with typed attributes: SciPy's stubs leave the types of its arrays open."""
    return cast("SparseMatrix", matrix)


class Changes(TypedDict, total=False):
    """What `HMM.replace` takes, by keyword."""

    start: ArrayLike
    transition: ArrayLike | SparseLike
    emission: ArrayLike | Emission
    state_labels: Sequence[str] | None


@dataclass(frozen=True, eq=False, repr=False, init=False)
class HMMParameters:
    """The parameters of a hidden Markov model with K states; `rlsuite.inference.HMM` says what they are."""

    start: FloatArray
    transition: FloatArray | SparseMatrix
    emission: Emission
    state_labels: tuple[str, ...] | None = None

    def __init__(
        self,
        start: ArrayLike,
        transition: ArrayLike | SparseLike,
        emission: ArrayLike | Emission,
        state_labels: Sequence[str] | None = None,
    ) -> None:
        checked = validation.floats("start", start)
        if checked.ndim != 1 or checked.size < 1:
            raise ModelError(f"start has shape {checked.shape}, not (K,): one probability for each state")
        validation.distribution("start", checked)
        states = checked.size
        object.__setattr__(self, "start", validation.frozen(checked, start))
        object.__setattr__(self, "transition", _checked_transition(transition, states))
        if not isinstance(emission, Emission):
            emission = Categorical(cast("FloatArray", emission))
        if emission.n_states != states:
            raise ModelError(f"the emission has {emission.n_states} states, but start has {states}")
        object.__setattr__(self, "emission", emission)
        object.__setattr__(self, "state_labels", validation.labels("state_labels", state_labels, states))

    @property
    def n_states(self) -> int:
        """K."""
        return self.start.size

    @property
    def n_transitions(self) -> int:
        """Number of transitions that are possible."""
        if isinstance(self.transition, np.ndarray):
            return int(np.count_nonzero(self.transition))
        return int(self.transition.nnz)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, as AIC and BIC count them; what is 0 is not free."""
        free = int(np.count_nonzero(self.start)) - 1 + self.n_transitions - self.n_states
        return free + self.emission.n_parameters

    @property
    def dense_transition(self) -> FloatArray:
        """(K, K) float64: the transition matrix as an array."""
        return self.transition if isinstance(self.transition, np.ndarray) else self.transition.toarray()

    @cached_property
    def sparse_transition(self) -> SparseMatrix:
        """(K, K): the transition matrix without its zeros."""
        if not isinstance(self.transition, np.ndarray):
            return self.transition
        from scipy.sparse import csr_array

        return _typed(csr_array(self.transition))

    @cached_property
    def prepared(self) -> Prepared:
        """The model in the form that the compiled passes read."""
        return Prepared(self)

    def replace(self, **changes: Unpack[Changes]) -> Self:
        """Return a copy with some fields changed, checked anew.

        Parameters
        ----------
        **changes
            Any of `start`, `transition`, `emission` and `state_labels`.

        Raises
        ------
        ModelError
            If the arrays define no model.
        ParameterError
            If there is no such field.
        """
        for name in changes:
            if name not in Changes.__annotations__:
                raise ParameterError(unknown("field", name, tuple(Changes.__annotations__)))
        return replace(self, **changes)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[HMMParameters], tuple[object, ...]]:
        return type(self), (self.start, self.transition, self.emission, self.state_labels)


def _checked_transition(given: ArrayLike | SparseLike, states: int) -> FloatArray | SparseMatrix:
    if hasattr(given, "tocsr"):
        from scipy.sparse import csr_array

        matrix = csr_array(cast("SparseLike", given).tocsr(), dtype=np.float64, copy=True)
        if matrix.shape != (states, states):
            raise ModelError(f"transition has shape {matrix.shape}, not {(states, states)}")
        validation.floats("transition.data", matrix.data)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        checked = _typed(matrix)
        chain_rows(checked.data, checked.indptr)
        for part in (checked.data, checked.indices, checked.indptr):
            part.setflags(write=False)
        return checked
    table = validation.floats("transition", cast("ArrayLike", given))
    validation.shape("transition", table, (states, states), meaning="transition[i, j]")
    chain_rows(table.reshape(-1), np.arange(states + 1) * states)
    return validation.frozen(table, given)


# ------------------------------------------------------------------------------------- for the compiled passes


class Dense(NamedTuple):
    """A matrix between the states of two times."""

    weight: FloatArray
    """(K or Kp, Kp) float64: from a state (row) to a state (column); padded with 0, or minus infinity for logarithms"""
    lanes: Lanes
    """see `rlsuite.inference.simd`"""


class Sparse(NamedTuple):
    """A matrix between the states of two times, by columns: each state looks up where it can be reached from."""

    indptr: IndexArray
    """(Kp + 1,) int64: the entries of column j are ``indptr[j] : indptr[j + 1]``; columns of padding have none"""
    source: IndexArray
    """(N,) int64: the row of each entry"""
    weight: FloatArray
    """(N,) float64"""
    lanes: Lanes
    """see `rlsuite.inference.simd`; for what is done to whole rows"""


class Matrices(NamedTuple):
    """The transition matrix for both directions of time."""

    forwards: Dense | Sparse
    backwards: Dense | Sparse


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
    """

    def __init__(self, model: HMMParameters, is_sparse: bool | None = None) -> None:
        self.model = model
        self.n_states = model.n_states
        lanes = 2 if self.n_states <= 2 else 4 if self.n_states <= 4 else 8
        self.width = -(-self.n_states // lanes) * lanes
        worth_it = self.n_states >= SPARSE_MIN_STATES and model.n_transitions * SPARSE_MIN_RATIO < self.n_states**2
        self.is_sparse = worth_it if is_sparse is None else is_sparse
        fits = self.width == lanes and not self.is_sparse
        self.lanes = ((0,) * lanes, (0,) * (lanes if fits else 0))
        self.height = lanes if fits else self.n_states

    @cached_property
    def matrices(self) -> Matrices:
        """The probabilities."""
        return self._matrices(np.asarray, 0.0)

    @cached_property
    def log_matrices(self) -> Matrices:
        """Their logarithms."""
        return self._matrices(logarithms, -np.inf)

    @cached_property
    def groups(self) -> IndexArray:
        """(K,) int64: the group of each state, whose states lead to each other; empty if all states are one group.

        A state that is left at once, and never entered again, belongs to none: -1.
        """
        if self.model.n_transitions == self.n_states**2:
            return np.zeros(0, dtype=np.int64)
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        matrix = self.model.sparse_transition
        graph = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
        number, group = connected_components(graph, connection="strong")
        if number == 1:
            return np.zeros(0, dtype=np.int64)
        stays = matrix.diagonal() > 0.0
        alone = np.bincount(group, minlength=number)[group] == 1
        return np.where(alone & ~stays, -1, group).astype(np.int64)

    @property
    def n_groups(self) -> int:
        """G."""
        return int(self.groups.max(initial=-1)) + 1

    @cached_property
    def rows(self) -> IndexArray:
        """(N,) int64: the state that each entry of the sparse matrix leads away from, in the order of its rows."""
        return np.repeat(np.arange(self.n_states), np.diff(self.model.sparse_transition.indptr))

    @cached_property
    def by_column(self) -> IndexArray:
        """(N,) int64: the entries of the sparse matrix, in the order of its columns."""
        return np.argsort(self.model.sparse_transition.indices, kind="stable")

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

    def sparse_matrices(self, function: Callable[[FloatArray], FloatArray]) -> tuple[Sparse, Sparse]:
        """Return a function of the transitions that are possible, for both directions of time."""
        csr, order = self.model.sparse_transition, self.by_column
        values = function(csr.data)
        columns = np.asarray(csr.indices, dtype=np.int64)
        by_column = Sparse(self._pointers(np.bincount(columns)), self.rows[order], values[order], self.lanes)
        by_row = Sparse(self._pointers(np.diff(csr.indptr)), columns, values, self.lanes)
        return by_column, by_row

    def _matrices(self, function: Callable[[FloatArray], FloatArray], filling: float) -> Matrices:
        if self.is_sparse:
            return Matrices(*self.sparse_matrices(function))
        values = function(self.model.dense_transition)
        return Matrices(*(Dense(self._square(each, filling), self.lanes) for each in (values, values.T)))

    def _square(self, table: FloatArray, filling: float) -> FloatArray:
        wide = self.padded(table, filling)
        below = np.full((self.height - self.n_states, self.width), filling)
        return np.vstack([wide, below]) if below.size else wide

    def _pointers(self, lengths: AnyArray) -> IndexArray:
        pointers = np.zeros(self.width + 1, dtype=np.int64)
        pointers[1 : lengths.size + 1] = lengths
        return np.cumsum(pointers)


def logarithms(values: ArrayLike) -> FloatArray:
    """Return natural logarithms, minus infinity of 0."""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(values, dtype=np.float64))
