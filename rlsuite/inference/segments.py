"""Inference of hidden segments: the passes over one sequence, in logarithms where doubles are too small."""

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rlsuite.core.checks import fits_in_memory
from rlsuite.errors import ModelError
from rlsuite.inference.parameters import HMMParameters
from rlsuite.inference.segment_passes import backward_pass, forward_pass, viterbi_pass
from rlsuite.inference.sequences import Sequences
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.reference import hsmm as reference

LARGEST_FALL = 300.0
"""Nats by which the likelihood may fall within two of the longest segments before logarithms are taken."""


class Smoothed(NamedTuple):
    """What a backward pass found about one sequence."""

    posterior: FloatArray
    """(T, K)"""
    moves: FloatArray
    """(K, K)"""
    lasted: FloatArray
    """(K, D)"""
    log_likelihood: float


class Passes:
    """The passes over one sequence; in logarithms where a double has too few exponents."""

    def __init__(self, model: HMMParameters, durations: FloatArray, data: Sequences, number: int) -> None:
        begin, end = data.pieces[number].tolist()
        self.model, self.number = model, number
        found = data.likelihoods
        self.table, self.rows = found.table, np.ascontiguousarray(found.row[begin:end])
        self.shift = 0.0 if found.shift is None else float(found.shift[begin:end].sum())
        self.exact = found.exact
        self.matrix, self.durations = np.ascontiguousarray(model.dense_transition), durations
        self.size = int(end - begin)
        self.shape = model.n_states, int(self.durations.shape[1])
        self.every = max(1, math.isqrt(self.size))

    def score(self) -> float:
        """Return the log-likelihood."""
        log_likelihood = self._forward[1]
        return self.shift + (self._alpha_last if log_likelihood is None else log_likelihood)

    def filtered(self) -> FloatArray:
        """Return Pr[x_t = k | z_0..z_t] (T, K)."""
        filtered, log_likelihood = self._forward
        if log_likelihood is not None:
            return filtered
        self._check_possible()
        alpha = self._alpha
        logs = np.logaddexp.reduce(alpha, axis=2)
        return np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))

    def smoothed(self) -> Smoothed:
        """Return posteriors and expected counts."""
        model, (states, longest) = self.model, self.shape
        log_likelihood = self._forward[1]
        if log_likelihood is not None:
            posterior = np.empty((self.size, states))
            moves, begins = np.zeros((states, states)), np.zeros((states, longest))
            block, beta = np.empty((self.every + 1, states, longest)), np.empty((states, longest))
            passed = backward_pass(
                model.start,
                self.matrix,
                self.durations,
                self.table,
                self.rows,
                self.every,
                self._factor,
                self._kept,
                block,
                beta,
                np.empty((3, states)),
                posterior,
                moves,
                begins,
            )
            if passed:
                return Smoothed(posterior, moves, begins * self.durations, self.shift + log_likelihood)
        self._check_possible()
        return self._smoothed_in_logarithms()

    def best_path(self) -> IndexArray:
        """Return the most probable path (T,) int64."""
        states, longest = self.shape
        logs = self._logarithms
        path = np.zeros(self.size, dtype=np.int32)
        with np.errstate(divide="ignore"):
            survival = np.log(np.cumsum(self.durations[:, ::-1], axis=1)[:, ::-1])
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
    def _forward(self) -> tuple[FloatArray, float | None]:
        """Filtered probabilities, and the log-likelihood without the shift; None if logarithms are needed."""
        states, longest = self.shape
        filtered, self._factor = np.empty((self.size, states)), np.empty(self.size + 1)
        self._kept = np.zeros((self.size // self.every + 1, states, longest))
        done = forward_pass(
            self.model.start,
            self.matrix,
            self.durations,
            self.table,
            self.rows,
            self.every,
            np.empty((states, longest)),
            np.ones((states, longest)),
            np.empty(states),
            filtered,
            self._factor,
            self._kept,
        )
        if done < self.size:
            return filtered, None
        logs = -np.log(self._factor[1:])
        # What was lost on the way can matter only after observations that are much less probable than others.
        total = np.append(0.0, np.cumsum(logs))
        window = min(2 * longest, self.size)
        return filtered, None if (total[window:] - total[:-window]).min() < -LARGEST_FALL else float(total[-1])

    @cached_property
    def _logarithms(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        with np.errstate(divide="ignore"):
            logs = np.log(self.table) if self.exact is None else self.exact()
            own = (np.log(part) for part in (self.model.start, self.matrix, self.durations))
            return (*own, np.ascontiguousarray(logs[self.rows]))  # pyright: ignore[reportReturnType] - three and one

    @cached_property
    def _alpha(self) -> FloatArray:
        fits_in_memory(f"{self.size} observations in logarithms", 24 * self.size * self.durations.size)
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
