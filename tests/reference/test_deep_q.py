"""By hand, and against a loop; the fast forms are compared with these in `tests/approximation/deep`."""

import numpy as np
import pytest

from rlsuite import reference


def test_a_target_of_no_step_is_the_value_and_of_many_the_return():
    assert reference.n_step_target([], gamma=0.9, value=5.0) == 5.0
    rewards = np.random.default_rng(1).normal(size=9).tolist()
    total = 3.0
    for reward in reversed(rewards):
        total = reward + 0.9 * total
    assert reference.n_step_target(rewards, gamma=0.9, value=3.0) == pytest.approx(total)


def test_rows_are_drawn_as_often_as_their_priorities_say():
    priority = np.array([1.0, 2.0, 0.0, 5.0])
    shares = (np.arange(800) + 0.5) / 800
    assert np.bincount(reference.prioritised_draw(priority, shares), minlength=4).tolist() == [100, 200, 0, 500]


def test_weights_make_the_mean_that_of_an_equal_draw():
    """Each row counts sum_i P(i) w_i x_i, which for beta = 1 is the mean of x up to the factor of the largest."""
    x, probability = np.array([3.0, -1.0, 7.0]), np.array([0.2, 0.3, 0.5])
    weight = reference.importance_weights(probability, 3, beta=1.0)
    assert (probability * weight * x).sum() / (probability * weight).sum() == pytest.approx(x.mean())
    assert reference.importance_weights(probability, 3, beta=0.0).tolist() == [1.0, 1.0, 1.0]


def test_duelling_values_have_the_mean_of_the_value():
    q = reference.duelling_values(np.array([10.0, 0.0]), np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 9.0]]))
    assert q.tolist() == [[9.0, 11.0, 10.0], [-3.0, -3.0, 6.0]]
