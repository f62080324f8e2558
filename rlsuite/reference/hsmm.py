"""Hidden semi-Markov models, in logarithms: Yu, "Hidden semi-Markov models", Artificial Intelligence 174 (2010).

A state is entered, lasts for d steps with the probability p(d), and another one follows. The passes carry the state and
the number r of steps that are left, this one included, so that

    alpha_t(k, r) = b_k(z_t) [alpha_{t-1}(k, r + 1) + e_t(k) p_k(r)],   e_t(k) = sum_j alpha_{t-1}(j, 1) A(j, k),

with e_0 = start. The last segment may be longer than the sequence: its end is not seen (Guedon 2003).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rlsuite.models.aliases import FloatArray


def forward(
    log_start: FloatArray, log_transition: FloatArray, log_duration: FloatArray, log_likelihood: FloatArray
) -> FloatArray:
    """Return ln alpha_t(k, r): (T, K, D) float64.

    Parameters
    ----------
    log_start : ndarray (K,) float64
        ln Pr[x_0 = k].
    log_transition : ndarray (K, K) float64
        ln Pr[the next state is j | a segment of i ends]; minus infinity on the diagonal.
    log_duration : ndarray (K, D) float64
        ln Pr[a segment of k lasts d steps], for d = 1..D.
    log_likelihood : ndarray (T, K) float64
        ln Pr[z_t | x_t = k].

    Examples
    --------
    A lamp is on for two steps, then off for one; it was switched on at the beginning:

    >>> with np.errstate(divide="ignore"):
    ...     logs = [np.log(np.array(x)) for x in ([1.0, 0], [[0, 1.0], [1, 0]], [[0, 1.0], [1, 0]], np.ones((4, 2)))]
    >>> np.exp(forward(*logs)).sum(axis=2).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    states, longest = log_duration.shape
    alpha = np.full((len(log_likelihood), states, longest), -np.inf)
    entering = log_start
    for t, b in enumerate(log_likelihood):
        went_on = np.full((states, longest), -np.inf)
        if t > 0:
            went_on[:, :-1] = alpha[t - 1, :, 1:]
            entering = _log_sum(alpha[t - 1, :, :1] + log_transition, axis=0)
        alpha[t] = b[:, np.newaxis] + np.logaddexp(went_on, entering[:, np.newaxis] + log_duration)
    return alpha


def backward(log_transition: FloatArray, log_duration: FloatArray, log_likelihood: FloatArray) -> FloatArray:
    """Return ln beta_t(k, r) = ln Pr[z_{t+1}..z_{T-1} | x_t = k, r steps are left]: (T, K, D) float64.

    Examples
    --------
    >>> with np.errstate(divide="ignore"):
    ...     logs = [np.log(np.array(x)) for x in ([[0, 1.0], [1, 0]], [[0, 1.0], [1, 0]], [[1.0, 1], [1, 0.5]])]
    >>> np.exp(backward(*logs))[0].tolist()
    [[0.5, 1.0], [1.0, 0.5]]
    """
    states, longest = log_duration.shape
    beta = np.zeros((len(log_likelihood), states, longest))
    for t in range(len(log_likelihood) - 2, -1, -1):
        b = log_likelihood[t + 1]
        begun = b + _log_sum(log_duration + beta[t + 1], axis=1)  # a segment of each state begins at t + 1
        beta[t, :, 0] = _log_sum(log_transition + begun, axis=1)
        beta[t, :, 1:] = b[:, np.newaxis] + beta[t + 1, :, :-1]
    return beta


def _log_sum(logs: FloatArray, axis: int) -> FloatArray:
    largest = logs.max(axis=axis, keepdims=True)
    finite = np.where(np.isfinite(largest), largest, 0.0)
    with np.errstate(divide="ignore"):
        found: Any = np.log(np.exp(logs - finite).sum(axis=axis)) + np.squeeze(finite, axis=axis)
    return found
