"""Plain linear models against scikit-learn's, and against the solution of the equations."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDRegressor

from rlsuite import reference


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(200), rng.normal(size=(200, 2))])
    return X, (rng.random(200) < 1 / (1 + np.exp(-X @ [0.5, 1.0, -2.0]))).astype(float)


def test_irls_finds_what_logistic_regression_finds(examples):
    X, t = examples
    theirs = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, t)
    np.testing.assert_allclose(reference.irls(X, t, iterations=10), theirs.coef_[0], atol=1e-6)


def test_lms_is_stochastic_gradient_descent(examples):
    X, t = examples
    theirs = SGDRegressor(alpha=0, learning_rate="constant", eta0=0.01, fit_intercept=False, shuffle=False)
    for _ in range(3):
        theirs.partial_fit(X, t)
    np.testing.assert_allclose(reference.lms(X, t, learning_rate=0.01, passes=3), theirs.coef_, atol=1e-12)


def test_lms_with_small_steps_comes_to_the_least_squares(examples):
    X, t = examples
    solution = np.linalg.lstsq(X, t)[0]
    np.testing.assert_allclose(reference.lms(X, t, learning_rate=1e-4, passes=1000), solution, atol=1e-3)


def test_the_perceptron_stops_once_a_plane_separates_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    t = np.sign(X @ [1.0, -2.0, 0.5])
    w = reference.perceptron(X, t, learning_rate=1.0, passes=1_000)
    assert (np.sign(X @ w) == t).all()
    assert np.array_equal(w, reference.perceptron(X, t, learning_rate=1.0, passes=2_000))
