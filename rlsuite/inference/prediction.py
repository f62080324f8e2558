"""Prediction, and smoothing with a fixed lag."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.checks import whole_number
from rlsuite.inference import forward_backward_kernels as kernels
from rlsuite.inference.forward_backward import forward
from rlsuite.inference.log_space import exact_posterior
from rlsuite.inference.sequences import Observations, Sequences, sequences
from rlsuite.inference.workspace import Workspace
from rlsuite.keywords import says_what_to_write
from rlsuite.models.aliases import FloatArray

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM


@says_what_to_write
def predict_ahead(model: HMM, z: Observations, steps: int, lengths: ArrayLike | None = None) -> Any:
    """Return Pr[x_{t+steps} = k | z_0..z_t] for each t: the filter, and then the chain alone.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    steps : int
        How many steps ahead, at least 0; with 0 this is the filter.

    Returns
    -------
    ndarray (T, K) float64
        The last row of a sequence looks beyond its end. For a list of sequences, a list of such arrays.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible.
    ParameterError
        If `steps` is negative.

    Examples
    --------
    >>> from rlsuite.inference import HMM, predict_ahead
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> predict_ahead(hmm, [0, 0], 1)[-1].round(3).tolist()
    [0.653, 0.347]
    """
    data = sequences(model.emission, z, lengths)
    rows = forward(model, cast("Any", _unlisted(data))).rows
    return data.split(ahead(model, rows, whole_number("steps", steps, at_least=0)))


def ahead(model: HMM, beliefs: FloatArray, steps: int) -> FloatArray:
    """Return beliefs (n, K) after a number of steps of the chain."""
    transposed = cast("Any", model.transition.T)
    squarings_are_less = steps * len(beliefs) > model.n_states * steps.bit_length()
    if steps > 1 and squarings_are_less and isinstance(model.transition, np.ndarray):
        return beliefs @ np.linalg.matrix_power(model.transition, steps)
    for _ in range(steps):
        beliefs = (transposed @ beliefs.T).T
    return beliefs


def smooth_with_lag(model: HMM, z: Observations, lag: int, lengths: ArrayLike | None = None) -> Any:
    """Return Pr[x_t = k | z_0..z_{t+lag}], given the observations up to `lag` steps later: fixed-lag smoothing.

    Near the end of a sequence, where fewer observations follow, all of them are used. Each step of lag costs a product
    of a (T, K) and a (K, K) matrix.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.
    lag : int
        How many steps to wait, at least 0; with 0 this is the filter.

    Returns
    -------
    ndarray (T, K) float64
        For a list of sequences, a list of such arrays.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible.
    ParameterError
        If `lag` is negative.

    Examples
    --------
    >>> from rlsuite.inference import HMM, smooth_with_lag
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> smooth_with_lag(hmm, [0, 0, 1], lag=1).round(3).tolist()
    [[0.883, 0.117], [0.799, 0.201], [0.191, 0.809]]
    """
    lag = whole_number("lag", lag, at_least=0)
    data = sequences(model.emission, z, lengths)
    alpha = forward(model, cast("Any", _unlisted(data))).rows
    likelihoods = data.likelihoods
    found = np.empty_like(alpha)
    for begin, end in data.pieces:
        emitted = likelihoods.table[likelihoods.row[begin:end]]
        beta = np.ones_like(emitted)
        for step in range(min(lag, end - begin - 1), 0, -1):
            # from Pr[z_{t+step+1}..z_{t+lag} | x_{t+step}] to the same one step earlier, for all t that have them
            inner = emitted[step:] * beta[: len(emitted) - step]
            earlier = cast("FloatArray", (cast("Any", model.transition) @ inner.T).T)
            high = earlier.max(axis=1, keepdims=True)
            beta[: len(emitted) - step] = earlier / np.where(high > 0.0, high, 1.0)
        joint = alpha[begin:end] * beta
        total = joint.sum(axis=1)
        fine = total > kernels.UNDERFLOW
        found[begin:end] = joint / np.where(fine, total, 1.0)[:, None]
        for t in np.flatnonzero(~fine):
            # too small for a double: here smoothing what there is until then, in logarithms, is worth its time
            until = min(begin + int(t) + lag + 1, int(end))
            part = Workspace(model, replace(data, z=data.z[begin:until], pieces=np.array([[0, until - begin]])))
            found[begin + int(t)] = exact_posterior(part, 0)[1][t]
    return data.split(found)


def _unlisted(data: Sequences) -> Sequences:
    """Return the same sequences, results for which come end to end."""
    return replace(data, listed=False)
