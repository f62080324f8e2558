"""The E-step of Baum-Welch: expected counts of hidden states and transitions (R89 eqs. 37-38)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.inference.forward_backward import log_likelihood_of_halves
from rlsuite.inference.log_space import exact_pairs, exact_posterior
from rlsuite.inference.sequences import Observations, Sequences, sequences
from rlsuite.inference.workspace import Workspace
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.threads import at_the_same_time

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM


class Counts(NamedTuple):
    """Expected counts, given the observations and a model."""

    start: FloatArray
    """(K,) float64: sum over the sequences of Pr[x_0 = k | z]"""
    transition: Any
    """(K, K) float64: sum over sequences and times of Pr[x_t = i, x_{t+1} = j | z]; sparse if that of the model is"""
    weight: FloatArray
    """(R, K) float64: expected visits to k with observation r, where `Emission.distinct` says which these are; if all
    count as different, these are the posteriors Pr[x_t = k | z], R = T"""
    log_likelihood: float
    """nats, of all sequences"""


def expected_counts(
    model: HMM, z: Observations | Sequences, lengths: ArrayLike | None = None, *, checkpointed: bool = False
) -> Counts:
    """Return how often each state and each transition is expected to have occurred.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    checkpointed : bool
        Keep O(sqrt(T) K) numbers in memory instead of T K, apart from the result, and sweep once more.

    Returns
    -------
    Counts
        The expected counts.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible; the message says at which t.

    Examples
    --------
    >>> from rlsuite.inference import HMM, expected_counts
    >>> health = HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> counts = expected_counts(health, [0, 1, 2])
    >>> counts.start.round(4).tolist()
    [0.8765, 0.1235]
    >>> (counts.transition / counts.transition.sum(axis=1, keepdims=True)).round(4).tolist()
    [[0.5024, 0.4976], [0.1634, 0.8366]]
    """
    workspace = Workspace(model, sequences(model.emission, cast("Any", z), lengths))
    if checkpointed:
        from rlsuite.inference.checkpoints import count_by_checkpoints

        return count_by_checkpoints(workspace)
    kept = workspace.prepared.empty(workspace.length) if workspace.keeps_posteriors else None
    schedule = workspace.schedule
    tasks = [
        partial(_count_batches, workspace, batches, numbers, kept)
        for batches, numbers in zip(schedule.batches, schedule.numbers, strict=True)
    ]
    parts = at_the_same_time(tasks, workspace.worth_threads)
    parts += [_count_halves(workspace, number, kept) for number in schedule.halved]
    return gathered(workspace, parts, kept)


class Part:
    """The counts of one task.

    Attributes
    ----------
    keeps : bool
        Whether posteriors are kept for each observation, because all of these are different.
    pairs : tuple of ndarray
        Expected pairs, not yet multiplied by the matrix, from passes forwards and backwards.
    weight : ndarray (R, Kp), or (1, Kp) if posteriors are kept
        Expected visits with each different observation, or with any.
    start : ndarray (1, Kp)
        Posteriors of x_0.
    extra : ndarray
        Expected pairs that were found in logarithms.
    log_likelihood : float
        Nats, without what the likelihoods leave out.
    """

    def __init__(self, workspace: Workspace) -> None:
        prepared = workspace.prepared
        rows = len(workspace.data.likelihoods.table)
        self.workspace = workspace
        self.keeps = workspace.keeps_posteriors
        shape = (1, workspace.model.n_transitions) if prepared.is_sparse else (prepared.height, prepared.width)
        self.pairs = (np.zeros(shape), np.zeros(shape))
        self.weight = np.zeros((1 if self.keeps else rows, prepared.width))
        self.start = np.zeros((1, prepared.width))
        self.extra = (
            np.zeros(workspace.model.n_transitions) if prepared.is_sparse else np.zeros((prepared.n_states,) * 2)
        )
        self.log_likelihood = 0.0

    def counts(self, backwards: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `kernels.posteriors` adds to; a pass that ends at the last observation has no start to count."""
        first = self.start if backwards else np.zeros_like(self.start)
        return self.pairs[backwards], self.weight, first

    def add(self, other: Part) -> None:
        """Add the counts of another part."""
        for mine, theirs in zip(
            (*self.pairs, self.weight, self.start, self.extra),
            (*other.pairs, other.weight, other.start, other.extra),
            strict=True,
        ):
            mine += theirs
        self.log_likelihood += other.log_likelihood

    def add_exactly(self, number: int, kept: FloatArray | None) -> None:
        """Add the counts of one sequence, found in logarithms."""
        workspace, states = self.workspace, self.workspace.model.n_states
        found, posterior = exact_posterior(workspace, number)
        begin, end = workspace.data.pieces[number]
        self.start[0, :states] += posterior[0]
        self.log_likelihood += found.log_likelihood
        if self.keeps and kept is not None:
            kept[begin:end, :states] = posterior
        else:
            np.add.at(self.weight[:, :states], workspace.row[begin:end], posterior)
        pairs = exact_pairs(workspace, number, found)
        if workspace.prepared.is_sparse:
            self.extra += pairs
        else:
            self.extra[workspace.model.sparse_transition.tocoo().coords] += pairs


def _count_batches(
    workspace: Workspace, batches: list[IndexArray], numbers: list[IndexArray], kept: FloatArray | None
) -> Part:
    part = Part(workspace)
    for batch, which in zip(batches, numbers, strict=True):
        base = 0 if kept is not None else int(batch[0, 0])
        rows = workspace.buffer(batch) if kept is None else kept
        swept = workspace.sweep(batch, kept=rows, base=base)
        fine = swept.failed < 0
        if fine.any() and not workspace.posteriors(batch[fine], rows, base, keep=part.keeps, counts=part.counts(True)):
            # it broke off in the middle of a sequence, of which some is counted already: all anew, and exactly
            part = Part(workspace)
            for number in np.concatenate(numbers):
                part.add_exactly(int(number), kept)
            return part
        part.log_likelihood += float(swept.log_likelihood[fine].sum())
        for number in which[~fine]:
            part.add_exactly(int(number), kept)
    return part


def _count_halves(workspace: Workspace, number: int, kept: FloatArray | None) -> Part:
    """Sweep from both ends of a sequence to its middle, and through each other's half, on two threads."""
    halves = workspace.halves(number)
    buffers = [workspace.buffer(half) if kept is None else kept for half in halves]
    bases = [int(half[0, 0]) if kept is None else 0 for half in halves]
    swept = at_the_same_time(
        [
            partial(workspace.sweep, half, backwards=bool(backwards), kept=buffer, base=base)
            for backwards, (half, buffer, base) in enumerate(zip(halves, buffers, bases, strict=True))
        ],
        workspace.worth_threads,
    )
    middle = int(halves[0][0, 1])
    f, w = buffers[0][[middle - 1 - bases[0]]], buffers[1][[middle - bases[1]]]
    mine = [Part(workspace), Part(workspace)]
    mine[0].log_likelihood = log_likelihood_of_halves(workspace, swept[0], swept[1], f[0], w[0])
    fine = mine[0].log_likelihood > -np.inf
    if fine:
        fine = all(
            at_the_same_time(
                [
                    partial(
                        workspace.posteriors,
                        half,
                        buffer,
                        base,
                        backwards=not second,
                        initial=meets,
                        keep=mine[0].keeps,
                        count_first_pair=not second,
                        counts=part.counts(not second),
                    )
                    for second, (half, buffer, base, meets, part) in enumerate(
                        zip(halves, buffers, bases, (w, f), mine, strict=True)
                    )
                ],
                workspace.worth_threads,
            )
        )
    if fine:
        mine[0].add(mine[1])
        return mine[0]
    # a pass from the beginning knows which states can be reached at all, and may come through
    return _count_batches(workspace, [workspace.data.pieces[[number]]], [np.array([number])], kept)


def gathered(workspace: Workspace, parts: list[Part], kept: FloatArray | None) -> Counts:
    """Return the sum of all parts."""
    total = parts[0]
    for part in parts[1:]:
        total.add(part)
    prepared, states = workspace.prepared, workspace.model.n_states
    ahead, back = total.pairs
    if prepared.is_sparse:
        from scipy.sparse import csr_array

        csr = workspace.model.sparse_transition
        pairs = back[0].copy()
        pairs[prepared.by_column] += ahead[0]
        transition: Any = csr_array((pairs * csr.data + total.extra, csr.indices, csr.indptr), shape=csr.shape)
        if isinstance(workspace.model.transition, np.ndarray):
            transition = transition.toarray()
    else:
        pairs = back[:states, :states] + ahead[:states, :states].T
        dense = workspace.model.dense_transition
        transition = pairs * dense + total.extra
        if not isinstance(workspace.model.transition, np.ndarray):
            from scipy.sparse import csr_array

            csr = workspace.model.sparse_transition  # with its entries, also where no transition is expected
            transition = csr_array((transition[prepared.rows, csr.indices], csr.indices, csr.indptr), shape=csr.shape)
    weight = prepared.narrow(total.weight if kept is None else kept)
    log_likelihood = total.log_likelihood + float(workspace.data.shifts.sum())
    return Counts(total.start[0, :states].copy(), transition, weight, log_likelihood)
