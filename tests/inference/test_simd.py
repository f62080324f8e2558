"""The vector arithmetic below all passes over dense models, beside NumPy."""

import hashlib

import numpy as np
import pytest

from rlsuite.core.compilation import compiled
from rlsuite.errors import ConvergenceWarning
from rlsuite.inference import HMM, HSMM, simd

pytestmark = pytest.mark.arithmetic


@compiled(in_place=True)
def _all_operations(matrix, u, table, other, out, joint, counts, width):
    total = simd.multiply(matrix, u, 1, table, 1, 0.5, out, 0, width)
    sums = simd.multiply_two(matrix, u, 1, table, 1, 0.5, out, 1, other, 2, joint, 0, width)
    high = simd.max_plus(matrix, u, 1, table, 1, 0.5, out, 2, width)
    simd.add_outer(counts, u, other, 3, width)
    simd.copy_scaled(out, 3, u, 0, 2.0, width)
    simd.add_scaled(out, 3, u, 1, 0, 3.0, width)
    return total, sums, high


@compiled(in_place=True)
def _windows(rows, window, out, sums, width):
    total = simd.add_to_shifted(out, 0, window, 1, 0.5, rows, 2, width)
    again = simd.add_to_shifted(out, 0, out, 0, 2.0, rows, 1, width)
    both = simd.dot_two(window, 1, 3, out, 0, rows, 3, width)
    simd.add_scaled(sums, 1, window, 0, 5, 0.25, width)
    return total, again, both


FORMS = {
    f"{width}-{states}{'-square' if is_square else ''}": (width, states, is_square)
    for width, states in [
        (2, 1),
        (2, 2),
        (4, 3),
        (4, 4),
        (8, 5),
        (8, 8),
        (8, 9),
        (8, 24),
        (8, 32),
        (8, 33),
        (8, 40),
        (8, 75),
    ]
    for is_square in ([False, True] if states <= width else [False])
}


@pytest.fixture(params=FORMS)
def arguments(request):
    width, states, is_square = FORMS[request.param]
    height = width if is_square else states
    rng = np.random.default_rng(states)
    length = -(-states // width) * width
    u, table, other, out = (rng.random((4, length)) for _ in range(4))
    u[:, states:] = 0.0
    other[2, rng.random(length) < 0.2] = 0.0
    matrix = np.zeros((height, length))
    matrix[:states, :states] = rng.random((states, states))
    joint, counts = np.zeros((1, length)), np.ones((height, length))
    return matrix, u, table, other, out, joint, counts, ((0,) * width, (0,) * (width if is_square else 0))


def test_vector_arithmetic(arguments):
    total, sums, high = _all_operations(*arguments)
    matrix, u, table, other, out, joint, counts, _ = arguments
    height = len(matrix)
    product = u[1, :height] @ matrix
    together = product * table[1] * 0.5
    np.testing.assert_allclose(out[:2], [together, np.where(other[2] == 0.0, 0.0, together)], rtol=1e-13)
    np.testing.assert_allclose(joint[0], product * other[2], rtol=1e-13)
    np.testing.assert_allclose([total, *sums], [out[0].sum(), out[1].sum(), joint.sum()], rtol=1e-13)
    np.testing.assert_allclose(out[2], (u[1, :height, None] + matrix).max(axis=0) + table[1] + 0.5, rtol=1e-15)
    assert high == out[2].max()
    np.testing.assert_allclose(counts, 1.0 + u[:3, :height].T @ other[:3], rtol=1e-13)
    np.testing.assert_allclose(out[3], 2.0 * u[0] + 3.0 * u[1], rtol=1e-15)


def test_plain_python_has_the_same_bytes(arguments):
    copies = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    found = _all_operations(*arguments)
    assert _all_operations.function(*copies) == found
    for name, one, other in zip(("out", "joint", "counts"), arguments[4:7], copies[4:7], strict=True):
        assert one.tobytes() == other.tobytes(), name
    if len(arguments[-1][0]) == 8 and not arguments[-1][1]:
        _check_windows(arguments[0].shape[1], arguments[-1])


def _check_windows(size, lanes):
    rng = np.random.default_rng(size)
    rows, window, sums = rng.random((4, size)), rng.random((2, size + 8)), np.ones((2, size))
    out, other, others = np.zeros((1, size + 8)), np.zeros((1, size + 8)), sums.copy()
    found = _windows(rows, window, out, sums, lanes)
    assert _windows.function(rows, window, other, others, lanes) == found
    assert out.tobytes() + sums.tobytes() == other.tobytes() + others.tobytes()
    once = np.append(window[1, 1 : size + 1] + 0.5 * rows[2], np.zeros(8))
    twice = once[1 : size + 1] + 2.0 * rows[1]
    np.testing.assert_allclose(out[0, :size], twice, rtol=1e-14)
    np.testing.assert_allclose(found[:2], [once.sum(), twice.sum()], rtol=1e-13)
    np.testing.assert_allclose(found[2], window[1, 3 : size + 3] @ np.array([twice, rows[3]]).T, rtol=1e-13)
    np.testing.assert_allclose(sums, [np.ones(size), 1.0 + 0.25 * window[0, 5 : size + 5]], rtol=1e-14)


@pytest.mark.parametrize(("states", "expected"), [(5, "67eb44366cbfce13"), (70, "09281c316d1990a7")])
def test_every_processor_gives_the_same_bytes(states, expected):
    """Recorded on one with fused multiplication and vectors of four; the build runs it on five others."""
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 100, size=(states, states)), rng.integers(1, 100, size=(states, 10))
    transition, emission = (table / table.sum(axis=1, keepdims=True) for table in weights)
    model, z = HMM(np.full(states, 1.0 / states), transition, emission), rng.integers(10, size=1_000)
    with pytest.warns(ConvergenceWarning):
        fitted = model.fit(z, max_iterations=3)
    parts = (model.filter(z), model.smooth(z), model.decode(z), fitted.transition, fitted.emission.table)
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()
    assert digest[:16] == expected


def test_durations_have_the_same_bytes_on_every_processor():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 100, size=(3, 12)), rng.integers(1, 100, size=(3, 21))
    emission, durations = (table / table.sum(axis=1, keepdims=True) for table in weights)
    model, z = HSMM([0.5, 0.25, 0.25], 0.5 - 0.5 * np.eye(3), emission, durations), rng.integers(12, size=1_000)
    with pytest.warns(ConvergenceWarning):
        fitted = model.fit(z, max_iterations=3)
    parts = (model.filter(z), model.smooth(z), model.decode(z), fitted.transition, fitted.durations.table)
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()
    assert digest[:16] == "a1626fe52d496257"
