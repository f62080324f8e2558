"""Returns per episode of many seeds, brought to a common axis.

Seeds finish their episodes at different times, and different numbers of them; means over seeds need an axis on which
every seed has values.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ParameterError
from rlsuite.plotting.intervals import Curve
from rlsuite.training.results import Results

MOST_POINTS: Final = 1000
"""A longer curve is drawn at this many of its points, evenly spread: a figure has no more pixels to show."""


def smoothed(returns: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Mean of each return and the `window` - 1 returns before it, or as many as there are.

    Parameters
    ----------
    returns
        (E,) float64.
    window
        Number of episodes, at least 1.

    Returns
    -------
    numpy.ndarray
        (E,) float64.

    Examples
    --------
    >>> smoothed(np.array([4.0, 8.0, 3.0, 1.0]), 2).tolist()
    [4.0, 6.0, 5.5, 2.0]
    """
    if window == 1:
        return returns
    sums = np.concatenate([[0.0], np.cumsum(returns)])
    last = np.arange(1, len(sums))
    first = np.maximum(last - window, 0)
    return (sums[last] - sums[first]) / (last - first)


def against_episodes(run: Results, window: int) -> Curve:
    """Smoothed returns of the n-th episodes of all seeds, up to the last that every seed finished."""
    common = min(len(record.episode_return) for record in run.records)
    samples = np.stack([smoothed(record.episode_return[:common], window) for record in run.records])
    shown = _spread(1, common)
    return Curve(run.agent, shown.astype(np.float64), samples[:, shown - 1])


def against_steps(run: Results, window: int) -> Curve:
    """Smoothed return of each seed's latest finished episode, while every seed has one and none has stopped.

    Raises
    ------
    ParameterError
        If there is no such step: one seed stopped before another finished its first episode.
    """
    ends = [np.cumsum(record.episode_length) for record in run.records]
    first, last = max(int(end[0]) for end in ends), min(int(end[-1]) for end in ends)
    if first > last:
        raise ParameterError(
            f"the seeds of {run.agent} have no common time at which all have finished an episode: train longer"
        )
    steps = _spread(first, last)
    samples = [
        smoothed(record.episode_return, window)[np.searchsorted(end, steps, side="right") - 1]
        for record, end in zip(run.records, ends, strict=True)
    ]
    return Curve(run.agent, steps.astype(np.float64), np.stack(samples))


def cut_short(runs: list[Results]) -> list[str]:
    """The sentence for the caption where seeds finished different numbers of episodes."""
    counts = {run.agent: [len(record.episode_return) for record in run.records] for run in runs}
    fewest = {agent: min(finished) for agent, finished in counts.items() if min(finished) < max(finished)}
    if not fewest:
        return []
    listed = ", ".join(f"{agent}: {number}" for agent, number in fewest.items())
    return [f"Cut to the episodes that every seed finished ({listed})."]


def _spread(first: int, last: int) -> NDArray[np.int64]:
    """At most `MOST_POINTS` whole numbers from `first` to `last`, both included."""
    return np.unique(np.linspace(first, last, min(MOST_POINTS, last - first + 1)).astype(np.int64))
