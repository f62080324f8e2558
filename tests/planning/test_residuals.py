"""Residuals to twice the precision, against exact arithmetic, and the bounds that follow from them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.models import MDP
from rlsuite.planning import Lookahead, solve
from rlsuite.planning.certificate import bounded
from rlsuite.planning.residuals import precise_backup, product_error, residual, rounding_of_residuals, sum_error
from rlsuite.planning.watch import Watch

pytestmark = pytest.mark.arithmetic

numbers = st.floats(-1e100, 1e100, allow_subnormal=False).filter(lambda x: x == 0.0 or abs(x) > 1e-100)


@given(numbers, numbers)
def test_errors_of_products_and_sums_are_exact(a: float, b: float) -> None:
    assert Fraction(a * b) + Fraction(product_error(a, b, a * b)) == Fraction(a) * Fraction(b)
    assert Fraction(a + b) + Fraction(sum_error(a, b, a + b)) == Fraction(a) + Fraction(b)


def random_model(seed: int, states: int, actions: int, gamma: float, per_transition: bool = False) -> MDP:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(states, 0.5), (states, actions))
    reward = rng.normal(size=(states, actions, states) if per_transition else (states, actions))
    return MDP.from_arrays(chances, reward, gamma=gamma)


@pytest.mark.parametrize("per_transition", [False, True])
def test_residuals_are_within_their_bound_of_exact_ones(per_transition: bool) -> None:
    gained = []
    for seed in range(20):
        lookahead = Lookahead(model := random_model(seed, 12, 2, 0.999, per_transition))
        n_actions, indptr, _, weight, reward, gamma, *_ = rows = lookahead.rows
        value = solve(model).value
        plain = lookahead.q(value).reshape(-1)
        for row in range(24):
            first, last, here = int(indptr[row]), int(indptr[row + 1]), float(value[row // n_actions])
            found = residual(rows, row, value, here)
            if per_transition:
                terms = zip(model.probability[first:last], model.reward[first:last], strict=True)
                paid = sum(Fraction(p) * Fraction(r) for p, r in terms)
            else:
                paid = Fraction(reward[row])
            follows = sum(Fraction(weight[i]) * Fraction(value[model.next_state[i]]) for i in range(first, last))
            exact = paid + Fraction(gamma) * follows - Fraction(here)
            assert abs(Fraction(found) - exact) <= Fraction(rounding_of_residuals(lookahead, value, abs(found)))
            gained.append(abs(Fraction(plain[row]) - Fraction(here) - exact) > 100 * abs(Fraction(found) - exact))
    assert np.mean(gained) > (0.4 if per_transition else 0.9)  # plain double precision is much farther off


def test_a_backup_finds_the_least_and_the_greatest_change() -> None:
    lookahead = Lookahead(random_model(3, 30, 4, 0.9))
    ahead = np.random.default_rng(0).normal(size=30)
    value, policy = np.empty(30), np.empty(30, dtype=np.int64)
    arguments = (lookahead.rows, lookahead.q(ahead), ahead)
    least, greatest, size, gap = precise_backup(0, 30, *arguments, 1e-12, 0.0, value, policy)
    q = lookahead.q(ahead)
    assert np.allclose(value, q.max(axis=1), rtol=0, atol=1e-13)
    assert policy.tolist() == q.argmax(axis=1).tolist()
    changes = q.max(axis=1) - ahead
    assert (least, greatest, size) == pytest.approx((changes.min(), changes.max(), np.abs(changes).max()), abs=1e-13)
    assert gap == 0.0
    tie = 0.5 * float(np.sort(q, axis=1)[:, -1].min() - np.sort(q, axis=1)[:, -2].max())
    _, _, _, gap = precise_backup(0, 30, *arguments, 10.0, abs(tie) + 1.0, value, policy)
    assert gap == pytest.approx((q.max(axis=1) - q[np.arange(30), policy]).max())
    assert 0.0 < gap <= 2.0 * (abs(tie) + 1.0)


def test_bounds_below_the_rounding_of_a_sweep() -> None:
    """In double precision the bounds stay 5 (n + 4) u M / (1 - gamma) apart, however close the value is."""
    model = random_model(1, 300, 2, 0.9999)
    lookahead = Lookahead(model)
    found = solve(model, tol=1e-6, rtol=0.0)
    assert 5.0 * lookahead.rounding(found.value) / (1.0 - model.gamma) > 5e-6
    assert found.converged
    exact = solve(model, "policy_iteration", tol=1e-6, rtol=0.0)
    assert np.abs(found.value - exact.value).max() <= found.error_bound + exact.error_bound <= 2e-6


def test_rewards_of_any_size() -> None:
    """A tie is rounding, not a difference that is small beside 1."""
    model = random_model(5, 20, 3, 0.99)
    for size in (1e-200, 1e-12, 1e12, 1e200):
        small = model.replace(reward=model.reward * size)
        found = solve(small, "policy_iteration", tol=1e-6 * size, rtol=0.0)
        assert found.converged
        assert found.policy.tolist() == solve(model).policy.tolist()


def test_no_bound_is_not_small_enough() -> None:
    model = random_model(0, 3, 1, 0.5)
    with Watch("test", tol=np.inf) as watch, np.errstate(over="ignore"):
        found = bounded(Lookahead(model), np.array([1.7e308, -1.7e308, 0.0]), watch)
    assert (found.converged, found.error_bound) == (False, np.inf)
