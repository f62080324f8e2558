import numpy as np
import pytest
from scipy import stats

from rlsuite.approximation.selection.paired_tests import wilcoxon
from rlsuite.experiments.paired import LARGEST_STAKE, corrected, improvement, log_wealth, pair_of, seeds_needed, verdict
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


def wealth_by_hand(differences, margin=0.0):
    """The same, one bet after the other."""
    wealth, total, squares, found = 1.0, 0.0, 0.25, []
    for difference in differences:
        gain = difference + margin
        stake = min(max(total / squares, 0.0), LARGEST_STAKE / (1.0 - margin))
        wealth *= 1.0 + stake * gain
        total, squares = total + gain, squares + gain**2
        found.append(wealth)
    return np.array(found)


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_wealth_is_that_of_single_bets(margin):
    differences = np.random.default_rng(1).uniform(-1.0, 1.0, 60)
    assert np.exp(log_wealth(differences, margin=margin)) == pytest.approx(wealth_by_hand(differences, margin))


def test_a_bet_does_not_know_its_own_outcome():
    differences = np.random.default_rng(2).uniform(-1.0, 1.0, 30)
    changed = np.append(differences[:-1], 1.0)
    assert np.array_equal(log_wealth(differences)[:-1], log_wealth(changed)[:-1])


def test_no_seed_ruins_the_gambler():
    differences = np.array([1.0] * 50 + [-1.0])
    assert np.isfinite(log_wealth(differences)).all()
    assert np.isfinite(log_wealth(-differences, margin=0.1)).all()


NULLS = {
    "coin": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "rare catastrophe": lambda rng, shape: np.where(rng.random(shape) < 0.02, -0.98, 0.02),
    "rare success": lambda rng, shape: np.where(rng.random(shape) < 0.02, 0.98, -0.02),
    "normal": lambda rng, shape: np.clip(rng.normal(0.0, 0.3, shape), -1.0, 1.0),
}


@pytest.mark.parametrize("name", NULLS)
def test_looking_after_every_seed_finds_no_difference_between_equal_agents(name):
    """Of 4,000 experiments at most 2.5 % each way; three standard deviations (0.74 %) are allowed for."""
    differences = NULLS[name](np.random.default_rng(3), (400, 4_000))
    for sign in (1.0, -1.0):
        found = (log_wealth(sign * differences) >= np.log(40.0)).any(axis=0).mean()
        assert found <= 0.025 + 0.0074


def test_equal_is_rarely_said_of_agents_that_differ_by_the_margin():
    """As above: the mean is the margin, so that equal would be false."""
    rng = np.random.default_rng(4)
    differences = np.clip(rng.normal(0.1, 0.2, (300, 4_000)), -1.0, 1.0)
    differences += 0.1 - differences.mean()
    found = (log_wealth(-differences, margin=0.1) >= np.log(40.0)).any(axis=0).mean()
    assert found <= 0.025 + 0.0074


def test_verdicts():
    rng = np.random.default_rng(5)
    noise = rng.normal(0.0, 0.2, 400)
    seeds = list(range(100, 500))
    better = verdict(np.clip(noise + 0.2, -1, 1), 0.02, 0.05, seeds)
    worse = verdict(np.clip(-noise - 0.2, -1, 1), 0.02, 0.05, seeds)
    assert (better.word, worse.word) == ("first", "second")
    assert better.seeds == worse.seeds < 100
    assert better.last_seed == seeds[better.seeds - 1]
    assert verdict(np.zeros(400), 0.02, 0.05, seeds).word == "equal"
    assert verdict(noise, 0.02, 0.05, seeds).word == "undecided"


def test_a_verdict_does_not_change_with_more_seeds():
    differences = np.clip(np.random.default_rng(6).normal(0.15, 0.3, 500), -1, 1)
    found = verdict(differences, 0.02, 0.05, range(500))
    assert found == verdict(differences[: found.seeds], 0.02, 0.05, range(found.seeds))
    assert verdict(differences[: found.seeds - 1], 0.02, 0.05, range(500)).word == "undecided"


def test_no_seeds_no_verdict():
    assert verdict(np.zeros(0), 0.02, 0.05, []).word == "undecided"
