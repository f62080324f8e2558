import itertools

import numpy as np
import pytest
from scipy import stats

from rlsuite.approximation.selection.paired_tests import (
    five_by_two_f,
    five_by_two_t,
    holm,
    mcnemar,
    paired_t,
    sign_test,
    wilcoxon,
)
from rlsuite.errors import ParameterError
from rlsuite.training.statistics import mean_interval

# Lecture notes, section 12.7.3: scores of two learners in ten folds.
A = np.array([0.81, 0.82, 0.84, 0.78, 0.85, 0.86, 0.82, 0.83, 0.82, 0.81])
B = np.array([0.80, 0.77, 0.70, 0.83, 0.80, 0.78, 0.75, 0.80, 0.78, 0.77])


def test_the_notes_example():
    test = paired_t(A, B)
    assert round(test.difference, 3) == 0.046
    assert round(test.difference / test.statistic, 7) == 0.0154344
    assert round(test.statistic, 6) == 2.980346
    assert round(test.p_value, 6) == 0.015441
    assert test.n == 10
    # The notes compare with t_{9, 0.025}; their printed table agrees to three decimals.
    assert round(float(stats.t.isf(0.025, 9)), 3) == 2.262
    assert test.statistic > 2.262


def test_p_is_below_a_level_exactly_when_the_interval_leaves_out_zero():
    for level in (0.02, 0.0154, 0.0155, 0.01):
        _, low, high = mean_interval(A - B, confidence=1.0 - level, method="student")
        assert (paired_t(A, B).p_value < level) == (low > 0.0 or high < 0.0)


def test_overlapping_training_sets_widen_the_error():
    # By hand: t * sqrt((1/10) / (1/10 + 1/9)).
    corrected = paired_t(A, B, test_to_train=1 / 9)
    assert corrected.statistic == pytest.approx(2.980346 * np.sqrt(0.1 / (0.1 + 1 / 9)), abs=1e-6)
    assert corrected.p_value > 0.05 > paired_t(A, B).p_value


def test_the_correction_keeps_the_level_where_training_sets_overlap():
    """Two lines, each through one of two features that explain a number equally well: neither is the better learner.

    15 splits of 60 examples, 20 of them held out; 400 data sets. A test that keeps the level 0.05 rejects in that share
    of them, with a standard error of 0.011; four of these are allowed.
    """
    rng = np.random.default_rng(7)
    plain = corrected = 0
    for _ in range(400):
        x = rng.normal(size=(60, 2))
        y = x.sum(axis=1) + rng.normal(size=60)
        scores = []
        for _ in range(15):
            held, learned = np.split(rng.permutation(60), [20])
            slopes = (x[learned] * y[learned, None]).sum(axis=0) / (x[learned] ** 2).sum(axis=0)
            scores.append(((y[held, None] - slopes * x[held]) ** 2).mean(axis=0))
        first, second = np.transpose(scores)
        plain += paired_t(first, second).p_value < 0.05
        corrected += paired_t(first, second, test_to_train=20 / 40).p_value < 0.05
    assert corrected / 400 < 0.05 + 4 * 0.011
    assert plain / 400 > 0.4  # it finds a winner in every other data set


def test_wilcoxon_equals_all_sign_patterns():
    """2 ** 10 ways to give the ten ranks a sign, equally likely under the hypothesis; ties share their rank."""
    ranks = stats.rankdata(np.round(np.abs(A - B), 6))
    sums = np.array([ranks @ signs for signs in itertools.product((0, 1), repeat=10)])
    positive = ranks[A > B].sum()
    exact = 2.0 * min((sums <= positive).mean(), (sums >= positive).mean())
    test = wilcoxon(A, B)
    assert test.p_value == exact == 0.025390625
    assert test.statistic == 55 - positive


def test_rounding_breaks_no_ties():
    """Adding the same large number to both scores changes the differences in their last digits only."""
    assert wilcoxon(A + 100.0, B + 100.0) == pytest.approx(wilcoxon(A, B), rel=1e-9)


def test_five_halvings_by_hand():
    a = np.array([[3.0, 1.0], [2.0, 2.0], [4.0, 0.0], [1.0, 2.0], [3.0, 3.0]])
    b = np.zeros((5, 2))
    # Means 2, 2, 2, 1.5, 3; variances 2, 0, 8, 0.5, 0; squares 10, 8, 16, 5, 18.
    assert five_by_two_t(a, b).statistic == pytest.approx(3.0 / np.sqrt(10.5 / 5.0))
    assert five_by_two_f(a, b).statistic == pytest.approx(57.0 / 21.0)
    assert five_by_two_f(a, b).difference == pytest.approx(2.1)


def test_five_halvings_have_the_published_critical_values():
    """Dietterich: 2.571 for t with 5 degrees of freedom; Alpaydin: 4.74 for F with 10 and 5; both at 0.05."""
    # Differences m + h and m - h in every halving: t = (m + h) / (h sqrt(2)), F = (m^2 + h^2) / (2 h^2).
    m_for_t, m_for_f = 2.571 * np.sqrt(2.0) - 1.0, np.sqrt(2.0 * 4.74 - 1.0)
    for test, m, accuracy in ((five_by_two_t, m_for_t, 5e-5), (five_by_two_f, m_for_f, 2e-4)):
        differences = np.array([[m + 1.0, m - 1.0]] * 5)
        assert test(differences, np.zeros((5, 2))).p_value == pytest.approx(0.05, abs=accuracy)


@pytest.mark.parametrize("test", [five_by_two_t, five_by_two_f])
def test_five_halvings_are_cautious(test):
    """On independent normal differences, numerator and scale share numbers: both reject less often than their level.

    2,000 draws: the standard error of a share of 0.03 is 0.004, five of which part it from 0.05.
    """
    differences = np.random.default_rng(7).normal(size=(2000, 5, 2))
    rejected = np.mean([test(each, np.zeros((5, 2))).p_value < 0.05 for each in differences])
    assert 0.01 < rejected < 0.05


def test_mcnemar_counts_what_only_one_got_right():
    rng = np.random.default_rng(7)
    a, b = rng.random(60) < 0.8, rng.random(60) < 0.6
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    test = mcnemar(a, b)
    assert (test.statistic, test.n) == (only_a, only_a + only_b)
    halves = stats.binom(only_a + only_b, 0.5).pmf(np.arange(only_a + only_b + 1))
    assert test.p_value == pytest.approx(halves[halves <= halves[only_a] * (1 + 1e-9)].sum())


def test_sign_test_leaves_out_ties():
    assert sign_test([1, 2, 3, 4], [0, 0, 3, 4])[1:] == (2.0, 0.5, 2)


@pytest.mark.parametrize("test", [paired_t, sign_test, wilcoxon])
def test_equal_learners_differ_by_chance(test):
    found = test(A, A)
    assert found.difference == 0.0
    assert found.p_value == 1.0


def test_a_constant_difference_is_certain():
    assert paired_t([3.0, 5.0, 8.0], [1.0, 3.0, 6.0])[:3] == (2.0, np.inf, 0.0)


@pytest.mark.parametrize("test", [paired_t, sign_test, wilcoxon])
def test_swapping_the_learners_changes_the_sign_only(test):
    forth, back = test(A, B), test(B, A)
    assert forth.difference == -back.difference
    assert forth.p_value == pytest.approx(back.p_value)


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).size == 0


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: paired_t([1.0], [2.0]), r"a has shape \(1,\) and b \(1,\).*at least 2"),
        (lambda: wilcoxon([1.0, 2.0], [2.0]), r"a has shape \(2,\) and b \(1,\)"),
        (lambda: sign_test([1.0, np.nan], [2.0, 3.0]), r"a\[1\] = nan is not finite"),
        (lambda: paired_t([1.0, 2.0], [2.0, np.inf]), r"b\[1\] = inf is not finite"),
        (lambda: paired_t(A, B, test_to_train=-0.1), "is negative; give 0 for seeds"),
        (lambda: five_by_two_f(A, B), r"both must have \(5, 2\)"),
        (lambda: mcnemar(A, B), "a_is_right must be an array of bool"),
        (lambda: holm([0.1, 1.2]), r"numbers in \[0, 1\]"),
    ],
)
def test_wrong_scores_are_refused(call, complaint):
    with pytest.raises(ParameterError, match=complaint):
        call()
