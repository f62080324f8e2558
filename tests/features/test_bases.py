"""Fourier and radial bases, aggregation and chains, against what is known of them in closed form."""

import math

import numpy as np
import pytest
import sklearn.base
from numpy.testing import assert_allclose

from rlsuite.errors import ParameterError
from rlsuite.features import (
    Chain,
    Clusters,
    FourierBasis,
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
    TileCoding,
)


def middles(n, low, high):
    """(n^2, 2): the middles of n x n boxes."""
    return low + (np.indices((n, n)).reshape(2, -1).T + 0.5) / n * (np.asarray(high) - low)


def test_fourier_features_are_orthogonal():
    """Sums over the middles of n boxes are exact integrals for frequencies under n: 1/2 for each that is not 0."""
    basis = FourierBasis(3, low=[-1.0, 2.0], high=[5.0, 4.0], most_coupled=1).fit([[0.0, 3.0]])
    features = basis.transform(middles(8, np.array([-1.0, 2.0]), [5.0, 4.0]))
    assert_allclose(features.T @ features / 64, np.diag([1.0] + 6 * [0.5]), atol=1e-14)
    assert basis.coefficients_.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [2, 0], [3, 0]]


def test_fourier_is_what_the_paper_says():
    """Konidaris et al. 2011, equation 4: cos(pi c . s), with the step size divided by the length of c."""
    basis = FourierBasis(2, low=0.0, high=2.0).fit([[0.0, 0.0, 0.0]])
    s = np.array([0.3, 0.85, 0.1])
    assert_allclose(basis.transform([2 * s])[0], np.cos(np.pi * basis.coefficients_ @ s), rtol=1e-13)
    lengths = np.sqrt((basis.coefficients_**2).sum(axis=1))
    assert basis.step_sizes_[0] == 1.0
    assert_allclose(basis.step_sizes_[1:] * lengths[1:], 1.0)
    assert_allclose(basis.transform([[9.0, -9.0, 1.0]]), basis.transform([[2.0, 0.0, 1.0]]))


def test_fourier_may_leave_out_what_is_coupled():
    d, order = 6, 3
    for most, n in ((1, 1 + d * order), (2, 1 + d * order + math.comb(d, 2) * order**2), (9, (order + 1) ** d)):
        coefficients = FourierBasis(order, most_coupled=most).fit_bounds(np.zeros(d), np.ones(d)).coefficients_
        assert len(coefficients) == len(np.unique(coefficients, axis=0)) == n
        assert np.count_nonzero(coefficients, axis=1).max() == min(most, d)
        assert coefficients.max() == order


def test_a_radial_grid():
    basis = RadialBasis((3, 2, 1), low=[0.0, 0.0, 0.0], high=[4.0, 1.0, 6.0]).fit([[0.0, 0.0, 0.0]])
    assert basis.centres_.tolist() == [[a, b, 3.0] for a in (0.0, 2.0, 4.0) for b in (0.0, 1.0)]
    assert basis.width_.tolist() == [2.0, 1.0, 6.0]
    expected = [math.exp(-0.5 * ((1 - a) ** 2 / 4 + (0.5 - b) ** 2 + 1 / 36)) for a, b, _ in basis.centres_.tolist()]
    assert_allclose(basis.transform([[1.0, 0.5, 4.0]])[0], expected, rtol=1e-14)


def test_normalized_bumps_add_up_to_one_everywhere():
    basis = RadialBasis((4, 3), normalized=True, low=0.0, high=1.0).fit([[0.0, 0.0]])
    plain = RadialBasis((4, 3), low=0.0, high=1.0).fit([[0.0, 0.0]])
    points = np.random.default_rng(0).random((20, 2))
    bumps = plain.transform(points)
    assert_allclose(basis.transform(points), bumps / bumps.sum(axis=1, keepdims=True), rtol=1e-12)
    far = basis.transform([[1e4, -1e4], [-50.0, 0.5]])
    assert_allclose(far.sum(axis=1), 1.0)
    assert far[0].argmax() == 9  # row 3, column 0


def test_bad_bases():
    with pytest.raises(ParameterError, match="centres= needs a width="):
        RadialBasis([[0.0, 1.0]]).fit([[0.0, 0.0]])
    with pytest.raises(ParameterError, match=r"width=-1.0 is not above 0"):
        RadialBasis(3, width=-1.0).fit([[0.0]])
    with pytest.raises(ParameterError, match="centres have 2 numbers, but observations have 1"):
        RadialBasis([[0.0, 1.0]], width=1.0).fit([[0.0]])
    with pytest.raises(ParameterError, match="not both"):
        RadialBasis([[0.0, 1.0]], width=1.0, low=0.0).fit([[0.0, 0.0]])
    for basis in (FourierBasis(3), RadialBasis(4), Polynomial(20)):
        with pytest.raises(ParameterError, match="features, more than 1,000,000; "):
            sklearn.base.clone(basis).fit_bounds(np.zeros(12), np.ones(12))
    for too_few in (Clusters(5), MixtureResponsibilities(5)):
        with pytest.raises(ParameterError, match="=5 cannot be found in 4 observations"):
            too_few.fit(np.eye(4))
    with pytest.raises(ParameterError, match="n_components=3, but 4 observations of 2 numbers have at most 2"):
        PrincipalComponents(3).fit(np.ones((4, 2)))
    with pytest.raises(ParameterError, match="unknown kernel 'rbv'; did you mean 'rbf'"):
        Nystroem("rbv").fit([[0.0]])
    with pytest.raises(ParameterError, match=r"gamma=0\.0 is not a positive number"):
        RandomFourier(gamma=0.0).fit([[0.0]])
    with pytest.raises(ParameterError, match="most_coupled=0 is less than 1"):
        FourierBasis(most_coupled=0).fit([[0.0]])


def test_all_observations_are_landmarks_where_there_are_fewer():
    x = np.eye(4)
    basis = Nystroem(n_components=5, gamma=0.5, seed=0).fit(x)
    assert basis.n_features_out_ == len(basis.landmarks_) == 4
    features = basis.transform(x)
    assert_allclose(features @ features.T, np.exp(-1.0) + (1.0 - np.exp(-1.0)) * np.eye(4), atol=1e-9)


@pytest.mark.parametrize(("n", "groups"), [(1000, 10), (19, 19), (12, 4), (7, 1)])
def test_whole_numbers_divide_evenly(n, groups):
    """S&B2 Example 9.1: 1,000 states in 10 groups of 100."""
    found = StateAggregation(groups).fit_bounds(np.zeros(1), np.array([n - 1.0])).transform(np.arange(n)[:, None])
    assert found.indices.tolist() == [i * groups // n for i in range(n)]


def test_combinations_of_numbers_have_features_of_their_own():
    """Blackjack's sum, card and ace."""
    sizes = (32, 11, 2)
    hands = np.indices(sizes).reshape(3, -1).T
    groups = StateAggregation(sizes).fit_bounds(np.zeros(3), np.array(sizes) - 1.0)
    assert groups.transform(hands).indices.tolist() == list(range(math.prod(sizes)))


def test_a_chain_is_its_links_one_after_the_other():
    x = np.random.default_rng(0).normal(5.0, 3.0, (30, 3))
    links = [Standardization(), PrincipalComponents(2), StateAggregation((3, 2)), Polynomial(1)]
    chain = Chain(links).fit(x)
    features = x
    for link in links:
        features = link.fit(features).transform(features)
        features = features.toarray() if hasattr(features, "toarray") else features
    assert chain.transform(x).tolist() == features.tolist()
    assert (chain.n_features_in_, chain.n_features_out_) == (3, 7)


def test_a_chain_learns_from_bounds_if_its_links_do():
    low, high = np.array([-2.0, 0.0]), np.array([2.0, 10.0])
    chain = Chain([Scaling(), TileCoding(2, 2)]).fit_bounds(low, high)
    assert chain.maps_[1].low_.tolist() == [0.0, 0.0]
    assert chain.maps_[1].high_.tolist() == [1.0, 1.0]
    assert chain.sparse
    with pytest.raises(ParameterError, match="TileCoding: dimension 0 reaches from -inf to inf"):
        Chain([Polynomial(2), TileCoding()]).fit_bounds(low, high)


@pytest.mark.parametrize(
    "link",
    [FourierBasis(2), RadialBasis(3), RandomFourier(5, seed=0), MixtureResponsibilities(2, seed=0), Standardization()],
    ids=lambda link: type(link).__name__,
)
def test_images_hold_the_features(link):
    x = np.random.default_rng(0).uniform(-1.0, 3.0, (50, 2))
    low, high = np.full(2, -1.0), np.full(2, 3.0)
    features = link.fit(x).transform(x)
    lowest, highest = link.image(low, high)
    assert (features >= lowest).all()
    assert (features <= highest).all()
    assert np.isfinite(lowest).all()


def test_bad_chains():
    with pytest.raises(ParameterError, match="give at least one feature map"):
        Chain([]).fit([[0.0]])
    with pytest.raises(ParameterError, match=r"features\[1\] is a str, which is not a FeatureMap"):
        Chain([Scaling(), "TileCoding"]).fit([[0.0]])


@pytest.mark.parametrize("width", [10, 28_224, 100_800])
@pytest.mark.parametrize("feature_map", [TileCoding(), StateAggregation(), RadialBasis(), FourierBasis(), OneHot()])
def test_too_many_features_are_counted_in_powers_of_ten(feature_map, width):
    """Of the pixels of CarRacing and of Atari games: nobody reads a number of 91,031 digits, nor waits for it."""
    name = type(feature_map).__name__
    with pytest.raises(ParameterError, match=rf"{name}: .* makes (\d[\d,]*|10\^\d+) features, more than 1") as raised:
        sklearn.base.clone(feature_map).fit_bounds(np.zeros(width), np.full(width, 255.0))
    assert len(str(raised.value)) < 300
    assert ("10^" in str(raised.value)) == (width > 10 or name == "OneHot")


def test_hashed_tiles_take_pixels():
    tiles = TileCoding(2, 2, hash_size=1000).fit_bounds(np.zeros(28_224), np.full(28_224, 255.0))
    assert tiles.transform(np.full((1, 28_224), 99.0)).nnz == 2
