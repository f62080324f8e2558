"""A model and observations prepared for the compiled passes, and the division of the work into tasks for threads.

The cuts depend on the observations alone, so neither the number of threads nor their order can change a result.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, NoReturn, Self

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.inference.emissions.observation_checks import MIN_LIKELIHOOD
from rlsuite.inference.parameters import HMMParameters, Prepared, Sparse, logarithms
from rlsuite.inference.sequences import Sequences
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray

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
        """Logarithms of the transitions that are possible, for the passes of `rlsuite.inference.log_space`."""
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
    def worth_threads(self) -> bool:
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


def blocks_of(piece: IndexArray) -> list[IndexArray]:
    """Return a sequence in about sqrt(T) blocks of as many observations, each (begin, end)."""
    begin, end = (int(bound) for bound in piece)
    size = max(1, int(np.ceil(np.sqrt(end - begin))))
    return [np.array([first, min(first + size, end)]) for first in range(begin, end, size)]
