"""Multinomial logistic regression with expected counts: the M-step for transitions that depend on covariates.

Of J outcomes, one is the reference. With the columns v_u (C,), the first of which is 1,

    P_uj = exp(w_j . v_u) / sum_k exp(w_k . v_u),   w_reference = 0,

and the weights maximise sum_uj n_uj ln P_uj - 1/2 sum_jc penalty_c w_jc^2, a concave function. Newton's method finds
them (McCullagh & Nelder, "Generalized linear models", 1989, 5.2). Where its step does not climb, a share of the bound
of Boehning (1992) is added to the matrix of second derivatives; with all of it, any step does. So learning by
expectation maximisation climbs wherever it ends.
"""

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.models.aliases import FloatArray, IndexArray

GRADIENT = 1e-10
"""Newton's method ends when no entry of the gradient is larger than this, for each expected outcome."""

MOST_STEPS = 1000
"""Newton steps at most. Separable counts, which have no finite maximum, take some thirty."""

LEAST_DAMPING = 1e-6
"""Share of the bound of the information that is added to it first, when Newton's step does not climb."""

LARGEST = 300.0
"""Products of covariates and slopes, in nats, up to which no exponential of theirs is too large or too small."""

PIECE = 1 << 15
"""Entries of matrices that are computed at once."""

ROUNDING = 1e-13
"""By how much, relative to the sum of its terms, rounding may lower what is maximised."""


def transition_odds(transition: FloatArray, slope: FloatArray, moved: FloatArray) -> FloatArray:
    """Return A_ij exp(b_ij . u), which P_ij is proportional to: (U, K, K) float64; the rows of a matrix have sums.

    Parameters and errors are those of `log_transitions`.
    """
    largest = float(np.abs(moved).max(axis=0, initial=0.0) @ np.abs(slope).max(axis=(0, 1)))
    if not largest < LARGEST:  # not >=, so that NaN counts
        return np.exp(log_transitions(transition, slope, moved))
    states = len(slope)
    found = np.empty((len(moved), states, states))
    rows, columns = found.reshape(len(moved), -1), np.ascontiguousarray(slope.reshape(-1, slope.shape[2]).T)
    with np.errstate(divide="ignore"):
        logs = np.log(transition).reshape(-1)
    for begin, end in _pieces(len(moved), states):
        part = rows[begin:end]
        np.matmul(moved[begin:end], columns, out=part)
        part += logs
        np.exp(part, out=part)
    return found


def log_transitions(transition: FloatArray, slope: FloatArray, moved: FloatArray) -> FloatArray:
    """Return ln P_ij = ln A_ij + b_ij . u, less what makes rows of probabilities of it: (U, K, K) float64.

    Parameters
    ----------
    transition : ndarray (K, K) float64
        A; what is 0 stays impossible.
    slope : ndarray (K, K, D) float64
        b.
    moved : ndarray (U, D) float64
        u, covariates less those that `transition` belongs to.

    Raises
    ------
    ModelError
        If a product of covariates and slopes is no finite number.
    """
    states, _, number = slope.shape
    columns = slope.reshape(-1, number).T
    with np.errstate(divide="ignore"):
        logs = np.log(transition)
    found = np.empty((len(moved), states, states))
    for begin, end in _pieces(len(moved), states):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = (moved[begin:end] @ columns).reshape(-1, states, states)
        if not np.isfinite(scores).all():
            row = begin + int(np.argmin(np.isfinite(scores).all(axis=(1, 2))))
            raise ModelError(
                f"covariates times slopes is no finite number where the covariates, less the center, are "
                f"{moved[row].tolist()}: measure them in a larger unit"
            )
        scores += logs
        total = _log_sum(scores[:, :, j] for j in range(states))
        np.subtract(scores, total[:, :, np.newaxis], out=found[begin:end])
    return found


def _pieces(length: int, states: int) -> Iterator[tuple[int, int]]:
    """Yield where parts begin and end, whose matrices stay in the processor's cache."""
    size = max(1, PIECE // states**2)
    for begin in range(0, length, size):
        yield begin, min(begin + size, length)


class Regression(NamedTuple):
    """Expected counts of the J outcomes, and what they depend on."""

    columns: FloatArray
    """(C, U) float64: v, the covariates; the first row is 1"""
    counts: FloatArray
    """(J, U) float64: n"""
    penalty: FloatArray
    """(C,) float64"""
    reference: int
    """the outcome whose weights are 0"""

    @property
    def others(self) -> IndexArray:
        """(J - 1,) int64: the outcomes that have weights."""
        return np.array([j for j in range(len(self.counts)) if j != self.reference], dtype=np.int64)

    def log_probabilities(self, weights: FloatArray) -> FloatArray:
        """Return ln P (J, U) for weights (J, C)."""
        scores = weights @ self.columns
        return scores - _log_sum(scores)

    def objective(self, weights: FloatArray, logs: FloatArray) -> float:
        """Return what is maximised, at weights whose probabilities have these logarithms."""
        return float(np.vdot(self.counts, logs) - 0.5 * (self.penalty * weights**2).sum())

    def gradient(self, weights: FloatArray, logs: FloatArray) -> FloatArray:
        """Return the gradient (J, C); that of the reference is not 0."""
        return (self.counts - np.exp(logs) * self.counts.sum(axis=0)) @ self.columns.T - self.penalty * weights

    def information(self, logs: FloatArray) -> FloatArray:
        """Return minus the matrix of second derivatives: ((J - 1) C, (J - 1) C), by outcome and column."""
        number, share, total = len(self.columns), np.exp(logs[self.others]), self.counts.sum(axis=0)
        squares = (self.columns[:, np.newaxis] * self.columns).reshape(number**2, -1).T
        found = np.empty((len(share), number, len(share), number))
        for a in range(len(share)):
            each = -total * share[a] * share[: a + 1]
            each[a] += total * share[a]
            for b, block in enumerate((each @ squares).reshape(-1, number, number)):
                found[a, :, b] = found[b, :, a] = block
            found[a, :, a] += np.diag(self.penalty)
        return found.reshape(len(share) * number, len(share) * number)

    @property
    def bound(self) -> FloatArray:
        """What no information exceeds, whatever the weights (Boehning 1992): ((J - 1) C, (J - 1) C)."""
        block = 0.5 * (self.columns * self.counts.sum(axis=0)) @ self.columns.T + np.diag(self.penalty)
        number, others = len(block), len(self.counts) - 1
        found = np.zeros((others, number, others, number))
        found[np.arange(others), :, np.arange(others)] = block
        return found.reshape(others * number, others * number)

    def most_probable(self, weights: FloatArray) -> FloatArray:
        """Return the weights (J, C) that maximise; the search begins with those given, the reference's being 0."""
        total, others, bound = max(1.0, float(self.counts.sum())), self.others, self.bound
        logs = self.log_probabilities(weights)
        value, damping = self.objective(weights, logs), 0.0
        for _ in range(MOST_STEPS):
            slope = self.gradient(weights, logs)[others]
            if np.abs(slope).max(initial=0.0) <= GRADIENT * total:
                break
            information = self.information(logs)
            while True:
                step = np.zeros(weights.shape)
                step[others] = _solved(information + damping * bound, slope.reshape(-1)).reshape(slope.shape)
                lowest = value + 0.01 * float((step[others] * slope).sum()) - ROUNDING * (total + abs(value))
                with np.errstate(over="ignore", invalid="ignore"):
                    tried = weights + step
                    logs = self.log_probabilities(tried)
                    of_tried = self.objective(tried, logs)
                if of_tried >= lowest:  # not <, so that NaN counts as a fall
                    break
                if damping > 1e6:
                    return weights
                damping = max(10.0 * damping, LEAST_DAMPING)  # from 1 on, any step climbs
            weights, value = tried, of_tried
            damping = damping / 10.0 if damping > LEAST_DAMPING else 0.0
        return weights


def _log_sum(terms: Iterable[FloatArray]) -> FloatArray:
    """Return ln sum_j exp(terms_j), for each entry; NumPy is slow along a short axis."""
    parts = list(terms)
    largest = reduce(np.maximum, parts)
    total = np.zeros(largest.shape)
    for part in parts:
        total += np.exp(part - largest)
    return largest + np.log(total)


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solution of a system whose matrix is positive semidefinite, and may be singular."""
    more = 1e-13 * float(np.trace(matrix)) / len(matrix) + 1e-300
    while more < 1e200:
        try:
            found = np.linalg.solve(matrix + more * np.eye(len(matrix)), right).astype(np.float64)
        except np.linalg.LinAlgError:
            found = np.zeros(right.shape)
        if np.isfinite(found).all() and found @ right > 0.0:
            return found
        more *= 100.0
    return right / more
