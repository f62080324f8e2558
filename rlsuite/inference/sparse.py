"""The steps of inference with a sparse transition matrix, whose work is one multiplication for each entry not 0.

They have the names and the arguments of those in `rlsuite.inference.dense`.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.compilation import compiled
from rlsuite.inference.simd import Lanes
from rlsuite.models.aliases import FloatArray, IndexArray


class Sparse(NamedTuple):
    """A matrix between the states of two times, by columns: each state looks up where it can be reached from."""

    indptr: IndexArray
    """(Kp + 1,) int64: the entries of column j are ``indptr[j] : indptr[j + 1]``; columns of padding have none"""
    source: IndexArray
    """(N,) int64: the row of each entry"""
    weight: FloatArray
    """(N,) float64"""
    lanes: Lanes
    """see `rlsuite.inference.simd`; for what is done to whole rows"""


@compiled(in_place=True)
def step(
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
def joint_step(
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
    """`step`, but 0 where `other` is 0, and ``joint[0] = (u @ matrix) * other``; return both sums."""
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
def viterbi_step(
    matrix: Sparse, u: FloatArray, u_row: int, table: FloatArray, row: int, shift: float, out: FloatArray, out_row: int
) -> float:
    """``out[j] = max_i (u[i] + matrix[i, j]) + table[row, j] + shift``; return the maximum."""
    highest = -np.inf
    last = matrix.indptr[0]
    for j in range(matrix.indptr.size - 1):
        first, last = last, matrix.indptr[j + 1]
        value = -np.inf
        for entry in range(first, last):
            value = max(value, u[u_row, matrix.source[entry]] + matrix.weight[entry])
        value += table[row, j] + shift
        out[out_row, j] = value
        highest = max(highest, value)
    return highest


@compiled(in_place=True)
def best_predecessor(matrix: Sparse, state: int, kept: FloatArray, t: int) -> int:
    """The first state i that maximises ``kept[t, i]`` plus the entry from i to `state`."""
    chosen, high = -1, -np.inf
    for entry in range(matrix.indptr[state], matrix.indptr[state + 1]):
        value = kept[t, matrix.source[entry]] + matrix.weight[entry]
        if value > high:
            chosen, high = matrix.source[entry], value
    return chosen


@compiled(in_place=True)
def count_pairs(matrix: Sparse, left: FloatArray, right: FloatArray, number: int, counts: FloatArray) -> None:
    """Add ``left[n, j] * right[n, i]`` over the first rows to ``counts[0]`` at the entry from i to j."""
    for j in range(matrix.indptr.size - 1):
        for entry in range(matrix.indptr[j], matrix.indptr[j + 1]):
            total = 0.0
            for n in range(number):
                total += left[n, j] * right[n, matrix.source[entry]]
            counts[0, entry] += total
