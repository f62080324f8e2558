"""Forward, backward, filtering, prediction and the likelihood (R89 section III.A; lecture notes, section 9.3).

alpha_t(k) = Pr[x_t = k, z_0..z_t] and beta_t(k) = Pr[z_{t+1}..z_T | x_t = k]; filtering normalises alpha, and
prediction multiplies it with powers of the transition matrix. All of it takes O(T K^2) operations, or O(T) for each
transition that is possible. The recursions themselves are in `rlsuite.inference.forward_backward_kernels`.

In plain NumPy: `rlsuite.reference.hmm.forward`, `rlsuite.reference.hmm.backward` and
`rlsuite.reference.hmm.forward_backward`.
"""

from __future__ import annotations

from functools import partial
from typing import Generic, NamedTuple, TypeVar, overload

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_amount
from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.shown import ShowsItself
from rlsuite.core.threads import at_the_same_time
from rlsuite.errors import ModelError
from rlsuite.inference import forward_backward_kernels as kernels
from rlsuite.inference.forward_backward_kernels import PassResult, exact, exact_posterior, log_sums
from rlsuite.inference.parameters import HMMParameters, Prepared, Workspace, logarithms, mask_of
from rlsuite.inference.sequences import EndToEnd, Listed, Observations, Sequences, sequences
from rlsuite.models.aliases import FloatArray

Rows = TypeVar("Rows")


class Scaled(NamedTuple, Generic[Rows]):
    """Normalised rows, and the logarithms of the sums that they were divided by."""

    rows: Rows
    """(T, K) float64, each row sums to 1; a list of such arrays if the observations were a list"""
    log_scale: Rows
    """(T,) float64, nats: log of the sum of each row, had it not been normalised"""


@says_what_to_write
def log_likelihoods(model: HMMParameters, z: Observations, lengths: ArrayLike | None = None) -> FloatArray:
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
    return log_likelihoods_of(Workspace(model, sequences(model.emission, z, lengths)))


def log_likelihoods_of(workspace: Workspace) -> FloatArray:
    """Return ln Pr[z] of each sequence of a workspace: (N,) float64, nats."""
    schedule = workspace.schedule
    found = np.empty(len(workspace.data))
    tasks = [partial(kernels.sweep, workspace, np.concatenate(batches)) for batches in schedule.batches]
    halves = [workspace.halves(number) for number in schedule.halved]
    rings = [[workspace.prepared.empty(kernels.RING_ROWS) for _ in pair] for pair in halves]
    tasks += [
        partial(kernels.sweep, workspace, half, backwards=bool(backwards), kept=rings[k][backwards])
        for k, pair in enumerate(halves)
        for backwards, half in enumerate(pair)
    ]
    results = at_the_same_time(tasks, workspace.uses_threads)
    for numbers, result in zip(schedule.numbers, results, strict=False):
        found[np.concatenate(numbers)] = result.log_likelihood
    for k, number in enumerate(schedule.halved):
        one, other = results[len(schedule.batches) + 2 * k :][:2]
        middle = int(halves[k][0][0, 1])
        f, w = rings[k][0][(middle - 1) & 1], rings[k][1][middle & 1]
        found[number] = log_likelihood_of_halves(workspace, one, other, f, w)
        if found[number] == -np.inf:
            # a pass from the beginning knows which states can be reached, and may succeed
            found[number] = kernels.sweep(workspace, workspace.data.pieces[[number]]).log_likelihood[0]
    for number in np.flatnonzero(found == -np.inf):
        found[number] = exact(workspace, int(number)).log_likelihood
    return found + workspace.data.shifts


def log_likelihood_of_halves(
    workspace: Workspace, one: PassResult, other: PassResult, f: FloatArray, w: FloatArray
) -> float:
    """Return the log-likelihood of a sequence from the sweeps over its halves, and the rows f and w at its middle."""
    if one.failed[0] >= 0 or other.failed[0] >= 0:
        return -np.inf
    states = workspace.model.n_states
    ahead: FloatArray = workspace.model.transition @ (w[:states] / w.sum())
    link = float(f[:states] @ ahead / f.sum())
    if not link > kernels.UNDERFLOW:
        return -np.inf
    return float(one.log_likelihood[0] + other.log_likelihood[0] + logarithms(link))


@overload
def filter(model: HMMParameters, z: EndToEnd, lengths: ArrayLike | None = None) -> FloatArray: ...
@overload
def filter(model: HMMParameters, z: Listed, lengths: None = None) -> list[FloatArray]: ...
@overload
def filter(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None
) -> FloatArray | list[FloatArray]: ...
@says_what_to_write
def filter(model: HMMParameters, z: Observations, lengths: ArrayLike | None = None) -> FloatArray | list[FloatArray]:
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
    data = sequences(model.emission, z, lengths)
    return data.split(filtered(Workspace(model, data)).rows)


@overload
def forward(model: HMMParameters, z: EndToEnd, lengths: ArrayLike | None = None) -> Scaled[FloatArray]: ...
@overload
def forward(model: HMMParameters, z: Listed, lengths: None = None) -> Scaled[list[FloatArray]]: ...
@overload
def forward(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None
) -> Scaled[FloatArray] | Scaled[list[FloatArray]]: ...
@says_what_to_write
def forward(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None
) -> Scaled[FloatArray] | Scaled[list[FloatArray]]:
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
    data = sequences(model.emission, z, lengths)
    rows, log_scale = filtered(Workspace(model, data))
    return _split(data, rows, log_scale)


def filtered(workspace: Workspace) -> Scaled[FloatArray]:
    """Return alpha of all sequences of a workspace, scaled, end to end."""
    kept, sums, logs = (workspace.prepared.empty(workspace.length), *np.empty((2, workspace.length)))
    result = _sweep_whole(workspace, False, kept, sums, logs)
    kernels.normalise(kept, sums, workspace.prepared.lanes)
    for number in np.flatnonzero(result.failed >= 0):
        found, _ = exact_posterior(workspace, int(number))
        begin, end = workspace.data.pieces[number]
        kept[begin:end, : workspace.model.n_states], logs[begin:end] = _normalised(found.alpha)
    logs += _running(workspace, backwards=False)
    return Scaled(workspace.prepared.narrow(kept), logs)


@overload
def backward(model: HMMParameters, z: EndToEnd, lengths: ArrayLike | None = None) -> Scaled[FloatArray]: ...
@overload
def backward(model: HMMParameters, z: Listed, lengths: None = None) -> Scaled[list[FloatArray]]: ...
@overload
def backward(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None
) -> Scaled[FloatArray] | Scaled[list[FloatArray]]: ...
@says_what_to_write
def backward(
    model: HMMParameters, z: Observations, lengths: ArrayLike | None = None
) -> Scaled[FloatArray] | Scaled[list[FloatArray]]:
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
        If the observations are malformed, or impossible from every state; the message says at which t.

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
    kept, sums, logs = (workspace.prepared.empty(workspace.length), *np.empty((2, workspace.length)))
    result = _sweep_whole(workspace, True, kept, sums, logs)
    last = workspace.data.pieces[:, 1] - 1
    # beta_t = A w_{t+1}, where w is normalised first, so that nothing underflows
    following = kept[1:, :states] / sums[1:, None]
    rows = np.empty((workspace.length, states))
    rows[:-1] = (
        following @ model.dense_transition.T if not workspace.prepared.is_sparse else (model.transition @ following.T).T
    )
    rows[last] = 1.0
    total = rows.sum(axis=1)
    scales = np.empty(workspace.length)
    scales[:-1] = logs[1:]
    scales[last] = 0.0
    bad = mask_of(workspace.length, workspace.data.pieces[result.failed >= 0])
    total[bad] = 1.0
    rows /= total[:, None]
    scales += np.log(total)
    # the observations must be possible from some state, not only from a state in which a sequence begins
    anywhere = Workspace(model.replace(start=np.full(states, 1.0 / states)), workspace.data)
    for number in np.flatnonzero(result.failed >= 0):
        found, _ = exact_posterior(anywhere, int(number))
        begin, end = workspace.data.pieces[number]
        rows[begin:end], scales[begin:end] = _normalised(found.beta)
    scales += _running(workspace, backwards=True)
    return _split(workspace.data, rows, scales)


def _split(data: Sequences, rows: FloatArray, logs: FloatArray) -> Scaled[FloatArray] | Scaled[list[FloatArray]]:
    if not data.listed:
        return Scaled(rows, logs)
    return Scaled(data.list_of(rows), data.list_of(logs))


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
        partial(kernels.sweep, workspace, each, backwards=backwards, kept=kept, base=0, sums=sums, logs=logs)
        for each in pieces
    ]
    result = PassResult(np.empty(len(workspace.data)), np.empty(len(workspace.data), dtype=np.int64))
    for which, each in zip(numbers, at_the_same_time(tasks, workspace.uses_threads), strict=True):
        result.log_likelihood[which], result.failed[which] = each
    bad = mask_of(workspace.length, workspace.data.pieces[result.failed >= 0])
    kept[bad], sums[bad], logs[bad] = 0.0, 1.0, 0.0
    return result


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


# ---------------------------------------------------------------------------------------------- prediction


@overload
def predict_ahead(model: HMMParameters, z: EndToEnd, steps: int, lengths: ArrayLike | None = None) -> FloatArray: ...
@overload
def predict_ahead(model: HMMParameters, z: Listed, steps: int, lengths: None = None) -> list[FloatArray]: ...
@overload
def predict_ahead(
    model: HMMParameters, z: Observations, steps: int, lengths: ArrayLike | None = None
) -> FloatArray | list[FloatArray]: ...
@says_what_to_write
def predict_ahead(
    model: HMMParameters, z: Observations, steps: int, lengths: ArrayLike | None = None
) -> FloatArray | list[FloatArray]:
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
    rows = filtered(Workspace(model, data)).rows
    return data.split(propagate(model, rows, whole_amount("steps", steps, at_least=0)))


def propagate(model: HMMParameters, beliefs: FloatArray, steps: int) -> FloatArray:
    """Return beliefs (n, K) after a number of steps of the chain."""
    transposed = model.transition.T
    squarings_are_less = steps * len(beliefs) > model.n_states * steps.bit_length()
    if steps > 1 and squarings_are_less and isinstance(model.transition, np.ndarray):
        return beliefs @ np.linalg.matrix_power(model.transition, steps)
    for _ in range(steps):
        beliefs = (transposed @ beliefs.T).T
    return beliefs


# -------------------------------------------------------------------------------------------- one at a time


class OnlineFilter(ShowsItself):
    """The distribution of the hidden state, updated with each observation.

    It is kept in logarithms, so that no state is lost, however improbable it is for a while.

    Parameters
    ----------
    model : HMM
        The model.

    Attributes
    ----------
    belief : ndarray (K,) float64
        Pr[x_t = k | z_0..z_t] after t + 1 observations; the start distribution before the first.
    log_likelihood : float
        ln Pr[z_0..z_t], in nats.
    n_observations : int
        t + 1.

    Examples
    --------
    >>> from rlsuite.inference import HMM
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> weather = hmm.online()
    >>> weather.update(0).round(3).tolist()
    [0.818, 0.182]
    >>> weather.predict_ahead(1).round(3).tolist()
    [0.627, 0.373]
    >>> weather.update(0).round(3).tolist()
    [0.883, 0.117]
    """

    def __init__(self, model: HMMParameters) -> None:
        self.model = model
        self.belief: FloatArray
        self.log_likelihood: float
        self.n_observations: int
        self._logs: FloatArray
        self._matrix = Prepared(model, is_sparse=True).sparse_matrices(logarithms)[0]
        self.reset()

    def reset(self) -> None:
        """Reset to the start of a new sequence."""
        self.belief = self.model.start
        self._logs = logarithms(self.belief)
        self.log_likelihood = 0.0
        self.n_observations = 0

    def update(self, z: ArrayLike) -> FloatArray:
        """Update by one observation and return the new belief: (K,) float64.

        Parameters
        ----------
        z : int, float or array_like (D,)
            The observation, -1 or NaN if it is missing.

        Raises
        ------
        ModelError
            If it is no observation, or impossible after the earlier ones; the belief stays as it was.
        """
        emission = self.model.emission
        checked = emission.check(np.asarray(z)[None])
        logs = emission.log_likelihoods(checked)[0]
        joint = self._logs.copy()
        if self.n_observations > 0:
            log_sums(self._matrix, self._logs, joint)
        joint += logs
        high = float(joint.max())
        if high == -np.inf:
            raise ModelError(
                f"z[t={self.n_observations}] is {checked[0]}, which is impossible after what was seen before: "
                "no hidden state that can be reached emits it"
            )
        weight = np.exp(joint - high)
        total = float(weight.sum())
        self.belief = weight / total
        self.belief.setflags(write=False)
        self._logs = joint - (high + np.log(total))
        self.log_likelihood += float(high + np.log(total))
        self.n_observations += 1
        return self.belief

    @says_what_to_write
    def predict_ahead(self, steps: int) -> FloatArray:
        """Return Pr[x_{t+steps} = k | z_0..z_t]: (K,) float64; before the first observation, from the start on."""
        return propagate(self.model, self.belief[None], whole_amount("steps", steps, at_least=0))[0]

    def __repr__(self) -> str:
        known = np.array2string(self.belief, precision=3, threshold=6)
        return f"OnlineFilter(n_observations={self.n_observations}, belief={known})"
