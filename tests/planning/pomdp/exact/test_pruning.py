import numpy as np
import pytest
from scipy.optimize import linprog

from rlsuite.core.clock import OutOfTime
from rlsuite.planning.pomdp.exact.pruning import UpperSurface, distinct, max_regret, sums_that_matter, that_matter
from rlsuite.planning.watch import Watch

pytestmark = pytest.mark.arithmetic

WATCH = Watch("test", tol=1e-6)


def rise(vector, surface):
    """The linear program of KLC98 by HiGHS: how far a vector rises above a set, anywhere."""
    states = vector.size
    vector, surface = vector - surface[0], surface - surface[0]  # what is common to all would cost HiGHS its digits
    program = linprog(
        [*-vector, 1.0],
        A_ub=np.c_[surface, -np.ones(len(surface))],
        b_ub=np.zeros(len(surface)),
        A_eq=[[1.0] * states + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * states + [(None, None)],
        method="highs",
    )
    return -program.fun


def drawn(rng, n, states, kind):
    """Vectors of a kind: spread out, on a curve (all matter), with ties and duplicates, or large with small news."""
    if kind == "spread":
        return rng.random((n, states))
    if kind == "curved":
        points = rng.dirichlet(np.ones(states), n)
        return 2.0 * points - (points**2).sum(axis=1, keepdims=True)
    if kind == "ties":
        return rng.integers(0, 4, (n, states)).astype(np.float64)
    return 1e6 + rng.integers(0, 3, (n, states)) + 1e-3 * rng.random((n, states))


@pytest.mark.parametrize("kind", ["spread", "curved", "ties", "large"])
@pytest.mark.parametrize("states", [1, 2, 3, 6])
def test_those_that_matter_and_no_others_are_kept(kind, states):
    rng = np.random.default_rng([states, len(kind)])
    size = 1e6 if kind == "large" else 1.0
    for _ in range(4):
        left = drawn(rng, int(rng.integers(1, 12)), states, kind)
        right = drawn(rng, int(rng.integers(1, 6)), states, kind)
        best = sums_that_matter(left, right, rng.dirichlet(np.ones(states), 3), 1e-10 * size, WATCH)
        kept = left[best.left] + right[best.right]
        for one in (left[:, np.newaxis] + right).reshape(-1, states):
            assert rise(one, kept) <= 1e-8 * size
        for i in range(len(kept)) if len(kept) > 1 else []:
            assert rise(kept[i], np.delete(kept, i, axis=0)) > 0.0
        values = best.points @ kept.T
        assert (values.max(axis=1) - values.diagonal()).max() <= 1e-9 * size
        np.testing.assert_allclose(best.points.sum(axis=1), 1.0)
        assert best.loss <= 2e-10 * size


def test_many_vectors_on_a_curve():
    rng = np.random.default_rng(1)
    curve = drawn(rng, 400, 8, "curved")
    # what lies below the curve matters nowhere
    below = curve[rng.integers(0, 400, 400)] - rng.random((400, 8))
    best = that_matter(np.concatenate([below, curve]), np.empty((0, 8)), 1e-12, WATCH)
    assert sorted(best.left.tolist()) == list(range(400, 800))


def test_the_largest_rise_is_that_of_the_linear_program():
    rng = np.random.default_rng(2)
    for _ in range(20):
        states = int(rng.integers(1, 6))
        vectors, surface = rng.normal(size=(5, states)), rng.normal(size=(7, states))
        expected = max(rise(vector, surface) for vector in vectors)
        found = max_regret(vectors, surface, WATCH)
        assert expected - 1e-9 <= found <= expected + 1e-9
    assert abs(max_regret(surface, surface, WATCH)) < 1e-12


def test_a_witness_proves_what_it_says():
    rng = np.random.default_rng(3)
    known = rng.random((20, 4))
    vectors = np.concatenate([known - 0.1, known[:1] + 0.2 * np.eye(4)[:1], known[1:2] + 2.0])
    surface = UpperSurface(known)
    candidates = surface.candidates(vectors)
    position, belief, _ = surface.first_witness(candidates, 0, 1e-9, 0.0, WATCH)
    assert position == (20 if rise(vectors[20], known) > 1e-9 else 21)
    assert (vectors[position] @ belief) > (known @ belief).max() + 1e-9
    for new in vectors[position:]:
        surface.add(new)
    position, belief, passed_over = surface.first_witness(candidates, position, 1e-9, 0.0, WATCH)
    assert (position, belief) == (22, None)
    assert passed_over <= 1e-9


def test_a_surface_may_grow_beyond_its_room():
    rng = np.random.default_rng(5)
    curve = drawn(rng, 200, 5, "curved")
    surface = UpperSurface(curve[:1])
    for number, new in enumerate(curve[1:], start=1):
        candidates = surface.candidates(new[np.newaxis])
        position, belief, _ = surface.first_witness(candidates, 0, 1e-12, 0.0, WATCH)
        assert position == 0
        assert new @ belief > (curve[:number] @ belief).max()
        surface.add(new)
        assert surface.first_witness(candidates, 0, 1e-9, 0.0, WATCH)[0] == 1


def test_minus_infinity_restricts_a_vector_to_the_beliefs_where_it_counts():
    inf = np.inf
    vectors = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, -inf], [0.0, 0.5, -inf], [9.0, -inf, -inf], [8.0, -inf, -inf]])
    best = that_matter(vectors, np.empty((0, 3)), 1e-12, WATCH)
    # the second is best where b(2) = 0 and b(0) > 1/2, the fourth where b(0) = 1; the others are covered
    assert sorted(best.left.tolist()) == [0, 1, 3]
    assert max_regret(vectors[3:4], vectors[:3], WATCH) == pytest.approx(7.0)
    assert max_regret(vectors[:1], vectors[1:], WATCH) == inf
    sums = sums_that_matter(vectors[:2], vectors[3:], np.empty((0, 3)), 1e-12, WATCH)
    assert (sums.left.tolist(), sums.right.tolist()) == ([1], [0])


def test_the_watch_is_obeyed():
    rng = np.random.default_rng(4)
    curve = drawn(rng, 2000, 20, "curved")
    watch = Watch("test", tol=1e-6, deadline=0.05)
    with pytest.raises(OutOfTime):
        sums_that_matter(curve, curve[::-1], np.empty((0, 20)), 1e-12, watch)
    assert watch.seconds < 3.0


def test_vectors_are_sorted_in_parts_between_looks_at_the_clock(monkeypatch):
    """Parts of the states give the order that all of them give at once; without time it ends early."""
    columns = np.random.default_rng(4).integers(-2, 1, size=(7, 60)).astype(np.float64)
    order, _ = distinct(columns, 0.0, Watch("test", tol=1.0))
    assert [tuple(one) for one in columns[:, order].T.tolist()] == sorted(
        {tuple(one) for one in columns.T.tolist()}, reverse=True
    )
    for most in (1, 120, 300):
        monkeypatch.setattr("rlsuite.planning.pomdp.exact.pruning.SORTED", most)
        again, _ = distinct(columns, 0.0, Watch("test", tol=1.0))
        assert again.tolist() == order.tolist()
    late = Watch("test", tol=1.0, deadline=1.0)
    late.started -= 2.0
    with pytest.raises(OutOfTime):
        distinct(columns, 0.0, late)
