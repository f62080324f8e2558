"""Plain principal components against scikit-learn's, whose model of the points is the probabilistic one."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from rlsuite import reference


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.normal(size=(100, 4)) @ rng.normal(size=(4, 4)) + [1, 2, 3, 4]


@pytest.mark.parametrize("m", [1, 2, 3])
def test_directions_variances_and_covariance_are_those_of_scikit_learn(points, m):
    theirs = PCA(m).fit(points)
    unbiased = len(points) / (len(points) - 1)
    mean, directions, variance = reference.principal_components(points, m)
    np.testing.assert_allclose(mean, theirs.mean_)
    np.testing.assert_allclose(variance[:m] * unbiased, theirs.explained_variance_)
    np.testing.assert_allclose(np.abs(directions.T @ theirs.components_.T), np.eye(m), atol=1e-9)
    mean, W, noise = reference.probabilistic_pca(points, m)
    assert noise * unbiased == pytest.approx(theirs.noise_variance_)
    np.testing.assert_allclose((W @ W.T + noise * np.eye(4)) * unbiased, theirs.get_covariance())


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_variances_left_out_are_the_error(points, m):
    mean, directions, variance = reference.principal_components(points, m)
    rebuilt = mean + (points - mean) @ directions @ directions.T
    assert ((points - rebuilt) ** 2).sum(axis=1).mean() == pytest.approx(variance[m:].sum())


def test_the_latent_posterior_is_that_of_the_joint_gaussian(points):
    mean, W, noise = reference.probabilistic_pca(points, 2)
    precision = np.linalg.inv(W @ W.T + noise * np.eye(4))  # condition z ~ N(0, I) on x, B06 (2.81), (2.82)
    z, covariance = reference.latent_posterior(points[0], mean, W, noise)
    np.testing.assert_allclose(z, W.T @ precision @ (points[0] - mean))
    np.testing.assert_allclose(covariance, np.eye(2) - W.T @ precision @ W, atol=1e-12)
