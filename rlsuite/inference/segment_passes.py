"""Forward and backward passes over the segments of a hidden semi-Markov model, compiled.

The recursions are those of `rlsuite.reference.hsmm`, on numbers instead of logarithms: alpha_t (K, D), the state and
the steps that are left, is scaled by the sum of the one before, beta_t so that the largest entry is 1 at most. A step
of either pass is a shift by one column, a product with the likelihood, and the segments that begin or end:
T K (K + D) operations.

The product with the likelihood is the same number for a whole row. So it is not applied: alpha_t(k, r) is
``level[k]`` times what is kept, and beta_t(k, r) is ``level[k] * after[k, t + 1 + r]``, where ``after[k, s]`` has to do
with the segments of k that end before s, so that nothing is shifted. A level that leaves its range is put into the row.

Numbers below 1e-278 are lost: 1e-308 times the highest level. What is lost at t adds at most K D 1e-278 max beta_t to
sum alpha_t beta_t, the likelihood of everything; where that sum is above `CERTAIN`, this is less than rounding.
Otherwise the pass says so, and logarithms decide (`rlsuite.inference.segments`).

The backward pass needs all alpha_t. They are kept at the ends of blocks only, and computed anew within a block. Rows
are padded with zeros, those of alpha by a register more than those of the durations (`rlsuite.inference.simd`).
"""

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.inference import simd
from rlsuite.inference.simd import Lanes
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray

_add_to_shifted = simd.add_to_shifted
_dot_two = simd.dot_two
_add_scaled = simd.add_scaled
_add_outer = simd.add_outer
_multiply = simd.multiply
_copy_scaled = simd.copy_scaled

CERTAIN = 1e-250
"""Likelihood of everything, in units of alpha and beta, above which nothing that matters was lost."""

LOWEST, HIGHEST = 1e-100, 1e30
"""Range of a level. Above 1, the smallest numbers of a row are lost; below, they only become larger."""

LANES: Lanes = (0,) * 8, ()
"""Neighbouring durations, or states, that are one register."""

TOGETHER = 16
"""Moves that are counted at once."""


@compiled(in_place=True)
def _enter(
    alpha: FloatArray,
    row: int,
    level: FloatArray,
    level_row: int,
    transition: FloatArray,
    ones: FloatArray,
    ending: FloatArray,
    ending_row: int,
    entering: FloatArray,
    lanes: Lanes,
) -> None:
    """``entering[0, k] = sum_j ending_j A[j, k]`` with ``ending[ending_row, j] = alpha_(t-1)(j, 0)``."""
    for j in range(transition.shape[0]):
        ending[ending_row, j] = alpha[row + j, 0] * level[level_row, j]
    _multiply(transition, ending, ending_row, ones, 0, 1.0, entering, 0, lanes)


@compiled(in_place=True)
def _step(
    alpha: FloatArray,
    before: int,
    row: int,
    level: FloatArray,
    level_before: int,
    level_row: int,
    entering: FloatArray,
    duration: FloatArray,
    likelihood: FloatArray,
    seen: int,
    factor: float,
    mass: FloatArray,
    lanes: Lanes,
) -> None:
    """alpha_t(k, r) = factor b_k [alpha_(t-1)(k, r + 1) + entering_k p_k(r)], and its sum over r in ``mass[k]``.

    The rows of alpha_(t-1) begin at `before`, those of alpha_t at `row`; both may be the same.
    """
    for k in range(duration.shape[0]):
        share = entering[0, k] / level[level_before, k]
        total = _add_to_shifted(alpha, row + k, alpha, before + k, share, duration, k, lanes)
        now = level[level_before, k] * (likelihood[seen, k] * factor)
        mass[k] = total * now
        if not LOWEST < now < HIGHEST:
            _copy_scaled(alpha, row + k, alpha, row + k, now, lanes)
            now = 1.0
        level[level_row, k] = now


@compiled(in_place=True)
def forward_pass(
    start: FloatArray,
    transition: FloatArray,
    duration: FloatArray,
    likelihood: FloatArray,
    rows: IndexArray,
    every: int,
    alpha: FloatArray,
    level: FloatArray,
    work: FloatArray,
    filtered: FloatArray,
    factor: FloatArray,
    kept: FloatArray,
    kept_level: FloatArray,
    lanes: Lanes,
) -> int:
    """Fill ``filtered[t, k]`` = Pr[x_t = k | z_0..z_t], and ``factor[t]``, one over the sum of alpha_(t-1).

    ``kept[i]`` is alpha at the end of block i - 1, of `every` observations each, and ``kept_level[i]`` its levels.
    ``factor[T]`` belongs to the last one. `start` (1, Kp) and `transition` (K, Kp) are padded; `work` is (3, Kp), its
    first row ones. Returns the number of observations done: fewer than all if those until then are impossible, or too
    improbable for a double.
    """
    states = duration.shape[0]
    ones, ending, entering = work[:1], work[1:2], work[2:3]
    factor[0] = 1.0
    _copy_scaled(entering, 0, start, 0, 1.0, lanes)
    for t in range(rows.size):
        if t > 0:
            _enter(alpha, 0, level, 0, transition, ones, ending, 0, entering, lanes)
        _step(alpha, 0, 0, level, 0, 0, entering, duration, likelihood, rows[t], factor[t], filtered[t], lanes)
        total = 0.0
        for k in range(states):
            total += filtered[t, k]
        if not total > 1e-250:
            return t
        factor[t + 1] = 1.0 / total
        for k in range(states):
            filtered[t, k] *= factor[t + 1]
        if (t + 1) % every == 0:
            block = (t + 1) // every
            for k in range(states):
                _copy_scaled(kept, block * states + k, alpha, k, 1.0, lanes)
                kept_level[block, k] = level[0, k]
    return rows.size


@compiled(in_place=True)
def backward_pass(
    start: FloatArray,
    transition: FloatArray,
    onwards: FloatArray,
    duration: FloatArray,
    longest: IndexArray,
    likelihood: FloatArray,
    rows: IndexArray,
    every: int,
    factor: FloatArray,
    kept: FloatArray,
    kept_level: FloatArray,
    block: FloatArray,
    block_level: FloatArray,
    after: FloatArray,
    work: FloatArray,
    posterior: FloatArray,
    counting: bool,
    moves: FloatArray,
    begins: FloatArray,
    lanes: Lanes,
) -> bool:
    """Fill ``posterior[t, k]`` = Pr[x_t = k | z], and with `counting`, add to `moves` (K, Kp) and `begins` (K, Dp).

    Times the transitions and the durations, these are the expected counts of moves and of durations. The rows of
    `block` from ``(t - begin + 1) * K`` on are alpha_t of the block that begins at `begin`. `onwards` (K, Kp) is the
    transposed matrix, and ``longest[k]`` steps is the longest segment of k. `work` is (5 + 2 * TOGETHER, Kp), its first
    row ones. Returns whether nothing was lost that matters.
    """
    states = duration.shape[0]
    ones, entering, value, highest, level = work[:1], work[1:2], work[2:3], work[3], work[4]
    ending, begun, waiting = work[5 : 5 + TOGETHER], work[5 + TOGETHER :], 0
    for k in range(states):
        highest[k] = 1.0  # no entry of beta_t(k, .) is larger
        level[k] = 1.0
        for i in range(rows.size, after.shape[1]):
            after[k, i] = 1.0
    end = rows.size
    while end > 0:
        begin = (end - 1) // every * every
        for k in range(states):
            _copy_scaled(block, k, kept, begin // every * states + k, 1.0, lanes)
            block_level[0, k] = kept_level[begin // every, k]
        for t in range(begin, end):
            n = t - begin
            if t > 0:
                _enter(block, n * states, block_level, n, transition, ones, ending, waiting, entering, lanes)
            else:
                _copy_scaled(entering, 0, start, 0, 1.0, lanes)
            _step(
                block, n * states, (n + 1) * states, block_level, n, n + 1,
                entering, duration, likelihood, rows[t], factor[t], posterior[t], lanes,
            )  # fmt: skip
        for t in range(end - 1, begin - 1, -1):
            n = t - begin
            whole = 0.0
            for k in range(states):
                both, one = _dot_two(after, k, t + 1, block, (n + 1) * states + k, duration, k, lanes)
                posterior[t, k] = both * (block_level[n + 1, k] * level[k])
                whole += posterior[t, k]
                # The segments that begin at t: begun_k = b_k sum_d p_k(d) beta_t(k, d).
                begun[waiting, k] = one * (level[k] * (likelihood[rows[t], k] * factor[t]))
            if not whole > CERTAIN:
                return False
            each = 1.0 / whole
            for k in range(states):
                posterior[t, k] *= each
            if counting:
                if t > 0:
                    _enter(block, n * states, block_level, n, transition, ones, ending, waiting, entering, lanes)
                    _copy_scaled(ending, waiting, ending, waiting, each, lanes)
                else:
                    _copy_scaled(entering, 0, start, 0, 1.0, lanes)
                for k in range(states):
                    share = entering[0, k] * (likelihood[rows[t], k] * factor[t]) * each
                    _add_scaled(begins, k, after, k, t + 1, share * level[k], lanes)
            if t == 0:
                break
            # beta_{t-1}: one step more is left, or the segment ends and another one begins at t; the largest is near 1.
            _multiply(onwards, begun, waiting, ones, 0, 1.0, value, 0, lanes)
            largest = 0.0
            for k in range(states):
                highest[k] = max(highest[k] * (likelihood[rows[t], k] * factor[t]), value[0, k])
                largest = max(largest, highest[k])
            scale = 1.0 / largest
            for k in range(states):
                highest[k] *= scale
                level[k] *= likelihood[rows[t], k] * factor[t] * scale
                if not LOWEST < level[k] < HIGHEST:
                    for i in range(t + 1, t + longest[k]):
                        after[k, i] *= level[k]
                    level[k] = 1.0
                after[k, t] = value[0, k] * scale / level[k]
            if counting:
                waiting += 1
                if waiting == TOGETHER:
                    _add_outer(moves, ending, begun, waiting, lanes)
                    waiting = 0
        end = begin
    if waiting > 0:
        _add_outer(moves, ending, begun, waiting, lanes)
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
