"""What is learned from real numbers does not depend on their unit, and a state that collapses is reported."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlsuite.errors import CollapseWarning, ModelError, ParameterError
from rlsuite.inference import (
    HMM,
    Gaussian,
    Mixture,
    MultivariateGaussian,
    Poisson,
    Product,
    from_states,
    gaussian_mixture,
    random_hmm,
)

UNITS = [1.0, 1e-3, 3e-4, 1e-4, 1e-6, 1e-9, 1e3, 1e9]
START, TRANSITION = [0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]]


def two_levels(n=600, width=1, seed=0):
    """Two clear states: standard deviations 1 and 2, means 0 and 5."""
    model = Gaussian(np.outer([0, 5], np.ones(width)), np.outer([1, 4], np.ones(width)))
    return HMM(START, TRANSITION, model).sample(n, seed=seed)


def gaussian(c, width=1):
    return Gaussian(c * np.outer([1, 3], np.ones(width)), c * c * np.ones((2, width)))


def multivariate(c):
    return MultivariateGaussian(c * np.outer([1, 3], np.ones(2)), c * c * np.stack([np.eye(2)] * 2))


def mixture(c, **kwargs):
    return gaussian_mixture([[0.5, 0.5]] * 2, c * np.array([[0.0, 1], [3, 6]]), c * c * np.ones((2, 2)), **kwargs)


FAMILIES = {
    "gaussian": (gaussian, 1),
    "two coordinates": (lambda c: gaussian(c, 2), 2),
    "multivariate": (multivariate, 2),
    "mixture": (mixture, 1),
    "product": (lambda c: Product([gaussian(c), gaussian(c)]), 2),
}


@pytest.mark.parametrize("c", UNITS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_log_likelihood_moves_by_the_logarithm_of_the_unit(family, c):
    make, width = FAMILIES[family]
    z, _ = two_levels(width=width)
    plain = HMM(START, TRANSITION, make(1.0)).fit(z, max_iterations=30, tol=0)
    scaled = HMM(START, TRANSITION, make(c)).fit(c * z, max_iterations=30, tol=0)
    shift = z.size * np.log(c)
    assert scaled.learning.log_likelihood + shift == pytest.approx(plain.learning.log_likelihood, abs=1e-6)


@pytest.mark.parametrize("c", UNITS)
@pytest.mark.parametrize("family", ["gaussian", "multivariate_gaussian"])
def test_so_does_that_of_a_random_start(family, c):
    z, _ = two_levels(width=2)
    found = [random_hmm(unit * z, 2, family, seed=3).fit(unit * z, max_iterations=20, tol=0) for unit in (1.0, c)]
    scores = [each.learning.log_likelihood for each in found]
    assert scores[1] + z.size * np.log(c) == pytest.approx(scores[0], abs=1e-6)


@given(exponents=st.tuples(st.integers(-9, 9), st.integers(-9, 9)), seed=st.integers(0, 100))
@settings(max_examples=20, deadline=None)
def test_each_coordinate_has_its_own_unit(exponents, seed):
    z, _ = two_levels(200, width=2, seed=seed)
    units = 10.0 ** np.array(exponents)
    for make in (
        lambda unit: Gaussian(unit * [[1, 1], [3, 3]], unit**2 * np.ones((2, 2))),
        lambda unit: MultivariateGaussian(unit * [[1, 1], [3, 3]], np.stack([np.diag(unit**2)] * 2)),
    ):
        scores = [
            HMM(START, TRANSITION, make(unit)).fit(unit * z, max_iterations=5, tol=0).learning.log_likelihood
            if unit is not None
            else 0
            for unit in (np.ones(2), units)
        ]
        assert scores[1] + len(z) * np.log(units).sum() == pytest.approx(scores[0], abs=1e-6)


def test_small_variances_are_accepted():
    assert Gaussian([0, 1e-4], [1e-8, 9e-8]).n_states == 2
    assert MultivariateGaussian([[0, 0]], [[[1e-20, 0], [0, 1e12]]]).n_states == 1
    assert mixture(1e-9).n_states == 2
    with pytest.raises(ModelError, match=r"variance\[k=1, d=0\] is 0; variances are positive"):
        Gaussian([0, 1], [1, 0])


def test_levels_far_apart_do_not_collapse():
    """Ten thousand times their standard deviation."""
    z, states = two_levels()
    z = z + 1e4 * states
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = HMM(START, TRANSITION, Gaussian([0, 1e4], [1, 1])).fit(z)
    assert found.emission.variance[:, 0] == pytest.approx([1, 4], rel=0.3)


COLLAPSING = {
    "gaussian": (lambda: Gaussian([0.0, 9.0], [1.0, 1.0]), 1),
    "multivariate": (lambda: MultivariateGaussian([[0.0, 0.0], [9.0, 9.0]], [np.eye(2)] * 2), 2),
    "mixture": (lambda: Mixture([[1.0], [1.0]], Gaussian([0.0, 9.0], [1.0, 1.0])), 1),
    "product": (lambda: Product([Poisson([1.0, 1.0]), Gaussian([0.0, 9.0], [1.0, 1.0])]), 2),
}


@pytest.mark.parametrize("family", COLLAPSING)
@pytest.mark.parametrize("c", [1.0, 1e-9, 1e9])
def test_a_collapsed_state_is_reported(family, c):
    """State 1 explains one observation alone."""
    make, width = COLLAPSING[family]
    rng = np.random.default_rng(0)
    z = np.append(rng.normal(size=50), 9.0)[:, np.newaxis]
    if family == "product":
        z = np.hstack([np.ones((51, 1)), z])
    else:
        z = np.hstack([z] * width) + 0.1 * rng.normal(size=(51, width)) * (width > 1)
    hmm = HMM(START, TRANSITION, make())
    if c != 1.0 and family in ("gaussian", "multivariate"):
        unit = hmm.emission
        spread = unit.variance if family == "gaussian" else unit.covariance
        hmm, z = hmm.replace(emission=type(unit)(c * unit.mean, c * c * spread)), c * z
    with pytest.warns(CollapseWarning, match="state 1 has collapsed: .* learn fewer states"):
        found = hmm.fit(z)
    assert found.emission.collapsed == (1,)
    assert (np.diff(found.log_likelihoods_) >= -1e-9).all()


def test_counting_reports_it_too():
    with pytest.warns(CollapseWarning, match="state 1 has collapsed"):
        from_states([0.0, 1.0, 5.0, 2.0], [0, 0, 1, 0], emission="gaussian")


@pytest.mark.parametrize("constant", [0.0, 0.1, -7e5])
@pytest.mark.parametrize("family", ["gaussian", "multivariate_gaussian"])
def test_a_constant_coordinate_tells_nothing(family, constant):
    z, _ = two_levels()
    wide = np.stack([z, np.full(z.size, constant)], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = random_hmm(wide, 2, family, seed=1).fit(wide, max_iterations=20, tol=0)
        alone = random_hmm(wide, 2, family, seed=1)
        narrow = alone.replace(emission=Gaussian(alone.emission.mean[:, :1], np.full((2, 1), z.var()))).fit(
            z, max_iterations=20, tol=0
        )
    np.testing.assert_allclose(found.smooth(wide), narrow.smooth(z), atol=1e-6)


def test_a_model_that_is_narrower_than_the_floor_is_only_widened():
    """The likelihood never falls, whatever learning begins with."""
    z, _ = two_levels()
    found = HMM(START, TRANSITION, Gaussian([0.0, 5.0], [1.0, 4.0], least_variance=0.9))
    with pytest.warns(CollapseWarning, match="state 0, 1 has collapsed"):
        learned = found.fit(z, max_iterations=10, tol=0)
    assert (np.diff(learned.log_likelihoods_) >= -1e-9).all()


@pytest.mark.parametrize("least", [-1e-9, 1.5])
def test_the_floor_is_a_part_of_the_variance_of_all_observations(least):
    with pytest.raises(ParameterError, match=rf"least_variance={least:g} is not in \[0, 1\]"):
        Gaussian([0.0, 5.0], [1.0, 4.0], least_variance=least)
    with pytest.raises(ParameterError, match=rf"least_variance={least:g} is not in \[0, 1\]"):
        MultivariateGaussian([[0.0], [5.0]], [[[1.0]], [[4.0]]], least_variance=least)
