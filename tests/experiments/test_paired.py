import numpy as np
import pytest
from scipy import stats

from rlsuite.approximation.selection.paired_tests import wilcoxon
from rlsuite.experiments.paired import corrected, improvement, pair_of, seeds_needed
from rlsuite.training.results import Bounds


def pair(first, second, n_pairs=1):
    samples = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return pair_of("env", ("a", "b"), samples, Bounds(), n_pairs)


def test_the_better_agent_comes_first():
    rng = np.random.default_rng(0)
    low, high = rng.normal(0.0, 1.0, 12), rng.normal(1.0, 1.0, 12)
    assert pair(low, high)[1:3] == ("b", "a")
    assert pair(low, high).difference == pytest.approx((high - low).mean())
    assert pair(high, low)[3:] == pair(low, high)[3:]


def test_p_values_are_those_of_scipy():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.5, 1.0, (2, 15))
    found = pair(first, second)
    assert found.t_p_value == pytest.approx(stats.ttest_rel(first, second).pvalue)
    assert found.wilcoxon_p_value == pytest.approx(stats.wilcoxon(first, second).pvalue)


def test_holm_corrects_for_the_number_of_pairs():
    rng = np.random.default_rng(2)
    pairs = [pair(rng.normal(size=20), rng.normal(shift, 1.0, 20)) for shift in (0.0, 0.7, 2.0)]
    p = sorted(one.wilcoxon_p_value for one in pairs)
    expected = np.minimum(np.maximum.accumulate([3 * p[0], 2 * p[1], p[2]]), 1.0)
    assert sorted(one.p_value for one in corrected(pairs)) == pytest.approx(expected)
    assert corrected([]) == []


def test_no_pair_of_equal_agents_is_found_different_too_often():
    """Three pairs of 4 equal agents in 500 comparisons: any at most 5 %, and three standard deviations (2.9 %)."""
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(500):
        samples = rng.normal(size=(3, 12))
        best = [wilcoxon(samples[i], samples[j]).p_value for i, j in ((0, 1), (0, 2), (1, 2))]
        found += min(best) * 3 <= 0.05
    assert found / 500 <= 0.05 + 0.029


def test_improvement_is_the_mann_whitney_statistic():
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 5, 12).astype(float), rng.integers(0, 5, 9).astype(float)
    expected = stats.mannwhitneyu(first, second).statistic / (12 * 9)
    assert improvement(first, second) == pytest.approx(expected)
    assert improvement(first, second) + improvement(second, first) == pytest.approx(1.0)


def test_as_many_seeds_as_needed_show_the_difference_in_four_of_five_experiments():
    """1,000 experiments with the number of seeds that the formula says; three standard deviations are 3.8 %."""
    rng = np.random.default_rng(5)
    draw = np.array([-1.0, 1.0]).repeat(500) + 0.5  # mean 0.5, standard deviation 1
    n = seeds_needed(draw)
    assert n == 32
    differences = rng.normal(0.5, 1.0, (1_000, n))
    power = (stats.ttest_1samp(differences, 0.0, axis=1).pvalue <= 0.05).mean()
    assert power == pytest.approx(0.8, abs=0.05)


def test_more_pairs_need_more_seeds_and_none_is_enough_for_nothing():
    rng = np.random.default_rng(6)
    differences = rng.normal(0.5, 1.0, 30)
    assert seeds_needed(differences, 0.005) > seeds_needed(differences, 0.05)
    assert seeds_needed(np.zeros(5)) is None
    assert seeds_needed(np.full(5, 2.0)) == 6


def test_the_difference_is_not_beyond_the_distance_of_the_bounds():
    samples = np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.0])
    found = pair_of("env", ("a", "b"), samples, Bounds(0.0, 1.0))
    assert found.high == 1.0


def test_rounding_is_no_difference():
    flat = np.full(8, -100.0)
    pair = pair_of("cliff", ("a", "b"), (flat, flat * (1 + 3e-16 * np.arange(8))), Bounds())
    assert (pair.difference, pair.low, pair.high, pair.seeds_needed, pair.improvement) == (0.0, 0.0, 0.0, None, 0.5)
