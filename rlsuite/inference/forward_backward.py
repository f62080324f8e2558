"""Forward, backward, filtering and the likelihood (R89 section III.A; lecture notes, section 9.3).

alpha_t(k) = Pr[x_t = k, z_0..z_t] and beta_t(k) = Pr[z_{t+1}..z_T | x_t = k]; filtering normalises alpha. All of it
takes O(T K^2) operations, or O(T) for each transition that is possible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.inference import passes
from rlsuite.inference.exact import exact, exact_posterior
from rlsuite.inference.prepared import logarithms
from rlsuite.inference.request import Request, Swept, covered
from rlsuite.inference.sequences import Observations, sequences
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
    request = Request(model, sequences(model.emission, z, lengths))
    cut = request.cut
    found = np.empty(len(request.data))
    sweeps = [partial(_sweep_all, request, batches) for batches in cut.batches]
    halves = [
        partial(request.sweep, half, backwards=bool(backwards), kept=kept)
        for number in cut.halved
        for backwards, half in enumerate(request.halves(number))
        for kept in [request.prepared.empty(passes.RING_ROWS)]
    ]
    results = at_the_same_time([*sweeps, *halves], request.worth_threads)
    for numbers, logs in zip(cut.numbers, results, strict=False):
        found[np.concatenate(numbers)] = cast("FloatArray", logs)
    for k, number in enumerate(cut.halved):
        one, other = (cast("Swept", results[len(sweeps) + 2 * k + side]) for side in (0, 1))
        rows = [halves[2 * k + side].keywords["kept"] for side in (0, 1)]
        middle = int(request.halves(number)[0][0, 1])
        found[number] = joined(request, one, other, rows[0][(middle - 1) & 1], rows[1][middle & 1])
    for number in cut.halved:
        if found[number] == -np.inf:
            # a pass from the beginning knows which states can be reached at all, and may come through
            found[number] = request.sweep(request.data.pieces[[number]]).log_likelihood[0]
    for number in np.flatnonzero(found == -np.inf):
        found[number] = exact(request, int(number)).log_likelihood
    return found + request.data.shifts


def _sweep_all(request: Request, batches: list[IndexArray]) -> FloatArray:
    return request.sweep(np.concatenate(batches)).log_likelihood


def joined(request: Request, one: Swept, other: Swept, f: FloatArray, w: FloatArray) -> float:
    """Return the log-likelihood of a sequence from the sweeps over its halves and the rows that meet."""
    if one.failed[0] >= 0 or other.failed[0] >= 0:
        return -np.inf
    states = request.model.n_states
    ahead = cast("FloatArray", request.model.transition @ (w[:states] / w.sum()))
    link = float(f[:states] @ ahead / f.sum())
    if not link > passes.TINY:
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
    request = Request(model, sequences(model.emission, z, lengths))
    kept, sums, logs = request.prepared.empty(request.length), np.empty(request.length), np.empty(request.length)
    swept = _sweep_whole(request, False, kept, sums, logs)
    passes.normalise(kept, sums, request.prepared.lanes)
    for number in np.flatnonzero(swept.failed >= 0):
        found, _ = exact_posterior(request, int(number))
        begin, end = request.data.pieces[number]
        kept[begin:end, : model.n_states], logs[begin:end] = _normalised(found.alpha)
    logs += _running(request, backwards=False)
    return Scaled(request.data.split(request.prepared.narrow(kept)), request.data.split(logs))


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
    request = Request(model, sequences(model.emission, z, lengths))
    states = model.n_states
    kept, sums, logs = request.prepared.empty(request.length), np.empty(request.length), np.empty(request.length)
    swept = _sweep_whole(request, True, kept, sums, logs)
    last = request.data.pieces[:, 1] - 1
    # beta_t = A w_{t+1}, where w is normalised first, so that nothing underflows
    following = kept[1:, :states] / sums[1:, None]
    rows = np.empty((request.length, states))
    rows[:-1] = (
        following @ model.dense_transition.T
        if not request.prepared.is_sparse
        else (cast("Any", model.transition) @ following.T).T
    )
    rows[last] = 1.0
    total = rows.sum(axis=1)
    scales = np.empty(request.length)
    scales[:-1] = logs[1:]
    scales[last] = 0.0
    bad = covered(request.length, request.data.pieces[swept.failed >= 0])
    total[bad] = 1.0
    rows /= total[:, None]
    scales += np.log(total)
    # what is seen must be possible from some state, and not from those alone with which a sequence begins
    anywhere = Request(model.replace(start=np.full(states, 1.0 / states)), request.data)
    for number in np.flatnonzero(swept.failed >= 0):
        found, _ = exact_posterior(anywhere, int(number))
        begin, end = request.data.pieces[number]
        rows[begin:end], scales[begin:end] = _normalised(found.beta)
    scales += _running(request, backwards=True)
    return Scaled(request.data.split(rows), request.data.split(scales))


def _sweep_whole(request: Request, backwards: bool, kept: FloatArray, sums: FloatArray, logs: FloatArray) -> Swept:
    """Sweep over all sequences, on as many threads as there are tasks."""
    cut = request.cut
    pieces = [np.concatenate(batches) for batches in cut.batches]
    numbers = [np.concatenate(each) for each in cut.numbers]
    pieces += [request.data.pieces[[number]] for number in cut.halved]
    numbers += [np.array([number]) for number in cut.halved]
    sums[:] = 1.0
    logs[:] = 0.0
    tasks = [
        partial(request.sweep, each, backwards=backwards, kept=kept, base=0, sums=sums, logs=logs) for each in pieces
    ]
    swept = Swept(np.empty(len(request.data)), np.empty(len(request.data), dtype=np.int64))
    for which, each in zip(numbers, at_the_same_time(tasks, request.worth_threads), strict=True):
        swept.log_likelihood[which], swept.failed[which] = each
    bad = covered(request.length, request.data.pieces[swept.failed >= 0])
    kept[bad], sums[bad], logs[bad] = 0.0, 1.0, 0.0
    return swept


def _normalised(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rows of logarithms as rows that sum to 1, and the logarithms of their sums."""
    high = logs.max(axis=1, keepdims=True)
    rows = np.exp(logs - high)
    total = rows.sum(axis=1, keepdims=True)
    return rows / total, (high + np.log(total))[:, 0]


def _running(request: Request, backwards: bool) -> FloatArray | float:
    """Return what the likelihoods leave out of the log scale of each row: (T,) float64."""
    shift = request.data.likelihoods.shift
    if shift is None:
        return 0.0
    running = np.empty(request.length)
    for begin, end in request.data.pieces:
        if backwards:
            running[begin:end] = shift[begin:end][::-1].cumsum()[::-1] - shift[begin:end]
        else:
            running[begin:end] = shift[begin:end].cumsum()
    return running
