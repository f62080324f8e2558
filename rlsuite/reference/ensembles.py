"""Many weak learners: Bishop, "Pattern Recognition and Machine Learning", 2006, section 14.3 (B06).

Fast forms: `sklearn.ensemble.AdaBoostClassifier`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray


class Stump(NamedTuple):
    """A tree with one test: `sign` where x[feature] > threshold, and -`sign` elsewhere."""

    feature: int
    threshold: float
    sign: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the class, -1 or 1, of each row of X (n, d)."""
        return self.sign * np.where(X[:, self.feature] > self.threshold, 1.0, -1.0)


def decision_stump(X: FloatArray, t: FloatArray, weights: FloatArray) -> Stump:
    """Return the stump with the smallest weighted error. B06 (14.15).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The examples.
    t : ndarray (n,) float64
        Their classes, -1 or 1.
    weights : ndarray (n,) float64
        What an error costs.

    Returns
    -------
    Stump
        Callable, for the classes of other examples.

    Examples
    --------
    >>> X, t = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, -1.0, -1.0])
    >>> decision_stump(X, t, np.ones(3))
    Stump(feature=0, threshold=0.5, sign=-1.0)
    """
    best, least = Stump(0, -np.inf, 1.0), np.inf
    for feature, x in enumerate(X.T):
        values = np.unique(x)
        for threshold in [-np.inf, *((values[:-1] + values[1:]) / 2.0).tolist()]:
            for sign in (1.0, -1.0):
                stump = Stump(feature, threshold, sign)
                error = weights[stump(X) != t].sum()
                if error < least:
                    best, least = stump, error
    return best


def ada_boost(X: FloatArray, t: FloatArray, rounds: int) -> tuple[list[Stump], FloatArray]:
    """Fit stumps one after the other, each to what the ones before it got wrong. B06 (14.15)-(14.18).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The examples.
    t : ndarray (n,) float64
        Their classes, -1 or 1.
    rounds : int
        Number of stumps; fewer if one makes no error.

    Returns
    -------
    stumps : list of Stump
        The weak learners.
    alpha : ndarray (rounds,) float64
        The weight of each vote: the class is the sign of sum_j alpha_j y_j(x).

    Examples
    --------
    No threshold separates the middle from both ends, but three votes do:

    >>> X, t = np.arange(6.0)[:, np.newaxis], np.array([1.0, 1.0, -1.0, -1.0, 1.0, 1.0])
    >>> stumps, alpha = ada_boost(X, t, rounds=3)
    >>> votes = sum(a * stump(X) for a, stump in zip(alpha, stumps, strict=True))
    >>> np.sign(votes).tolist(), alpha.round(4).tolist()
    ([1.0, 1.0, -1.0, -1.0, 1.0, 1.0], [0.6931, 1.0986, 1.6094])
    """
    w = np.full(len(X), 1.0 / len(X))
    stumps: list[Stump] = []
    alpha: list[float] = []
    for _ in range(rounds):
        stump = decision_stump(X, t, w)
        wrong = stump(X) != t
        error = w[wrong].sum() / w.sum()
        stumps.append(stump)
        if error == 0.0:  # no other votes are needed
            return [stump], np.ones(1)
        alpha.append(float(np.log((1.0 - error) / error)))
        w = w * np.exp(alpha[-1] * wrong)
    return stumps, np.array(alpha)
