"""Vector arithmetic on the rows of arrays, for compiled code: the inner loops of inference in dense models.

A step of a forward pass is a vector times a matrix, times a row of likelihoods. Written as loops over arrays, a
compiler has to assume that what is written may overlap with what is read, and puts every partial sum back into memory.
So the instructions are spelled out, in `rlsuite.inference.simd_instructions`: that makes it two to four times as fast.
Here stands what they do, as plain NumPy that adds up in the same order: the same bytes, on every processor.

Everywhere, a vector is a row of a C-contiguous float64 array, given as the array and the number of the row. Rows are
padded to a multiple of W entries. `lanes` is a pair of tuples of zeros, because the length of a tuple is part of its
type and so known when the code is compiled: that of the first is W, the number of neighbouring states that are one
register; that of the second is W, too, if matrices are W x W, and then all loops over states are written out; otherwise
it is 0.
"""

import numpy as np

from rlsuite.core.compilation import compiled, intrinsic
from rlsuite.models.aliases import FloatArray

Lanes = tuple[tuple[int, ...], tuple[int, ...]]

REGISTERS = 4
"""Registers that collect sums at the same time: enough to hide how long one multiplication takes."""

INSTRUCTIONS = "rlsuite.inference.simd_instructions"


@intrinsic(f"{INSTRUCTIONS}:multiply")
def multiply(
    matrix: FloatArray,
    u: FloatArray,
    u_row: int,
    table: FloatArray,
    row: int,
    scale: float,
    out: FloatArray,
    out_row: int,
    lanes: Lanes,
) -> float:
    """Fill ``out = (u @ matrix) * table[row] * scale`` and return its sum."""
    out[out_row] = _times(u[u_row], matrix, lanes) * (scale * table[row])
    return _sum(out[out_row], lanes)


@intrinsic(f"{INSTRUCTIONS}:multiply_two")
def multiply_two(
    matrix: FloatArray,
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
    joint_row: int,
    lanes: Lanes,
) -> tuple[float, float]:
    """Fill `out` as `multiply` does, but with 0 where `other` is 0, and ``joint = (u @ matrix) * other``.

    Return the sums of `out` and of `joint`.
    """
    product, partner = _times(u[u_row], matrix, lanes), other[other_row].copy()
    out[out_row] = np.where(partner == 0.0, 0.0, product * (scale * table[row]))
    joint[joint_row] = product * partner
    return _sum(out[out_row], lanes), _sum(joint[joint_row], lanes)


@intrinsic(f"{INSTRUCTIONS}:max_plus")
def max_plus(
    matrix: FloatArray,
    u: FloatArray,
    u_row: int,
    table: FloatArray,
    row: int,
    shift: float,
    out: FloatArray,
    out_row: int,
    lanes: Lanes,
) -> float:
    """Fill ``out[j] = max_i (u[i] + matrix[i, j]) + table[row, j] + shift`` and return its maximum."""
    highest = (u[u_row, : matrix.shape[0], None] + matrix).max(axis=0)
    out[out_row] = highest + (shift + table[row])
    return float(out[out_row].max())


@intrinsic(f"{INSTRUCTIONS}:add_outer")
def add_outer(counts: FloatArray, left: FloatArray, right: FloatArray, number: int, lanes: Lanes) -> None:
    """Add ``sum_n left[n, i] * right[n, j]`` over the first `number` rows to ``counts[i, j]``."""
    for i in range(counts.shape[0]):
        counts[i] += _times(left[:number, i], right[:number], lanes)


@compiled(in_place=True)
def copy_scaled(out: FloatArray, out_row: int, v: FloatArray, v_row: int, factor: float, lanes: Lanes) -> None:
    """Fill ``out = v * factor``, as far as `out` goes."""
    for i in range(len(lanes[1]) or out.shape[1]):
        out[out_row, i] = v[v_row, i] * factor


@compiled(in_place=True)
def add_scaled(
    out: FloatArray, out_row: int, v: FloatArray, v_row: int, begin: int, factor: float, lanes: Lanes
) -> None:
    """Add ``v[begin + i] * factor`` to ``out[i]``, as far as `out` goes."""
    goal, window = out[out_row], v[v_row, begin:]
    for i in range(len(lanes[1]) or out.shape[1]):
        goal[i] += window[i] * factor


@intrinsic(f"{INSTRUCTIONS}:add_to_shifted")
def add_to_shifted(
    out: FloatArray,
    out_row: int,
    before: FloatArray,
    before_row: int,
    factor: float,
    v: FloatArray,
    v_row: int,
    lanes: Lanes,
) -> float:
    """Fill ``out[i] = before[i + 1] + factor * v[i]`` as far as `v` goes, and return the sum.

    The rows of `out` and `before` are one register longer; they may be the same.
    """
    size = v.shape[1]
    out[out_row, :size] = before[before_row, 1 : size + 1] + factor * v[v_row]
    return _sum_of_four(out[out_row, :size], lanes)


@intrinsic(f"{INSTRUCTIONS}:dot_two")
def dot_two(
    u: FloatArray, u_row: int, begin: int, v: FloatArray, v_row: int, w: FloatArray, w_row: int, lanes: Lanes
) -> tuple[float, float]:
    """Return ``sum_i u[begin + i] * v[i]`` and ``sum_i u[begin + i] * w[i]``, as far as `w` goes."""
    size = w.shape[1]
    window = u[u_row, begin : begin + size]
    return _sum_of_four(window * v[v_row, :size], lanes), _sum_of_four(window * w[w_row], lanes)


def _times(u: FloatArray, matrix: FloatArray, lanes: Lanes) -> FloatArray:
    """Return u @ matrix; four registers at once add up row by row, a single one takes turns with another."""
    width, is_square = len(lanes[0]), len(lanes[1]) > 0
    run = REGISTERS * width
    together = 0 if is_square else matrix.shape[1] // run * run
    even, odd = np.zeros((2, matrix.shape[1]))
    for i, row in enumerate(matrix):
        even[:together] += u[i] * row[:together]
        (odd if i % 2 else even)[together:] += u[i] * row[together:]
    even[together:] += odd[together:]
    return even


def _sum(values: FloatArray, lanes: Lanes) -> float:
    """Return the sum: of each lane over the registers, and then of the upper half of the lanes onto the lower."""
    width = len(lanes[0])
    total = np.zeros(width)
    for register in values.reshape(-1, width):
        total += register
    while width > 1:
        width //= 2
        total = total[:width] + total[width:]
    return float(total[0])


def _sum_of_four(values: FloatArray, lanes: Lanes) -> float:
    """Return the sum, of runs of four registers in four sums, and of the registers that are left in the first."""
    registers = values.reshape(-1, len(lanes[0]))
    together = len(registers) // REGISTERS * REGISTERS
    sums = np.zeros((REGISTERS, registers.shape[1]))
    for run in registers[:together].reshape(-1, *sums.shape):
        sums += run
    for register in registers[together:]:
        sums[0] += register
    return _sum(((sums[0] + sums[1]) + (sums[2] + sums[3])).reshape(-1), lanes)
