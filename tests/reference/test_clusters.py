"""Plain k-means and expectation maximisation against scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from rlsuite import reference


@pytest.fixture
def points():
    rng = np.random.default_rng(3)
    return np.concatenate([rng.normal(c, 1.0, size=(50, 2)) for c in ([0, 0], [4, 1], [1, 5])])


def test_k_means_finds_the_centres_of_scikit_learn(points):
    centers, nearest = reference.k_means(points, points[:3])
    theirs = KMeans(3, init=points[:3], n_init=1, tol=0, max_iter=1000).fit(points)
    np.testing.assert_allclose(centers, theirs.cluster_centers_)
    assert (nearest == theirs.labels_).all()


def test_a_centre_that_is_nearest_to_nothing_stays():
    centers, nearest = reference.k_means(np.array([[0.0], [1.0]]), np.array([[0.0], [50.0]]))
    assert centers.ravel().tolist() == [0.5, 50.0]
    assert nearest.tolist() == [0, 0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_mixture_is_that_of_scikit_learn_after_as_many_iterations(points):
    start = np.full(3, 1 / 3), points[[0, 60, 120]], np.array([np.eye(2)] * 3)
    weights, means, covariances = reference.gaussian_mixture(points, *start, iterations=7)
    keywords = {"weights_init": start[0], "means_init": start[1], "precisions_init": start[2]}
    theirs = GaussianMixture(3, max_iter=7, tol=0, reg_covar=0, **keywords).fit(points)
    np.testing.assert_allclose(weights, theirs.weights_)
    np.testing.assert_allclose(means, theirs.means_)
    np.testing.assert_allclose(covariances, theirs.covariances_)
    np.testing.assert_allclose(
        reference.responsibilities(points, weights, means, covariances), theirs.predict_proba(points), atol=1e-12
    )


def test_no_iteration_lowers_the_likelihood(points):
    def likelihood(weights, means, covariances):
        apart = points[:, np.newaxis] - means
        distance = np.einsum("nki,kij,nkj->nk", apart, np.linalg.inv(covariances), apart)
        density = np.exp(-distance / 2) / np.sqrt(np.linalg.det(2 * np.pi * covariances))
        return np.log(density @ weights).sum()

    fit = np.full(3, 1 / 3), points[:3], np.array([np.eye(2)] * 3)
    seen = []
    for _ in range(30):
        fit = reference.gaussian_mixture(points, *fit, iterations=1)
        seen.append(likelihood(*fit))
    assert (np.diff(seen) >= -1e-9).all()


def test_narrow_parts_of_equal_width_are_k_means(points):
    centers, nearest = reference.k_means(points, points[:3])
    gamma = reference.responsibilities(points, np.full(3, 1 / 3), centers, np.array([1e-6 * np.eye(2)] * 3))
    assert (gamma.argmax(axis=1) == nearest).all()
    assert gamma.max(axis=1).min() > 0.99
