"""Forward and backward passes in logarithms: slow, but no probability is too small for them.

The compiled passes give up where a double has too few exponents, for instance when the only state that can go on has a
probability of 1e-300 of the others. The passes here decide whether the observations are impossible; if they are not,
they compute the result, in some ten times the time. The references are those of
`rlsuite.inference.forward_backward_kernels`.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.inference.parameters import Sparse, logarithms
from rlsuite.inference.workspace import Workspace
from rlsuite.models.aliases import FloatArray, IndexArray


class Exact(NamedTuple):
    """The passes over one sequence of T observations, in nats."""

    alpha: FloatArray
    """(T, K) float64: ln alpha_t"""
    beta: FloatArray
    """(T, K) float64: ln beta_t"""
    log_likelihood: float
    """ln Pr[z]; minus infinity if the observations are impossible"""
    impossible_at: int
    """the first time at which they are, counted from the beginning of the sequence; or -1"""

    @property
    def posterior(self) -> FloatArray:
        """(T, K) float64: Pr[x_t = k | z]."""
        joint = np.exp(self.alpha + self.beta - self.log_likelihood)
        return joint / joint.sum(axis=1, keepdims=True)  # 1 up to rounding


@compiled(in_place=True)
def log_sums(matrix: Sparse, u: FloatArray, out: FloatArray) -> None:
    """``out[j] = ln sum_i exp(u[i] + matrix[i, j])``."""
    for j in range(out.size):
        high = -np.inf
        for entry in range(matrix.indptr[j], matrix.indptr[j + 1]):
            high = max(high, u[matrix.source[entry]] + matrix.weight[entry])
        total = 0.0
        if high > -np.inf:
            for entry in range(matrix.indptr[j], matrix.indptr[j + 1]):
                total += np.exp(u[matrix.source[entry]] + matrix.weight[entry] - high)
        out[j] = high + np.log(total) if high > -np.inf else -np.inf


@compiled(in_place=True)
def log_passes(
    forwards: Sparse,
    backwards: Sparse,
    table: FloatArray,
    row: IndexArray,
    start: FloatArray,
    alpha: FloatArray,
    beta: FloatArray,
    work: FloatArray,
) -> int:
    """Fill ln alpha and ln beta; return the first time at which the observations are impossible, or -1."""
    last = row.size - 1
    states = start.size
    for t in range(last + 1):
        if t > 0:
            log_sums(forwards, alpha[t - 1], alpha[t])
        high = -np.inf
        for k in range(states):
            alpha[t, k] = (alpha[t, k] if t > 0 else start[k]) + table[row[t], k]
            high = max(high, alpha[t, k])
        if high == -np.inf:
            return t
    beta[last, :] = 0.0
    for n in range(last):
        t = last - 1 - n
        for k in range(states):
            work[k] = table[row[t + 1], k] + beta[t + 1, k]
        log_sums(backwards, work, beta[t])
    return -1


@compiled(in_place=True)
def log_pairs(
    backwards: Sparse,
    table: FloatArray,
    row: IndexArray,
    alpha: FloatArray,
    beta: FloatArray,
    log_likelihood: float,
    pairs: FloatArray,
) -> None:
    """Add sum_t Pr[x_t = i, x_{t+1} = j | z] to ``pairs``, whose entries are those of the matrix."""
    for t in range(row.size - 1):
        for i in range(alpha.shape[1]):
            before = alpha[t, i] - log_likelihood
            if before > -np.inf:
                for entry in range(backwards.indptr[i], backwards.indptr[i + 1]):
                    j = backwards.source[entry]
                    pairs[entry] += np.exp(before + backwards.weight[entry] + table[row[t + 1], j] + beta[t + 1, j])


def exact(workspace: Workspace, number: int) -> Exact:
    """Return the passes over a sequence of the workspace."""
    begin, end = workspace.data.pieces[number]
    states, row = workspace.model.n_states, workspace.row[begin:end]
    alpha, beta = np.empty((len(row), states)), np.empty((len(row), states))
    start = logarithms(workspace.model.start)
    at = int(log_passes(*workspace.log_matrices, workspace.log_table, row, start, alpha, beta, np.empty(states)))
    total = -np.inf
    if at < 0:
        high = alpha[-1].max()
        total = float(high + np.log(np.exp(alpha[-1] - high).sum()))
    return Exact(alpha, beta, total, at)


def exact_posterior(workspace: Workspace, number: int) -> tuple[Exact, FloatArray]:
    """Return the passes and Pr[x_t = k | z], (T, K) float64, of a sequence.

    Raises
    ------
    ModelError
        If its observations are impossible.
    """
    found = exact(workspace, number)
    if found.impossible_at >= 0:
        workspace.impossible(int(workspace.data.pieces[number, 0]) + found.impossible_at)
    return found, found.posterior


def exact_pairs(workspace: Workspace, number: int, found: Exact) -> FloatArray:
    """Return sum_t Pr[x_t = i, x_{t+1} = j | z] of a sequence: (N,) float64, in the order of the CSR matrix."""
    begin, end = workspace.data.pieces[number]
    backwards = workspace.log_matrices[1]
    pairs = np.zeros(backwards.weight.size)
    row = workspace.row[begin:end]
    log_pairs(backwards, workspace.log_table, row, found.alpha, found.beta, found.log_likelihood, pairs)
    return pairs
