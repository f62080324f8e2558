"""What networks add to Q-learning: targets of several steps, a replay by priority, and duelling values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlsuite.models.aliases import FloatArray, IndexArray


def n_step_target(rewards: Sequence[float], gamma: float, value: float) -> float:
    """Return R_1 + gamma R_2 + ... + gamma^{n-1} R_n + gamma^n v, S&B2 (7.1).

    Parameters
    ----------
    rewards : sequence of float
        Those of n steps.
    gamma : float
        Discount per step.
    value : float
        Of what is seen after them, max_a Q(S_n, a); 0 if the episode ended.

    Examples
    --------
    >>> n_step_target([1.0, 10.0], gamma=0.5, value=100.0)
    31.0
    """
    return sum(gamma**k * reward for k, reward in enumerate(rewards)) + gamma ** len(rewards) * value


def prioritised_draw(priority: FloatArray, share: FloatArray) -> IndexArray:
    """Find the rows in which shares of the sum of all priorities lie, Schaul et al. 2016 (1).

    Parameters
    ----------
    priority : ndarray (N,) float64
        p_i^alpha of each row.
    share : ndarray (n,) float64
        Uniform in [0, 1).

    Returns
    -------
    ndarray (n,) int64
        Row i with probability priority[i] / priority.sum().

    Examples
    --------
    >>> prioritised_draw(np.array([1.0, 0.0, 3.0]), np.array([0.2, 0.3, 0.9]))
    array([0, 2, 2])
    """
    sums = np.cumsum(priority)
    return np.array([np.argmax(sums > each * sums[-1]) for each in share])


def importance_weights(probability: FloatArray, n_rows: int, beta: float) -> FloatArray:
    """Return w_i = (N P(i))^-beta / max_j w_j, Schaul et al. 2016, section 3.4.

    Parameters
    ----------
    probability : ndarray (n,) float64
        With which each of the n rows was drawn.
    n_rows : int
        N, of how many.
    beta : float
        1 makes up for all that is drawn more often, 0 for nothing.

    Examples
    --------
    >>> importance_weights(np.array([0.25, 0.5]), n_rows=4, beta=1.0)
    array([1. , 0.5])
    """
    weight = (n_rows * probability) ** -beta
    return weight / weight.max()


def duelling_values(value: FloatArray, advantage: FloatArray) -> FloatArray:
    """Return Q(s, a) = V(s) + A(s, a) - mean_a' A(s, a'), Wang et al. 2016 (9).

    Parameters
    ----------
    value : ndarray (n,) float64
        V of n states.
    advantage : ndarray (n, A) float64
        A of their actions.

    Examples
    --------
    >>> duelling_values(np.array([10.0]), np.array([[1.0, 3.0]]))
    array([[ 9., 11.]])
    """
    return value[:, None] + advantage - advantage.mean(axis=1, keepdims=True)
