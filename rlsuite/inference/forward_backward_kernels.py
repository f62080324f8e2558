"""The forward and backward passes of which all inference in hidden Markov models consists, compiled.

With f_t = alpha_t and w_t = b(z_t) * beta_t (elementwise), the recursions of R89, eqs. 20 and 25, are the same:

* forwards   f_0 = start * b(z_0),   f_t = (f_{t-1} A) * b(z_t),
* backwards  w_T = 1 * b(z_T),       w_t = (w_{t+1} A') * b(z_t),

so one kernel, `sweep_kernel`, runs in both directions. Where a sweep of one direction has kept its rows, a sweep of the
other direction gives the posterior: Pr[x_t = k | z] is proportional to f_t * (w_{t+1} A'), and as well to
w_t * (f_{t-1} A). That is the second kernel, `posteriors_kernel`, again for both directions. So a long sequence can be
cut in the middle: two sweeps start from its ends, and go on through each other's halves, all of it on two threads.

A state that cannot be reached has f_t(k) = 0. Its likelihood of the rest does not matter, and it is left out of w_t
then: it might be so much larger that all others would underflow beside it.

A state whose f_t(k) has become less than `NEGLIGIBLE` of the sum is dropped. That does no harm where it can be entered
again from the others: the probability that enters it is much more. But a group of states that lead to each other is
lost for good if none of the others leads to it, and might explain all that follows better than they do. So a sweep
knows the groups, if there are several, and stops where one falls below.

Rows are scaled whenever their sum has become small (R89 section V.A scales each time): the factors are collected in the
log-likelihood, and no logarithm is taken in between. A sum of less than `UNDERFLOW` ends a pass, which says where, as
does the end of a group. Either the observations are impossible, or a double has too few exponents for them: `exact`
decides that, with passes in logarithms.

The letters: `table` (R, Kp) holds rows of likelihoods, or their logarithms, and observation t uses ``table[row[t]]``;
``pieces[p] = (begin, end)`` are ranges of observations; row t of a sweep is written to ``kept[t - base]``, or, with
base = RING, to ``kept[t % RING_ROWS]``, where only what comes next finds it. A kernel takes its steps as arguments,
those for dense or for sparse matrices. A vector is a row of an array (n, Kp), given as the array and the number of the
row; Kp is the number K of states rounded up to a multiple of the lanes, and what is beyond K adds nothing.

In plain NumPy: `rlsuite.reference.hmm.forward` and `rlsuite.reference.hmm.backward`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from rlsuite.core.compilation import compiled
from rlsuite.core.interpretation import one_pass
from rlsuite.inference import simd
from rlsuite.inference.parameters import Dense, Sparse, Workspace, logarithms
from rlsuite.inference.simd import Lanes
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray

_multiply = simd.multiply
_multiply_two = simd.multiply_two
_add_outer = simd.add_outer
_copy_scaled = simd.copy_scaled
_add_scaled = simd.add_scaled

Step: TypeAlias = Callable[..., float]
"""`dense_step` or `sparse_step`"""
JointStep: TypeAlias = Callable[..., tuple[float, float]]
"""`dense_joint_step` or `sparse_joint_step`"""
CountPairs: TypeAlias = Callable[..., None]
"""`dense_count_pairs` or `sparse_count_pairs`"""

SCALE_BELOW, SCALE_ABOVE = 1e-30, 1e30  # rows whose sum lies between these are not scaled
UNDERFLOW = 1e-250
NEGLIGIBLE = 1e-250
RING = -1
RING_ROWS = 2
OUTER_ROWS = 16  # pairs of rows whose products are counted together


# ------------------------------------------------------------------------------------------- one step in time


@compiled(in_place=True)
def sparse_step(
    matrix: Sparse, u: FloatArray, u_row: int, table: FloatArray, row: int, scale: float, out: FloatArray, out_row: int
) -> float:
    """``out = (u @ matrix) * table[row] * scale``; return the sum."""
    total = 0.0
    last = matrix.indptr[0]
    for j in range(matrix.indptr.size - 1):
        first, last = last, matrix.indptr[j + 1]
        value = 0.0
        for entry in range(first, last):
            value += u[u_row, matrix.source[entry]] * matrix.weight[entry]
        value *= table[row, j] * scale
        out[out_row, j] = value
        total += value
    return total


@compiled(in_place=True)
def sparse_joint_step(
    matrix: Sparse,
    u: FloatArray,
    u_row: int,
    table: FloatArray,
    row: int,
    scale: float,
    out: FloatArray,
    out_row: int,
    other: FloatArray,
    other_row: int,
    joint: FloatArray,
) -> tuple[float, float]:
    """`sparse_step`, but 0 where `other` is 0, and ``joint[0] = (u @ matrix) * other``; return both sums."""
    total, total_joint = 0.0, 0.0
    last = matrix.indptr[0]
    for j in range(matrix.indptr.size - 1):
        first, last = last, matrix.indptr[j + 1]
        value = 0.0
        for entry in range(first, last):
            value += u[u_row, matrix.source[entry]] * matrix.weight[entry]
        joint[0, j] = value * other[other_row, j]
        total_joint += joint[0, j]
        out[out_row, j] = value * (table[row, j] * scale) if other[other_row, j] > 0.0 else 0.0
        total += out[out_row, j]
    return total, total_joint


@compiled(in_place=True)
def sparse_count_pairs(matrix: Sparse, left: FloatArray, right: FloatArray, number: int, counts: FloatArray) -> None:
    """Add ``left[n, j] * right[n, i]`` over the first rows to ``counts[0]`` at the entry from i to j."""
    for j in range(matrix.indptr.size - 1):
        for entry in range(matrix.indptr[j], matrix.indptr[j + 1]):
            total = 0.0
            for n in range(number):
                total += left[n, j] * right[n, matrix.source[entry]]
            counts[0, entry] += total


@compiled(in_place=True)
def dense_step(
    matrix: Dense, u: FloatArray, u_row: int, table: FloatArray, row: int, scale: float, out: FloatArray, out_row: int
) -> float:
    """``out = (u @ matrix) * table[row] * scale``; return the sum."""
    return _multiply(matrix.weight, u, u_row, table, row, scale, out, out_row, matrix.lanes)


@compiled(in_place=True)
def dense_joint_step(
    matrix: Dense,
    u: FloatArray,
    u_row: int,
    table: FloatArray,
    row: int,
    scale: float,
    out: FloatArray,
    out_row: int,
    other: FloatArray,
    other_row: int,
    joint: FloatArray,
) -> tuple[float, float]:
    """`dense_step`, but 0 where `other` is 0, and ``joint[0] = (u @ matrix) * other``; return both sums."""
    return _multiply_two(
        matrix.weight, u, u_row, table, row, scale, out, out_row, other, other_row, joint, 0, matrix.lanes
    )


@compiled(in_place=True)
def dense_count_pairs(matrix: Dense, left: FloatArray, right: FloatArray, number: int, counts: FloatArray) -> None:
    """Add the outer products of the first rows of `left` and `right` to `counts`."""
    _add_outer(counts, left, right, number, matrix.lanes)


# ------------------------------------------------------------------------------------------------- the passes


@compiled(in_place=True)
def support_lost(
    groups: IndexArray,
    alive: StateArray,
    kept: FloatArray,
    position: int,
    table: FloatArray,
    row: IndexArray,
    t: int,
    least: float,
) -> bool:
    """Whether a group of states has fallen below `least` although it can make observation t.

    ``alive[0]`` (G,) says which groups were not less before, and is brought up to date; ``alive[1]`` is scratch.
    """
    for g in range(alive.shape[1]):
        alive[1, g] = 0
    for k in range(groups.size):
        if groups[k] >= 0 and kept[position, k] > least:
            alive[1, groups[k]] |= 1
        elif groups[k] >= 0 and table[row[t], k] > 0.0:
            alive[1, groups[k]] |= 2
    found = False
    for g in range(alive.shape[1]):
        found = found or (alive[0, g] == 1 and alive[1, g] == 2)
        alive[0, g] = alive[1, g] & 1
    return found


@one_pass(small=4_000)  # each of T steps goes through a matrix, in NumPy
def sweep_kernel(
    step: Step,
    matrix: Dense | Sparse,
    table: FloatArray,
    row: IndexArray,
    pieces: IndexArray,
    backwards: bool,
    initial: FloatArray,
    through: bool,
    groups: IndexArray,
    alive: StateArray,
    kept: FloatArray,
    base: int,
    sums: FloatArray,
    logs: FloatArray,
    log_likelihood: FloatArray,
    failed: IndexArray,
) -> None:
    """Sweep over each piece p, from row p of `initial` (or its only row), which goes through the matrix if `through`.

    Fills ``log_likelihood[p]``, the log of the sum of the last row had nothing been scaled; if a piece fails, this is
    minus infinity, and ``failed[p]``, else -1, is the time. If `sums` is not empty, ``sums[t - base]`` becomes the sum
    of row t as it is kept, and if `logs` is not, ``logs[t - base]`` its log had nothing been scaled. `groups` and
    `alive` are those of `support_lost`; no `groups` at all mean that there are none to be watched.
    """
    for p in range(pieces.shape[0]):
        begin, end = pieces[p, 0], pieces[p, 1]
        origin = p if initial.shape[0] > 1 else 0
        failed[p] = -1
        log_likelihood[p] = 0.0
        # The scale of a row is applied when the next row is computed, so that no row is touched twice.
        scale = 1.0
        last_position = 0
        if groups.size > 0:
            # Groups that are impossible in the first row cannot be lost.
            for g in range(alive.shape[1]):
                alive[0, g] = 0
            for k in range(groups.size):
                if groups[k] >= 0 and initial[origin, k] > 0.0:
                    alive[0, groups[k]] = 1
        for n in range(end - begin):
            t = end - 1 - n if backwards else begin + n
            position = t & (RING_ROWS - 1) if base == RING else t - base
            # The row follows from the one before; or from `initial` through the matrix, where the piece continues
            # another one; or from `initial` itself, at an end of the sequence.
            if n > 0:
                total = step(matrix, kept, last_position, table, row[t], scale, kept, position)
            elif through:
                total = step(matrix, initial, origin, table, row[t], scale, kept, position)
            else:
                total = 0.0
                for k in range(table.shape[1]):
                    kept[position, k] = initial[origin, k] * table[row[t], k]
                    total += kept[position, k]
            if sums.size > 0:
                sums[t - base] = total
            if logs.size > 0:
                logs[t - base] = log_likelihood[p] + math.log(total)
            scale = 1.0
            # No logarithm as long as the sum lies within the range: a product of doubles is enough for dozens of steps.
            lost = groups.size > 0 and support_lost(groups, alive, kept, position, table, row, t, NEGLIGIBLE * total)
            if lost or not SCALE_BELOW < total < SCALE_ABOVE:
                if lost or not total > UNDERFLOW:
                    failed[p] = t
                    log_likelihood[p] = -np.inf
                    break
                scale = 1.0 / total
                log_likelihood[p] += math.log(total)
            last_position = position
            # The factors since the last scaling; had the last row been scaled, they would be in the logarithm already.
            if n == end - begin - 1 and scale == 1.0:
                log_likelihood[p] += math.log(total)


@compiled(in_place=True)
def normalise(kept: FloatArray, sums: FloatArray, lanes: Lanes) -> None:
    """Divide each row by its sum."""
    for t in range(kept.shape[0]):
        _copy_scaled(kept, t, kept, t, 1.0 / sums[t], lanes)


@compiled(in_place=True)
def posteriors_kernel(
    joint_step: JointStep,
    count_pairs: CountPairs,
    matrix: Dense | Sparse,
    table: FloatArray,
    row: IndexArray,
    pieces: IndexArray,
    backwards: bool,
    initial: FloatArray,
    through: bool,
    kept: FloatArray,
    base: int,
    keep: bool,
    work: FloatArray,
    failed: IndexArray,
    counting: bool,
    count_first_pair: bool,
    pairs: FloatArray,
    symbols: FloatArray,
    first: FloatArray,
) -> None:
    """Sweep over each piece, in which a sweep of the other direction has kept its rows, and combine both.

    With `keep`, the rows of `kept` become Pr[x_t = k | all observations]. With `counting`, the expected numbers of
    pairs of neighbouring states are added to `pairs`, still to be multiplied by the matrix; to ``symbols[row[t]]``, or
    to the only row of `symbols`, the posterior of t; and to ``first[0]`` that of the last time reached. `work` is
    (3 + 2 * OUTER_ROWS, Kp); its first two rows take turns in holding the newest row of this sweep.
    """
    lanes = matrix.lanes
    left, right = work[3 : 3 + OUTER_ROWS], work[3 + OUTER_ROWS :]
    joint = work[2:3]
    for p in range(pieces.shape[0]):
        begin, end = pieces[p, 0], pieces[p, 1]
        origin = p if initial.shape[0] > 1 else 0
        failed[p] = -1
        scale, waiting = 1.0, 0
        for n in range(end - begin):
            t = end - 1 - n if backwards else begin + n
            # This direction needs its newest row only; two rows of `work` take turns, so that nothing is copied.
            here, there = n & 1, 1 - (n & 1)
            # As in `sweep_kernel`; `joint` is the product with the row that the other direction has kept, and `weight`
            # its sum, by which the posterior is divided. States that the other direction rules out are left out here,
            # too.
            if n > 0:
                total, weight = joint_step(matrix, work, there, table, row[t], scale, work, here, kept, t - base, joint)
            elif through:
                total, weight = joint_step(
                    matrix, initial, origin, table, row[t], scale, work, here, kept, t - base, joint
                )
            else:
                total, weight = 0.0, 0.0
                for k in range(table.shape[1]):
                    joint[0, k] = initial[origin, k] * kept[t - base, k]
                    weight += joint[0, k]
                    possible = kept[t - base, k] > 0.0
                    work[here, k] = initial[origin, k] * table[row[t], k] if possible else 0.0
                    total += work[here, k]
            # Not `<=`: a NaN fails, too.
            if not (weight > UNDERFLOW and total > UNDERFLOW):
                failed[p] = t
                break
            share = 1.0 / weight
            if counting:
                # one row means that all observations differ: their posteriors are kept, and not added up
                _add_scaled(symbols, int(row[t]) if symbols.shape[0] > 1 else 0, joint, 0, 0, share, lanes)
                # A pair of neighbouring states is an outer product of two rows. Several of them are one product of
                # matrices, which is faster by far than one at a time: they wait until there are enough.
                if n > 0:
                    _copy_scaled(left, waiting, kept, t - base, 1.0, lanes)
                    _copy_scaled(right, waiting, work, there, share, lanes)
                    waiting += 1
                elif through and count_first_pair:
                    _copy_scaled(left, waiting, kept, t - base, 1.0, lanes)
                    _copy_scaled(right, waiting, initial, origin, share, lanes)
                    waiting += 1
                if waiting == OUTER_ROWS:
                    count_pairs(matrix, left, right, waiting, pairs)
                    waiting = 0
                if n == end - begin - 1:
                    _add_scaled(first, 0, joint, 0, 0, share, lanes)
            if keep:
                _copy_scaled(kept, t - base, joint, 0, share, lanes)
            # The posterior is divided by its own sum, so the scale of this sweep cancels.
            scale = 1.0 if SCALE_BELOW < total < SCALE_ABOVE else 1.0 / total
        if waiting > 0:
            count_pairs(matrix, left, right, waiting, pairs)


# ---------------------------------------------------------------------------------- the passes over a workspace


class PassResult(NamedTuple):
    """The results of a sweep for its pieces."""

    log_likelihood: FloatArray
    """(P,) float64, nats: log of the sum of the last row, had nothing been scaled"""
    failed: IndexArray
    """(P,) int64: the time at which nothing was left, or a state that might matter was dropped; or -1"""


NO_VECTOR = np.empty(0)
NO_ROWS = np.empty((0, 0))


def sweep(
    workspace: Workspace,
    pieces: IndexArray,
    *,
    backwards: bool = False,
    initial: FloatArray | None = None,
    kept: FloatArray | None = None,
    base: int = RING,
    sums: FloatArray | None = None,
    logs: FloatArray | None = None,
) -> PassResult:
    """Run `sweep_kernel`; from the start distribution or from beta = 1 if there is no `initial` row.

    Without `kept`, rows are written to a ring of two, and forgotten.
    """
    prepared = workspace.prepared
    matrices, ends = prepared.matrices, (prepared.start, prepared.ones)
    swept = PassResult(np.empty(len(pieces)), np.empty(len(pieces), dtype=np.int64))
    sweep_kernel(
        sparse_step if prepared.is_sparse else dense_step,
        matrices[backwards],
        workspace.table,
        workspace.row,
        pieces,
        backwards,
        ends[backwards] if initial is None else initial,
        initial is not None,
        prepared.groups,
        np.empty((2, prepared.n_groups), dtype=np.int32),
        prepared.empty(RING_ROWS) if kept is None else kept,
        base,
        NO_VECTOR if sums is None else sums,
        NO_VECTOR if logs is None else logs,
        *swept,
    )
    return swept


def scratch(workspace: Workspace) -> FloatArray:
    """Return the `work` of `posteriors_kernel`; it leaves its n-th row in row n % 2."""
    return np.zeros((3 + 2 * OUTER_ROWS, workspace.prepared.width))


def posteriors(
    workspace: Workspace,
    pieces: IndexArray,
    kept: FloatArray,
    base: int,
    *,
    backwards: bool = True,
    initial: FloatArray | None = None,
    keep: bool = True,
    work: FloatArray | None = None,
    count_first_pair: bool = False,
    counts: tuple[FloatArray, FloatArray, FloatArray] | None = None,
) -> bool:
    """Run `posteriors_kernel`; return whether it reached the end."""
    prepared = workspace.prepared
    ends = (prepared.start, prepared.ones)
    failed = np.empty(len(pieces), dtype=np.int64)
    posteriors_kernel(
        sparse_joint_step if prepared.is_sparse else dense_joint_step,
        sparse_count_pairs if prepared.is_sparse else dense_count_pairs,
        prepared.matrices[backwards],
        workspace.table,
        workspace.row,
        pieces,
        backwards,
        ends[backwards] if initial is None else initial,
        initial is not None,
        kept,
        base,
        keep,
        scratch(workspace) if work is None else work,
        failed,
        counts is not None,
        count_first_pair,
        *(counts or (NO_ROWS, NO_ROWS, NO_ROWS)),
    )
    return bool((failed < 0).all())


# ------------------------------------------------------------------------------------------- the passes in logarithms

# The passes above give up where a double has too few exponents, for instance when the only state that can continue has
# a # probability of 1e-300 of the others. The passes here, in logarithms, decide whether the observations are
# impossible; # if they are not, they compute the result, in some ten times the time.


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
                total += math.exp(u[matrix.source[entry]] + matrix.weight[entry] - high)
        out[j] = high + math.log(total) if high > -np.inf else -np.inf


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
                    pairs[entry] += math.exp(before + backwards.weight[entry] + table[row[t + 1], j] + beta[t + 1, j])


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
