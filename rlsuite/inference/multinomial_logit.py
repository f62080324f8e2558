"""Multinomial logistic regression with expected counts: the M-step for transitions that depend on covariates.

Of J outcomes, one is the reference. With the columns v_u (C,), the first of which is 1,

    P_uj = exp(w_j . v_u) / sum_k exp(w_k . v_u),   w_reference = 0,

and the weights maximise sum_uj n_uj ln P_uj - 1/2 sum_jc penalty_c w_jc^2. That is a concave function. Newton's method
(McCullagh & Nelder, "Generalized linear models", 1989, 5.2) with a search along each step never lowers it, so that
learning by expectation maximisation climbs whenever it ends.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.models.aliases import FloatArray, IndexArray

GRADIENT = 1e-10
"""Newton's method ends when no entry of the gradient is larger than this, for each expected outcome."""

MOST_STEPS = 200
"""Newton steps at most. Separable counts, which have no finite maximum, take some thirty."""

ROUNDING = 1e-13
"""By how much, relative to the sum of its terms, rounding may lower what is maximised."""


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
    with np.errstate(over="ignore", invalid="ignore"):
        scores = (moved @ slope.reshape(-1, number).T).reshape(-1, states, states)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=(1, 2))))
        raise ModelError(
            f"covariates times slopes is no finite number where the covariates, less the center, are "
            f"{moved[row].tolist()}: measure them in a larger unit"
        )
    with np.errstate(divide="ignore"):
        scores += np.log(transition)
    return scores - _log_sums(scores)


class Regression(NamedTuple):
    """Expected counts of the J outcomes, and what they depend on."""

    columns: FloatArray
    """(U, C) float64: v, the covariates; the first column is 1"""
    counts: FloatArray
    """(U, J) float64: n"""
    penalty: FloatArray
    """(C,) float64"""
    reference: int
    """the outcome whose weights are 0"""

    @property
    def others(self) -> IndexArray:
        """(J - 1,) int64: the outcomes that have weights."""
        return np.array([j for j in range(self.counts.shape[1]) if j != self.reference], dtype=np.int64)

    def log_probabilities(self, weights: FloatArray) -> FloatArray:
        """Return ln P (U, J) for weights (J, C)."""
        scores = self.columns @ weights.T
        return scores - _log_sums(scores)

    def objective(self, weights: FloatArray) -> tuple[float, float]:
        """Return what is maximised, and a bound on its rounding."""
        terms = self.counts * self.log_probabilities(weights)
        value = float(terms.sum() - 0.5 * (self.penalty * weights**2).sum())
        return value, ROUNDING * (1.0 - float(terms.sum()))

    def gradient(self, weights: FloatArray) -> FloatArray:
        """Return the gradient (J, C); that of the reference is not 0."""
        expected = np.exp(self.log_probabilities(weights)) * self.counts.sum(axis=1, keepdims=True)
        return (self.counts - expected).T @ self.columns - self.penalty * weights

    def information(self, weights: FloatArray) -> FloatArray:
        """Return minus the matrix of second derivatives: ((J - 1) C, (J - 1) C), by outcome and column."""
        others, number = self.others, self.columns.shape[1]
        share = np.exp(self.log_probabilities(weights))[:, others]
        total = self.counts.sum(axis=1)
        found = np.empty((others.size, number, others.size, number))
        for a in range(others.size):
            for b in range(a + 1):
                each = total * share[:, a] * ((a == b) - share[:, b])
                found[a, :, b] = found[b, :, a] = (self.columns * each[:, np.newaxis]).T @ self.columns
            found[a, :, a] += np.diag(self.penalty)
        return found.reshape(others.size * number, -1)

    def most_probable(self, weights: FloatArray) -> FloatArray:
        """Return the weights (J, C) that maximise; the search begins with those given, the reference's being 0."""
        enough = GRADIENT * max(1.0, float(self.counts.sum()))
        others = self.others
        value, rounding = self.objective(weights)
        for _ in range(MOST_STEPS):
            slope = self.gradient(weights)[others]
            if np.abs(slope).max(initial=0.0) <= enough:
                break
            step = np.zeros(weights.shape)
            step[others] = _solved(self.information(weights), slope.reshape(-1)).reshape(slope.shape)
            share = 1.0
            while True:
                tried, of_tried = weights + share * step, -np.inf
                with np.errstate(over="ignore", invalid="ignore"):
                    of_tried = self.objective(tried)[0]
                if of_tried >= value - rounding:  # not <, so that NaN counts as a fall
                    break
                share *= 0.5
                if share < 1e-12:
                    return weights
            weights, value = tried, of_tried
        return weights


def _log_sums(scores: FloatArray) -> FloatArray:
    """Return the logarithms of the sums of exponentials of the last axis, which stays as one of size 1."""
    largest = scores.max(axis=-1, keepdims=True)
    found: FloatArray = largest + np.log(np.exp(scores - largest).sum(axis=-1, keepdims=True))
    return found


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
