"""Forward and backward passes over the segments of a hidden semi-Markov model, compiled.

The recursions are those of `rlsuite.reference.hsmm`, on numbers instead of logarithms: alpha_t (K, D), the state and
the steps that are left, is scaled by the sum of the one before, beta_t so that the
largest entry is 1 at most. A step of either pass is a
shift by one column, a product with the likelihood, and the segments that begin or end: T K (K + D) operations.

Numbers below 1e-308 are lost. What is lost at t adds at most K D 1e-308 max beta_t to sum alpha_t beta_t, the
likelihood of everything; where that sum is above `CERTAIN`, this is less than rounding. Otherwise the pass says so, and
logarithms decide (`rlsuite.inference.segments`).

The backward pass needs all alpha_t. They are kept at the ends of blocks only, and computed anew within a block, so that
memory is sqrt(T) K D.
"""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray

CERTAIN = 1e-280
"""Likelihood of everything, in units of alpha and beta, above which nothing that matters was lost."""


@compiled(in_place=True)
def _enter(alpha: FloatArray, transition: FloatArray, entering: FloatArray) -> None:
    """``entering[k] = sum_j alpha[j, 0] A[j, k]``: the segments that end are followed by others."""
    states = entering.size
    for k in range(states):
        entering[k] = 0.0
    for j in range(states):
        ending = alpha[j, 0]
        for k in range(states):
            entering[k] += ending * transition[j, k]


@compiled(in_place=True)
def _dot(a: FloatArray, b: FloatArray, row: int, n: int) -> float:
    """Return the product of a row of two matrices, by eight sums that do not wait for each other."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    i = 0
    while i + 7 < n:
        s0 += a[row, i] * b[row, i]
        s1 += a[row, i + 1] * b[row, i + 1]
        s2 += a[row, i + 2] * b[row, i + 2]
        s3 += a[row, i + 3] * b[row, i + 3]
        s4 += a[row, i + 4] * b[row, i + 4]
        s5 += a[row, i + 5] * b[row, i + 5]
        s6 += a[row, i + 6] * b[row, i + 6]
        s7 += a[row, i + 7] * b[row, i + 7]
        i += 8
    while i < n:
        s0 += a[row, i] * b[row, i]
        i += 1
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


@compiled(in_place=True)
def _step(
    before: FloatArray,
    entering: FloatArray,
    duration: FloatArray,
    likelihood: FloatArray,
    row: int,
    factor: float,
    alpha: FloatArray,
) -> None:
    """alpha(k, r) = factor b_k [before(k, r + 1) + entering_k p_k(r)]; both may be the same array."""
    states, longest = duration.shape
    for k in range(states):
        b = likelihood[row, k] * factor
        begins = entering[k] * b
        for r in range(longest - 1):
            alpha[k, r] = before[k, r + 1] * b + begins * duration[k, r]
        alpha[k, longest - 1] = begins * duration[k, longest - 1]


@compiled(in_place=True)
def forward_pass(
    start: FloatArray,
    transition: FloatArray,
    duration: FloatArray,
    likelihood: FloatArray,
    rows: IndexArray,
    every: int,
    alpha: FloatArray,
    ones: FloatArray,
    entering: FloatArray,
    filtered: FloatArray,
    factor: FloatArray,
    kept: FloatArray,
) -> int:
    """Fill ``filtered[t, k]`` = Pr[x_t = k | z_0..z_t], and ``factor[t]``, one over the sum of alpha_(t-1).

    ``kept[i]`` is alpha at the end of block i - 1, of `every` observations each. ``factor[T]`` belongs to the last one.
    Returns the number of observations done: fewer than all if those until then are impossible, or too improbable for a
    double.
    """
    states, longest = duration.shape
    factor[0] = 1.0
    for k in range(states):
        entering[k] = start[k]
        for r in range(longest):
            alpha[k, r] = 0.0
    for t in range(rows.size):
        if t > 0:
            _enter(alpha, transition, entering)
        _step(alpha, entering, duration, likelihood, rows[t], factor[t], alpha)
        total = 0.0
        for k in range(states):
            filtered[t, k] = _dot(alpha, ones, k, longest)
            total += filtered[t, k]
        if not total > 1e-250:
            return t
        factor[t + 1] = 1.0 / total
        for k in range(states):
            filtered[t, k] *= factor[t + 1]
        if (t + 1) % every == 0:
            for k in range(states):
                for r in range(longest):
                    kept[(t + 1) // every, k, r] = alpha[k, r]
    return rows.size


@compiled(in_place=True)
def backward_pass(
    start: FloatArray,
    transition: FloatArray,
    duration: FloatArray,
    likelihood: FloatArray,
    rows: IndexArray,
    every: int,
    factor: FloatArray,
    kept: FloatArray,
    block: FloatArray,
    beta: FloatArray,
    work: FloatArray,
    posterior: FloatArray,
    moves: FloatArray,
    begins: FloatArray,
) -> bool:
    """Fill ``posterior[t, k]`` = Pr[x_t = k | z], and add to the expected counts of moves (K, K).

    ``block[t - begin + 1]`` is alpha_t of the block that begins at `begin`. Times the duration table, what is added to
    `begins` (K, D) are the expected counts of durations. Returns whether nothing was lost that matters.
    """
    states, longest = duration.shape
    entering, begun, highest = work[0], work[1], work[2]
    for k in range(states):
        highest[k] = 1.0  # no entry of beta_t(k, .) is larger
        for r in range(longest):
            beta[k, r] = 1.0
    end = rows.size
    while end > 0:
        begin = (end - 1) // every * every
        for k in range(states):
            for r in range(longest):
                block[0, k, r] = kept[begin // every, k, r]
        for t in range(begin, end):
            for k in range(states):
                entering[k] = start[k]
            if t > 0:
                _enter(block[t - begin], transition, entering)
            _step(block[t - begin], entering, duration, likelihood, rows[t], factor[t], block[t - begin + 1])
        for t in range(end - 1, begin - 1, -1):
            alpha, before = block[t - begin + 1], block[t - begin]
            whole = 0.0
            for k in range(states):
                posterior[t, k] = _dot(alpha, beta, k, longest)
                whole += posterior[t, k]
            if not whole > CERTAIN:
                return False
            for k in range(states):
                posterior[t, k] /= whole
                entering[k] = start[k]
            if t > 0:
                _enter(before, transition, entering)
            # The segments that begin at t: begun_k = b_k sum_d p_k(d) beta_t(k, d).
            for k in range(states):
                b = likelihood[rows[t], k] * factor[t]
                begun[k] = _dot(duration, beta, k, longest) * b
                share = entering[k] * b / whole
                for d in range(longest):
                    begins[k, d] += share * beta[k, d]
            if t == 0:
                return True
            # beta_{t-1}: one step more is left, or the segment ends and another one begins at t; the largest is near 1.
            largest = 0.0
            for j in range(states):
                value = 0.0
                ending = before[j, 0] / whole
                for k in range(states):
                    onwards = transition[j, k] * begun[k]
                    value += onwards
                    moves[j, k] += ending * onwards
                entering[j] = value
                highest[j] = max(highest[j] * likelihood[rows[t], j] * factor[t], value)
                largest = max(largest, highest[j])
            scale = 1.0 / largest
            for j in range(states):
                b = likelihood[rows[t], j] * factor[t] * scale
                highest[j] *= scale
                for r in range(longest - 1, 0, -1):
                    beta[j, r] = beta[j, r - 1] * b
                beta[j, 0] = entering[j] * scale
        end = begin
    return True


@compiled(in_place=True)
def viterbi_pass(
    log_start: FloatArray,
    log_transition: FloatArray,
    log_duration: FloatArray,
    log_likelihood: FloatArray,
    log_survival: FloatArray,
    rows: IndexArray,
    entered: FloatArray,
    delta: FloatArray,
    since: StateArray,
    best: FloatArray,
    came: StateArray,
    begun: StateArray,
    path: StateArray,
) -> float:
    """Fill the most probable path of states, and return the logarithm of its probability with the observations.

    ``delta[k, r]`` is the logarithm of the best way to be in k with r + 1 steps left, ``since[k, r]`` the time at which
    that segment began, ``begun[t, k]`` when the best segment began that ends at t, and ``came[t, k]`` the state before
    the best segment that begins at t. The end of the last segment is not seen, so that it counts with Pr[it lasts
    that long or longer]; ``entered[t % D, k]`` is the logarithm of the best way to begin it at t.
    """
    states, longest = log_duration.shape
    for k in range(states):
        for r in range(longest):
            delta[k, r] = -np.inf
    for t in range(rows.size):
        for k in range(states):
            best[k] = log_start[k] if t == 0 else -np.inf
            came[t, k] = -1
            if t > 0:
                for j in range(states):
                    value = delta[j, 0] + log_transition[j, k]
                    if value > best[k]:
                        best[k] = value
                        came[t, k] = j
            entered[t % longest, k] = best[k]
        for k in range(states):
            b = log_likelihood[rows[t], k]
            for r in range(longest - 1):
                stay, enter = delta[k, r + 1], best[k] + log_duration[k, r]
                goes_on = stay >= enter
                delta[k, r] = (stay if goes_on else enter) + b
                since[k, r] = since[k, r + 1] if goes_on else t
            delta[k, longest - 1] = best[k] + log_duration[k, longest - 1] + b
            since[k, longest - 1] = t
            begun[t, k] = since[k, 0]
    found, state, first = -np.inf, 0, 0
    for k in range(states):
        seen = 0.0
        for d in range(min(longest, rows.size)):
            t = rows.size - 1 - d
            seen += log_likelihood[rows[t], k]
            value = entered[t % longest, k] + seen + log_survival[k, d]
            if value > found:
                found, state, first = value, k, t
    if found == -np.inf:
        return found
    end = rows.size
    while True:
        for t in range(first, end):
            path[t] = state
        if first == 0:
            return found
        state, end = came[first, state], first
        first = begun[end - 1, state]
