"""Forward, backward and Viterbi passes with a transition matrix for each step, compiled.

The recursions are those of R89 (19)-(27) and (32)-(35) with A_t, the matrix that leads from t to t + 1, in the place of
A. They are done in logarithms, which are normalised at each step: no number is too small, and the rounding of a long
sequence does not add up. The matrices are the logistic functions of the covariates; next to them, the logarithms here
cost little.

Steps with equal covariates share a matrix: that of step t is ``matrix[which[t]]``.
"""

import math

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray


@compiled(in_place=True)
def _log_sum(terms: FloatArray) -> float:
    """Return ln sum_i exp(terms_i); minus infinity if all are."""
    largest = -np.inf
    for i in range(terms.size):
        largest = max(largest, terms[i])
    if largest == -np.inf:
        return largest
    total = 0.0
    for i in range(terms.size):
        total += math.exp(terms[i] - largest)
    return largest + math.log(total)


@compiled(in_place=True)
def forward_pass(
    log_start: FloatArray,
    log_matrix: FloatArray,
    which: IndexArray,
    log_likelihood: FloatArray,
    rows: IndexArray,
    work: FloatArray,
    alpha: FloatArray,
    log_scale: FloatArray,
) -> int:
    """Fill ``alpha[t, k]`` = ln Pr[x_t = k | z_0..z_t] and ``log_scale[t]`` = ln Pr[z_t | z_0..z_(t-1)].

    Return the number of observations that are possible.
    """
    states = log_start.size
    for t in range(rows.size):
        for j in range(states):
            predicted = log_start[j]
            if t > 0:
                for i in range(states):
                    work[0, i] = alpha[t - 1, i] + log_matrix[which[t - 1], i, j]
                predicted = _log_sum(work[0])
            alpha[t, j] = predicted + log_likelihood[rows[t], j]
        log_scale[t] = _log_sum(alpha[t])
        if log_scale[t] == -np.inf:
            return t
        for j in range(states):
            alpha[t, j] -= log_scale[t]
    return rows.size


@compiled(in_place=True)
def backward_pass(
    log_matrix: FloatArray,
    which: IndexArray,
    log_likelihood: FloatArray,
    rows: IndexArray,
    work: FloatArray,
    alpha: FloatArray,
    log_scale: FloatArray,
    posterior: FloatArray,
    moves: FloatArray,
) -> None:
    """Fill ``posterior[t, k]`` = Pr[x_t = k | z], and add Pr[x_t = i, x_(t+1) = j | z] to ``moves[which[t], i, j]``."""
    terms, beta, ahead = work[0], work[1], work[2]
    states = beta.size
    for k in range(states):
        beta[k] = 0.0
    for t in range(rows.size - 1, -1, -1):
        if t < rows.size - 1:
            for j in range(states):
                ahead[j] = log_likelihood[rows[t + 1], j] + beta[j] - log_scale[t + 1]
            for i in range(states):
                for j in range(states):
                    terms[j] = log_matrix[which[t], i, j] + ahead[j]
                beta[i] = _log_sum(terms)
        for k in range(states):
            terms[k] = alpha[t, k] + beta[k]
        rounding = _log_sum(terms)
        for k in range(states):
            posterior[t, k] = math.exp(terms[k] - rounding)
            beta[k] -= rounding
        if t < rows.size - 1:
            for i in range(states):
                before = alpha[t, i] - rounding
                for j in range(states):
                    moves[which[t], i, j] += math.exp(before + log_matrix[which[t], i, j] + ahead[j])


@compiled(in_place=True)
def viterbi_pass(
    log_start: FloatArray,
    log_matrix: FloatArray,
    which: IndexArray,
    log_likelihood: FloatArray,
    rows: IndexArray,
    delta: FloatArray,
    came: StateArray,
    path: IndexArray,
) -> int:
    """Fill the most probable path, the first of equals; return the number of observations that are possible.

    ``delta[t % 2, k]`` is the logarithm of the best way to be in k at t, and ``came[t, k]`` the state before it.
    """
    states = log_start.size
    for t in range(rows.size):
        before, now = delta[(t - 1) % 2], delta[t % 2]
        largest = -np.inf
        for j in range(states):
            best, came[t, j] = log_start[j], -1
            if t > 0:
                best = -np.inf
                for i in range(states):
                    value = before[i] + log_matrix[which[t - 1], i, j]
                    if value > best:
                        best, came[t, j] = value, i
            now[j] = best + log_likelihood[rows[t], j]
            largest = max(largest, now[j])
        if largest == -np.inf:
            return t
    last = delta[(rows.size - 1) % 2]
    state = 0
    for k in range(1, states):
        if last[k] > last[state]:
            state = k
    for t in range(rows.size - 1, -1, -1):
        path[t] = state
        state = came[t, state]
    return rows.size
