"""Tests of whether A is better than B on pairs of scores: both learners had the same seed, fold or question.

Pairing removes what is common to both (an easy fold, a lucky seed), which is most of the noise. All tests are
two-sided, because it was not known beforehand which learner would win. What a pair may be:

========================  ======================================  ============================================
pairs                     test                                    why not the plain t test
========================  ======================================  ============================================
seeds                     `paired_t`                              -
seeds, few and far apart  `wilcoxon`, or `sign_test`              differences are far from normal
folds of one data set     `paired_t` with ``test_to_train=``      training sets overlap: it would be too sure
five halvings in two      `five_by_two_f` (`five_by_two_t`)       the same
questions, right/wrong    `mcnemar`                               0 and 1 are not normal numbers
========================  ======================================  ============================================

The two halves of a data set are disjoint, so the noise of their difference can be estimated, unlike with ten folds,
whose training sets overlap. A test of many learners against one sooner or later finds a winner by accident: `holm`
corrects for that.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import finite_number
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError

ROUNDING = 1e-12
"""Differences that are smaller than this part of the scores are rounding errors, and taken as 0."""

MOST_SHARED = 13
"""Differences, some of equal size, whose patterns of signs Wilcoxon's test still lists one by one."""


class PairedTest(NamedTuple):
    """The result of a test of the difference between two learners."""

    difference: float
    """Mean of ``a - b``, in the unit of the scores."""
    statistic: float
    """The test statistic; each test documents its own."""
    p_value: float
    """Probability of a statistic at least as extreme, if the two learners were equally good."""
    n: int
    """Number of pairs that the statistic is computed from."""


@says_what_to_write
def paired_t(a: ArrayLike, b: ArrayLike, *, test_to_train: float = 0.0) -> PairedTest:
    r"""Paired t test of the hypothesis that the mean difference is 0 (lecture notes, section 12.7).

    With k differences of mean :math:`\bar\delta` and variance :math:`s^2` (divisor k - 1), the statistic
    :math:`\bar\delta / \sqrt{(1/k + r) s^2}` is compared with Student's distribution with k - 1 degrees of freedom.
    The notes' section 12.6 prints the variance of a mean without its 1/k; section 12.7.2 has it right.

    Parameters
    ----------
    a, b : array_like
        (k,) float, scores of both learners for the same seeds or folds, k at least 2.
    test_to_train : float
        The r above: pairs in a test set divided by pairs in a training set; 0 for independent pairs, such as seeds.
        In k-fold cross-validation, 1 / (k - 1): its training sets share most of their examples, so scores vary less
        from fold to fold than from one data set to the next, and the plain test finds differences that are none
        (Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003, equation 9).

    Returns
    -------
    PairedTest
        Its statistic is t.

    Raises
    ------
    ParameterError
        If the scores are not two equally long, finite lists of at least 2, or `test_to_train` is negative.

    Examples
    --------
    The notes' example of ten folds (section 12.7.3), as it stands there, and corrected for overlapping training sets:

    >>> a = [0.81, 0.82, 0.84, 0.78, 0.85, 0.86, 0.82, 0.83, 0.82, 0.81]
    >>> b = [0.80, 0.77, 0.70, 0.83, 0.80, 0.78, 0.75, 0.80, 0.78, 0.77]
    >>> test = paired_t(a, b)
    >>> print(f"difference {test.difference:.3f}, t = {test.statistic:.2f}, p = {test.p_value:.4f}")
    difference 0.046, t = 2.98, p = 0.0154
    >>> round(paired_t(a, b, test_to_train=1 / 9).p_value, 4)
    0.0705
    """
    if finite_number("test_to_train", test_to_train) < 0.0:
        raise ParameterError(f"test_to_train={test_to_train} is negative; give 0 for seeds, 1 / (k - 1) for k folds")
    differences = _differences_of(a, b)
    n = len(differences)
    deviation = float(differences.std(ddof=1)) if np.ptp(differences) > 0.0 else 0.0
    error = np.sqrt(1.0 / n + test_to_train) * deviation
    t = _in_units_of(float(differences.mean()), float(error))
    return PairedTest(float(differences.mean()), t, float(2.0 * stats.t.sf(abs(t), n - 1)), n)


@says_what_to_write
def sign_test(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Sign test: how often A wins. Ties are left out; nothing is assumed about the size of the differences.

    Parameters
    ----------
    a, b : array_like
        (k,) float, scores of both learners for the same independent pairs, k at least 2.

    Returns
    -------
    PairedTest
        Its statistic is the number of pairs in which A has the larger score; its p value is exact (binomial).

    Raises
    ------
    ParameterError
        If the scores are not two equally long, finite lists of at least 2.

    Examples
    --------
    Nine wins in ten:

    >>> sign_test(range(1, 11), [0] * 9 + [11]).p_value
    0.021484375
    """
    differences = _differences_of(a, b)
    wins, decided = int((differences > 0.0).sum()), int((differences != 0.0).sum())
    p_value = float(stats.binomtest(wins, decided).pvalue) if decided else 1.0
    return PairedTest(float(differences.mean()), float(wins), p_value, decided)


@says_what_to_write
def wilcoxon(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Wilcoxon's signed-rank test: whether wins of A outweigh its losses, by rank of their size.

    Needs only that differences are symmetric round their median. Equal scores are left out; sizes that are equal but
    for rounding share their rank.

    Parameters
    ----------
    a, b : array_like
        (k,) float, scores of both learners for the same independent pairs, k at least 2.

    Returns
    -------
    PairedTest
        Its statistic is the smaller sum of ranks; its p value is SciPy's: exact for up to 50 differences of different
        sizes, or 13 of which some are equal.

    Raises
    ------
    ParameterError
        If the scores are not two equally long, finite lists of at least 2.

    Examples
    --------
    >>> test = wilcoxon([7, 5, 9, 8, 6, 9], [3, 4, 2, 3, 4, 6])
    >>> test.statistic, test.p_value
    (0.0, 0.03125)
    """
    differences = _differences_of(a, b)
    # Rounding must not decide which of two equal differences is the larger one.
    unit = ROUNDING * float(np.abs([np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)]).max() or 1.0)
    whole = np.rint(differences / unit)
    whole = whole[whole != 0.0]
    if not whole.size:
        return PairedTest(float(differences.mean()), 0.0, 1.0, 0)
    shared = np.unique(np.abs(whole)).size < whole.size
    # SciPy's exact table excludes ties; the default number of permutations covers all signs of 13 differences.
    method = stats.PermutationMethod() if shared and whole.size <= MOST_SHARED else "auto"
    found = stats.wilcoxon(whole, method=method)
    return PairedTest(float(differences.mean()), float(found.statistic), float(found.pvalue), len(whole))


@says_what_to_write
def mcnemar(a_is_right: ArrayLike, b_is_right: ArrayLike) -> PairedTest:
    """McNemar's test: which of two classifiers, or deterministic policies, is right more often.

    Questions that both answer alike say nothing; among the others, each should win half. That is the sign test of
    right and wrong.

    Parameters
    ----------
    a_is_right, b_is_right : array_like
        (n,) bool: whether each gave the right answer (the class, the optimal action) to the same questions.

    Returns
    -------
    PairedTest
        Its statistic is the number of questions to which A alone was right; its p value is exact (binomial).

    Raises
    ------
    ParameterError
        If the answers are not two equally long lists of at least 2 truth values.

    Examples
    --------
    Of eleven questions that only one of them could answer, A had ten:

    >>> a = [True] * 30 + [True] * 10 + [False]
    >>> b = [True] * 30 + [False] * 10 + [True]
    >>> test = mcnemar(a, b)
    >>> print(f"{test.statistic:.0f} of {test.n}, p = {test.p_value:.4f}")
    10 of 11, p = 0.0117
    """
    for name, answers in (("a_is_right", a_is_right), ("b_is_right", b_is_right)):
        if np.asarray(answers).dtype != np.bool_:
            raise ParameterError(f"{name} must be an array of bool: compare the answers with the right ones first")
    return sign_test(np.asarray(a_is_right, dtype=np.float64), np.asarray(b_is_right, dtype=np.float64))


@says_what_to_write
def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct p values of several tests: the probability of even one false discovery stays below the level.

    The smallest is multiplied by the number of tests, the next by one less, and so on (Holm, A simple sequentially
    rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979). Holds for dependent tests too.

    Parameters
    ----------
    p_values : array_like
        (m,) float in [0, 1].

    Returns
    -------
    numpy.ndarray
        (m,) float64, in the same order: a hypothesis is rejected at level alpha if its number is at most alpha.

    Raises
    ------
    ParameterError
        If a value is not a probability.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, 0.005]).round(3).tolist()
    [0.03, 0.06, 0.06, 0.02]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
        raise ParameterError(f"p_values must be a list of numbers in [0, 1], got {p_values!r}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return adjusted


@says_what_to_write
def five_by_two_t(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Dietterich's t test after five two-fold cross-validations, each on another halving of the data.

    The first difference of all, divided by a scale that the five halvings agree on: its noise is the noise of disjoint
    training sets. Which difference comes first is chance; `five_by_two_f` uses all ten.

    Parameters
    ----------
    a, b : array_like
        (5, 2) float, scores of both learners: row i is the i-th halving, columns are its two folds.

    Returns
    -------
    PairedTest
        Its statistic is t, with 5 degrees of freedom under the hypothesis.

    Raises
    ------
    ParameterError
        If the scores have another shape or are not finite.

    References
    ----------
    Dietterich, Approximate statistical tests for comparing supervised classification learning algorithms, Neural
    Computation 10, 1998, section 3.5.

    Examples
    --------
    >>> test = five_by_two_t([[3.0, 1.0]] * 5, [[0.0, 0.0]] * 5)
    >>> print(f"t = {test.statistic:.3f}")
    t = 2.121
    """
    differences = _halvings(a, b)
    scale = np.sqrt(_variances(differences).mean())
    t = _in_units_of(float(differences[0, 0]), float(scale))
    return PairedTest(float(differences.mean()), t, float(2.0 * stats.t.sf(abs(t), 5)), 10)


@says_what_to_write
def five_by_two_f(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Alpaydin's F test after five two-fold cross-validations: like `five_by_two_t`, but with all ten differences.

    Parameters
    ----------
    a, b : array_like
        (5, 2) float, scores of both learners: row i is the i-th halving, columns are its two folds.

    Returns
    -------
    PairedTest
        Its statistic is F, with 10 and 5 degrees of freedom under the hypothesis.

    Raises
    ------
    ParameterError
        If the scores have another shape or are not finite.

    References
    ----------
    Alpaydin, Combined 5 x 2 cv F test for comparing supervised classification learning algorithms, Neural Computation
    11, 1999.

    Examples
    --------
    >>> test = five_by_two_f([[3.0, 1.0]] * 5, [[0.0, 0.0]] * 5)
    >>> print(f"F = {test.statistic:.1f}, p = {test.p_value:.3f}")
    F = 2.5, p = 0.162
    """
    differences = _halvings(a, b)
    f = _in_units_of(float((differences**2).sum()), float(2.0 * _variances(differences).sum()))
    return PairedTest(float(differences.mean()), f, float(stats.f.sf(f, 10, 5)), 10)


def _halvings(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return ``a - b`` (5, 2)."""
    first, second = (_scores_of(name, scores) for name, scores in (("a", a), ("b", b)))
    if first.shape != (5, 2) or second.shape != (5, 2):
        raise ParameterError(
            f"a has shape {first.shape} and b {second.shape}; both must have (5, 2), a row for each of five "
            "halvings of the data and a column for each of its two folds"
        )
    return first - second


def _variances(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of each halving (5,): squared distances of its two differences from their mean, summed."""
    return ((differences - differences.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)


def _differences_of(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return ``a - b`` (k,), with 0 for rounding errors.

    Raises
    ------
    ParameterError
        If the scores are not two equally long, finite lists of at least 2.
    """
    first, second = (_scores_of(name, scores) for name, scores in (("a", a), ("b", b)))
    if first.shape != second.shape or first.ndim != 1 or first.size < 2:
        raise ParameterError(
            f"a has shape {first.shape} and b {second.shape}; pairs of scores are two lists of the same length, at "
            "least 2, in the same order"
        )
    differences = first - second
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    return differences


def _scores_of(name: str, scores: ArrayLike) -> NDArray[np.float64]:
    """Return scores as float64, of any shape.

    Raises
    ------
    ParameterError
        If one is not finite.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        index = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        raise ParameterError(f"{name}{list(index)} = {values[index]} is not finite: leave this pair out of both lists")
    return values


def _in_units_of(difference: float, error: float) -> float:
    """Return a difference in units of its error: infinite if it has none, 0 if there is no difference."""
    if error > 0.0:
        return difference / error
    return 0.0 if difference == 0.0 else float(np.copysign(np.inf, difference))
