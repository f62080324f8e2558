"""Few directions that explain many numbers: Bishop, "Pattern Recognition and Machine Learning", 2006, chapter 12 (B06).

Fast forms: `sklearn.decomposition.PCA`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray


def principal_components(X: FloatArray, m: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the directions in which the points vary most: eigenvectors of their covariance. B06 (12.5).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The points.
    m : int
        Number of directions, at most d.

    Returns
    -------
    mean : ndarray (d,) float64
        Of the points.
    directions : ndarray (d, m) float64
        Orthogonal, of length 1, the most important one first.
    variance : ndarray (d,) float64
        Along all directions, the largest first. The sum without the first m is the mean squared error (12.18) of
        mean + directions directions^T (x - mean).

    Examples
    --------
    >>> mean, directions, variance = principal_components(np.array([[0.0, 0.0], [3.0, 4.0]]), m=1)
    >>> mean.tolist(), abs(directions).round(3).ravel().tolist(), variance.round(3).tolist()
    ([1.5, 2.0], [0.6, 0.8], [6.25, 0.0])
    """
    mean = X.mean(axis=0)
    variance, directions = np.linalg.eigh((X - mean).T @ (X - mean) / len(X))  # in rising order
    return mean, directions[:, ::-1][:, :m], variance[::-1]


def probabilistic_pca(X: FloatArray, m: int) -> tuple[FloatArray, FloatArray, float]:
    """Fit x = W z + mean + noise with z ~ N(0, I) to points, by maximum likelihood. B06 (12.45), (12.46).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The points.
    m : int
        Number of latent variables, less than d.

    Returns
    -------
    mean : ndarray (d,) float64
        Of the points.
    W : ndarray (d, m) float64
        Up to a rotation of z. The points have the covariance W W^T + noise I.
    noise : float
        The variance of the noise: the mean of what the directions left out explain.

    Examples
    --------
    >>> X = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    >>> mean, W, noise = probabilistic_pca(X, m=1)
    >>> abs(W).round(4).ravel().tolist(), round(noise, 4)
    ([1.2247, 0.0], 0.5)
    """
    mean, directions, variance = principal_components(X, m)
    noise = float(variance[m:].mean())
    return mean, directions * np.sqrt(variance[:m] - noise), noise


def latent_posterior(x: FloatArray, mean: FloatArray, W: FloatArray, noise: float) -> tuple[FloatArray, FloatArray]:
    """Return what a point says of its latent variables: z | x ~ N(M^-1 W^T (x - mean), noise M^-1). B06 (12.42).

    Parameters
    ----------
    x : ndarray (d,) float64
        The point.
    mean, W, noise
        What `probabilistic_pca` returned.

    Returns
    -------
    mean : ndarray (m,) float64
        Of z.
    covariance : ndarray (m, m) float64
        Of z.

    Examples
    --------
    z and x have the covariance W = 1, and x has the variance 2:

    >>> z, variance = latent_posterior(np.array([4.0]), np.array([0.0]), np.array([[1.0]]), noise=1.0)
    >>> z.tolist(), variance.tolist()
    ([2.0], [[0.5]])
    """
    inverse = np.linalg.inv(W.T @ W + noise * np.eye(W.shape[1])).astype(np.float64)
    return inverse @ W.T @ (x - mean), noise * inverse
