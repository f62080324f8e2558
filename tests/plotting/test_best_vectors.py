import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlsuite.plotting.belief_values import best_where


def area(corners):
    """Part of all beliefs that a polygon takes, by the shoelace formula; for two states, the length."""
    if corners.shape[1] == 2:
        return corners[1, 0] - corners[0, 0]
    (x, y), (x1, y1) = corners[:, :2].T, np.roll(corners[:, :2], -1, axis=0).T
    return abs((x * y1 - y * x1).sum())


def inside(belief, corners):
    """Whether a belief lies in a convex polygon: always on the same side of its sides."""
    if corners.shape[1] == 2:
        return corners[0, 0] <= belief[0] <= corners[1, 0]
    a, b = corners[:, :2], np.roll(corners[:, :2], -1, axis=0)
    side = (b[:, 0] - a[:, 0]) * (belief[1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (belief[0] - a[:, 0])
    return (side >= -1e-9).all() or (side <= 1e-9).all()


@pytest.mark.parametrize("n_states", [2, 3])
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), whole=st.booleans())
def test_parts_are_where_each_vector_is_the_best(n_states, seed, n, whole):
    rng = np.random.default_rng(seed)
    # Whole numbers make for ties, equal vectors and lines through one point.
    vectors = rng.integers(-2, 3, (n, n_states)).astype(float) if whole else rng.normal(size=(n, n_states))
    parts = best_where(vectors)
    assert sum(map(area, parts.values())) == pytest.approx(1.0, abs=1e-7)
    for belief in rng.dirichlet(np.ones(n_states), 40):
        values = vectors @ belief
        best = [number for number in parts if inside(belief, parts[number])]
        assert best
        assert max(values[best]) == pytest.approx(values.max(), abs=1e-8)


def test_of_equal_vectors_the_first_has_the_part():
    assert best_where(np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])).keys() == {0, 2}


def test_a_vector_that_is_illegal_somewhere_has_no_part():
    parts = best_where(np.array([[5.0, -np.inf, 5.0], [1.0, 1.0, 1.0]]))
    assert parts.keys() == {1}
    assert area(parts[1]) == pytest.approx(1.0)
