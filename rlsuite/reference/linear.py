"""Linear models for classification: Bishop, "Pattern Recognition and Machine Learning", 2006, chapter 4 (B06).

Fast forms: `sklearn.linear_model.LogisticRegression`, `sklearn.linear_model.Perceptron` and
`sklearn.linear_model.SGDRegressor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray


def lms(X: FloatArray, t: FloatArray, learning_rate: float, passes: int) -> FloatArray:
    """Follow the gradient of the squared error, one example after the other. B06 (3.22), LMS or delta rule.

    Semi-gradient TD is this rule with r + gamma v(s') as the target t.

    Parameters
    ----------
    X : ndarray (n, d) float64
        The examples; a column of ones gives a constant.
    t : ndarray (n,) float64
        Their targets.
    learning_rate : float
        The step, 0 < learning_rate < 2 / max |x|^2.
    passes : int
        How often all examples are seen.

    Returns
    -------
    ndarray (d,) float64
        The weights: the prediction is w . x.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> lms(X, np.array([1.0, 3.0, 5.0]), learning_rate=0.2, passes=200).round(6).tolist()
    [1.0, 2.0]
    """
    w = np.zeros(X.shape[1])
    for _ in range(passes):
        for x, target in zip(X, t, strict=True):
            w += learning_rate * (target - w @ x) * x
    return w


def perceptron(X: FloatArray, t: FloatArray, learning_rate: float, passes: int) -> FloatArray:
    """Add each example that is on the wrong side to the weights. B06 (4.55).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The examples; a column of ones gives a constant.
    t : ndarray (n,) float64
        Their classes, -1 or 1.
    learning_rate : float
        The step.
    passes : int
        How often all examples are seen at most.

    Returns
    -------
    ndarray (d,) float64
        The weights: the class is the sign of w . x.

    Examples
    --------
    Both of two must be true:

    >>> X = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    >>> w = perceptron(X, np.array([-1.0, -1.0, -1.0, 1.0]), learning_rate=1.0, passes=20)
    >>> np.sign(X @ w).tolist()
    [-1.0, -1.0, -1.0, 1.0]
    """
    w = np.zeros(X.shape[1])
    for _ in range(passes):
        errors = 0
        for x, target in zip(X, t, strict=True):
            if target * (w @ x) <= 0.0:
                w += learning_rate * target * x
                errors += 1
        if not errors:
            break
    return w


def irls(X: FloatArray, t: FloatArray, iterations: int) -> FloatArray:
    """Fit logistic regression by Newton's method: iterative reweighted least squares. B06 (4.97)-(4.99).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The examples; a column of ones gives a constant. If a plane separates the classes, the weights grow for ever.
    t : ndarray (n,) float64
        Their classes, 0 or 1.
    iterations : int
        Number of Newton steps; six to eight are enough.

    Returns
    -------
    ndarray (d,) float64
        The weights: Pr[t = 1 | x] = 1 / (1 + exp(-w . x)).

    Examples
    --------
    Three of four succeed with x = 1, and one of four without, so the odds are 3 and 1/3:

    >>> X = np.array([[1.0, 0.0]] * 4 + [[1.0, 1.0]] * 4)
    >>> w = irls(X, np.array([1.0, 0, 0, 0, 1, 1, 1, 0]), iterations=8)
    >>> np.exp(w).round(6).tolist()
    [0.333333, 9.0]
    """
    w = np.zeros(X.shape[1])
    for _ in range(iterations):
        p = 1.0 / (1.0 + np.exp(-X @ w))
        hessian = (X.T * (p * (1.0 - p))) @ X
        w = w - np.linalg.solve(hessian, X.T @ (p - t))
    return w
