"""A model and observations prepared for the compiled passes, and the division of the work into tasks for threads.

The cuts depend on the observations alone, so neither the number of threads nor their order can change a result.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self, cast

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.inference import forward_backward_kernels as kernels
from rlsuite.inference.emissions.observation_checks import MIN_LIKELIHOOD
from rlsuite.inference.parameters import Prepared, logarithms
from rlsuite.inference.sparse import Sparse
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM
    from rlsuite.inference.sequences import Sequences

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


class PassResult(NamedTuple):
    """The results of a sweep for its pieces."""

    log_likelihood: FloatArray
    """(P,) float64, nats: log of the sum of the last row, had nothing been scaled"""
    failed: IndexArray
    """(P,) int64: the time at which nothing was left, or a state that might matter was dropped; or -1"""


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

    def __init__(self, model: HMM, data: Sequences) -> None:
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
        """Logarithms of the transitions that are possible, for the passes of `rlsuite.inference.log_space`."""
        return cast("tuple[Sparse, Sparse]", Prepared(self.model, is_sparse=True).log_matrices)

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
    def worth_threads(self) -> bool:
        """Whether there is so much work that several threads are faster than one."""
        return self.length * (8 + self.model.n_transitions) >= MIN_THREAD_WORK

    def halves(self, number: int) -> tuple[IndexArray, IndexArray]:
        """Return the first and the second half of a sequence, each (1, 2) int64."""
        begin, end = self.data.pieces[number]
        middle = (begin + end) // 2
        return np.array([[begin, middle]]), np.array([[middle, end]])

    def part(self, block: IndexArray) -> Self:
        """Return the workspace for some neighbouring observations alone, whose likelihoods are found anew."""
        from rlsuite.inference.sequences import Sequences

        begin, end = (int(bound) for bound in block)
        return type(self)(
            self.model, Sequences(self.data.emission, self.data.z[begin:end], np.array([[0, end - begin]]))
        )

    def buffer(self, pieces: IndexArray) -> FloatArray:
        """Return an array for the rows of neighbouring pieces."""
        return self.prepared.empty(int(pieces[-1, 1] - pieces[0, 0]))

    def work(self) -> FloatArray:
        """Return an array for the rows of `kernels.posteriors`; it leaves its n-th row in row n % 2."""
        return np.zeros((3 + 2 * kernels.OUTER_ROWS, self.prepared.width))

    def sweep(
        self,
        pieces: IndexArray,
        *,
        backwards: bool = False,
        initial: FloatArray | None = None,
        kept: FloatArray | None = None,
        base: int = kernels.RING,
        sums: FloatArray | None = None,
        logs: FloatArray | None = None,
    ) -> PassResult:
        """Run `kernels.sweep`; from the start distribution or from beta = 1 if there is no `initial` row.

        Without `kept`, rows are written to a ring of two, and forgotten.
        """
        prepared = self.prepared
        matrices, ends = prepared.matrices, (prepared.start, prepared.ones)
        swept = PassResult(np.empty(len(pieces)), np.empty(len(pieces), dtype=np.int64))
        kernels.sweep(
            prepared.steps.step,
            matrices[backwards],
            self.table,
            self.row,
            pieces,
            backwards,
            ends[backwards] if initial is None else initial,
            initial is not None,
            prepared.groups,
            np.empty((2, prepared.n_groups), dtype=np.int32),
            prepared.empty(kernels.RING_ROWS) if kept is None else kept,
            base,
            NOTHING if sums is None else sums,
            NOTHING if logs is None else logs,
            *swept,
        )
        return swept

    def posteriors(
        self,
        pieces: IndexArray,
        kept: FloatArray,
        base: int,
        *,
        backwards: bool = True,
        initial: FloatArray | None = None,
        keep: bool = True,
        work: FloatArray | None = None,
        count_first_pair: bool = False,
        counts: tuple[FloatArray, FloatArray, FloatArray] | None = None,
    ) -> bool:
        """Run `kernels.posteriors`; return whether it reached the end."""
        prepared = self.prepared
        ends = (prepared.start, prepared.ones)
        failed = np.empty(len(pieces), dtype=np.int64)
        kernels.posteriors(
            prepared.steps.joint_step,
            prepared.steps.count_pairs,
            prepared.matrices[backwards],
            self.table,
            self.row,
            pieces,
            backwards,
            ends[backwards] if initial is None else initial,
            initial is not None,
            kept,
            base,
            keep,
            self.work() if work is None else work,
            failed,
            counts is not None,
            count_first_pair,
            *(counts or (NO_ROWS, NO_ROWS, NO_ROWS)),
        )
        return bool((failed < 0).all())

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


NOTHING = np.empty(0)
NO_ROWS = np.empty((0, 0))


def mask_of(length: int, pieces: IndexArray) -> BoolArray:
    """Return which of the observations lie in one of the pieces: (T,) bool."""
    mask = np.zeros(length, dtype=np.bool_)
    for begin, end in pieces:
        mask[begin:end] = True
    return mask
