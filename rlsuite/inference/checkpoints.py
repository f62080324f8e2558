"""Smoothing and counting of long sequences with O(sqrt(T) K) numbers in memory.

The forward pass keeps one row for each of about sqrt(T) blocks; on the way back the rows of each block are computed
again from its row, used, and discarded (Grice, Hughey & Speck 1997). That is one sweep more.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple

from numpy.typing import ArrayLike

from rlsuite.inference import forward_backward_kernels as kernels
from rlsuite.inference.e_step import Counts, Part, gathered
from rlsuite.inference.log_space import exact_posterior
from rlsuite.inference.sequences import Observations, sequences
from rlsuite.inference.viterbi import in_blocks
from rlsuite.inference.workspace import Workspace
from rlsuite.models.aliases import FloatArray, IndexArray

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM


class Block(NamedTuple):
    """A run of neighbouring times."""

    begin: int
    """the first time, counted from the beginning of all observations"""
    posterior: FloatArray
    """(n, K) float64: Pr[x_t = k | z] of the times begin..begin+n-1"""


def smooth_in_blocks(model: HMM, z: Observations, lengths: ArrayLike | None = None) -> Generator[Block]:
    """Yield what `smooth` returns, block by block, from the end to the beginning of each sequence.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.

    Yields
    ------
    Block
        About sqrt(T) of them for each sequence of T observations.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible; the message says at which t.

    Examples
    --------
    >>> from rlsuite.inference import HMM, smooth_in_blocks
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> for begin, posterior in smooth_in_blocks(hmm, [0, 0, 1, 0]):
    ...     print(begin, posterior.round(3).tolist())
    2 [[0.284, 0.716], [0.731, 0.269]]
    0 [[0.866, 0.134], [0.816, 0.184]]
    """
    return _smooth(Workspace(model, sequences(model.emission, z, lengths)))


def _smooth(workspace: Workspace) -> Generator[Block]:
    for number, piece in enumerate(workspace.data.pieces):
        way_back = _WayBack(workspace, piece, alone=True)
        while way_back.fine and way_back.blocks:
            begin, rows = way_back.block()
            if way_back.fine:
                yield Block(begin, workspace.prepared.narrow(rows))
        if not way_back.fine:
            # one block of these is the price of a sequence on the edge of what is possible
            posterior = exact_posterior(workspace, number)[1]
            first = int(piece[0])
            for begin, end in reversed(way_back.blocks):
                yield Block(int(begin), posterior[begin - first : end - first])


def count_by_checkpoints(workspace: Workspace) -> Counts:
    """Return what `rlsuite.inference.expected_counts` does."""
    total = Part(workspace)
    kept = workspace.prepared.empty(workspace.length) if total.keeps else None
    for number, piece in enumerate(workspace.data.pieces):
        part = Part(workspace)
        way_back = _WayBack(workspace, piece)
        while way_back.fine and way_back.blocks:
            part.start[:] = 0.0  # only what the block at the very beginning adds is about x_0
            begin, rows = way_back.block(part)
            if kept is not None:
                kept[begin : begin + len(rows)] = rows
        part.log_likelihood = way_back.log_likelihood
        if not way_back.fine:
            part = Part(workspace)
            part.add_exactly(number, kept)
        total.add(part)
    return gathered(workspace, [total], kept)


class _WayBack:
    """The backward pass over a sequence whose forward pass kept one row for each block.

    Parameters
    ----------
    workspace : Workspace
        The observations.
    piece : ndarray (2,) int64
        Where the sequence begins and ends.
    alone : bool
        Find the likelihoods of each block when they are needed, instead of those of all observations at once.

    Attributes
    ----------
    fine : bool
        Whether all passes came through so far.
    blocks : list of ndarray (2,) int64
        The blocks that are still to be done.
    log_likelihood : float
        ln Pr[z], in nats.
    """

    def __init__(self, workspace: Workspace, piece: IndexArray, alone: bool = False) -> None:
        self.workspace = workspace
        self.alone = alone
        self.blocks = in_blocks(piece)
        self.fine = True
        self.log_likelihood = 0.0
        self._before: list[FloatArray | None] = [None]
        self._after: FloatArray | None = None
        ring = workspace.prepared.empty(kernels.RING_ROWS)
        for block in self.blocks:
            part, pieces = self._part(block)
            swept = part.sweep(pieces, initial=self._before[-1], kept=ring)
            self.fine = bool(swept.failed[0] < 0)
            if not self.fine:
                return
            self.log_likelihood += float(swept.log_likelihood[0])
            self._before.append(_normalised(ring, int(pieces[0, 1]) - 1))
        self._before.pop()

    def block(self, counts: Part | None = None) -> tuple[int, FloatArray]:
        """Do the last of the blocks; return its first time, and its rows, which are padded posteriors."""
        block = self.blocks[-1]
        part, pieces = self._part(block)
        base, length = int(pieces[0, 0]), int(block[1] - block[0])
        rows, work = part.buffer(pieces), part.work()
        part.sweep(pieces, initial=self._before.pop(), kept=rows, base=base)
        self.fine = part.posteriors(
            pieces,
            rows,
            base,
            initial=self._after,
            work=work,
            count_first_pair=True,
            counts=None if counts is None else counts.counts(True),
        )
        if self.fine:
            self._after = _normalised(work, length - 1)
            self.blocks.pop()
        return int(block[0]), rows

    def _part(self, block: IndexArray) -> tuple[Workspace, IndexArray]:
        """Return the workspace that holds a block, and where."""
        part = self.workspace.part(block) if self.alone else self.workspace
        return part, part.data.pieces if self.alone else block[None]


def _normalised(ring: FloatArray, place: int) -> FloatArray:
    row = ring[[place & (kernels.RING_ROWS - 1)]]
    return row / row.sum()
