"""The parameters of a hidden Markov model, checked, and in the form that the compiled passes read; with observations.

R89 calls them lambda = (A, B, pi): the transition matrix, the emission, and the start distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, NoReturn, Protocol, Self, TypedDict, Unpack, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.keywords import SaysWhatToWrite
from rlsuite.core.shown import ShowsItself
from rlsuite.errors import ModelError, ParameterError, unknown
from rlsuite.inference.emissions.base import MIN_LIKELIHOOD, Emission
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.sequences import Sequences
from rlsuite.inference.simd import Lanes
from rlsuite.models import validation
from rlsuite.models.aliases import AnyArray, BoolArray, CsrMatrix, FloatArray, IndexArray, SparseLike
from rlsuite.models.row_checks import chain_rows
from rlsuite.synonyms import AnswersOtherWords

SPARSE_MIN_STATES, SPARSE_MIN_RATIO = 16, 12
"""A model is treated as sparse from this many states on, if at most one in this many of its transitions is possible."""


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
class HMMParameters(AnswersOtherWords, ShowsItself, SaysWhatToWrite):
    """The parameters of a hidden Markov model with K states; `rlsuite.inference.HMM` says what they are."""

    what_to_write: ClassVar[str] = "HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])"

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
        """Return a copy with some fields changed, checked again.

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
    if validation.is_matrix(given):
        from scipy.sparse import csr_array

        matrix = csr_array(given.tocsr(), dtype=np.float64, copy=True)
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
    table = validation.floats("transition", given)
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
        faster = self.n_states >= SPARSE_MIN_STATES and model.n_transitions * SPARSE_MIN_RATIO < self.n_states**2
        self.is_sparse = faster if is_sparse is None else is_sparse
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


# ------------------------------------------------------------------------------------------ with observations

# The division of the work into tasks for threads depends on the observations alone, so neither the number of threads
# nor their order can change a result.

MIN_SPLIT_LENGTH = 1 << 11
"""Least number of observations of a sequence that is cut in the middle."""

BATCH_ENTRIES = 1 << 16
"""Numbers that the rows kept between two passes over short sequences take: they stay in the processor's cache."""

MIN_BATCH_LENGTH = 1 << 12
"""Fewest observations in a batch, so that handing it to a compiled pass costs nothing beside the work."""

MIN_THREAD_WORK = 1 << 18
"""Least work that is shared out among threads, in multiplications: some fifty microseconds."""

MAX_TASKS = 16
"""Most tasks that short sequences are shared out among."""


class Schedule(NamedTuple):
    """The division of the sequences into tasks."""

    batches: list[list[IndexArray]]
    """for each task, runs of whole sequences: (P, 2) int64"""
    numbers: list[list[IndexArray]]
    """which sequences these are"""
    halved: list[int]
    """sequences that are cut in the middle"""


class Workspace:
    """A model and checked observations."""

    def __init__(self, model: HMMParameters, data: Sequences) -> None:
        self.model = model
        self.data = data
        self.prepared: Prepared = model.prepared
        self.length = len(data.z)

    @cached_property
    def row(self) -> IndexArray:
        """(T,) int64: the row of the table that belongs to each observation."""
        return np.ascontiguousarray(self.data.likelihoods.row, dtype=np.int64)

    @cached_property
    def table(self) -> FloatArray:
        """(R, Kp) float64: rows of likelihoods."""
        return self.prepared.padded(self.data.likelihoods.table)

    @cached_property
    def log_table(self) -> FloatArray:
        """(R, Kp) float64: rows of log-likelihoods."""
        likelihoods = self.data.likelihoods
        table, exact = likelihoods.table, likelihoods.exact
        if exact is not None and ((table > 0.0) & (table < 2.0 * MIN_LIKELIHOOD)).any():
            return self.prepared.padded(exact())
        return self.prepared.padded(logarithms(table))

    @cached_property
    def log_matrices(self) -> tuple[Sparse, Sparse]:
        """Logarithms of the transitions that are possible, for the passes in logarithms."""
        return Prepared(self.model, is_sparse=True).sparse_matrices(logarithms)

    @cached_property
    def keeps_posteriors(self) -> bool:
        """Whether each observation has a row of likelihoods of its own, so that posteriors are not added up."""
        rows = len(self.data.likelihoods.table)
        return rows == self.length and bool((self.row == np.arange(rows)).all())

    @cached_property
    def schedule(self) -> Schedule:
        """The division of the work: a sequence longer than all others together is cut in the middle."""
        sizes = self.data.pieces[:, 1] - self.data.pieces[:, 0]
        long = (sizes >= MIN_SPLIT_LENGTH) & (2 * sizes > self.length)
        short = np.flatnonzero(~long)
        steps = sizes[short].cumsum()
        most = max(MIN_BATCH_LENGTH, BATCH_ENTRIES // self.prepared.width)
        number = int(min(MAX_TASKS, max(1, steps[-1] // most))) if short.size else 0
        shares = np.searchsorted(steps, np.arange(1, number) * (steps[-1] / number) if number else [])
        numbers = [_runs(task, sizes, most) for task in np.array_split(short, shares) if task.size]
        batches = [[self.data.pieces[run] for run in runs] for runs in numbers]
        return Schedule(batches, numbers, np.flatnonzero(long).tolist())

    @property
    def uses_threads(self) -> bool:
        """Whether there is enough work for several threads to be faster than one."""
        return self.length * (8 + self.model.n_transitions) >= MIN_THREAD_WORK

    def halves(self, number: int) -> tuple[IndexArray, IndexArray]:
        """Return the first and the second half of a sequence, each (1, 2) int64."""
        begin, end = self.data.pieces[number]
        middle = (begin + end) // 2
        return np.array([[begin, middle]]), np.array([[middle, end]])

    def part(self, block: IndexArray) -> Self:
        """Return the workspace for some neighbouring observations alone, whose likelihoods are computed again."""
        begin, end = (int(bound) for bound in block)
        return type(self)(
            self.model, Sequences(self.data.emission, self.data.z[begin:end], np.array([[0, end - begin]]))
        )

    def buffer(self, pieces: IndexArray) -> FloatArray:
        """Return an array for the rows of neighbouring pieces."""
        return self.prepared.empty(int(pieces[-1, 1] - pieces[0, 0]))

    def impossible(self, t: int) -> NoReturn:
        """Raise the error for an observation that no state can make that is still possible.

        Raises
        ------
        ModelError
            Always.
        """
        number = int(np.searchsorted(self.data.pieces[:, 1], t, side="right"))
        within = t - int(self.data.pieces[number, 0])
        which = f" of sequence {number}" if len(self.data) > 1 else ""
        raise ModelError(
            f"z[t={within}]{which} is {self.data.z[t]}, which is impossible after what was seen before: "
            "no hidden state that can be reached emits it. Mark it as missing, or learn the model with a prior"
        )


def _runs(task: IndexArray, sizes: IndexArray, most: int) -> list[IndexArray]:
    """Return the sequences of a task in runs of about `most` observations."""
    return np.split(task, np.flatnonzero(np.diff(sizes[task].cumsum() // most)) + 1)


def mask_of(length: int, pieces: IndexArray) -> BoolArray:
    """Return which of the observations lie in one of the pieces: (T,) bool."""
    mask = np.zeros(length, dtype=np.bool_)
    for begin, end in pieces:
        mask[begin:end] = True
    return mask


# The memory of checkpoints is 1/15 to 1/80 of that of the plain passes, for 1.5 (counts) to 3.3 times (paths) the time.
def blocks_of(piece: IndexArray) -> list[IndexArray]:
    """Return a sequence in about sqrt(T) blocks of as many observations, each (begin, end)."""
    begin, end = (int(bound) for bound in piece)
    size = max(1, int(np.ceil(np.sqrt(end - begin))))
    return [np.array([first, min(first + size, end)]) for first in range(begin, end, size)]
