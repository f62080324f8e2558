"""Hidden Markov models with covariates on their transitions: Visser & Speekenbrink, "depmixS4", JSS 36(7), 2010.

The passes are those of R89 with a transition matrix for each step; learning is Baum-Welch, in which the relative
frequencies of the transitions become a multinomial logistic regression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray


def logit_transitions(intercept: FloatArray, slope: FloatArray, covariates: FloatArray) -> FloatArray:
    """Return exp(a_ij + b_ij . u_t) / sum_k exp(a_ik + b_ik . u_t): (T, K, K) float64.

    Parameters
    ----------
    intercept : ndarray (K, K) float64
        a; minus infinity for what is impossible.
    slope : ndarray (K, K, D) float64
        b.
    covariates : ndarray (T, D) float64
        u.
    """
    score = intercept + np.einsum("ijd,td->tij", slope, covariates)
    odds = np.exp(score - score.max(axis=2, keepdims=True))
    return odds / odds.sum(axis=2, keepdims=True)


def expected_moves(
    start: FloatArray, matrices: FloatArray, likelihood: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return what Baum-Welch expects, with a matrix for each step. R89 (19)-(27), (37).

    Parameters
    ----------
    start : ndarray (K,) float64
        Pr[x_0 = k].
    matrices : ndarray (T - 1, K, K) float64
        Pr[x_{t+1} = j | x_t = i] at [t, i, j].
    likelihood : ndarray (T, K) float64
        Pr[z_t | x_t = k]; the sequence must be possible.

    Returns
    -------
    moves : ndarray (T - 1, K, K) float64
        Pr[x_t = i, x_{t+1} = j | z].
    gamma : ndarray (T, K) float64
        Pr[x_t = k | z].
    log_likelihood : float
        ln Pr[z], in nats.
    """
    alpha, scale = np.empty_like(likelihood), np.empty(len(likelihood))
    predicted = start
    for t, b in enumerate(likelihood):
        alpha[t] = predicted * b
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
        predicted = alpha[t] @ matrices[t] if t < len(matrices) else predicted
    beta = np.ones_like(likelihood)
    moves = np.empty_like(matrices)
    for t in reversed(range(len(matrices))):
        ahead = likelihood[t + 1] * beta[t + 1] / scale[t + 1]
        beta[t] = matrices[t] @ ahead
        moves[t] = alpha[t][:, np.newaxis] * matrices[t] * ahead
    return moves, alpha * beta, float(np.log(scale).sum())


def multinomial_logit(X: FloatArray, counts: FloatArray, iterations: int) -> FloatArray:
    """Maximise sum_uj n_uj ln P_uj by Newton's method, where P_uj is proportional to exp(w_j . x_u), and w_0 = 0.

    Parameters
    ----------
    X : ndarray (U, C) float64
        Columns; one of them is 1 for an intercept.
    counts : ndarray (U, J) float64
        n, how often each outcome occurred; they must overlap, so that a finite maximum exists.
    iterations : int
        Newton steps, from weights of 0; the method is not damped.

    Returns
    -------
    ndarray (J, C) float64
        The weights; those of outcome 0, the reference, are 0.

    Examples
    --------
    Odds of 1 to 3 without, and of 3 to 1 with something; the slope is the logarithm of their ratio, 9:

    >>> w = multinomial_logit(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[3.0, 1.0], [1.0, 3.0]]), iterations=8)
    >>> np.exp(w[1]).round(6).tolist()
    [0.333333, 9.0]
    """
    U, C = X.shape
    J = counts.shape[1]
    w = np.zeros((J, C))
    for _ in range(iterations):
        odds = np.exp(X @ w.T)
        p = odds / odds.sum(axis=1, keepdims=True)
        n = counts.sum(axis=1, keepdims=True)
        gradient = ((counts - n * p).T @ X)[1:]
        hessian = np.zeros((J - 1, C, J - 1, C))
        for u in range(U):
            variance = np.diag(p[u, 1:]) - np.outer(p[u, 1:], p[u, 1:])
            hessian += n[u] * np.einsum("jk,c,d->jckd", variance, X[u], X[u])
        size = (J - 1) * C
        step = np.linalg.inv(hessian.reshape(size, size)) @ gradient.reshape(size)
        w[1:] += step.reshape(J - 1, C)
    return w
