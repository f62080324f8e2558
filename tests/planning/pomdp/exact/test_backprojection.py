"""The value of beliefs by alpha vectors, and what they are projected with."""

import numpy as np
import pytest

from rlsuite.models import POMDP
from rlsuite.planning import solve
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.solution import values_at, values_at_belief


@pytest.mark.parametrize("illegal", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("possible", [1, 4, 5, 9])
def test_zero_times_minus_infinity_is_zero(illegal, possible):
    rng = np.random.default_rng(possible)
    vectors = rng.normal(size=(40, 9))
    vectors[rng.random((40, 9)) < illegal] = -np.inf
    belief = np.zeros(9)
    belief[rng.permutation(9)[:possible]] = rng.dirichlet(np.ones(possible))
    expected = [sum(b * v for b, v in zip(belief, vector, strict=True) if b > 0.0) for vector in vectors]
    np.testing.assert_allclose(values_at_belief(vectors, belief), expected, atol=1e-14)
    np.testing.assert_allclose(values_at(vectors, belief[np.newaxis])[0], expected, atol=1e-14)


def test_many_vectors_are_looked_at_in_blocks(monkeypatch):
    monkeypatch.setattr("rlsuite.planning.pomdp.solution.BLOCK", 16)
    vectors = np.full((100, 8), -np.inf)
    vectors[:, :7] = np.arange(100.0)[:, np.newaxis]
    belief = np.append(np.full(7, 1 / 7), 0.0)
    np.testing.assert_allclose(values_at_belief(vectors, belief), np.arange(100.0))


@pytest.mark.slow
def test_no_dense_table_of_observations_is_made(tiger):
    """Of a model that was given sparse; `observation` is cached once somebody asks for it."""
    dense = tiger(0.75)
    sparse = POMDP(dense.mdp, [dense.observation_matrix(a) for a in range(3)])
    for method, options in (
        ("incremental_pruning", {}),
        ("sarsop", {"tol": 1e-3}),
        ("reachable_beliefs", {"horizon": 3}),
        ("aems2", {"max_iterations": 5}),
        ("pomcp", {"simulations": 5, "seed": 1}),
    ):
        plan, same = solve(sparse, method, **options), solve(dense, method, **options)
        assert (plan.lower_bound, plan.upper_bound) == pytest.approx((same.lower_bound, same.upper_bound))
        if method != "reachable_beliefs":
            plan.act([0.2, 0.8])
    assert "observation" not in vars(sparse)


def test_rows_that_sum_to_one_only_roughly_do_not_grow_the_modulus(tiger):
    rough = tiger(0.75).observation * (1.0 + 5e-9)
    moves = Projection(POMDP(tiger(0.75).mdp, rough)).moves
    for action in range(3):
        total = sum(matrix.sum(axis=1) for matrix in moves[action].values())
        np.testing.assert_allclose(total, 0.75, rtol=1e-15)
