import re

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri, stdtrit

from rlsuite.errors import ParameterError
from rlsuite.training.statistics import RESAMPLES, mean_interval, pointwise_band, simultaneous_band, success_interval

# Two methods in ten folds (lecture notes, section 12.7.3).
A = np.array([0.81, 0.82, 0.84, 0.78, 0.85, 0.86, 0.82, 0.83, 0.82, 0.81])
B = np.array([0.80, 0.77, 0.70, 0.83, 0.80, 0.78, 0.75, 0.80, 0.78, 0.77])


def test_the_paired_comparison_of_the_lecture_notes():
    mean, low, high = mean_interval(A - B, method="student")
    assert mean == pytest.approx(0.046, abs=1e-12)
    half = 2.262 * 0.0154344  # printed: t quantile and standard error
    assert mean - low == pytest.approx(half, abs=1e-5)
    assert high - mean == pytest.approx(half, abs=1e-5)
    assert low > 0  # the notes reject equality at the 5 % level,
    wider = mean_interval(A - B, confidence=1 - 0.015441, method="student")  # whose p value is 0.015441:
    assert wider.low == pytest.approx(0.0, abs=1e-6)  # that interval just reaches 0


@pytest.mark.parametrize(
    ("confidence", "quantile"), [(0.80, 1.383), (0.90, 1.833), (0.95, 2.262), (0.98, 2.821), (0.99, 3.250)]
)
def test_quantiles_with_nine_degrees_of_freedom(confidence, quantile):
    samples = np.arange(10.0)
    standard_error = samples.std(ddof=1) / np.sqrt(10)
    mean, low, high = mean_interval(samples, confidence, method="student")
    assert (high - mean) / standard_error == pytest.approx(quantile, abs=5e-4)
    assert (mean - low) / standard_error == pytest.approx(quantile, abs=5e-4)


def test_two_seeds_use_the_cauchy_quantile():
    # With one degree of freedom the quantile is tan(pi * confidence / 2).
    _, low, high = mean_interval([[0.0, 5.0], [2.0, 5.0]])
    reach = np.tan(np.pi * 0.95 / 2)
    np.testing.assert_allclose([low[0], high[0]], [1 - reach, 1 + reach], rtol=1e-9)
    assert low[1] == high[1] == 5.0


def test_times_are_independent_of_each_other():
    samples = np.random.default_rng(3).normal(size=(7, 4))
    together = mean_interval(samples)
    for time in range(4):
        np.testing.assert_allclose([part[time] for part in together], mean_interval(samples[:, time]), rtol=1e-13)


def test_the_interval_covers_the_mean_as_often_as_it_says():
    generator = np.random.default_rng(11)
    _, low, high = mean_interval(generator.normal(3.0, 2.0, size=(5, 20_000)), confidence=0.9)
    covered = np.mean((low <= 3.0) & (high >= 3.0))
    assert covered == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 20_000))


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20), st.floats(-1e3, 1e3), st.floats(1e-2, 1e2))
def test_shifting_and_scaling_the_samples_moves_the_interval_along(samples, shift, scale):
    before = mean_interval(samples)
    after = mean_interval(scale * np.array(samples) + shift)
    reach = 1e-9 * (1 + np.ptp(samples)) * 1e3 * (1 + scale) + 1e-9 * abs(shift)
    for part_before, part_after in zip(before, after, strict=True):
        assert part_after == pytest.approx(scale * part_before + shift, abs=reach)


def test_the_bootstrap_is_that_of_scipy():
    """With the levels that SciPy takes, and as many resamples of its own: the ends differ by what resampling does."""
    generator = np.random.default_rng(5)
    samples = np.stack([-generator.exponential(size=40), generator.normal(size=40), generator.random(40) ** 4], axis=1)
    _, low, high = mean_interval(samples, 0.9, method="bca")
    levels = 2 * ndtr(stdtrit(39, 0.95) * np.sqrt(40 / 39)) - 1
    theirs = scipy.stats.bootstrap((samples,), np.mean, confidence_level=levels, n_resamples=20_000, rng=1)
    width = high - low
    np.testing.assert_allclose(low, theirs.confidence_interval.low, atol=0.06 * width.max())
    np.testing.assert_allclose(high, theirs.confidence_interval.high, atol=0.06 * width.max())
    assert (mean_interval(samples, 0.9)[1] == low).all()  # the same bytes again, and by default
    # with the same resamples, by the equations
    n, rng = 40, np.random.default_rng(RESAMPLES)
    deviations = samples - samples.mean(axis=0)
    means = rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES) @ deviations / n
    skewness = np.mean(deviations**3, axis=0) / np.mean(deviations**2, axis=0) ** 1.5
    for sign, end in ((-1.0, low), (1.0, high)):
        z0 = ndtri(np.mean(means < 0.0, axis=0))
        z = z0 + sign * stdtrit(n - 1, 0.95) * np.sqrt(n / (n - 1))
        level = ndtr(z0 + z / (1.0 - skewness / (6.0 * np.sqrt(n)) * z))
        exact = [np.quantile(means[:, i], level[i]) for i in range(3)]
        np.testing.assert_allclose(end - samples.mean(axis=0), exact, rtol=1e-6)


def test_nothing_impossible_is_in_an_interval():
    """28 seeds near the optimum of -14 and two that fail; two seeds far apart."""
    samples = np.concatenate([np.full(28, -14.0), [-100.0, -100.0]])
    _, low, high = mean_interval(samples)
    assert -35.0 < low < -20.0
    assert high == -14.0  # no resample is better than the best seed
    reach = np.tan(np.pi * 0.95 / 2)
    mean, low, high = mean_interval([-40.0, -56.0], bounds=(-200.0, -13.0))
    assert (mean, low, high) == (-48.0, pytest.approx(-48.0 - 8 * reach), -13.0)
    mean, low, high = mean_interval([-13.0, np.nextafter(-13.0, 0)], bounds=(-13.0, -13.0))
    assert low <= mean <= high


@pytest.mark.slow
def test_intervals_cover_as_the_docstring_says():
    generator = np.random.default_rng(1)
    stated = re.findall(r"(BCa|Student) +([\d.]+) % +([\d.]+) % +([\d.]+) %", mean_interval.__doc__ or "")
    kinds = [
        (0.0, generator.normal),
        (-1.0, lambda size: -generator.exponential(size=size)),
        (-22.6, lambda size: generator.normal(-14.0, 1.0, size) - 86.0 * (generator.random(size) < 0.1)),
    ]
    assert len(stated) == 2 * len(kinds)
    for (name, *shares), (mean, draw) in zip(stated, [kind for kind in kinds for _ in range(2)], strict=True):
        for n, share in zip((10, 30, 100), shares, strict=True):
            _, low, high = mean_interval(draw(size=(n, 10_000)), method="bca" if name == "BCa" else "student")
            # two simulations of 10,000 experiments each: six standard deviations of their difference
            assert np.mean((low <= mean) & (mean <= high)) == pytest.approx(float(share) / 100, abs=0.03)


def test_a_simultaneous_band_covers_the_whole_curve():
    rng = np.random.default_rng(3)
    independent, line = rng.normal(size=(10, 40)), rng.normal(size=(10, 1)) * np.ones(40)
    _, low, high = simultaneous_band(line)  # all times are one, so the interval is Student's
    np.testing.assert_allclose([low, high], mean_interval(line, method="student")[1:])
    _, low, high = simultaneous_band(independent)  # nowhere wider than Bonferroni's of the widest
    width = stdtrit(9, 1 - 0.025 / 40) * independent.std(axis=0, ddof=1) / np.sqrt(10)
    assert np.ptp(high - low) > 0.0
    assert np.all(high - low <= 2.0 * width.max() + 1e-12)
    assert np.all(high - low >= 0.75 * np.max(high - low) - 1e-12)
    rare = np.where(np.arange(40) == 7, independent, 1.0)  # at other times no seed differs, yet
    mean, low, high = simultaneous_band(rare, bounds=(-1.0, 1.0))
    assert np.all(low[:7] < 1.0)
    assert np.all(high[:7] == mean[:7])
    covered = 0
    for _ in range(300):
        _, low, high = simultaneous_band(rng.normal(size=(5, 20)).cumsum(axis=1))
        covered += bool(np.all((low <= 0.0) & (high >= 0.0)))
    assert covered >= 0.94 * 300


def test_a_band_does_not_jump_because_one_seed_of_thirty_fails_now_and_then():
    rng = np.random.default_rng(2)
    curves = np.where(rng.random((30, 400)) < 1.0 / 30.0, -100.0, -10.0)
    of_times, band = (found(curves, bounds=(-200.0, -10.0)) for found in (mean_interval, pointwise_band))
    jumps = [np.abs(np.diff((found.mean - found.low)[20:-20])).max() for found in (of_times, band)]
    assert jumps[0] > 5.0 * jumps[1]
    assert (band.low <= band.mean).all()
    assert band.high.max() == -10.0
    assert [part[-1] for part in band] == [part[-1] for part in of_times]  # as in a table of the last values
    truth = -10.0 - 90.0 / 30.0
    covered = [np.mean((found.low <= truth) & (truth <= found.high)) for found in (of_times, band)]
    assert covered[1] > covered[0] + 0.05


def test_equal_samples_have_no_width():
    mean, low, high = mean_interval(np.full((30, 1), 0.1))
    assert low == mean == high == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("samples", "confidence", "complaint"),
    [
        ([[1.0, 2.0]], 0.95, "at least two seeds, got 1"),
        ([1.0, 2.0], 1.0, "confidence=1.0"),
        ([1.0, 2.0], 95, "confidence=95"),
        ([[1.0, 2.0], [3.0, np.nan]], 0.95, r"samples\[1, 1\] = nan is not finite"),
        (np.zeros((2, 2, 2)), 0.95, r"samples has shape \(2, 2, 2\)"),
    ],
)
def test_wrong_samples_are_refused(samples, confidence, complaint):
    with pytest.raises(ParameterError, match=complaint):
        mean_interval(samples, confidence)


def test_wilson_and_exact_intervals_in_closed_form():
    z, n = 1.959963984540054, 10
    _, low, high = success_interval(0, n)
    assert (low, high) == pytest.approx((0.0, z**2 / (n + z**2)), abs=1e-12)
    assert success_interval(n, n).low == pytest.approx(n / (n + z**2), abs=1e-12)
    assert success_interval(0, n, method="exact").high == pytest.approx(1 - 0.025 ** (1 / n), abs=1e-12)
    half = success_interval(5, n)  # at p = 1/2: the normal interval of n + z^2 trials
    assert half.high - half.rate == pytest.approx(z / 2 / np.sqrt(n + z**2), abs=1e-12)


def test_the_notes_interval_is_its_limit():
    """Lecture notes, section 1.3: from 30 trials on, z sqrt(p (1 - p) / n)."""
    rate, low, high = success_interval(3_000, 10_000)
    reach = 1.959964 * np.sqrt(0.3 * 0.7 / 10_000)
    assert (low, high) == pytest.approx((rate - reach, rate + reach), abs=1e-4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((11, 10), "successes=11 is more than trials=10"),
        ((-1, 10), "successes"),
        ((0, 0), "trials"),
        ((1, 2, 1.0), "confidence=1.0"),
    ],
)
def test_impossible_rates_are_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        success_interval(*given)


def test_an_unknown_interval_is_refused():
    with pytest.raises(ParameterError, match="wilson"):
        success_interval(1, 2, method="wilso")
