"""Smoothing: the distribution of the hidden states given all observations (R89 section III.B).

Pr[x_t = k | z_0..z_T] is proportional to alpha_t(k) beta_t(k).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.inference.log_space import exact_posterior
from rlsuite.inference.sequences import Observations, sequences
from rlsuite.inference.workspace import PassResult, Workspace
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.threads import at_the_same_time

if TYPE_CHECKING:
    from rlsuite.inference.hmm import HMM


def smooth(model: HMM, z: Observations, lengths: ArrayLike | None = None) -> Any:
    """Return Pr[x_t = k | z_0..z_T], the distribution of the hidden states given all observations (R89 eq. 27).

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

    See Also
    --------
    smooth_in_blocks : the same in little memory.
    smooth_with_lag : with a look of a few steps ahead only.

    Examples
    --------
    >>> from rlsuite.inference import HMM, smooth
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    >>> smooth(hmm, [0, 0]).round(3).tolist()
    [[0.883, 0.117], [0.883, 0.117]]
    """
    workspace = Workspace(model, sequences(model.emission, z, lengths))
    kept = workspace.prepared.empty(workspace.length)
    schedule = workspace.schedule
    halves = [workspace.halves(number) for number in schedule.halved]
    tasks = [
        partial(_smooth_batches, workspace, batches, numbers, kept)
        for batches, numbers in zip(schedule.batches, schedule.numbers, strict=True)
    ]
    sweeps = [
        partial(workspace.sweep, half, backwards=bool(backwards), kept=kept, base=0)
        for pair in halves
        for backwards, half in enumerate(pair)
    ]
    swept = cast("list[PassResult]", at_the_same_time([*tasks, *sweeps], workspace.worth_threads)[len(tasks) :])
    meetings = [
        partial(_meet, workspace, pair, swept[2 * k : 2 * k + 2], kept, number)
        for k, (pair, number) in enumerate(zip(halves, schedule.halved, strict=True))
    ]
    for meeting in meetings:
        meeting()
    return workspace.data.split(workspace.prepared.narrow(kept))


def _smooth_batches(
    workspace: Workspace, batches: list[IndexArray], numbers: list[IndexArray], kept: FloatArray
) -> None:
    for batch, which in zip(batches, numbers, strict=True):
        fine = workspace.sweep(batch, kept=kept, base=0).failed < 0
        if fine.any() and not workspace.posteriors(batch[fine], kept, 0):
            fine[:] = False  # some broke off in the middle
        for number, (begin, end) in zip(which[~fine], batch[~fine], strict=True):
            kept[begin:end, : workspace.model.n_states] = exact_posterior(workspace, int(number))[1]


def _meet(
    workspace: Workspace, pair: tuple[IndexArray, IndexArray], swept: list[PassResult], kept: FloatArray, number: int
) -> None:
    """Continue the sweeps over the halves of a sequence through the other half."""
    middle = int(pair[0][0, 1])
    done = [False]
    if swept[0].failed[0] < 0 and swept[1].failed[0] < 0:
        f, w = (kept[t : t + 1].copy() for t in (middle - 1, middle))
        done = at_the_same_time(
            [
                partial(workspace.posteriors, pair[0], kept, 0, backwards=True, initial=w),
                partial(workspace.posteriors, pair[1], kept, 0, backwards=False, initial=f),
            ],
            workspace.worth_threads,
        )
    if not all(done):
        # a pass from the beginning knows which states can be reached at all, and may come through
        _smooth_batches(workspace, [workspace.data.pieces[[number]]], [np.array([number])], kept)
