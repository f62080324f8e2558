"""Smoothing: the distribution of the hidden states given all observations (R89 section III.B), or some later ones.

Pr[x_t = k | z_0..z_T] is proportional to alpha_t(k) beta_t(k). Of long sequences it can be found with O(sqrt(T) K)
numbers in memory: the forward pass keeps one row for each of about sqrt(T) blocks, and on the way back the rows of each
block are computed again from its row, used, and discarded (Grice, Hughey & Speck 1997). That is one sweep more.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast, overload

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.threads import at_the_same_time
from rlsuite.inference import forward_backward_kernels as kernels
from rlsuite.inference.forward_backward import filtered
from rlsuite.inference.forward_backward_kernels import PassResult, exact_posterior
from rlsuite.inference.parameters import HMMParameters, Workspace, blocks_of
from rlsuite.inference.sequences import EndToEnd, Listed, Observations, sequences
from rlsuite.models.aliases import FloatArray, IndexArray


@overload
def smooth(
    model: HMMParameters, z: EndToEnd, lengths: ArrayLike | None = None, *, lag: int | None = None
) -> FloatArray: ...
@overload
def smooth(model: HMMParameters, z: Listed, lengths: None = None, *, lag: int | None = None) -> list[FloatArray]: ...
@overload
def smooth(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None, *, lag: int | None = None
) -> FloatArray | list[FloatArray]: ...
@says_what_to_write
def smooth(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None, *, lag: int | None = None
) -> FloatArray | list[FloatArray]:
    """Return Pr[x_t = k | z_0..z_T], the distribution of the hidden states given all observations (R89 eq. 27).

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    lag : int, optional
        If given, only the observations until t + lag count, as in `smooth_with_lag`.

    Returns
    -------
    ndarray (T, K) float64
        For a list of sequences, a list of such arrays.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible; the message says at which t.

    See Also
    --------
    smooth_in_blocks : the same in little memory.
    smooth_with_lag : with a look of a few steps ahead only.

    Examples
    --------
    >>> from rlsuite.inference import HMM, smooth
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> smooth(hmm, [0, 0]).round(3).tolist()
    [[0.883, 0.117], [0.883, 0.117]]
    """
    if lag is not None:
        return smooth_with_lag(model, z, lag, lengths)
    workspace = Workspace(model, sequences(model.emission, z, lengths))
    kept = workspace.prepared.empty(workspace.length)
    schedule = workspace.schedule
    halves = [workspace.halves(number) for number in schedule.halved]
    tasks = [
        partial(_smooth_batches, workspace, batches, numbers, kept)
        for batches, numbers in zip(schedule.batches, schedule.numbers, strict=True)
    ]
    sweeps = [
        partial(kernels.sweep, workspace, half, backwards=bool(backwards), kept=kept, base=0)
        for pair in halves
        for backwards, half in enumerate(pair)
    ]
    results = at_the_same_time([*tasks, *sweeps], workspace.uses_threads)
    swept = cast("list[PassResult]", results[len(tasks) :])
    for k, (pair, number) in enumerate(zip(halves, schedule.halved, strict=True)):
        _smooth_halves(workspace, pair, swept[2 * k : 2 * k + 2], kept, number)
    return workspace.data.split(workspace.prepared.narrow(kept))


def _smooth_batches(
    workspace: Workspace, batches: list[IndexArray], numbers: list[IndexArray], kept: FloatArray
) -> None:
    for batch, which in zip(batches, numbers, strict=True):
        fine = kernels.sweep(workspace, batch, kept=kept, base=0).failed < 0
        if fine.any() and not kernels.posteriors(workspace, batch[fine], kept, 0):
            fine[:] = False  # some failed in the middle
        for number, (begin, end) in zip(which[~fine], batch[~fine], strict=True):
            kept[begin:end, : workspace.model.n_states] = exact_posterior(workspace, int(number))[1]


def _smooth_halves(
    workspace: Workspace, pair: tuple[IndexArray, IndexArray], swept: list[PassResult], kept: FloatArray, number: int
) -> None:
    """Continue the sweeps over the halves of a sequence through the other half."""
    middle = int(pair[0][0, 1])
    done = [False]
    if swept[0].failed[0] < 0 and swept[1].failed[0] < 0:
        f, w = (kept[t : t + 1].copy() for t in (middle - 1, middle))
        done = at_the_same_time(
            [
                partial(kernels.posteriors, workspace, pair[0], kept, 0, backwards=True, initial=w),
                partial(kernels.posteriors, workspace, pair[1], kept, 0, backwards=False, initial=f),
            ],
            workspace.uses_threads,
        )
    if not all(done):
        # a pass from the beginning knows which states can be reached, and may succeed
        _smooth_batches(workspace, [workspace.data.pieces[[number]]], [np.array([number])], kept)


# ---------------------------------------------------------------------------------------------- a fixed lag


@overload
def smooth_with_lag(model: HMMParameters, z: EndToEnd, lag: int, lengths: ArrayLike | None = None) -> FloatArray: ...
@overload
def smooth_with_lag(model: HMMParameters, z: Listed, lag: int, lengths: None = None) -> list[FloatArray]: ...
@overload
def smooth_with_lag(
    model: HMMParameters, z: Observations, lag: int, lengths: ArrayLike | None = None
) -> FloatArray | list[FloatArray]: ...
@says_what_to_write
def smooth_with_lag(
    model: HMMParameters, z: Observations, lag: int, lengths: ArrayLike | None = None
) -> FloatArray | list[FloatArray]:
    """Return Pr[x_t = k | z_0..z_{t+lag}], given the observations up to `lag` steps later: fixed-lag smoothing.

    Near the end of a sequence, where fewer observations follow, all of them are used. Each step of lag costs a product
    of a (T, K) and a (K, K) matrix.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    lag : int
        How many steps to wait, at least 0; with 0 this is the filter.

    Returns
    -------
    ndarray (T, K) float64
        For a list of sequences, a list of such arrays.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible.
    ParameterError
        If `lag` is negative.

    Examples
    --------
    >>> from rlsuite.inference import HMM, smooth_with_lag
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> smooth_with_lag(hmm, [0, 0, 1], lag=1).round(3).tolist()
    [[0.883, 0.117], [0.799, 0.201], [0.191, 0.809]]
    """
    lag = whole_number("lag", lag, at_least=0)
    data = sequences(model.emission, z, lengths)
    alpha = filtered(Workspace(model, data)).rows
    likelihoods = data.likelihoods
    found = np.empty_like(alpha)
    for begin, end in data.pieces:
        emitted = likelihoods.table[likelihoods.row[begin:end]]
        beta = np.ones_like(emitted)
        for step in range(min(lag, end - begin - 1), 0, -1):
            # from Pr[z_{t+step+1}..z_{t+lag} | x_{t+step}] to the same one step earlier, for all t with a z_{t+step}
            inner = emitted[step:] * beta[: len(emitted) - step]
            earlier: FloatArray = (model.transition @ inner.T).T
            high = earlier.max(axis=1, keepdims=True)
            beta[: len(emitted) - step] = earlier / np.where(high > 0.0, high, 1.0)
        joint = alpha[begin:end] * beta
        total = joint.sum(axis=1)
        fine = total > kernels.UNDERFLOW
        found[begin:end] = joint / np.where(fine, total, 1.0)[:, None]
        for t in np.flatnonzero(~fine):
            # too small for a double: smooth the observations up to t + lag in logarithms
            until = min(begin + int(t) + lag + 1, int(end))
            part = Workspace(model, replace(data, z=data.z[begin:until], pieces=np.array([[0, until - begin]])))
            found[begin + int(t)] = exact_posterior(part, 0)[1][t]
    return data.split(found)


# ---------------------------------------------------------------------------------------- in little memory


class Block(NamedTuple):
    """A run of neighbouring times."""

    begin: int
    """the first time, counted from the beginning of all observations"""
    posterior: FloatArray
    """(n, K) float64: Pr[x_t = k | z] of the times begin..begin+n-1"""


@says_what_to_write
def smooth_in_blocks(model: HMMParameters, z: Observations, lengths: ArrayLike | None = None) -> Generator[Block]:
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
        backwards = BackwardBlocks(workspace, piece, alone=True)
        while backwards.fine and backwards.blocks:
            begin, rows = backwards.block()
            if backwards.fine:
                yield Block(begin, workspace.prepared.narrow(rows))
        if not backwards.fine:
            # a sequence that is almost impossible: its whole posterior is computed and held at once
            posterior = exact_posterior(workspace, number)[1]
            first = int(piece[0])
            for begin, end in reversed(backwards.blocks):
                yield Block(int(begin), posterior[begin - first : end - first])


class BackwardBlocks:
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
        self.blocks = blocks_of(piece)
        self.fine = True
        self.log_likelihood = 0.0
        self._before: list[FloatArray | None] = [None]
        self._after: FloatArray | None = None
        ring = workspace.prepared.empty(kernels.RING_ROWS)
        for block in self.blocks:
            part, pieces = self._part(block)
            swept = kernels.sweep(part, pieces, initial=self._before[-1], kept=ring)
            self.fine = bool(swept.failed[0] < 0)
            if not self.fine:
                return
            self.log_likelihood += float(swept.log_likelihood[0])
            self._before.append(_normalised(ring, int(pieces[0, 1]) - 1))
        self._before.pop()

    def block(self, counts: tuple[FloatArray, FloatArray, FloatArray] | None = None) -> tuple[int, FloatArray]:
        """Do the last of the blocks; return its first time, and its rows, which are padded posteriors."""
        block = self.blocks[-1]
        part, pieces = self._part(block)
        base, length = int(pieces[0, 0]), int(block[1] - block[0])
        rows, work = part.buffer(pieces), kernels.scratch(part)
        kernels.sweep(part, pieces, initial=self._before.pop(), kept=rows, base=base)
        self.fine = kernels.posteriors(
            part, pieces, rows, base, initial=self._after, work=work, count_first_pair=True, counts=counts
        )
        if self.fine:
            self._after = _normalised(work, length - 1)
            self.blocks.pop()
        return int(block[0]), rows

    def _part(self, block: IndexArray) -> tuple[Workspace, IndexArray]:
        """Return the workspace that holds a block, and where."""
        part = self.workspace.part(block) if self.alone else self.workspace
        return part, part.data.pieces if self.alone else block[None]


def _normalised(ring: FloatArray, position: int) -> FloatArray:
    row = ring[[position & (kernels.RING_ROWS - 1)]]
    return row / row.sum()
