"""The most probable path of hidden states (Viterbi; R89 section III.B; the max-product of the lecture notes).

delta_t(j) = max over paths x_0..x_{t-1} of ln Pr[x_0..x_{t-1}, x_t = j, z_0..z_t]. Only these rows are kept: the best
previous state is computed again on the way back, for one state at each time instead of all K.

In plain NumPy: `rlsuite.reference.hmm.viterbi`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import overload

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.compilation import compiled
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.threads import at_the_same_time
from rlsuite.inference import simd
from rlsuite.inference.forward_backward_kernels import RING, RING_ROWS, PassResult, Step
from rlsuite.inference.parameters import Dense, HMMParameters, Sparse, Workspace, blocks_of, logarithms
from rlsuite.inference.sequences import EndToEnd, Listed, Observations, known_states, sequences
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray

_max_plus = simd.max_plus

SHIFT_BELOW = -500.0
"""Logarithms below this lose digits, and are shifted."""


@compiled(in_place=True)
def sparse_viterbi_step(
    matrix: Sparse, u: FloatArray, u_row: int, table: FloatArray, row: int, shift: float, out: FloatArray, out_row: int
) -> float:
    """``out[j] = max_i (u[i] + matrix[i, j]) + table[row, j] + shift``; return the maximum."""
    highest = -np.inf
    last = matrix.indptr[0]
    for j in range(matrix.indptr.size - 1):
        first, last = last, matrix.indptr[j + 1]
        value = -np.inf
        for entry in range(first, last):
            value = max(value, u[u_row, matrix.source[entry]] + matrix.weight[entry])
        value += table[row, j] + shift
        out[out_row, j] = value
        highest = max(highest, value)
    return highest


@compiled(in_place=True)
def sparse_best_predecessor(matrix: Sparse, state: int, kept: FloatArray, t: int) -> int:
    """The first state i that maximises ``kept[t, i]`` plus the entry from i to `state`."""
    chosen, high = -1, -np.inf
    for entry in range(matrix.indptr[state], matrix.indptr[state + 1]):
        value = kept[t, matrix.source[entry]] + matrix.weight[entry]
        if value > high:
            chosen, high = matrix.source[entry], value
    return chosen


@compiled(in_place=True)
def dense_viterbi_step(
    matrix: Dense, u: FloatArray, u_row: int, table: FloatArray, row: int, shift: float, out: FloatArray, out_row: int
) -> float:
    """``out[j] = max_i (u[i] + matrix[i, j]) + table[row, j] + shift``; return the maximum."""
    return _max_plus(matrix.weight, u, u_row, table, row, shift, out, out_row, matrix.lanes)


@compiled(in_place=True)
def dense_best_predecessor(matrix: Dense, state: int, kept: FloatArray, t: int) -> int:
    """The first state i that maximises ``kept[t, i] + matrix[state, i]``: here the matrix is the transposed one."""
    chosen, high = -1, -float("inf")
    for i in range(matrix.weight.shape[0]):
        value = kept[t, i] + matrix.weight[state, i]
        if value > high:
            chosen, high = i, value
    return chosen


@compiled(in_place=True)
def viterbi_kernel(
    viterbi_step: Step,
    matrix: Dense | Sparse,
    table: FloatArray,
    row: IndexArray,
    pieces: IndexArray,
    backwards: bool,
    initial: FloatArray,
    through: bool,
    kept: FloatArray,
    base: int,
    log_probability: FloatArray,
    failed: IndexArray,
) -> None:
    """Sweep in logarithms, with maxima in place of sums (Viterbi; R89 eqs. 32-33); keep the rows.

    ``log_probability[p]`` becomes what was taken out of the rows of the piece so that they stay precise.
    """
    for p in range(pieces.shape[0]):
        begin, end = pieces[p, 0], pieces[p, 1]
        origin = p if initial.shape[0] > 1 else 0
        failed[p] = -1
        log_probability[p] = 0.0
        shift = 0.0
        last_position = 0
        for n in range(end - begin):
            t = end - 1 - n if backwards else begin + n
            position = t & (RING_ROWS - 1) if base == RING else t - base
            if n > 0:
                high = viterbi_step(matrix, kept, last_position, table, row[t], shift, kept, position)
            elif through:
                high = viterbi_step(matrix, initial, origin, table, row[t], shift, kept, position)
            else:
                high = -np.inf
                for k in range(table.shape[1]):
                    kept[position, k] = initial[origin, k] + table[row[t], k]
                    high = max(high, kept[position, k])
            if high == -np.inf:
                failed[p] = t
                log_probability[p] = -np.inf
                break
            shift = 0.0
            if high < SHIFT_BELOW and n < end - begin - 1:
                shift = -high
                log_probability[p] += high
            last_position = position


@compiled(in_place=True)
def backtrack_kernel(
    best_predecessor: Callable[..., int],
    matrix: Dense | Sparse,
    pieces: IndexArray,
    backwards: bool,
    latest: StateArray,
    through: bool,
    kept: FloatArray,
    base: int,
    path: StateArray,
) -> None:
    """Follow the best states of each piece back to where the sweep of its rows began; fill ``path[t]``.

    ``latest[p]`` is the state in the last row that the sweep wrote or, if `through`, the state that follows it.
    """
    for p in range(pieces.shape[0]):
        begin, end = pieces[p, 0], pieces[p, 1]
        state = latest[p]
        for n in range(end - begin):
            t = end - 1 - n if backwards else begin + n
            if n > 0 or through:
                state = best_predecessor(matrix, state, kept, t - base)
            path[t] = state


@overload
def decode(
    model: HMMParameters, z: EndToEnd, lengths: ArrayLike | None = None, *, checkpointed: bool = False
) -> StateArray: ...
@overload
def decode(
    model: HMMParameters, z: Listed, lengths: None = None, *, checkpointed: bool = False
) -> list[StateArray]: ...
@overload
def decode(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None, *, checkpointed: bool = False
) -> StateArray | list[StateArray]: ...
@says_what_to_write
def decode(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None, *, checkpointed: bool = False
) -> StateArray | list[StateArray]:
    """Return the most probable path x_0..x_T given all observations; if there are several, one of them.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    checkpointed : bool
        Keep O(sqrt(T) K) numbers in memory instead of T K, and sweep twice.

    Returns
    -------
    ndarray (T,) int32
        For a list of sequences, a list of such arrays.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible; the message says at which t.

    Examples
    --------
    >>> from rlsuite.inference import HMM, decode
    >>> health = HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> decode(health, [0, 1, 2]).tolist()
    [0, 0, 1]
    """
    data = sequences(model.emission, z, lengths)
    workspace = Workspace(model, data)
    path = np.empty(workspace.length, dtype=np.int32)
    if checkpointed:
        for piece in data.pieces:
            _decode_by_checkpoints(workspace, piece, path)
        return data.split(path)
    tables = Logarithms(workspace)
    schedule = workspace.schedule
    tasks = [partial(_decode_batches, tables, batches, path) for batches in schedule.batches]
    at_the_same_time(tasks, workspace.uses_threads)
    for number in schedule.halved:
        _decode_halves(tables, workspace.halves(number), path)
    return data.split(path)


@says_what_to_write
def path_log_probability(
    model: HMMParameters, z: Observations, states: ArrayLike | Sequence[ArrayLike], lengths: ArrayLike | None = None
) -> FloatArray:
    """Return ln Pr[x_0..x_T, z_0..z_T] of given paths (the joint factorisation of the lecture notes, corrected).

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    states : array_like (T,) of int, or list of arrays
        The paths, as `decode` returns them.

    Returns
    -------
    ndarray (N,) float64
        Nats, one entry for each sequence; minus infinity where the path is impossible.

    Raises
    ------
    ModelError
        If the observations or the states are malformed.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.inference import HMM, path_log_probability
    >>> health = HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> np.exp(path_log_probability(health, [0, 1, 2], [0, 0, 1])).round(6).tolist()
    [0.01512]
    """
    data = sequences(model.emission, z, lengths)
    path = known_states(states, data, model.n_states).complete("every state of a path has to be known")
    workspace = Workspace(model, data)
    emitted = workspace.log_table[workspace.row, path]
    each = emitted.copy()
    before = path[:-1], path[1:]
    moves = model.transition[before]
    each[1:] += logarithms(moves if isinstance(moves, np.ndarray) else moves.toarray().reshape(-1))
    first = data.pieces[:, 0]
    inner = first[1:]
    each[inner] = emitted[inner]
    each[first] += logarithms(model.start[path[first]])
    return np.add.reduceat(each, first.astype(np.intp)) + data.shifts


class Logarithms:
    """A workspace, with the arrays that the passes in logarithms read.

    Parameters
    ----------
    workspace : Workspace
        The observations to be worked on.
    first : int
        The number of the first of them among those of `whole`.
    whole : Workspace, optional
        All observations, if `workspace` is a part of them, for messages.
    """

    def __init__(self, workspace: Workspace, first: int = 0, whole: Workspace | None = None) -> None:
        self.workspace = workspace
        self.first = first
        self.whole = whole or workspace
        self.prepared = workspace.prepared
        self.matrices = self.prepared.log_matrices
        self.table = workspace.log_table
        start = self.prepared.padded(logarithms(workspace.model.start[None, :]), -np.inf)
        ones = self.prepared.padded(np.zeros((1, workspace.model.n_states)), -np.inf)
        self.ends = (start, ones)

    def sweep(
        self,
        pieces: IndexArray,
        kept: FloatArray,
        base: int,
        *,
        backwards: bool = False,
        initial: FloatArray | None = None,
    ) -> PassResult:
        """Run `viterbi_kernel`; from the start, or from the end, if there is no `initial` row."""
        swept = PassResult(np.empty(len(pieces)), np.empty(len(pieces), dtype=np.int64))
        viterbi_kernel(
            sparse_viterbi_step if self.prepared.is_sparse else dense_viterbi_step,
            self.matrices[backwards],
            self.table,
            self.workspace.row,
            pieces,
            backwards,
            self.ends[backwards] if initial is None else initial,
            initial is not None,
            kept,
            base,
            *swept,
        )
        for t in swept.failed[swept.failed >= 0]:
            if not backwards:
                self.whole.impossible(self.first + int(t))
        return swept

    def backtrack(
        self,
        pieces: IndexArray,
        kept: FloatArray,
        base: int,
        path: StateArray,
        latest: StateArray,
        *,
        backwards: bool = True,
        through: bool = False,
    ) -> None:
        """Run `backtrack_kernel`, in the direction opposite to that of the sweep."""
        # a dense matrix is read by rows, so it has to be the transposed one; a sparse one is stored by columns
        matrix = self.matrices[backwards != self.prepared.is_sparse]
        step = sparse_best_predecessor if self.prepared.is_sparse else dense_best_predecessor
        backtrack_kernel(step, matrix, pieces, backwards, latest, through, kept, base, path)


def _decode_batches(tables: Logarithms, batches: list[IndexArray], path: StateArray) -> None:
    for batch in batches:
        kept, base = tables.workspace.buffer(batch), int(batch[0, 0])
        tables.sweep(batch, kept, base)
        latest = kept[batch[:, 1] - 1 - base].argmax(axis=1).astype(np.int32)
        tables.backtrack(batch, kept, base, path, latest)


def _decode_halves(tables: Logarithms, halves: tuple[IndexArray, IndexArray], path: StateArray) -> None:
    """Sweep from both ends, choose the best pair of states in the middle, and go back to both ends."""
    buffers = [tables.workspace.buffer(half) for half in halves]
    bases = [int(half[0, 0]) for half in halves]
    swept = at_the_same_time(
        [
            partial(tables.sweep, half, buffer, base, backwards=bool(backwards))
            for backwards, (half, buffer, base) in enumerate(zip(halves, buffers, bases, strict=True))
        ],
        tables.workspace.uses_threads,
    )
    states = tables.workspace.model.n_states
    f, w = buffers[0][-1, :states], buffers[1][0, :states]
    joint = f[:, None] + logarithms(tables.workspace.model.dense_transition) + w
    if swept[1].failed[0] >= 0 or joint.max() == -np.inf:
        # the halves show only that the sequence is impossible; a sweep from the start shows where
        whole = np.array([[halves[0][0, 0], halves[1][0, 1]]])
        tables.sweep(whole, tables.prepared.empty(RING_ROWS), RING)
    pair = np.unravel_index(int(joint.argmax()), joint.shape)
    at_the_same_time(
        [
            partial(
                tables.backtrack,
                half,
                buffer,
                base,
                path,
                np.array([state], dtype=np.int32),
                backwards=not backwards,
            )
            for backwards, (half, buffer, base, state) in enumerate(zip(halves, buffers, bases, pair, strict=True))
        ],
        tables.workspace.uses_threads,
    )


def _decode_by_checkpoints(workspace: Workspace, piece: IndexArray, path: StateArray) -> None:
    """Keep the last row of each block on the way forwards, and sweep over the blocks again on the way back."""
    blocks = blocks_of(piece)
    saved: list[FloatArray | None] = [None]
    ring = workspace.prepared.empty(RING_ROWS)
    for block in blocks[:-1]:
        part = Logarithms(workspace.part(block), first=int(block[0]), whole=workspace)
        part.sweep(part.workspace.data.pieces, ring, RING, initial=saved[-1])
        saved.append(ring[[(block[1] - block[0] - 1) & (RING_ROWS - 1)]])
    after: int | None = None
    for (begin, end), initial in zip(reversed(blocks), reversed(saved), strict=True):
        part = Logarithms(workspace.part(np.array([begin, end])), first=int(begin), whole=workspace)
        pieces = part.workspace.data.pieces
        kept = part.workspace.buffer(pieces)
        part.sweep(pieces, kept, 0, initial=initial)
        latest = int(kept[-1].argmax()) if after is None else after
        part.backtrack(pieces, kept, 0, path[begin:end], np.array([latest], dtype=np.int32), through=after is not None)
        after = int(path[begin])
