"""The most probable path of hidden states (Viterbi; R89 section III.B; the max-product of the lecture notes).

delta_t(j) = max over paths x_0..x_{t-1} of ln Pr[x_0..x_{t-1}, x_t = j, z_0..z_t]. Only these rows are kept: the best
previous state is computed again on the way back, for one state at each time instead of all K.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.inference import passes
from rlsuite.inference.known_states import labelled
from rlsuite.inference.prepared import logarithms
from rlsuite.inference.request import Request, Swept
from rlsuite.inference.sequences import Observations, sequences
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.threads import at_the_same_time

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM


def decode(model: HMM, z: Observations, lengths: ArrayLike | None = None, *, checkpointed: bool = False) -> Any:
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
    request = Request(model, data)
    path = np.empty(request.length, dtype=np.int32)
    if checkpointed:
        for piece in data.pieces:
            _decode_by_checkpoints(request, piece, path)
        return data.split(path)
    tables = Logarithms(request)
    cut = request.cut
    tasks = [partial(_decode_batches, tables, batches, path) for batches in cut.batches]
    at_the_same_time(tasks, request.worth_threads)
    for number in cut.halved:
        _decode_halves(tables, request.halves(number), path)
    return data.split(path)


def path_log_probability(
    model: HMM, z: Observations, states: ArrayLike | Sequence[ArrayLike], lengths: ArrayLike | None = None
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
    path = labelled(states, data, model.n_states).complete("a path has no gaps")
    request = Request(model, data)
    emitted = request.log_table[request.row, path]
    each = emitted.copy()
    before = path[:-1], path[1:]
    moves: Any = cast("Any", model.transition)[before]
    dense: Any = moves.toarray() if hasattr(moves, "toarray") else moves
    each[1:] += logarithms(np.asarray(dense, dtype=np.float64).reshape(-1))
    first = data.pieces[:, 0]
    inner = first[1:]
    each[inner] = emitted[inner]
    each[first] += logarithms(model.start[path[first]])
    return np.add.reduceat(each, first) + data.shifts


class Logarithms:
    """A request, with the arrays that the passes in logarithms read.

    Parameters
    ----------
    request : Request
        The observations to be worked on.
    first : int
        The number of the first of them among those of `whole`.
    whole : Request, optional
        All observations, if `request` is a part of them, for messages.
    """

    def __init__(self, request: Request, first: int = 0, whole: Request | None = None) -> None:
        self.request = request
        self.first = first
        self.whole = whole or request
        self.prepared = request.prepared
        self.matrices = self.prepared.log_matrices
        self.table = request.log_table
        start = self.prepared.padded(logarithms(request.model.start[None, :]), -np.inf)
        ones = self.prepared.padded(np.zeros((1, request.model.n_states)), -np.inf)
        self.ends = (start, ones)

    def sweep(
        self,
        pieces: IndexArray,
        kept: FloatArray,
        base: int,
        *,
        backwards: bool = False,
        initial: FloatArray | None = None,
    ) -> Swept:
        """Run `passes.best_sweep`; from the start, or from the end, if there is no `initial` row."""
        swept = Swept(np.empty(len(pieces)), np.empty(len(pieces), dtype=np.int64))
        passes.best_sweep(
            self.prepared.steps.best_step,
            self.matrices[backwards],
            self.table,
            self.request.row,
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

    def trace(
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
        """Run `passes.trace`, in the direction opposite to that of the sweep."""
        # a dense matrix is looked at by rows, so that it has to be the transposed one; a sparse one is kept by columns
        matrix = self.matrices[backwards != self.prepared.is_sparse]
        step = self.prepared.steps.best_before
        passes.trace(step, matrix, pieces, backwards, latest, through, kept, base, path)


def _decode_batches(tables: Logarithms, batches: list[IndexArray], path: StateArray) -> None:
    for batch in batches:
        kept, base = tables.request.room(batch), int(batch[0, 0])
        tables.sweep(batch, kept, base)
        latest = kept[batch[:, 1] - 1 - base].argmax(axis=1).astype(np.int32)
        tables.trace(batch, kept, base, path, latest)


def _decode_halves(tables: Logarithms, halves: tuple[IndexArray, IndexArray], path: StateArray) -> None:
    """Sweep from both ends, choose the best pair of states in the middle, and go back to both ends."""
    rooms = [tables.request.room(half) for half in halves]
    bases = [int(half[0, 0]) for half in halves]
    swept = at_the_same_time(
        [
            partial(tables.sweep, half, room, base, backwards=bool(backwards))
            for backwards, (half, room, base) in enumerate(zip(halves, rooms, bases, strict=True))
        ],
        tables.request.worth_threads,
    )
    states = tables.request.model.n_states
    f, w = rooms[0][-1, :states], rooms[1][0, :states]
    joint = f[:, None] + logarithms(tables.request.model.dense_transition) + w
    if swept[1].failed[0] >= 0 or joint.max() == -np.inf:
        # the second half says only that it is impossible; a sweep from the start says where
        whole = np.array([[halves[0][0, 0], halves[1][0, 1]]])
        tables.sweep(whole, tables.prepared.empty(passes.RING_ROWS), passes.RING)
    pair = np.unravel_index(int(joint.argmax()), joint.shape)
    at_the_same_time(
        [
            partial(
                tables.trace,
                half,
                room,
                base,
                path,
                np.array([state], dtype=np.int32),
                backwards=not backwards,
            )
            for backwards, (half, room, base, state) in enumerate(zip(halves, rooms, bases, pair, strict=True))
        ],
        tables.request.worth_threads,
    )


def _decode_by_checkpoints(request: Request, piece: IndexArray, path: StateArray) -> None:
    """Keep the last row of each block on the way forwards, and sweep over the blocks again on the way back."""
    blocks = in_blocks(piece)
    saved: list[FloatArray | None] = [None]
    ring = request.prepared.empty(passes.RING_ROWS)
    for block in blocks[:-1]:
        part = Logarithms(request.part(block), first=int(block[0]), whole=request)
        part.sweep(part.request.data.pieces, ring, passes.RING, initial=saved[-1])
        saved.append(ring[[(block[1] - block[0] - 1) & (passes.RING_ROWS - 1)]])
    after: int | None = None
    for (begin, end), initial in zip(reversed(blocks), reversed(saved), strict=True):
        part = Logarithms(request.part(np.array([begin, end])), first=int(begin), whole=request)
        pieces = part.request.data.pieces
        kept = part.request.room(pieces)
        part.sweep(pieces, kept, 0, initial=initial)
        latest = int(kept[-1].argmax()) if after is None else after
        part.trace(pieces, kept, 0, path[begin:end], np.array([latest], dtype=np.int32), through=after is not None)
        after = int(path[begin])


def in_blocks(piece: IndexArray) -> list[IndexArray]:
    """Return a sequence in about sqrt(T) blocks of as many observations, each (begin, end)."""
    begin, end = (int(bound) for bound in piece)
    size = max(1, int(np.ceil(np.sqrt(end - begin))))
    return [np.array([first, min(first + size, end)]) for first in range(begin, end, size)]
