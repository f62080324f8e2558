"""The value of a chain: closed forms, and the dense and the sparse solver alike."""

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array

from rlsuite.planning.linear_system import (
    DENSE_LIMIT,
    MOSTLY_FILLED,
    band_of,
    fixed_point_solver,
    seconds_to_eliminate,
    solve_fixed_point,
)


@pytest.mark.parametrize("n", [3, DENSE_LIMIT, DENSE_LIMIT + 1, 1_000])
def test_a_corridor_is_a_geometric_series(n):
    """One unit a step and gamma = 1/2: with k steps to go, 2 (1 - 2^-k)."""
    ahead = csr_array(diags_array([np.full(n - 1, 0.5)], offsets=[1], shape=(n, n)))
    value = solve_fixed_point(ahead, np.ones(n))
    np.testing.assert_allclose(value, 2.0 * (1.0 - 0.5 ** np.arange(n, 0, -1.0)), rtol=1e-14)
    assert 0.0 <= seconds_to_eliminate(ahead) < 1.0


def test_every_solver_is_that_of_dense_systems(monkeypatch):
    rng = np.random.default_rng(0)
    n = 2 * DENSE_LIMIT
    constants = rng.standard_normal((n, 2))
    for filled in (3.0 / DENSE_LIMIT, 0.05, 0.4, 1.0):
        matrix = np.where(rng.random((n, n)) < filled, rng.random((n, n)), 0.0)
        matrix *= 0.9 / max(1.0, matrix.sum(axis=1).max())
        expected = np.linalg.solve(np.eye(n) - matrix, constants)
        for mostly_filled in (-1.0, MOSTLY_FILLED, 2.0):
            monkeypatch.setattr("rlsuite.planning.linear_system.MOSTLY_FILLED", mostly_filled)
            solve = fixed_point_solver(csr_array(matrix))
            np.testing.assert_allclose(solve(constants), expected, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(solve(constants[:, 1]), expected[:, 1], rtol=1e-10, atol=1e-12)


def test_what_fills_in_is_eliminated_densely():
    rng, n, seconds = np.random.default_rng(2), 1_000, []
    for length in (1, 20, n):
        columns = np.concatenate([rng.choice(n, length, replace=False) for _ in range(n)])
        rows = (np.full(n * length, 0.9 / length), columns, np.arange(n + 1) * length)
        seconds.append(seconds_to_eliminate(csr_array(rows, shape=(n, n))))
    assert seconds[0] < 0.1 * seconds[1]
    assert seconds[1] == seconds[2]


def test_what_is_too_large_for_a_dense_table_stays_sparse(monkeypatch):
    monkeypatch.setattr("rlsuite.planning.linear_system._dense_solver", lambda matrix: pytest.fail("dense"))
    monkeypatch.setattr("rlsuite.planning.linear_system.MOST_DENSE", 2 * DENSE_LIMIT)
    n, rng = 2 * DENSE_LIMIT + 1, np.random.default_rng(3)
    matrix = csr_array(0.9 * rng.dirichlet(np.ones(n), n))
    np.testing.assert_allclose(solve_fixed_point(matrix, np.ones(n)), np.full(n, 10.0), rtol=1e-12)


@pytest.mark.parametrize(("below", "above"), [(0, 0), (0, 2), (3, 1), (40, 40)])
def test_within_a_band_as_in_any_order(below, above):
    rng = np.random.default_rng(1)
    n = 4 * DENSE_LIMIT
    offsets = range(-below, above + 1)
    band = diags_array([0.99 / len(offsets) * rng.random(n) for _ in offsets], offsets=offsets, shape=(n, n))
    matrix = csr_array(band)
    assert band_of(matrix) == (below, above)
    assert 0.0 <= seconds_to_eliminate(matrix) < 1.0
    constants = rng.standard_normal((n, 2))
    expected = np.linalg.solve(np.eye(n) - matrix.toarray(), constants)
    np.testing.assert_allclose(fixed_point_solver(matrix)(constants), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(solve_fixed_point(matrix, constants[:, 0]), expected[:, 0], rtol=1e-12, atol=1e-13)
    shuffled = rng.permutation(n)
    if below + above > 0:
        assert band_of(matrix[shuffled][:, shuffled]) is None  # which goes through the sparse solver
    elsewhere = solve_fixed_point(csr_array(matrix[shuffled][:, shuffled]), constants[shuffled, 0])
    np.testing.assert_allclose(elsewhere, expected[shuffled, 0], rtol=1e-12, atol=1e-13)


def test_a_singular_band_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        solve_fixed_point(csr_array(np.eye(2 * DENSE_LIMIT)), np.ones(2 * DENSE_LIMIT))


def test_a_singular_dense_system_is_refused():
    n = 2 * DENSE_LIMIT  # each state stays, or leads to all others
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        solve_fixed_point(csr_array(np.eye(n)[::-1] @ np.eye(n)[::-1] + np.triu(np.ones((n, n)), 1)), np.ones(n))


def test_no_unknowns_have_no_value():
    assert solve_fixed_point(csr_array((0, 0)), np.zeros(0)).size == 0
