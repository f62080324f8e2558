"""Densities against SciPy, weighted fits against everything near them, and missing observations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rlsuite.errors import ModelError, ParameterError
from rlsuite.inference.emissions.base import Emission, LogDensity
from rlsuite.inference.emissions.before_learning import PseudoObservations
from rlsuite.inference.emissions.categorical import Categorical
from rlsuite.inference.emissions.gaussian import Gaussian, MultivariateGaussian
from rlsuite.inference.emissions.mixture import Mixture, MixturePrior, gaussian_mixture
from rlsuite.inference.emissions.poisson import Poisson
from rlsuite.inference.emissions.product import Product

pytestmark = pytest.mark.arithmetic

NAN = float("nan")
COVARIANCE = np.array([[[2.0, 0.6], [0.6, 1.0]], [[1.0, -0.3], [-0.3, 0.5]]])
RATES = np.array([0.5, 3.0])


def waiting_times(rates=RATES):
    def log_density(z):
        return np.log(rates) - z[:, np.newaxis] * rates

    def fit(z, weights):
        return waiting_times(weights.sum(axis=0) / (weights.T @ z)).log_density

    return LogDensity(
        log_density, n_states=2, draw=lambda states, rng: rng.exponential(1.0 / rates[states]), fit=fit, n_parameters=2
    )


EMISSIONS = {
    "categorical": Categorical([[0.5, 0.3, 0.2], [0.1, 0.0, 0.9]]),
    "gaussian": Gaussian([[0.0, 5.0], [1.0, 3.0]], [[1.0, 4.0], [0.25, 2.0]]),
    "multivariate": MultivariateGaussian([[0.0, 5.0], [1.0, 3.0]], COVARIANCE),
    "poisson": Poisson([2.0, 6.5]),
    "two counts": Poisson([[2.0, 1.0], [6.5, 0.5]]),
    "mixture": gaussian_mixture([[0.3, 0.7], [0.6, 0.4]], [[-1.0, 2.0], [4.0, 5.0]], [[1.0, 0.5], [2.0, 1.0]]),
    "correlated mixture": gaussian_mixture(
        [[1.0], [1.0]], [[[0.0, 5.0]], [[1.0, 3.0]]], covariance=COVARIANCE[:, None]
    ),
    "mixed counts": Mixture([[0.5, 0.5], [0.9, 0.1]], Poisson([1.0, 7.0, 3.0, 20.0])),
    "product": Product([Categorical([[0.8, 0.2], [0.3, 0.7]]), Gaussian([0.0, 3.0], [1.0, 1.0]), Poisson([1.0, 4.0])]),
    "symbols": Product([Categorical([[0.8, 0.2], [0.3, 0.7]]), Categorical([[0.1, 0.9], [0.6, 0.4]])]),
    "waiting times": waiting_times(),
}
STATES = np.array([0, 1, 1, 0, 1, 0, 0, 1] * 5)


@pytest.fixture(params=EMISSIONS, name="emission")
def every_emission(request) -> Emission:
    return EMISSIONS[request.param]


def log_likelihoods(emission, z):
    with np.errstate(divide="ignore"):
        table, shift = emission.likelihoods(emission.check(z))
        return np.log(table) + shift[:, np.newaxis]


def total(emission, z, weights, prior=None):
    """What an M-step maximises."""
    logs = log_likelihoods(emission, z)
    return float((weights * np.where(weights > 0, logs, 0.0)).sum()) + emission.log_prior(prior)


def observed(emission, missing=True):
    z = emission.check(emission.sample(STATES, np.random.default_rng(3)))
    if missing:
        z = z.copy()
        gone = z.reshape(len(z), -1)
        gone[4] = gone[7, 0] = -1 if z.dtype.kind == "i" else NAN
    return z


# ------------------------------------------------------------------------------------------------- densities


def test_densities_are_those_of_scipy():
    z = np.array([[0.3, 4.0], [-2.0, 9.5], [1.0, 3.0]])
    one = EMISSIONS["gaussian"]
    for k in range(2):
        expected = stats.norm.logpdf(z, one.mean[k], np.sqrt(one.variance[k])).sum(axis=1)
        np.testing.assert_allclose(log_likelihoods(one, z)[:, k], expected, rtol=1e-13)
        several = EMISSIONS["multivariate"]
        expected = stats.multivariate_normal.logpdf(z, several.mean[k], several.covariance[k])
        np.testing.assert_allclose(log_likelihoods(several, z)[:, k], expected, rtol=1e-12)
    counts = np.array([0, 3, 250])
    np.testing.assert_allclose(
        log_likelihoods(EMISSIONS["poisson"], counts), stats.poisson.logpmf(counts[:, None], [2.0, 6.5]), rtol=1e-12
    )
    peaks = EMISSIONS["mixture"]
    expected = np.log(0.3 * stats.norm.pdf(1.1, -1, 1) + 0.7 * stats.norm.pdf(1.1, 2, math.sqrt(0.5)))
    assert log_likelihoods(peaks, [1.1])[0, 0] == pytest.approx(expected, rel=1e-13)


def test_far_from_every_mean_densities_neither_vanish_nor_overflow():
    sharp = Gaussian([[0.0] * 50, [1.0] * 50], [[1e-6] * 50] * 2)
    table, shift = sharp.likelihoods(sharp.check(np.full((1, 50), 1e3)))
    assert table[0, 1] == 1.0
    assert 0.0 < table[0, 0] < 1e-280  # which no posterior shows
    assert shift[0] == pytest.approx(50 * (-0.5 * 999.0**2 / 1e-6 - 0.5 * math.log(2 * math.pi * 1e-6)))
    at_the_mean, shift = sharp.likelihoods(sharp.check(np.zeros((1, 50))))
    assert at_the_mean[0, 0] == 1.0
    np.testing.assert_allclose(sharp.log_likelihoods(sharp.check(np.zeros((1, 50))))[0, 0] - shift[0], 0.0, atol=1e-12)
    assert shift[0] > 298


def test_a_count_is_impossible_at_the_rate_zero():
    silent = Poisson([0.0, 2.0])
    assert log_likelihoods(silent, [0, 1])[:, 0].tolist() == [0.0, -math.inf]
    kept = silent.fit_weighted(silent.check([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert kept.rate[:, 0].tolist() == [0.0, 1.0]


def test_missing_observations_say_nothing(emission):
    z = observed(emission)
    table, shift = emission.likelihoods(z)
    assert table[4].tolist() == [1.0, 1.0]
    assert shift[4] == 0.0
    assert np.flatnonzero(emission.missing(z)).tolist() == ([4] if emission.width > 1 else [4, 7])


@pytest.mark.parametrize("name", ["gaussian", "multivariate", "two counts", "product", "symbols"])
def test_a_missing_coordinate_leaves_the_marginal(name):
    emission = EMISSIONS[name]
    z = observed(emission, missing=False)
    part = z.copy()
    part[:, 1:] = -1 if z.dtype.kind == "i" else NAN
    first = {
        "gaussian": Gaussian([0.0, 1.0], [1.0, 0.25]),
        "multivariate": Gaussian([0.0, 1.0], [2.0, 1.0]),
        "two counts": Poisson([2.0, 6.5]),
        "product": Categorical([[0.8, 0.2], [0.3, 0.7]]),
        "symbols": Categorical([[0.8, 0.2], [0.3, 0.7]]),
    }[name]
    np.testing.assert_allclose(log_likelihoods(emission, part), log_likelihoods(first, z[:, 0]), rtol=1e-12)


def test_equal_observations_are_found(emission):
    z = observed(emission)
    values, row = emission.distinct(z)
    np.testing.assert_array_equal(values[row], z)
    seen = emission.prepare(z)
    table, shift = emission.likelihoods(z)
    with np.errstate(divide="ignore"):
        expected = np.log(table) + shift[:, np.newaxis]
        found = np.log(seen.table[seen.row]) + (0.0 if seen.shift is None else seen.shift[:, np.newaxis])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_samples_have_the_likelihood_that_they_should(emission):
    """The mean of ln b_k(z) over samples of k is minus the entropy: compare it with a second, larger sample."""
    rng = np.random.default_rng(8)
    few = log_likelihoods(emission, emission.sample(np.zeros(4_000, dtype=int), rng))[:, 0]
    many = log_likelihoods(emission, emission.sample(np.zeros(40_000, dtype=int), rng))[:, 0]
    assert abs(few.mean() - many.mean()) < 5 * few.std() / math.sqrt(4_000)
    assert np.isfinite(few).all()


def test_samples_have_the_moments_of_their_state():
    rng = np.random.default_rng(0)
    for name, mean, variance in (("gaussian", [1.0, 3.0], [0.25, 2.0]), ("multivariate", [1.0, 3.0], [1.0, 0.5])):
        z = EMISSIONS[name].sample(np.ones(20_000, dtype=int), rng)
        np.testing.assert_allclose(z.mean(axis=0), mean, atol=0.05)
        np.testing.assert_allclose(z.var(axis=0), variance, rtol=0.05)
    assert np.cov(z.T)[0, 1] == pytest.approx(-0.3, abs=0.03)
    symbols = EMISSIONS["categorical"].sample(np.ones(20_000, dtype=int), rng)
    assert np.bincount(symbols).tolist()[1] == 0
    assert symbols.mean() == pytest.approx(1.8, abs=0.02)
    assert EMISSIONS["poisson"].sample(STATES, rng).shape == STATES.shape


# -------------------------------------------------------------------------------------------------- learning


@given(data=st.data())
def test_a_weighted_fit_never_lowers_what_it_maximises(data):
    emission = EMISSIONS[data.draw(st.sampled_from(sorted(EMISSIONS)))]
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    z = observed(emission, missing=data.draw(st.booleans()))
    weights = rng.random((len(z), 2)) * (rng.random((len(z), 2)) < 0.7)
    frozen = frozenset(data.draw(st.sets(st.sampled_from(sorted(emission.freezable())), max_size=1)))
    prior = None
    if not isinstance(emission, LogDensity):
        prior = emission.resolve_prior(data.draw(st.sampled_from([None, 0.0, 0.5, 10.0])), z)
    fitted = emission.fit_weighted(z, weights, prior, frozen)
    before, after = total(emission, z, weights, prior), total(fitted, z, weights, prior)
    assert after >= before - 1e-9 * (1.0 + abs(before))


@pytest.mark.parametrize(
    ("name", "strength"), [(name, c) for name in ("gaussian", "multivariate", "poisson") for c in (None, 3.0)]
)
def test_nothing_near_a_weighted_fit_is_better(name, strength):
    emission = EMISSIONS[name]
    rng = np.random.default_rng(1)
    z = observed(emission, missing=False)
    weights = rng.random((len(z), 2))
    prior = emission.resolve_prior(strength, z)
    fitted = emission.fit_weighted(z, weights, prior)
    best = total(fitted, z, weights, prior)
    for _ in range(50):
        shaken = {
            name: value * (1.0 + 1e-3 * rng.standard_normal(value.shape)) if np.ndim(value) else value
            for name, value in fitted.arrays().items()
        }
        if "covariance" in shaken:
            shaken["covariance"] = (shaken["covariance"] + shaken["covariance"].transpose(0, 2, 1)) / 2
        assert total(type(emission)(**shaken), z, weights, prior) < best


def test_weighted_moments():
    z = np.array([[1.0, 0.0], [3.0, 2.0], [8.0, 1.0]])
    weights = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]])
    fitted = EMISSIONS["gaussian"].fit_weighted(z, weights)
    assert fitted.mean.tolist() == [[2.5, 1.5], [8.0, 1.0]]
    share = weights.sum(axis=1)
    whole = np.average(z**2, axis=0, weights=share) - np.average(z, axis=0, weights=share) ** 2
    np.testing.assert_allclose(fitted.variance, [[0.75, 0.75], 1e-9 * whole])
    full = EMISSIONS["multivariate"].fit_weighted(z, weights)
    np.testing.assert_allclose(full.covariance[0], [[0.75, 0.75], [0.75, 0.75]], atol=2e-6)
    in_units = full.covariance / np.sqrt(np.outer(whole, whole))
    assert np.linalg.eigvalsh(in_units).min() == pytest.approx(1e-9, rel=1e-6)
    assert (fitted.collapsed, full.collapsed) == ((1,), (0, 1))
    pseudo = EMISSIONS["gaussian"].resolve_prior(PseudoObservations(4.0, mean=0.0, variance=1.0), z)
    pulled = EMISSIONS["gaussian"].fit_weighted(z, weights, pseudo)
    assert pulled.mean[0].tolist() == [1.25, 0.75]
    assert pulled.variance[0, 0] == pytest.approx((1 * 0.0625 + 3 * 1.75**2 + 4 * (1 + 1.25**2)) / 8)


def test_variances_far_from_the_origin_keep_their_digits():
    noise = np.random.default_rng(2).standard_normal(1000)
    fitted = Gaussian([0.0], [1.0]).fit_weighted(1e9 + noise[:, np.newaxis], np.ones((1000, 1)))
    assert fitted.variance[0, 0] == pytest.approx(noise.var(), rel=1e-6)


def test_a_state_without_weight_stays_as_it_is(emission):
    z = observed(emission)
    weights = np.zeros((len(z), 2))
    weights[:, 1] = 1.0
    if not isinstance(emission, LogDensity):  # whose function is the user's own affair
        fitted = emission.fit_weighted(z, weights)
        np.testing.assert_allclose(log_likelihoods(fitted, z)[:, 0], log_likelihoods(emission, z)[:, 0], rtol=1e-12)
    unseen = emission.fit_weighted(z, np.zeros_like(weights))
    np.testing.assert_array_equal(log_likelihoods(unseen, z), log_likelihoods(emission, z))


def test_missing_coordinates_are_completed_as_the_marginal_likelihood_asks():
    """Without hidden states this is maximum likelihood from incomplete vectors: its gradient vanishes in the end."""
    rng = np.random.default_rng(5)
    z = rng.multivariate_normal([1.0, -2.0], COVARIANCE[0], size=200)
    z[:60, 0], z[60:100, 1], z[100] = NAN, NAN, NAN
    fitted = MultivariateGaussian([[0.0, 0.0]], [np.eye(2)])
    reached = [-np.inf]
    for _ in range(80):
        fitted = fitted.fit_weighted(z, np.ones((200, 1)))
        reached.append(total(fitted, z, np.ones((200, 1))))
    assert (np.diff(reached) > -1e-9).all()
    mean, matrix = fitted.mean, fitted.covariance
    for direction in (np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])):
        shaken = [MultivariateGaussian(mean + h * direction, matrix) for h in (1e-4, -1e-4)]
        slope = np.diff([total(one, z, np.ones((200, 1))) for one in shaken])[0] / 2e-4
        assert abs(slope) < 1e-3
    for direction in ([[1.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]):
        shaken = [MultivariateGaussian(mean, matrix + h * np.array(direction)) for h in (1e-4, -1e-4)]
        slope = np.diff([total(one, z, np.ones((200, 1))) for one in shaken])[0] / 2e-4
        assert abs(slope) < 1e-3


def test_what_is_frozen_stays_as_it_is():
    z = observed(EMISSIONS["gaussian"])
    weights = np.random.default_rng(0).random((len(z), 2))
    one = EMISSIONS["gaussian"]
    assert one.fit_weighted(z, weights, None, frozenset({"variance"})).variance is one.variance
    assert one.fit_weighted(z, weights, None, frozenset({"mean"})).mean is one.mean
    several = EMISSIONS["multivariate"]
    half = several.fit_weighted(z, weights, None, frozenset({"covariance"}))
    np.testing.assert_array_equal(half.covariance, several.covariance)
    assert (half.mean != several.mean).all()
    parts = EMISSIONS["product"]
    z = observed(parts)
    half = parts.fit_weighted(z, weights, None, frozenset({"channels[0]", "variance"}))
    assert half.channels[0] is parts.channels[0]
    assert half.channels[1].variance is parts.channels[1].variance
    assert (half.channels[1].mean != parts.channels[1].mean).all()
    assert (half.channels[2].rate != parts.channels[2].rate).all()


def test_random_emissions_are_of_the_family_and_repeatable(emission):
    z = observed(emission)
    drawn = [emission.randomized(z, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert all(type(one) is type(emission) and one.n_states == 2 for one in drawn)
    logs = [log_likelihoods(one, z) for one in drawn]
    np.testing.assert_array_equal(logs[0], logs[1])
    assert (logs[0] != logs[2]).any()
    if emission is EMISSIONS["categorical"]:
        assert drawn[0].table[1, 1] == 0.0


def test_numbers_of_free_parameters():
    numbers = {name: emission.n_parameters for name, emission in EMISSIONS.items()}
    assert numbers == {
        "categorical": 3,
        "gaussian": 8,
        "multivariate": 10,
        "poisson": 2,
        "two counts": 4,
        "mixture": 10,
        "correlated mixture": 10,
        "mixed counts": 6,
        "product": 8,
        "symbols": 4,
        "waiting times": 2,
    }


@pytest.mark.parametrize(
    ("name", "frozen", "number"),
    [
        ("categorical", {"table"}, 0),
        ("gaussian", {"mean"}, 4),
        ("multivariate", {"mean"}, 6),
        ("multivariate", {"covariance"}, 4),
        ("mixture", {"weights", "variance"}, 4),
        ("mixture", {"components"}, 2),
        ("product", {"channels[0]", "mean"}, 4),
        ("product", {"channels"}, 0),
        ("waiting times", {"log_density"}, 0),
    ],
)
def test_what_is_frozen_is_not_free(name, frozen, number):
    assert EMISSIONS[name].n_free(frozen) == number
    assert EMISSIONS[name].n_free(frozenset()) == EMISSIONS[name].n_parameters


# ---------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("name", "z", "message"),
    [
        ("categorical", [0, 3], r"z\[t=1\] is 3; the symbols are 0\.\.2 .n_symbols=3., and -1 or NaN is a missing one"),
        ("categorical", [0, -2], r"z\[t=1\] is -2; the symbols are 0\.\.2"),
        ("categorical", [0.5], r"z\[t=0\] is 0\.5; the symbols"),
        ("categorical", ["a"], "z has dtype"),
        ("categorical", [[0, 1]], r"z has shape \(1, 2\), not \(T,\)"),
        ("gaussian", [1.0, 2.0], r"z has shape \(2,\), not \(T, 2\)"),
        ("gaussian", [[1.0, np.inf]], r"z\[t=0, 1\] is inf; observations are finite"),
        ("poisson", [1, -3], r"z\[t=1\] is -3; the counts are whole numbers from 0"),
        ("poisson", [[1, 3]], r"z has shape \(1, 2\), not \(T,\) or \(T, 1\)"),
        ("product", [[2, 0.5, 1]], r"channel 0: z\[t=0\] is 2; the symbols are 0\.\.1"),
        ("product", [[0, 0.5, 1.5]], r"channel 2: z\[t=0\] is 1\.5"),
        ("product", [[0, 0.5]], r"z has shape \(1, 2\), not \(T, 3\)"),
    ],
)
def test_malformed_observations(name, z, message):
    with pytest.raises(ModelError, match=message):
        EMISSIONS[name].check(z)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Categorical([[0.5, 0.4]]), r"emission\[k=0\] sums to 0\.9, not 1"),
        (lambda: Categorical([[1.5, -0.5]]), r"emission\[k=0\]\[1\] is -0\.5"),
        (lambda: Categorical([0.5, 0.5]), r"emission has shape \(2,\), not \(K, M\)"),
        (lambda: Categorical([[NAN, 1.0]]), r"emission\[0, 0\] is nan"),
        (lambda: Gaussian([0.0], [0.0]), r"variance\[k=0, d=0\] is 0; variances are positive"),
        (lambda: Gaussian([0.0], [-1.0]), r"variance\[k=0, d=0\] is -1"),
        (lambda: Gaussian([0.0, 1.0], [1.0]), r"variance has shape \(1, 1\), not \(2, 1\)"),
        (
            lambda: MultivariateGaussian([[0.0, 0.0]], [[[1.0, 2.0], [2.0, 1.0]]]),
            r"covariance\[k=0\] is not positive definite: its correlations have the eigenvalue -1",
        ),
        (lambda: MultivariateGaussian([[0.0, 0.0]], [[[1.0, 0.5], [0.0, 1.0]]]), r"covariance\[k=0\] is not symmetric"),
        (lambda: Poisson([-1.0]), r"rate\[k=0, d=0\] is -1; rates are at least 0"),
        (lambda: Mixture([[0.5, 0.5]], Poisson([1.0])), "there are 1 components, not K C = 2"),
        (lambda: gaussian_mixture([[0.5, 0.5]], [[0.0]], [[1.0]]), r"mean has shape \(1, 1\) and weights \(1, 2\)"),
        (lambda: Product([]), "channels is empty"),
        (
            lambda: Product([Poisson([1.0]), Poisson([1.0, 2.0])]),
            r"channels\[1\] has 2 hidden states, but channels\[0\]",
        ),
        (lambda: Product([[0.5, 0.5]]), r"channels\[0\] is a list, not an Emission"),
    ],
)
def test_malformed_emissions(make, message):
    with pytest.raises(ModelError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "prior", "message"),
    [
        ("categorical", -1.0, "prior of the emission=-1 is negative"),
        ("categorical", [[1.0, 2.0]], r"prior of the emission has shape \(1, 2\), not \(2, 3\)"),
        ("categorical", [[1, 1, 1], [1, -1, 1]], r"prior of the emission\[1, 1\] is -1"),
        ("gaussian", "much", "prior of the emission='much' is not a finite number"),
        ("gaussian", PseudoObservations(1.0, 0.0), r"give either prior\.variance or prior\.covariance"),
        (
            "gaussian",
            PseudoObservations(1.0, [0.0, 1.0, 2.0], 1.0),
            r"prior\.mean has shape \(3,\), which does not fit",
        ),
        ("gaussian", PseudoObservations(1.0, 0.0, -1.0), r"prior\.variance is negative"),
        ("poisson", PseudoObservations(1.0, -1.0), r"prior\.mean has the entry -1; counts are at least 0"),
        ("mixture", "much", "prior='much' is neither a number nor a MixturePrior"),
        ("mixture", MixturePrior(-1.0), r"prior\.weights=-1 is negative"),
        ("product", [1.0], "1 priors for 3 channels"),
        ("waiting times", 1.0, "LogDensity takes no prior"),
    ],
)
def test_malformed_priors(name, prior, message):
    emission = EMISSIONS[name]
    with pytest.raises(ParameterError, match=message):
        emission.resolve_prior(prior, observed(emission))


def test_a_function_has_to_return_log_densities():
    def emission(function):
        return LogDensity(function, n_states=2)

    z = np.array([[1.0], [2.0]])
    with pytest.raises(
        ModelError, match=r"log_density returned the shape \(2,\) for 2 observations, not \(T, K\) = \(2, 2\)"
    ):
        emission(lambda z: z).likelihoods(z)
    with pytest.raises(ModelError, match=r"log_density is nan for the observation \[1\.0\] in state 0"):
        emission(lambda z: np.full((2, 2), NAN)).likelihoods(z)
    with pytest.raises(ParameterError, match="cannot be sampled from: pass draw="):
        emission(lambda z: z).sample(STATES, np.random.default_rng(0))
    assert emission(lambda z: np.full((2, 2), -np.inf)).likelihoods(z)[0].tolist() == [[0.0, 0.0]] * 2
    fixed = emission(lambda z: z)
    assert fixed.fit_weighted(z, np.ones((2, 2))) is fixed
