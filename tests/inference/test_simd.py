"""The vector arithmetic below all passes over dense models, beside NumPy."""

import numba
import numpy as np
import pytest

from rlsuite.inference import simd


@numba.njit
def _all_operations(matrix, u, table, other, out, joint, counts, width):
    total = simd.multiply(matrix, u, 1, table, 1, 0.5, out, 0, width)
    sums = simd.multiply_two(matrix, u, 1, table, 1, 0.5, out, 1, other, 2, joint, 0, width)
    high = simd.max_plus(matrix, u, 1, table, 1, 0.5, out, 2, width)
    simd.add_outer(counts, u, other, 3, width)
    simd.copy_scaled(out, 3, u, 0, 2.0, width)
    simd.add_scaled(out, 3, u, 1, 3.0, width)
    return total, sums, high


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    ("width", "states"),
    [(2, 1), (2, 2), (4, 3), (4, 4), (8, 5), (8, 8), (8, 9), (8, 24), (8, 32), (8, 33), (8, 40), (8, 75)],
)
def test_vector_arithmetic(width: int, states: int, is_known: bool) -> None:
    if is_known and states > width:
        return
    height = width if is_known else states
    rng = np.random.default_rng(states)
    length = -(-states // width) * width
    u, table, other, out = (rng.random((4, length)) for _ in range(4))
    u[:, states:] = 0.0
    matrix = np.zeros((height, length))
    matrix[:states, :states] = rng.random((states, states))
    joint, counts = np.zeros((1, length)), np.ones((height, length))
    form = (0,) * width, (0,) * (width if is_known else 0)
    total, sums, high = _all_operations(matrix, u, table, other, out, joint, counts, form)
    product = u[1, :height] @ matrix
    np.testing.assert_allclose(out[:2], [product * table[1] * 0.5] * 2, rtol=1e-13)
    np.testing.assert_allclose(joint[0], product * other[2], rtol=1e-13)
    np.testing.assert_allclose([total, *sums], [out[0].sum(), out[0].sum(), joint.sum()], rtol=1e-13)
    np.testing.assert_allclose(out[2], (u[1, :height, None] + matrix).max(axis=0) + table[1] + 0.5, rtol=1e-15)
    assert high == out[2].max()
    np.testing.assert_allclose(counts, 1.0 + u[:3, :height].T @ other[:3], rtol=1e-13)
    np.testing.assert_allclose(out[3], 2.0 * u[0] + 3.0 * u[1], rtol=1e-15)
