"""Posteriors of the hidden states of an HMM over time, with the observations below them."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.core.checks import whole_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.plotting.figure import count_along, dress_curves, wrap, write_caption
from rlsuite.plotting.labels import counted, names
from rlsuite.plotting.stacked_area import draw_areas
from rlsuite.plotting.time_rows import TALL, Rows, axes_with_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.inference import HMM

MOST_SYMBOLS: Final = 10
"""Symbols with a row of their own; more are drawn as numbers."""

MOST_CHANNELS: Final = 4
"""Columns of an observation that are drawn."""

MOST_TIMES: Final = 20_000
"""Times that a figure can show."""


def state_posteriors(
    hmm: "HMM",
    z: ArrayLike,
    *,
    states: ArrayLike | None = None,
    between: tuple[int, int] | None = None,
    observation_labels: Sequence[str] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """How probable each hidden state is at each time, given the whole sequence of observations.

    The stacked areas are Pr[x_t = k | z_0..z_T] (smoothing); thin lines show where they would end given only the
    observations until then, Pr[x_t = k | z_0..z_t] (filtering).

    Parameters
    ----------
    hmm
        The model.
    z
        (T,) or (T, D), one sequence of observations.
    states
        (T,) int, the true states, to be drawn below; None: they are unknown.
    between
        ``(begin, end)``: draw only the times begin <= t < end; all observations are used. None: all times.
    observation_labels
        Names of the symbols, if the observations are symbols.
    ax
        Axes to draw on; None: those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Probabilities lie between 0 and 1, the observations below 0.

    Raises
    ------
    ParameterError
        If `z` is more than one sequence, `states` or `observation_labels` do not fit, `between` is not within the
        times, or there are more times than a figure can show.
    ModelError
        If an observation is not one of this model, or the sequence is impossible.

    Examples
    --------
    >>> from rlsuite.inference import HMM
    >>> from rlsuite.plotting import state_posteriors
    >>> hmm = HMM([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]], state_labels=["rain", "dry"])
    >>> ax = state_posteriors(hmm, [0, 0, 1, 0, 0], observation_labels=["umbrella", "none"])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['0', '0.5', '1', 'umbrella', 'none']
    """
    smoothed: Any = hmm.smooth(z)
    if isinstance(smoothed, list):
        raise ParameterError("state_posteriors draws one sequence, and z is a list of them: pass one of them")
    filtered: Any = hmm.filter(z)
    observed: Any = hmm.emission.check(z)
    times = _times(len(smoothed), between)
    truth = None if states is None else _checked_states(states, len(smoothed), hmm.n_states)[times]
    labels = _symbols(hmm, observation_labels)
    columns = np.asarray(observed).reshape(len(smoothed), -1)[times]
    n_rows = len(labels) if labels else TALL * min(columns.shape[1], MOST_CHANNELS)
    axes = axes_with_rows(n_rows + 1.0 + 1.5 * (truth is not None)) if ax is None else ax

    labels_of_states = names(hmm.state_labels, hmm.n_states, "state")
    found = draw_areas(axes, times, smoothed[times], labels_of_states, filtered[times])
    rows = Rows(axes)
    if truth is not None:
        rows.states("true state", truth, found, first=float(times[0]))
        rows.gap()
    said = ["Areas: probability of each state given all observations."]
    said.append("Lines: their borders given only the observations until then.")
    said += _draw_observations(rows, times, columns, np.asarray(hmm.emission.missing(observed))[times], labels)
    dress_curves(
        axes, f"{counted(hmm.n_states, 'state')}, {counted(len(smoothed), 'observation')}", "time step", "probability"
    )
    rows.dress()
    count_along(axes)
    axes.set_xlim(float(times[0]) - 0.5, float(times[-1]) + 0.5)
    if times.size < len(smoothed):
        said.append(f"Drawn: {times.size:,} of {len(smoothed):,} times.")
    write_caption(axes, said)
    if ax is None:
        wrap(axes)
    return axes


def _times(length: int, between: tuple[int, int] | None) -> NDArray[np.int64]:
    """The times to draw."""
    begin, end = (0, length) if between is None else between
    begin, end = whole_number("between[0]", begin, at_least=0), whole_number("between[1]", end)
    if not begin < end <= length:
        raise ParameterError(f"between=({begin}, {end}) is not (begin, end) with 0 <= begin < end <= {length}")
    if end - begin > MOST_TIMES:
        raise ParameterError(
            f"{end - begin:,} times are more than the {MOST_TIMES:,} that a figure can show: choose some, as with "
            f"between=({begin}, {begin + MOST_TIMES // 10})"
        )
    return np.arange(begin, end)


def _checked_states(states: ArrayLike, length: int, n_states: int) -> NDArray[np.int64]:
    try:
        given = validation.integers("states", states)
        validation.shape("states", given, (length,), meaning="one state for each observation")
    except ModelError as cause:
        raise ParameterError(str(cause)) from cause
    wrong = (given < 0) | (given >= n_states)
    if wrong.any():
        t = int(np.argmax(wrong))
        raise ParameterError(f"states[{t}] is {given[t]}; the states are 0..{n_states - 1}")
    return given.astype(np.int64)


def _symbols(hmm: "HMM", labels: Sequence[str] | None) -> list[str]:
    """Names of the symbols; empty if observations are numbers, or too many for a row each."""
    n_symbols: int | None = getattr(hmm.emission, "n_symbols", None)
    if labels is not None and (n_symbols is None or len(labels) != n_symbols):
        what = "the observations are not symbols" if n_symbols is None else f"there are {n_symbols} symbols"
        raise ParameterError(f"observation_labels has {len(labels)} names, and {what}")
    return [] if n_symbols is None or n_symbols > MOST_SYMBOLS else names(labels, n_symbols, "symbol")


def _draw_observations(
    rows: Rows,
    times: NDArray[np.int64],
    columns: NDArray[np.generic],
    missing: NDArray[np.bool_],
    labels: list[str],
) -> list[str]:
    """Draw the observations below; return the sentence for the caption."""
    when = times.astype(np.float64)
    for symbol, name in enumerate(labels):
        rows.marks(name, when[columns[:, 0] == symbol])
    shown = 0 if labels else min(columns.shape[1], MOST_CHANNELS)
    for channel in range(shown):
        name = "observation" if columns.shape[1] == 1 else f"channel {channel}"
        rows.numbers(name, when, np.where(missing, np.nan, columns[:, channel].astype(np.float64)))
    said = [f"Missing observations: {int(missing.sum()):,}."] if missing.any() else []
    if shown and shown < columns.shape[1]:
        said.append(f"Observations: {shown} of {columns.shape[1]} channels.")
    return said
