"""Groups without labels: Bishop, "Pattern Recognition and Machine Learning", 2006, chapter 9 (B06).

Fast forms: `sklearn.cluster.KMeans` and `sklearn.mixture.GaussianMixture`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray, IndexArray


def k_means(X: FloatArray, centers: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Assign each point to the nearest centre, move the centres to the means, until nothing changes. B06 (9.2), (9.4).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The points.
    centers : ndarray (k, d) float64
        Where to start, usually k of the points.

    Returns
    -------
    centers : ndarray (k, d) float64
        The means.
    nearest : ndarray (n,) int64
        The centre of each point.

    Examples
    --------
    >>> centers, nearest = k_means(np.array([[0.0], [1.0], [8.0], [9.0]]), np.array([[0.0], [1.0]]))
    >>> centers.ravel().tolist(), nearest.tolist()
    ([0.5, 8.5], [0, 0, 1, 1])
    """
    while True:
        nearest = np.linalg.norm(X[:, np.newaxis] - centers, axis=2).argmin(axis=1)
        # a centre that is nearest to nothing stays
        moved = np.array([X[nearest == k].mean(axis=0) if (nearest == k).any() else c for k, c in enumerate(centers)])
        if np.array_equal(moved, centers):
            return centers, nearest
        centers = moved


def responsibilities(X: FloatArray, weights: FloatArray, means: FloatArray, covariances: FloatArray) -> FloatArray:
    """Return from which part of a mixture of Gaussians each point probably is. B06 (9.23).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The points.
    weights : ndarray (k,) float64
        Probability of each part.
    means : ndarray (k, d) float64
        Its mean.
    covariances : ndarray (k, d, d) float64
        Its covariance.

    Returns
    -------
    ndarray (n, k) float64
        Pr[part | point].

    Examples
    --------
    In the middle between two equal parts:

    >>> means = np.array([[-1.0], [1.0]])
    >>> responsibilities(np.array([[0.0]]), np.array([0.5, 0.5]), means, np.ones((2, 1, 1))).tolist()
    [[0.5, 0.5]]
    """
    apart = X[:, np.newaxis] - means
    distance = np.einsum("nki,kij,nkj->nk", apart, np.linalg.inv(covariances), apart)
    log_density = np.log(weights) - (distance + np.linalg.slogdet(2.0 * np.pi * covariances)[1]) / 2.0
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))  # far from all parts, all would be 0
    return density / density.sum(axis=1, keepdims=True)


def gaussian_mixture(
    X: FloatArray, weights: FloatArray, means: FloatArray, covariances: FloatArray, iterations: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit a mixture of Gaussians by expectation maximisation. B06 (9.23)-(9.27).

    Parameters
    ----------
    X : ndarray (n, d) float64
        The points.
    weights : ndarray (k,) float64
        Where to start: the probability of each part,
    means : ndarray (k, d) float64
        its mean,
    covariances : ndarray (k, d, d) float64
        and its covariance.
    iterations : int
        None of them lowers the likelihood.

    Returns
    -------
    weights : ndarray (k,) float64
        Probability of each part.
    means : ndarray (k, d) float64
        Its mean.
    covariances : ndarray (k, d, d) float64
        Its covariance.

    Examples
    --------
    >>> X = np.array([[-4.0], [-3.0], [3.0], [4.0], [5.0], [4.0]])
    >>> start = np.array([0.5, 0.5]), np.array([[-1.0], [1.0]]), np.ones((2, 1, 1))
    >>> weights, means, _ = gaussian_mixture(X, *start, iterations=20)
    >>> weights.round(4).tolist(), means.round(4).ravel().tolist()
    ([0.3333, 0.6667], [-3.5, 4.0])
    """
    for _ in range(iterations):
        gamma = responsibilities(X, weights, means, covariances)
        count = gamma.sum(axis=0)
        weights = count / len(X)
        means = gamma.T @ X / count[:, np.newaxis]
        apart = X[:, np.newaxis] - means
        covariances = np.einsum("nk,nki,nkj->kij", gamma, apart, apart) / count[:, np.newaxis, np.newaxis]
    return weights, means, covariances
