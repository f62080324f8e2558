"""Several paths of hidden states: the most probable ones, and random ones given the observations.

The n best paths are found as the best one is, with the n best ways to reach each state in place of one (list Viterbi:
Seshadri and Sundberg 1994, parallel form). A random path is drawn backwards, from the last state to the first:
Pr[x_t = i | x_{t+1} = j, z] is proportional to alpha_t(i) Pr[j | i] (forward filtering, backward sampling:
Fruehwirth-Schnatter 1994; Scott 2002).
"""

from __future__ import annotations

import math
from typing import NamedTuple, overload

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import Seed, generator, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference.forward_backward import filtered
from rlsuite.inference.forward_backward_kernels import UNDERFLOW, exact
from rlsuite.inference.parameters import HMMParameters, Sparse, Workspace, logarithms
from rlsuite.inference.sequences import EndToEnd, Listed, Observations, sequences
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray

MOST_WAYS = 2**31 - 1
"""Ways to the states, of all times together, that `best_paths` keeps: 8 GiB of them."""


class Paths(NamedTuple):
    """Paths of hidden states, the most probable first."""

    states: StateArray
    """(n, T) int32: a path in each row"""
    log_probability: FloatArray
    """(n,) float64: ln Pr[x_0..x_T, z_0..z_T] of each, in nats; less ``hmm.score(z)`` it is ln Pr[x_0..x_T | z]"""


@compiled(in_place=True)
def best_paths_kernel(
    matrix: Sparse,
    table: FloatArray,
    row: IndexArray,
    score: FloatArray,
    before: FloatArray,
    head: IndexArray,
    came: StateArray,
    shift: FloatArray,
) -> int:
    """Sweep forwards; return the first time at which the observations are impossible, or -1.

    ``score[j, r]`` is the logarithm of the r-th best way to j, and comes with those of the first time;
    ``came[t, j, r] = i n + h`` says that it goes on from the h-th best way to i. ``shift[0]`` becomes what was taken
    out of the scores so that they stay precise.
    """
    states, n = score.shape
    for t in range(row.size):
        high = -np.inf
        for j in range(states):
            if t > 0:
                for entry in range(matrix.indptr[j], matrix.indptr[j + 1]):
                    head[matrix.source[entry]] = 0
                for r in range(n):
                    best, chosen = -np.inf, -1
                    for entry in range(matrix.indptr[j], matrix.indptr[j + 1]):
                        i = matrix.source[entry]
                        if head[i] < n:
                            value = before[i, head[i]] + matrix.weight[entry]
                            if value > best:
                                best, chosen = value, i
                    score[j, r] = best
                    if chosen >= 0:
                        came[t, j, r] = chosen * n + head[chosen]
                        head[chosen] += 1
            for r in range(n):
                score[j, r] += table[row[t], j]
            high = max(high, score[j, 0])
        if high == -np.inf:
            return t
        shift[0] += high
        for j in range(states):
            for r in range(n):
                score[j, r] -= high
                before[j, r] = score[j, r]
    return -1


@compiled(in_place=True)
def follow_kernel(came: StateArray, latest: StateArray, n: int, paths: StateArray) -> None:
    """Fill paths (m, T) backwards; ``latest[p] = j n + r`` is the way that path p ends with."""
    for p in range(paths.shape[0]):
        way = latest[p]
        for s in range(paths.shape[1]):
            t = paths.shape[1] - 1 - s
            paths[p, t] = way // n
            if t > 0:
                way = came[t, way // n, way % n]


@compiled(in_place=True)
def draw_backwards_kernel(
    matrix: Sparse, alpha: FloatArray, least: float, uniform: FloatArray, paths: StateArray
) -> bool:
    """Fill paths (n, T), given ln alpha (T, K) and a number from 0 to 1 for each state of each path.

    Return whether no decision was between states whose logarithms are all below `least`.
    """
    length, states = alpha.shape
    for p in range(paths.shape[0]):
        after = -1
        for s in range(length):
            t = length - 1 - s
            first, last = 0, states
            if after >= 0:
                first, last = matrix.indptr[after], matrix.indptr[after + 1]
            high = -np.inf
            for entry in range(first, last):
                value = alpha[t, entry] if after < 0 else alpha[t, matrix.source[entry]] + matrix.weight[entry]
                high = max(high, value)
            if not high > least:
                return False
            total = 0.0
            for entry in range(first, last):
                value = alpha[t, entry] if after < 0 else alpha[t, matrix.source[entry]] + matrix.weight[entry]
                total += math.exp(value - high)
            left = uniform[p, t] * total
            chosen = -1
            for entry in range(first, last):
                value = alpha[t, entry] if after < 0 else alpha[t, matrix.source[entry]] + matrix.weight[entry]
                share = math.exp(value - high)
                if share > 0.0:
                    chosen = entry if after < 0 else matrix.source[entry]
                    left -= share
                    if left < 0.0:
                        break
            paths[p, t] = chosen
            after = chosen
    return True


@says_what_to_write
def best_paths(model: HMMParameters, z: Observations, n: int) -> Paths:
    """Return the n most probable paths of hidden states given all observations; of equal ones, any.

    It takes O(n T) operations for each transition that is possible, and 4 n T K bytes.

    Parameters
    ----------
    model : HMM
        The model.
    z : array_like (T,) or (T, D)
        One sequence of observations; some may be missing.
    n : int
        Number of paths, at least 1.

    Returns
    -------
    Paths
        All paths that are possible, if these are fewer than n.

    Raises
    ------
    ModelError
        If there are several sequences, or the observations are malformed or impossible; the message says at which t.
    ParameterError
        If n is no whole number from 1 on, or so large that more than 8 GiB are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.inference import HMM, best_paths
    >>> health = HMM([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> found = best_paths(health, [0, 1, 2], 3)
    >>> found.states.tolist(), np.exp(found.log_probability).round(5).tolist()
    ([[0, 0, 1], [0, 1, 1], [0, 0, 0]], [0.01512, 0.00972, 0.00588])
    """
    n = whole_number("n", n)
    data = sequences(model.emission, z)
    if len(data) > 1:
        raise ModelError(f"z holds {len(data)} sequences, and best_paths takes one: call it for each of them")
    workspace = Workspace(model, data)
    states, length = model.n_states, workspace.length
    if length * math.log(states) <= math.log(n):
        n = states**length  # there are no more paths
    if n * states * length > MOST_WAYS:
        needed = n * states * length * 4 / 2**30
        raise ParameterError(
            f"n={n} best paths of {length} steps through {states} states need {needed:.3g} GiB; "
            f"n is at most {MOST_WAYS // (states * length)} here, and sample_paths draws any number"
        )
    score = np.full((states, n), -np.inf)
    score[:, 0] = logarithms(model.start)
    came = np.zeros((length, states, n), dtype=np.int32)
    shift = np.zeros(1)
    failed = best_paths_kernel(
        workspace.log_matrices[0],
        workspace.log_table,
        workspace.row,
        score,
        np.empty_like(score),
        np.zeros(states, dtype=np.int64),
        came,
        shift,
    )
    if failed >= 0:
        workspace.impossible(int(failed))
    ends = np.argsort(-score, axis=None, kind="stable")[:n]
    ends = ends[score.reshape(-1)[ends] > -np.inf]
    paths = np.empty((len(ends), length), dtype=np.int32)
    follow_kernel(came, ends.astype(np.int32), n, paths)
    return Paths(paths, score.reshape(-1)[ends] + shift[0] + data.shifts[0])


@overload
def sample_paths(
    model: HMMParameters, z: EndToEnd, n: int, lengths: ArrayLike | None = None, *, seed: Seed | None = None
) -> StateArray: ...
@overload
def sample_paths(
    model: HMMParameters, z: Listed, n: int, lengths: None = None, *, seed: Seed | None = None
) -> list[StateArray]: ...
@overload
def sample_paths(
    model: HMMParameters, z: Observations, n: int, lengths: ArrayLike | None = None, *, seed: Seed | None = None
) -> StateArray | list[StateArray]: ...
@says_what_to_write
def sample_paths(
    model: HMMParameters, z: Observations, n: int, lengths: ArrayLike | None = None, *, seed: Seed | None = None
) -> StateArray | list[StateArray]:
    """Draw paths of hidden states from Pr[x_0..x_T | z_0..z_T], independent of each other.

    What depends on whole paths (the number of changes, the longest stay) has a distribution, of which `smooth` says
    nothing and `decode` one value; draws have it.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    n : int
        Number of paths, at least 1.
    seed : int, SeedSequence or Generator, optional
        Where the random numbers come from; by default from the operating system, other ones each time.

    Returns
    -------
    ndarray (n, T) int32
        A path in each row. For a list of sequences, a list of such arrays.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible; the message says at which t.
    ParameterError
        If n is no whole number from 1 on.

    Examples
    --------
    How often the weather changed in a week, given on which days there were umbrellas:

    >>> import numpy as np
    >>> from rlsuite.inference import HMM, sample_paths
    >>> umbrella = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> paths = sample_paths(umbrella, [0, 0, 1, 1, 1, 0, 0], 10_000, seed=0)
    >>> changes = (np.diff(paths) != 0).sum(axis=1)
    >>> (np.bincount(changes) / 10_000).round(1).tolist()
    [0.0, 0.1, 0.7, 0.1, 0.0, 0.0]
    """
    n = whole_number("n", n)
    data = sequences(model.emission, z, lengths)
    rng = np.random.default_rng() if seed is None else generator(seed)
    workspace = Workspace(model, data)
    alpha = logarithms(filtered(workspace).rows)
    forwards = workspace.log_matrices[0]
    each: list[StateArray] = []
    for number, (begin, end) in enumerate(data.pieces):
        paths = np.empty((n, end - begin), dtype=np.int32)
        uniform = rng.random(paths.shape)
        rows = np.ascontiguousarray(alpha[begin:end])
        if not draw_backwards_kernel(forwards, rows, math.log(UNDERFLOW), uniform, paths):
            # Such small numbers have lost digits, unless they are logarithms all the way.
            draw_backwards_kernel(forwards, exact(workspace, number).alpha, -np.inf, uniform, paths)
        each.append(paths)
    return each if data.listed else np.concatenate(each, axis=1)
