"""Forward, backward, filtering and the likelihood (R89 section III.A; lecture notes, section 9.3).

alpha_t(k) = Pr[x_t = k, z_0..z_t] and beta_t(k) = Pr[z_{t+1}..z_T | x_t = k]; filtering normalises alpha. All of it
takes O(T K^2) operations, or O(T) for each transition that is possible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.inference import forward_backward_kernels as kernels
from rlsuite.inference.log_space import exact, exact_posterior
from rlsuite.inference.parameters import logarithms
from rlsuite.inference.sequences import Observations, sequences
from rlsuite.inference.workspace import PassResult, Workspace, mask_of
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.threads import at_the_same_time

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM


class Scaled(NamedTuple):
    """Normalised rows, and the logarithms of the sums that they were divided by."""

    rows: Any
    """(T, K) float64, each row sums to 1; a list of such arrays if the observations were a list"""
    log_scale: Any
    """(T,) float64, nats: log of the sum of each row, had it not been normalised"""


def log_likelihoods(model: HMM, z: Observations, lengths: ArrayLike | None = None) -> FloatArray:
    """Return ln Pr[z] of each sequence.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.

    Returns
    -------
    ndarray (N,) float64
        Nats; minus infinity where a sequence is impossible.

    Raises
    ------
    ModelError
        If the observations are malformed.

    Examples
    --------
    >>> import numpy as np
    >>> from rlsuite.inference import HMM, log_likelihoods
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> np.exp(log_likelihoods(hmm, [[0], [0, 0]])).round(4).tolist()
    [0.55, 0.3515]
    """
    workspace = Workspace(model, sequences(model.emission, z, lengths))
    schedule = workspace.schedule
    found = np.empty(len(workspace.data))
    sweeps = [partial(_sweep_all, workspace, batches) for batches in schedule.batches]
    halves = [
        partial(workspace.sweep, half, backwards=bool(backwards), kept=kept)
        for number in schedule.halved
        for backwards, half in enumerate(workspace.halves(number))
        for kept in [workspace.prepared.empty(kernels.RING_ROWS)]
    ]
    results = at_the_same_time([*sweeps, *halves], workspace.worth_threads)
    for numbers, logs in zip(schedule.numbers, results, strict=False):
        found[np.concatenate(numbers)] = cast("FloatArray", logs)
    for k, number in enumerate(schedule.halved):
        one, other = (cast("PassResult", results[len(sweeps) + 2 * k + side]) for side in (0, 1))
        rows = [halves[2 * k + side].keywords["kept"] for side in (0, 1)]
        middle = int(workspace.halves(number)[0][0, 1])
        found[number] = log_likelihood_of_halves(workspace, one, other, rows[0][(middle - 1) & 1], rows[1][middle & 1])
    for number in schedule.halved:
        if found[number] == -np.inf:
            # a pass from the beginning knows which states can be reached at all, and may come through
            found[number] = workspace.sweep(workspace.data.pieces[[number]]).log_likelihood[0]
    for number in np.flatnonzero(found == -np.inf):
        found[number] = exact(workspace, int(number)).log_likelihood
    return found + workspace.data.shifts


def _sweep_all(workspace: Workspace, batches: list[IndexArray]) -> FloatArray:
    return workspace.sweep(np.concatenate(batches)).log_likelihood


def log_likelihood_of_halves(
    workspace: Workspace, one: PassResult, other: PassResult, f: FloatArray, w: FloatArray
) -> float:
    """Return the log-likelihood of a sequence from the sweeps over its halves and the rows that meet."""
    if one.failed[0] >= 0 or other.failed[0] >= 0:
        return -np.inf
    states = workspace.model.n_states
    ahead = cast("FloatArray", workspace.model.transition @ (w[:states] / w.sum()))
    link = float(f[:states] @ ahead / f.sum())
    if not link > kernels.UNDERFLOW:
        return -np.inf
    return float(one.log_likelihood[0] + other.log_likelihood[0] + logarithms(link))


def filter(model: HMM, z: Observations, lengths: ArrayLike | None = None) -> Any:
    """Return Pr[x_t = k | z_0..z_t], the distribution of the hidden state given the observations so far.

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.

    Returns
    -------
    ndarray (T, K) float64
        For a list of sequences, a list of such arrays.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible; the message says at which t.

    Examples
    --------
    >>> from rlsuite.inference import HMM, filter
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> filter(hmm, [0, 0]).round(3).tolist()
    [[0.818, 0.182], [0.883, 0.117]]
    """
    return forward(model, z, lengths).rows


def forward(model: HMM, z: Observations, lengths: ArrayLike | None = None) -> Scaled:
    """Return alpha_t(k) = Pr[x_t = k, z_0..z_t], scaled (R89 eqs. 19-20).

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.

    Returns
    -------
    Scaled
        ``alpha_t = rows[t] * exp(log_scale[t])``; the last log_scale of a sequence is its log-likelihood.

    Raises
    ------
    ModelError
        If the observations are malformed or impossible; the message says at which t.

    Examples
    --------
    >>> from rlsuite.inference import HMM, forward
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> rows, log_scale = forward(hmm, [0, 0])
    >>> (rows[1] * np.exp(log_scale[1])).round(4).tolist()
    [0.3105, 0.041]
    """
    workspace = Workspace(model, sequences(model.emission, z, lengths))
    kept, sums, logs = (
        workspace.prepared.empty(workspace.length),
        np.empty(workspace.length),
        np.empty(workspace.length),
    )
    swept = _sweep_whole(workspace, False, kept, sums, logs)
    kernels.normalise(kept, sums, workspace.prepared.lanes)
    for number in np.flatnonzero(swept.failed >= 0):
        found, _ = exact_posterior(workspace, int(number))
        begin, end = workspace.data.pieces[number]
        kept[begin:end, : model.n_states], logs[begin:end] = _normalised(found.alpha)
    logs += _running(workspace, backwards=False)
    return Scaled(workspace.data.split(workspace.prepared.narrow(kept)), workspace.data.split(logs))


def backward(model: HMM, z: Observations, lengths: ArrayLike | None = None) -> Scaled:
    """Return beta_t(k) = Pr[z_{t+1}..z_T | x_t = k], scaled (R89 eqs. 24-25).

    Parameters
    ----------
    model : HMM
        The model.
    z, lengths
        Observations, as everywhere in `rlsuite.inference`.

    Returns
    -------
    Scaled
        ``beta_t = rows[t] * exp(log_scale[t])``.

    Raises
    ------
    ModelError
        If the observations are malformed, or impossible from whatever state; the message says at which t.

    Examples
    --------
    >>> from rlsuite.inference import HMM, backward
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> rows, log_scale = backward(hmm, [0, 0])
    >>> (rows[0] * np.exp(log_scale[0])).round(4).tolist()
    [0.69, 0.41]
    """
    workspace = Workspace(model, sequences(model.emission, z, lengths))
    states = model.n_states
    kept, sums, logs = (
        workspace.prepared.empty(workspace.length),
        np.empty(workspace.length),
        np.empty(workspace.length),
    )
    swept = _sweep_whole(workspace, True, kept, sums, logs)
    last = workspace.data.pieces[:, 1] - 1
    # beta_t = A w_{t+1}, where w is normalised first, so that nothing underflows
    following = kept[1:, :states] / sums[1:, None]
    rows = np.empty((workspace.length, states))
    rows[:-1] = (
        following @ model.dense_transition.T
        if not workspace.prepared.is_sparse
        else (cast("Any", model.transition) @ following.T).T
    )
    rows[last] = 1.0
    total = rows.sum(axis=1)
    scales = np.empty(workspace.length)
    scales[:-1] = logs[1:]
    scales[last] = 0.0
    bad = mask_of(workspace.length, workspace.data.pieces[swept.failed >= 0])
    total[bad] = 1.0
    rows /= total[:, None]
    scales += np.log(total)
    # what is seen must be possible from some state, and not from those alone with which a sequence begins
    anywhere = Workspace(model.replace(start=np.full(states, 1.0 / states)), workspace.data)
    for number in np.flatnonzero(swept.failed >= 0):
        found, _ = exact_posterior(anywhere, int(number))
        begin, end = workspace.data.pieces[number]
        rows[begin:end], scales[begin:end] = _normalised(found.beta)
    scales += _running(workspace, backwards=True)
    return Scaled(workspace.data.split(rows), workspace.data.split(scales))


def _sweep_whole(
    workspace: Workspace, backwards: bool, kept: FloatArray, sums: FloatArray, logs: FloatArray
) -> PassResult:
    """Sweep over all sequences, on as many threads as there are tasks."""
    schedule = workspace.schedule
    pieces = [np.concatenate(batches) for batches in schedule.batches]
    numbers = [np.concatenate(each) for each in schedule.numbers]
    pieces += [workspace.data.pieces[[number]] for number in schedule.halved]
    numbers += [np.array([number]) for number in schedule.halved]
    sums[:] = 1.0
    logs[:] = 0.0
    tasks = [
        partial(workspace.sweep, each, backwards=backwards, kept=kept, base=0, sums=sums, logs=logs) for each in pieces
    ]
    swept = PassResult(np.empty(len(workspace.data)), np.empty(len(workspace.data), dtype=np.int64))
    for which, each in zip(numbers, at_the_same_time(tasks, workspace.worth_threads), strict=True):
        swept.log_likelihood[which], swept.failed[which] = each
    bad = mask_of(workspace.length, workspace.data.pieces[swept.failed >= 0])
    kept[bad], sums[bad], logs[bad] = 0.0, 1.0, 0.0
    return swept


def _normalised(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rows of logarithms as rows that sum to 1, and the logarithms of their sums."""
    high = logs.max(axis=1, keepdims=True)
    rows = np.exp(logs - high)
    total = rows.sum(axis=1, keepdims=True)
    return rows / total, (high + np.log(total))[:, 0]


def _running(workspace: Workspace, backwards: bool) -> FloatArray | float:
    """Return what the likelihoods leave out of the log scale of each row: (T,) float64."""
    shift = workspace.data.likelihoods.shift
    if shift is None:
        return 0.0
    running = np.empty(workspace.length)
    for begin, end in workspace.data.pieces:
        if backwards:
            running[begin:end] = shift[begin:end][::-1].cumsum()[::-1] - shift[begin:end]
        else:
            running[begin:end] = shift[begin:end].cumsum()
    return running
