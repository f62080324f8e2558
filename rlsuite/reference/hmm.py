"""Hidden Markov models: Rabiner, "A tutorial on hidden Markov models", 1989 (R89).

The functions take the likelihoods b[t, k] = Pr[z_t | x_t = k] of a sequence; for symbols these are
``emission[:, z].T``. Time counts from 0, as everywhere here: z_0 is emitted by x_0 ~ start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlsuite.models.aliases import FloatArray, IndexArray


def forward(start: FloatArray, transition: FloatArray, likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Filter: the probabilities of the states given the observations so far. R89 (19)-(21), scaled as in (91).

    Parameters
    ----------
    start : ndarray (K,) float64
        Pr[x_0 = k].
    transition : ndarray (K, K) float64
        Pr[x_{t+1} = j | x_t = i].
    likelihood : ndarray (T, K) float64
        Pr[z_t | x_t = k]; the sequence must be possible.

    Returns
    -------
    alpha : ndarray (T, K) float64
        Pr[x_t = k | z_0 .. z_t].
    scale : ndarray (T,) float64
        Pr[z_t | z_0 .. z_{t-1}]: their product is the likelihood of the sequence.

    Examples
    --------
    The umbrella world of Russell and Norvig, two days with an umbrella, and a day before them on which nothing is seen:

    >>> start, transition = np.array([0.5, 0.5]), np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> alpha, scale = forward(start, transition, np.array([[1.0, 1.0], [0.9, 0.2], [0.9, 0.2]]))
    >>> alpha[:, 0].round(4).tolist(), round(float(scale.prod()), 4)
    ([0.5, 0.8182, 0.8834], 0.3515)
    """
    alpha, scale = np.empty_like(likelihood), np.empty(len(likelihood))
    predicted = start
    for t, b in enumerate(likelihood):
        alpha[t] = predicted * b
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]  # unscaled, the numbers of a long sequence would become too small for a float
        predicted = alpha[t] @ transition
    return alpha, scale


def backward(transition: FloatArray, likelihood: FloatArray, scale: FloatArray) -> FloatArray:
    """Return beta, what the observations from t + 1 on say of x_t. R89 (24)-(25), scaled as `forward` is.

    Parameters
    ----------
    transition : ndarray (K, K) float64
        Pr[x_{t+1} = j | x_t = i].
    likelihood : ndarray (T, K) float64
        Pr[z_t | x_t = k].
    scale : ndarray (T,) float64
        What `forward` returned.

    Returns
    -------
    ndarray (T, K) float64
        Pr[z_{t+1} .. z_{T-1} | x_t = k] / Pr[z_{t+1} .. z_{T-1} | z_0 .. z_t].

    Examples
    --------
    >>> backward(np.array([[0.7, 0.3], [0.3, 0.7]]), np.array([[0.9, 0.2], [0.9, 0.2]]), np.array([0.55, 0.6])).tolist()
    [[1.15, 0.6833333333333333], [1.0, 1.0]]
    """
    beta = np.ones_like(likelihood)
    for t in reversed(range(len(likelihood) - 1)):
        beta[t] = transition @ (likelihood[t + 1] * beta[t + 1]) / scale[t + 1]
    return beta


def forward_backward(start: FloatArray, transition: FloatArray, likelihood: FloatArray) -> FloatArray:
    """Smooth: the probabilities of the states given all observations, gamma = alpha beta. R89 (27).

    Parameters
    ----------
    start, transition, likelihood
        As for `forward`.

    Returns
    -------
    ndarray (T, K) float64
        Pr[x_t = k | z_0 .. z_{T-1}].

    Examples
    --------
    >>> start, transition = np.array([0.5, 0.5]), np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> forward_backward(start, transition, np.array([[1.0, 1.0], [0.9, 0.2], [0.9, 0.2]]))[:, 0].round(4).tolist()
    [0.6533, 0.8834, 0.8834]
    """
    alpha, scale = forward(start, transition, likelihood)
    return alpha * backward(transition, likelihood, scale)


def viterbi(start: FloatArray, transition: FloatArray, likelihood: FloatArray) -> tuple[IndexArray, float]:
    """Find the most probable path of hidden states. R89 (32)-(35), in logarithms as in (105).

    Parameters
    ----------
    start, transition, likelihood
        As for `forward`.

    Returns
    -------
    path : ndarray (T,) int64
        The first of the best paths, where there are several.
    log_probability : float
        log Pr[path, z_0 .. z_{T-1}], in nats.

    Examples
    --------
    >>> start, transition = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]])
    >>> emission = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])  # healthy or fever; normal, cold, dizzy
    >>> path, log_probability = viterbi(start, transition, emission[:, [0, 1, 2]].T)
    >>> path.tolist(), round(float(np.exp(log_probability)), 6)
    ([0, 0, 1], 0.01512)
    """
    with np.errstate(divide="ignore"):  # log 0 = -inf is right: such a path is impossible
        log_start, log_move, log_b = np.log(start), np.log(transition), np.log(likelihood)
    delta = log_start + log_b[0]  # log probability of the best path to each state
    came_from = np.zeros(likelihood.shape, dtype=np.int64)
    for t in range(1, len(likelihood)):
        through = delta[:, np.newaxis] + log_move
        came_from[t] = through.argmax(axis=0)
        delta = through.max(axis=0) + log_b[t]
    path = [int(delta.argmax())]
    for t in reversed(range(1, len(likelihood))):
        path.append(int(came_from[t, path[-1]]))
    return np.array(path[::-1]), float(delta.max())


def baum_welch(
    start: FloatArray, transition: FloatArray, emission: FloatArray, sequences: Sequence[Sequence[int]], iterations: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Learn a model of symbols from what was observed, by expectation and maximisation. R89 (37)-(40), (109)-(110).

    Parameters
    ----------
    start : ndarray (K,) float64
        Pr[x_0 = k], to begin with; what is 0 stays 0.
    transition : ndarray (K, K) float64
        Pr[x_{t+1} = j | x_t = i].
    emission : ndarray (K, M) float64
        Pr[z_t = m | x_t = k].
    sequences : sequence of sequences of int
        What was observed, each sequence on its own; at least one has two observations, and all states can occur.
    iterations : int
        How many steps.

    Returns
    -------
    start, transition, emission : ndarray
        The model that was learned.

    Examples
    --------
    >>> start, transition = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]])
    >>> emission = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    >>> learned = baum_welch(start, transition, emission, [[0, 1, 2]], iterations=1)
    >>> learned[0].round(4).tolist(), learned[1].round(4).tolist()
    ([0.8765, 0.1235], [[0.5024, 0.4976], [0.1634, 0.8366]])
    """
    for _ in range(iterations):
        starts, moves, symbols = np.zeros_like(start), np.zeros_like(transition), np.zeros_like(emission)
        for z in sequences:
            likelihood = emission[:, z].T
            alpha, scale = forward(start, transition, likelihood)
            beta = backward(transition, likelihood, scale)
            gamma = alpha * beta  # Pr[x_t = k | z], (27)
            starts += gamma[0]
            for t in range(len(z) - 1):  # Pr[x_t = i, x_{t+1} = j | z], (37)
                moves += np.outer(alpha[t], likelihood[t + 1] * beta[t + 1] / scale[t + 1]) * transition
            np.add.at(symbols.T, z, gamma)
        start = starts / len(sequences)
        transition = moves / moves.sum(axis=1, keepdims=True)
        emission = symbols / symbols.sum(axis=1, keepdims=True)
    return start, transition, emission
