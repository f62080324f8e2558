"""Rows of probabilities from counts and pseudo-counts, by hand."""

import math

import numpy as np
import pytest

from rlsuite.errors import ParameterError
from rlsuite.inference.dirichlet import log_density, most_probable, pseudo_counts


def test_rows_are_relative_frequencies_with_pseudo_counts():
    rows = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    pseudo = pseudo_counts("prior", 1.0, rows)
    assert pseudo.tolist() == [[1, 1, 0], [1, 0, 0]]  # what is impossible stays impossible
    learned = most_probable(np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), pseudo, rows)
    np.testing.assert_allclose(learned, [[0.6, 0.4, 0.0], [1.0, 0.0, 0.0]])
    assert log_density(learned, pseudo) == pytest.approx(math.log(0.6 * 0.4))


def test_the_row_of_the_m_estimate_is_the_most_probable():
    """No row has a higher sum of (count + pseudo-count) times logarithm."""
    rng = np.random.default_rng(1)
    counts, pseudo = rng.random((1, 4)) * 9, rng.random((1, 4))
    best = most_probable(counts, pseudo, np.full((1, 4), 0.25))
    others = rng.dirichlet(np.ones(4), 200)
    assert ((counts + pseudo) @ np.log(others.T) < ((counts + pseudo) * np.log(best)).sum()).all()


@pytest.mark.parametrize(
    ("prior", "message"),
    [(-1.0, "prior=-1 is negative"), ([[1.0, -2.0]], r"prior\[0, 1\] is -2"), ([1.0], "prior"), ("x", "prior")],
)
def test_bad_pseudo_counts_are_named(prior, message):
    with pytest.raises(ParameterError, match=message):
        pseudo_counts("prior", prior, np.array([[0.5, 0.5]]))
