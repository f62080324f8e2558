"""Compiled features equal those of scikit-learn's own transformers, also for observations that were not seen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem as TheirNystroem
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler

from rlsuite.features import (
    Clusters,
    MixtureResponsibilities,
    Nystroem,
    OneHot,
    Polynomial,
    PrincipalComponents,
    RadialBasis,
    RandomFourier,
    Scaling,
    Standardization,
    StateAggregation,
)


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(1)
    return np.vstack([rng.normal(0.0, 1.0, (60, 3)), rng.normal([3.0, -2.0, 0.0], [0.5, 2.0, 1.0], (60, 3))])


@pytest.fixture(scope="module")
def unseen():
    return np.random.default_rng(2).normal(1.0, 3.0, (50, 3))


def same(ours, theirs, x, unseen):
    features, expected = ours.fit(x).transform(unseen), theirs.fit(x).transform(unseen)
    assert_allclose(features, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_polynomial(x, unseen, degree):
    same(Polynomial(degree), PolynomialFeatures(degree), x, unseen)


def test_scaling(x, unseen):
    same(Scaling(), MinMaxScaler(), x, unseen)
    same(Standardization(), StandardScaler(), x, unseen)
    x = np.column_stack([x, np.full(len(x), 7.0)])
    same(Standardization(), StandardScaler(), x, x)
    same(Scaling(), MinMaxScaler(), x, x)


@pytest.mark.parametrize("whiten", [False, True])
def test_principal_components(x, unseen, whiten):
    same(PrincipalComponents(2, whiten=whiten), PCA(2, whiten=whiten), x, unseen)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_mixture(x, unseen, covariance):
    features = MixtureResponsibilities(3, covariance, seed=0).fit(x).transform(unseen)
    scale = np.full(3, np.sqrt(x.var(axis=0).mean())) if covariance == "spherical" else x.std(axis=0)
    theirs = GaussianMixture(3, covariance_type=covariance, random_state=0).fit((x - x.mean(axis=0)) / scale)
    expected = theirs.predict_proba((unseen - x.mean(axis=0)) / scale)
    assert_allclose(features, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6, np.array([1.0, 1e-6, 1e6])])
@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_a_mixture_does_not_depend_on_the_unit(x, unseen, covariance, unit):
    """What scikit-learn adds to variances, 1e-6, is nothing to metres and all there is to the same in nanometres."""
    if covariance == "spherical" and np.ndim(unit):
        return  # what is round in one unit is not in another
    one, other = (MixtureResponsibilities(3, covariance, seed=0).fit(unit * x) for unit in (1.0, unit))
    assert_allclose(other.transform(unit * unseen), one.transform(unseen), rtol=1e-6, atol=1e-9)


def test_a_mixture_takes_a_column_that_never_changes(x):
    still = np.column_stack([x, np.full(len(x), 0.1)])  # the mean of so many 0.1 is not 0.1
    features = MixtureResponsibilities(3, seed=0).fit(still).transform(still)
    assert_allclose(features, MixtureResponsibilities(3, seed=0).fit(x).transform(x), atol=1e-9)


KERNELS = {
    "rbf": {"gamma": 0.3},
    "linear": {},
    "polynomial": {"gamma": 0.2, "coef0": 0.5, "degree": 3},
    "sigmoid": {"gamma": 0.05, "coef0": -0.5},
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_nystroem(x, unseen, kernel):
    # a linear kernel has rank 3: of more landmarks, only rounding is left to mix
    n = 3 if kernel == "linear" else 12
    ours = Nystroem(kernel, n, seed=0, **KERNELS[kernel])
    same(ours, TheirNystroem(kernel=kernel, n_components=n, random_state=0, **KERNELS[kernel]), x, unseen)


def test_nystroem_needs_no_gamma(x, unseen):
    same(Nystroem(n_components=5, seed=0), TheirNystroem(n_components=5, gamma=1 / 3, random_state=0), x, unseen)


def test_random_fourier(x, unseen):
    same(RandomFourier(20, gamma=0.7, seed=3), RBFSampler(gamma=0.7, n_components=20, random_state=3), x, unseen)


def test_radial_basis(x, unseen):
    """A bump of width w is the radial kernel with gamma 1 / (2 w^2)."""
    features = RadialBasis(x[:10], width=1.5).fit(x).transform(unseen)
    assert_allclose(features, rbf_kernel(unseen, x[:10], gamma=1 / (2 * 1.5**2)), rtol=1e-10, atol=1e-14)


def test_clusters(x, unseen):
    theirs = KMeans(4, random_state=0, n_init="auto").fit(x)
    assert Clusters(4, seed=0).fit(x).transform(unseen).indices.tolist() == theirs.predict(unseen).tolist()


def test_equal_bins(x, unseen):
    theirs = KBinsDiscretizer(5, strategy="uniform", encode="ordinal", quantile_method="linear", subsample=None).fit(x)
    row, column, page = theirs.transform(unseen).astype(int).T
    assert StateAggregation(5).fit(x).transform(unseen).indices.tolist() == (25 * row + 5 * column + page).tolist()


def test_one_hot():
    ids = np.random.default_rng(0).integers(6, size=(50, 1))
    assert OneHot(6).fit(ids).transform(ids).toarray().tolist() == (
        OneHotEncoder(categories=[range(6)]).fit(ids).transform(ids).toarray().tolist()
    )
