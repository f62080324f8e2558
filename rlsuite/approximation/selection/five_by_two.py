"""Two learners after five two-fold cross-validations, each on another halving of the data.

The two halves of the data are disjoint, so the noise of their difference can be estimated, unlike with ten folds, whose
training sets overlap.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rlsuite.approximation.selection.pairs import PairedTest, in_units_of, scores_of
from rlsuite.errors import ParameterError


def five_by_two_t(a: ArrayLike, b: ArrayLike) -> PairedTest:
    """Dietterich's t test after five two-fold cross-validations, each on another halving of the data.

    The first difference of all, divided by a scale that the five halvings agree on: its noise is that of disjoint
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
    t = in_units_of(float(differences[0, 0]), float(scale))
    return PairedTest(float(differences.mean()), t, float(2.0 * stats.t.sf(abs(t), 5)), 10)


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
    f = in_units_of(float((differences**2).sum()), float(2.0 * _variances(differences).sum()))
    return PairedTest(float(differences.mean()), f, float(stats.f.sf(f, 10, 5)), 10)


def _halvings(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Return ``a - b`` (5, 2)."""
    first, second = (scores_of(name, scores) for name, scores in (("a", a), ("b", b)))
    if first.shape != (5, 2) or second.shape != (5, 2):
        raise ParameterError(
            f"a has shape {first.shape} and b {second.shape}; both must have (5, 2), a row for each of five "
            "halvings of the data and a column for each of its two folds"
        )
    return first - second


def _variances(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of each halving (5,): squared distances of its two differences from their mean, summed."""
    return ((differences - differences.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
