"""The steps of inference with a dense transition matrix; `rlsuite.inference.sparse` has the same four for a sparse one.

Vectors are rows of arrays (n, Kp), given as the array and the number of the row; Kp is the number K of states rounded
up to a multiple of the lanes, and the entries beyond K add nothing. The same functions run forwards and backwards in
time: backwards the matrix is the transposed one.
"""

from typing import NamedTuple

from rlsuite.compilation import compiled
from rlsuite.inference import simd
from rlsuite.inference.simd import Lanes
from rlsuite.models.aliases import FloatArray

_multiply = simd.multiply
_meet = simd.multiply_two
_best = simd.max_plus
_add_outer = simd.add_outer


class Dense(NamedTuple):
    """A matrix between the states of two times."""

    weight: FloatArray
    """(K or Kp, Kp) float64: from a state (row) to a state (column); padded with 0, or minus infinity for logarithms"""
    lanes: Lanes
    """see `rlsuite.inference.simd`"""


@compiled(in_place=True)
def step(
    matrix: Dense, u: FloatArray, u_row: int, table: FloatArray, row: int, scale: float, out: FloatArray, out_row: int
) -> float:
    """``out = (u @ matrix) * table[row] * scale``; return the sum."""
    return _multiply(matrix.weight, u, u_row, table, row, scale, out, out_row, matrix.lanes)


@compiled(in_place=True)
def joint_step(
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
    """`step`, but 0 where `other` is 0, and ``joint[0] = (u @ matrix) * other``; return both sums."""
    return _meet(matrix.weight, u, u_row, table, row, scale, out, out_row, other, other_row, joint, 0, matrix.lanes)


@compiled(in_place=True)
def viterbi_step(
    matrix: Dense, u: FloatArray, u_row: int, table: FloatArray, row: int, shift: float, out: FloatArray, out_row: int
) -> float:
    """``out[j] = max_i (u[i] + matrix[i, j]) + table[row, j] + shift``; return the maximum."""
    return _best(matrix.weight, u, u_row, table, row, shift, out, out_row, matrix.lanes)


@compiled(in_place=True)
def best_predecessor(matrix: Dense, state: int, kept: FloatArray, t: int) -> int:
    """The first state i that maximises ``kept[t, i] + matrix[state, i]``: here the matrix is the transposed one."""
    chosen, high = -1, -float("inf")
    for i in range(matrix.weight.shape[0]):
        value = kept[t, i] + matrix.weight[state, i]
        if value > high:
            chosen, high = i, value
    return chosen


@compiled(in_place=True)
def count_pairs(matrix: Dense, left: FloatArray, right: FloatArray, number: int, counts: FloatArray) -> None:
    """Add the outer products of the first rows of `left` and `right` to `counts`."""
    _add_outer(counts, left, right, number, matrix.lanes)
