"""Inference of hidden segments: the passes over one sequence, in logarithms where doubles are too small."""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rlsuite.core.checks import fits_in_memory
from rlsuite.errors import ModelError
from rlsuite.inference.parameters import HMMParameters
from rlsuite.inference.segment_passes import LANES, TOGETHER, backward_pass, forward_pass, viterbi_pass
from rlsuite.inference.sequences import Sequences
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.reference import hsmm as reference

LARGEST_FALL = 550.0
"""Nats by which the likelihood may fall within two of the longest segments until a forward pass alone does not do."""

SHORTEST_BLOCK = 32
"""Observations of a block, unless the sequence is short: blocks as long as segments stay in the processor's cache."""

REGISTER = len(LANES[0])


class Smoothed(NamedTuple):
    """What a backward pass found about one sequence."""

    posterior: FloatArray
    """(T, K)"""
    moves: FloatArray
    """(K, K)"""
    lasted: FloatArray
    """(K, D)"""
    log_likelihood: float


class Tables:
    """The parameters in the form that the compiled passes read, which all sequences share."""

    def __init__(self, model: HMMParameters, durations: FloatArray) -> None:
        self.start, self.durations = model.start, durations
        self.matrix = np.ascontiguousarray(model.dense_transition)
        self.onwards = _padded(model.start[np.newaxis]), _padded(self.matrix)
        """start (1, Kp) and transitions (K, Kp)"""
        self.back = _padded(self.matrix.T)
        """(K, Kp)"""
        self.padded = _padded(durations)
        """(K, Dp)"""
        self.longest = durations.shape[1] - (durations > 0.0)[:, ::-1].argmax(axis=1).astype(np.int64)
        """(K,): steps of the longest segment"""


class Passes:
    """The passes over one sequence; in logarithms where a double has too few exponents."""

    def __init__(self, tables: Tables, data: Sequences, number: int) -> None:
        begin, end = data.pieces[number].tolist()
        self.tables, self.number = tables, number
        found = data.likelihoods
        self.table, self.rows = found.table, np.ascontiguousarray(found.row[begin:end])
        self.shift = 0.0 if found.shift is None else float(found.shift[begin:end].sum())
        self.exact = found.exact
        self.size = int(end - begin)
        self.shape = len(tables.durations), int(tables.durations.shape[1])
        self.every = max(1, min(math.isqrt(self.size), max(SHORTEST_BLOCK, self.shape[1])))

    def score(self) -> float:
        """Return the log-likelihood."""
        _, log_likelihood, certain = self._forward
        if log_likelihood is None or not (certain or self._certified(counting=False)):
            return self.shift + self._alpha_last
        return self.shift + log_likelihood

    def filtered(self) -> FloatArray:
        """Return Pr[x_t = k | z_0..z_t] (T, K)."""
        filtered, _, certain = self._forward
        if certain:
            return filtered
        self._check_possible()
        alpha = self._alpha
        logs = np.logaddexp.reduce(alpha, axis=2)
        return np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))

    def smoothed(self, *, counting: bool = True) -> Smoothed:
        """Return posteriors and, with `counting`, expected counts."""
        found = self._certified(counting=counting)
        if found is not None:
            return found
        self._check_possible()
        return self._smoothed_in_logarithms()

    def _certified(self, *, counting: bool) -> Smoothed | None:
        """Return posteriors and counts from numbers; None if something may have been lost that matters.

        The backward pass knows that, also of what was lost forwards.
        """
        states, longest = self.shape
        log_likelihood = self._forward[1]
        if log_likelihood is None:
            return None
        tables, posterior = self.tables, np.empty((self.size, states))
        moves, begins = np.zeros(tables.back.shape), np.zeros(tables.padded.shape)
        passed = backward_pass(
            *tables.onwards,
            tables.back,
            tables.padded,
            tables.longest,
            self.table,
            self.rows,
            self.every,
            self._factor,
            self._kept,
            self._kept_level,
            self._alpha_rows(self.every + 1),
            np.empty((self.every + 1, states)),
            np.empty((states, self.size + 1 + tables.padded.shape[1])),
            self._work(5 + 2 * TOGETHER),
            posterior,
            counting,
            moves,
            begins,
            LANES,
        )
        if not passed:
            return None
        lasted = begins[:, :longest] * tables.durations
        return Smoothed(posterior, moves[:, :states] * tables.matrix, lasted, self.shift + log_likelihood)

    def best_path(self) -> IndexArray:
        """Return the most probable path (T,) int64."""
        states, longest = self.shape
        logs = self._logarithms
        path = np.zeros(self.size, dtype=np.int32)
        with np.errstate(divide="ignore"):
            survival = np.log(np.cumsum(self.tables.durations[:, ::-1], axis=1)[:, ::-1])
        found = viterbi_pass(
            *logs,
            np.ascontiguousarray(survival),
            np.arange(self.size),
            np.empty((longest, states)),
            np.empty((states, longest)),
            np.zeros((states, longest), dtype=np.int32),
            np.empty(states),
            np.empty((self.size, states), dtype=np.int32),
            np.empty((self.size, states), dtype=np.int32),
            path,
        )
        if found == -np.inf:
            raise ModelError(self._impossible())
        return path.astype(np.int64)

    @cached_property
    def _forward(self) -> tuple[FloatArray, float | None, bool]:
        """Filtered probabilities, the log-likelihood without the shift or None, and whether they are certain."""
        states, longest = self.shape
        filtered, self._factor = np.empty((self.size, states)), np.empty(self.size + 1)
        blocks = self.size // self.every + 1
        self._kept, self._kept_level = self._alpha_rows(blocks), np.ones((blocks, states))
        done = forward_pass(
            *self.tables.onwards,
            self.tables.padded,
            self.table,
            self.rows,
            self.every,
            self._alpha_rows(1),
            np.ones((1, states)),
            self._work(3),
            filtered,
            self._factor,
            self._kept,
            self._kept_level,
            LANES,
        )
        if done < self.size:
            return filtered, None, False
        logs = -np.log(self._factor[1:])
        # What was lost on the way can matter only after observations that are much less probable than others.
        total = np.append(0.0, np.cumsum(logs))
        window = min(2 * longest, self.size)
        return filtered, float(total[-1]), bool((total[window:] - total[:-window]).min() >= -LARGEST_FALL)

    def _work(self, rows: int) -> FloatArray:
        """Return room for rows of states, the first of which is ones."""
        work = np.zeros((rows, self.tables.back.shape[1]))
        work[0] = 1.0
        return work

    def _alpha_rows(self, times: int) -> FloatArray:
        """Return zeros for alpha at some times: (times * K, Dp + 8)."""
        return np.zeros((times * self.shape[0], self.tables.padded.shape[1] + REGISTER))

    @cached_property
    def _logarithms(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        with np.errstate(divide="ignore"):
            logs = np.log(self.table) if self.exact is None else self.exact()
            own = (np.log(part) for part in (self.tables.start, self.tables.matrix, self.tables.durations))
            return (*own, np.ascontiguousarray(logs[self.rows]))  # pyright: ignore[reportReturnType] - three and one

    @cached_property
    def _alpha(self) -> FloatArray:
        fits_in_memory(f"{self.size} observations in logarithms", 24 * self.size * self.tables.durations.size)
        return reference.forward(*self._logarithms)

    @property
    def _alpha_last(self) -> float:
        return float(np.logaddexp.reduce(self._alpha[-1], axis=None))

    def _smoothed_in_logarithms(self) -> Smoothed:
        start, matrix, durations, b = self._logarithms
        alpha, beta = self._alpha, reference.backward(matrix, durations, b)
        whole = self._alpha_last
        posterior = np.exp(np.logaddexp.reduce(alpha + beta, axis=2) - whole)
        entering = np.vstack([start[np.newaxis], np.logaddexp.reduce(alpha[:-1, :, :1] + matrix, axis=1)])
        lasted = np.exp(entering[:, :, np.newaxis] + durations + b[:, :, np.newaxis] + beta - whole).sum(axis=0)
        begun = b + np.logaddexp.reduce(durations + beta, axis=2)
        moves = np.exp(alpha[:-1, :, :1] + matrix + begun[1:, np.newaxis] - whole).sum(axis=0)
        return Smoothed(posterior, moves, lasted, self.shift + whole)

    def _check_possible(self) -> None:
        if self._alpha_last == -np.inf:
            raise ModelError(self._impossible())

    def _impossible(self) -> str:
        possible = np.isfinite(np.logaddexp.reduce(self._alpha, axis=(1, 2)))
        of = f" of sequence {self.number}" if self.number else ""
        return (
            f"the observations{of} are impossible under the model: z[t={int(np.argmin(possible))}] after all before it"
        )


def _padded(rows: FloatArray) -> FloatArray:
    """Return rows that end with as many zeros as fill a register."""
    wide = np.zeros((len(rows), -(-rows.shape[1] // REGISTER) * REGISTER))
    wide[:, : rows.shape[1]] = rows
    return wide
