"""Plain nearest neighbours and kernel distances against scikit-learn's."""

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from rlsuite import reference


@pytest.fixture
def points():
    rng = np.random.default_rng(5)
    return rng.normal(size=(40, 3)), rng.normal(size=(15, 3)), rng.integers(3, size=40)


def test_neighbours_are_those_of_scikit_learn(points):
    known, new, classes = points
    distances = euclidean_distances(new, known)
    y = known @ [1.0, -2.0, 0.5]
    for k in (1, 5):
        theirs = KNeighborsRegressor(k).fit(known, y).predict(new)
        np.testing.assert_allclose(reference.nearest_neighbours(distances, y, k), theirs)
        chances = KNeighborsClassifier(k).fit(known, classes).predict_proba(new)
        np.testing.assert_allclose(reference.nearest_neighbours(distances, np.eye(3)[classes], k), chances)


def test_a_kernel_measures_distances_between_its_features(points):
    known, new, _ = points
    linear = (new**2).sum(axis=1), new @ known.T, (known**2).sum(axis=1)
    np.testing.assert_allclose(reference.kernel_distances(*linear), euclidean_distances(new, known), atol=1e-7)
    gaussian = np.ones(15), rbf_kernel(new, known, gamma=0.5), np.ones(40)
    found = reference.kernel_distances(*gaussian)
    assert found.max() <= np.sqrt(2.0)
    features = RBFSampler(gamma=0.5, n_components=20_000, random_state=0).fit(known)
    np.testing.assert_allclose(
        found, euclidean_distances(features.transform(new), features.transform(known)), atol=0.05
    )


def test_kernel_distances_are_a_metric(points):
    known, _, _ = points
    k = rbf_kernel(known, known, gamma=0.5)
    d = reference.kernel_distances(k.diagonal(), k, k.diagonal())
    np.testing.assert_allclose(d, d.T)
    np.testing.assert_allclose(d.diagonal(), 0.0, atol=1e-7)
    assert (d[:, np.newaxis] <= d[:, :, np.newaxis] + d[np.newaxis] + 1e-12).all()
