"""Forward, backward and Viterbi passes with a transition matrix for each step, compiled.

The recursions are those of R89 (19)-(27) and (32)-(35) with A_t, the matrix that leads from t to t + 1, in the place of
A. Steps with equal covariates share a matrix: that of step t is ``[which[t]]`` of all.

The matrices come as `odds`, whose rows are still to be divided by their sums: that costs less here. alpha_t is divided
by its sum, beta_t by its maximum. Forwards, a number below `LEAST` may be lost. That does no harm as long as every
state that may have made an observation is predicted with more than `RARE`: what is lost could add no more than LEAST to
that. Backwards, what is lost at t adds at most 1e-308 to sum alpha_t beta_t, the likelihood of everything; where that
is above `CERTAIN`, it is less than rounding. Otherwise a pass says so, and the passes in logarithms decide, which are
normalised at each step: no number is too small for them.
"""

import math

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray

LEAST, RARE = 1e-250, 1e-120
CERTAIN = 1e-280
"""Likelihood of everything, in units of alpha and beta, above which nothing that matters was lost."""

UNDERFLOW = 1e-100
"""Likelihood of an observation, in units of that of the state which explains it best, below which logarithms decide."""


@compiled(in_place=True)
def forward_pass(
    start: FloatArray,
    odds: FloatArray,
    which: IndexArray,
    likelihood: FloatArray,
    rows: IndexArray,
    alpha: FloatArray,
    total: FloatArray,
) -> int:
    """Fill ``alpha[t, k]`` = Pr[x_t = k | z_0..z_t] and ``total[t]`` = Pr[z_t | z_0..z_(t-1)].

    Return the number of observations done: fewer than all if logarithms have to decide.
    """
    states = start.size
    lost = False
    for t in range(rows.size):
        for j in range(states):
            alpha[t, j] = start[j] if t == 0 else 0.0
        if t > 0:
            matrix = odds[which[t - 1]]
            for i in range(states):
                whole = 0.0
                for j in range(states):
                    whole += matrix[i, j]
                share = alpha[t - 1, i] / whole
                for j in range(states):
                    alpha[t, j] += share * matrix[i, j]
        total[t] = 0.0
        losing = False
        for j in range(states):
            b = likelihood[rows[t], j]
            predicted = alpha[t, j]
            if b > 0.0 and lost and predicted < RARE:
                return t
            alpha[t, j] = predicted * b
            losing = losing or (predicted > 0.0 and b > 0.0 and alpha[t, j] < LEAST)
            total[t] += alpha[t, j]
        lost = lost or losing
        if not total[t] > UNDERFLOW:
            return t
        scale = 1.0 / total[t]
        for j in range(states):
            alpha[t, j] *= scale
    return rows.size


@compiled(in_place=True)
def backward_pass(
    odds: FloatArray,
    which: IndexArray,
    likelihood: FloatArray,
    rows: IndexArray,
    alpha: FloatArray,
    beta: FloatArray,
    ahead: FloatArray,
    posterior: FloatArray,
    moves: FloatArray,
) -> bool:
    """Fill ``posterior[t, k]`` = Pr[x_t = k | z]; unless it is empty, add to ``moves[which[t], i, j]``.

    What is added is Pr[x_t = i, x_(t+1) = j | z]. Returns whether nothing was lost that matters; if something was,
    nothing is added. `beta` (K,) and `ahead` (T, K) are scratch.
    """
    states, last = beta.size, rows.size - 1
    for k in range(states):
        beta[k] = 1.0
    for t in range(last, -1, -1):
        largest = 1.0
        if t < last:
            matrix = odds[which[t]]
            for j in range(states):
                ahead[t, j] = likelihood[rows[t + 1], j] * beta[j]
            largest = 0.0
            for i in range(states):
                row, value = 0.0, 0.0
                for j in range(states):
                    row += matrix[i, j]
                    value += matrix[i, j] * ahead[t, j]
                beta[i] = value / row
                largest = max(largest, beta[i])
        whole = 0.0
        for k in range(states):
            posterior[t, k] = alpha[t, k] * beta[k]
            whole += posterior[t, k]
        if not whole > CERTAIN * largest:
            return False
        each, scale = 1.0 / whole, 1.0 / largest
        for k in range(states):
            posterior[t, k] *= each
            ahead[t, k] *= each
            beta[k] *= scale
    if moves.size > 0:
        for t in range(last):
            for i in range(states):
                row = 0.0
                for j in range(states):
                    row += odds[which[t], i, j]
                share = alpha[t, i] / row
                for j in range(states):
                    moves[which[t], i, j] += share * odds[which[t], i, j] * ahead[t, j]
    return True


# ------------------------------------------------------------------------------------------------- in logarithms


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
def log_forward_pass(
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
def log_backward_pass(
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
    """Fill ``posterior[t, k]`` = Pr[x_t = k | z]; unless it is empty, add to `moves` what `backward_pass` does."""
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
        if t < rows.size - 1 and moves.size > 0:
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
