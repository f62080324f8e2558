"""Probabilities of states over time, as stacked areas, and rows of marks, states and numbers below them.

The probabilities take the part of the axes from 0 to 1, the rows lie below 0; so everything is in one Axes, which can
be placed among others.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_number
from rlsuite.errors import ModelError, ParameterError
from rlsuite.models import validation
from rlsuite.plotting.figure import (
    CAPTION_INK,
    GRID_INK,
    INK,
    AxesKeywords,
    count_along,
    finish,
    label_axes,
    open_axes,
    styled,
)
from rlsuite.plotting.labels import counted, names, title_of_model
from rlsuite.plotting.style import Palette
from rlsuite.rendering import colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.inference import HMM, HSMM
    from rlsuite.models import POMDP
    from rlsuite.planning import BeliefEpisodes


# Inches.
WIDTH: Final = 7.2
UPPER: Final = 2.3
"""Height of the part from 0 to 1."""
ROW: Final = 0.19
"""Height of a row."""

PAD: Final = 0.5
"""Gap above the first row and between groups, in rows."""

TALL: Final = 3.0
"""Height of a row of numbers, in rows."""

LABEL_DISTANCE: Final = 32.0
"""Points between the axis and the label of the probabilities."""


def _size(rows: float) -> tuple[float, float]:
    """Width and height of axes that are high enough for a number of rows."""
    return WIDTH, UPPER + ROW * rows


class Rows:
    """The rows below the probabilities of some axes, drawn from top to bottom.

    Parameters
    ----------
    ax
        Where to draw.
    """

    def __init__(self, ax: "Axes") -> None:
        self.ax = ax
        self._bottom = 0.0
        self._ticks: list[tuple[float, str]] = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]

    def gap(self) -> None:
        """Leave a gap before the next group of rows."""
        self._take(PAD)

    def marks(self, name: str, times: NDArray[np.float64]) -> None:
        """Draw a row with a mark at some times."""
        middle = self._take(1.0)
        self._ticks.append((middle, name))
        self.ax.axhline(middle, color=GRID_INK, linewidth=0.8, zorder=0.5, label="_row")
        # Small marks for a long sequence, or they would hide each other.
        size = min(5.0, max(1.2, 300.0 / max(1.0, float(np.ptp(self.ax.dataLim.intervalx)))))
        heights = np.full(times.size, middle)
        self.ax.plot(times, heights, "o", color=INK, markersize=size, linestyle="none", label=f"_{name}")

    def states(self, name: str, states: NDArray[np.int64], colours: Sequence[str], first: float) -> None:
        """Draw a row of cells in the colours of states, the first centred at the time `first`."""
        middle = self._take(1.0)
        self._ticks.append((middle, name))
        cuts = np.flatnonzero(np.diff(states, prepend=states[0] - 1, append=states[-1] - 1))
        cells = [(first - 0.5 + begin, end - begin) for begin, end in pairwise(cuts.tolist())]
        height = 0.7 * ROW / UPPER
        faces = [colours[state] for state in states[cuts[:-1]].tolist()]
        self.ax.broken_barh(cells, (middle - 0.5 * height, height), facecolors=faces, linewidth=0.0, label=f"_{name}")

    def numbers(self, name: str, times: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        """Draw a tall row with numbers in it, NaN for none, from the smallest to the largest."""
        middle = self._take(TALL)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
        half = 0.38 * TALL * ROW / UPPER
        heights = middle + half * (2.0 * (values - low) / ((high - low) or 1.0) - 1.0)
        ends = (f"{end:.3g}".replace("-", "\N{MINUS SIGN}") for end in (high, low))
        self._ticks += [(middle, name), *zip((middle + half, middle - half), ends, strict=True)]
        self.ax.plot(times, heights, ".", color=INK, markersize=2.5, linestyle="none", label=f"_{name}")

    def label(self) -> None:
        """Ticks for the probabilities and for every row, once all are drawn."""
        from matplotlib.transforms import ScaledTranslation

        axes, bottom = self.ax, self._bottom - (0.5 * PAD * ROW / UPPER if self._bottom else 0.0)
        axes.set_ylim(bottom, 1.02)
        axes.set_yticks([y for y, _ in self._ticks], [text for _, text in self._ticks], parse_math=False)
        axes.spines["left"].set_bounds(0.0, 1.0)
        axes.grid(False, axis="y")
        # Close to the ticks of the probabilities, however long the names of the rows are.
        figure = axes.get_figure(root=True)
        assert figure is not None
        beside = ScaledTranslation(-LABEL_DISTANCE / 72.0, 0.0, figure.dpi_scale_trans)
        axes.yaxis.set_label_coords(0.0, 0.5, transform=axes.get_yaxis_transform() + beside)
        axes.axhline(0.0, color=CAPTION_INK, linewidth=0.8, label="_zero", zorder=1.0)

    def _take(self, rows: float) -> float:
        """The vertical centre of the next rows."""
        top = self._bottom or -PAD * ROW / UPPER
        self._bottom = top - rows * ROW / UPPER
        return 0.5 * (top + self._bottom)


MOST_STATES: Final = 6
"""States with an area of their own; the others of a larger model share one."""

OTHERS: Final = colours.hexadecimal(colours.LINE)
"""Colour of the area that they share."""

STRENGTH: Final = 0.6
"""Opacity of an area, so that lines on it can be seen."""


def draw_areas(
    ax: "Axes",
    times: NDArray[np.int64],
    probability: NDArray[np.float64],
    labels: list[str],
    lines: NDArray[np.float64] | None = None,
) -> list[str]:
    """Draw an area for each state that is often likely, the first state below all others.

    Parameters
    ----------
    ax
        Where to draw.
    times
        (T,) successive whole numbers; each probability takes the width of one, centred there.
    probability
        (T, K) float64, rows that sum to 1.
    labels
        K names of the states.
    lines
        (T, K) float64, other probabilities of the same states, whose upper borders are drawn as lines; None: none.

    Returns
    -------
    list of str
        K colours of the states, `OTHERS` for those that share an area.
    """
    n_states = len(labels)
    likely = np.arange(n_states)
    if n_states > MOST_STATES:
        likely = np.sort(np.argsort(-probability.sum(axis=0), kind="stable")[: MOST_STATES - 1])
    looks = Palette(labels[state] for state in likely.tolist())
    found = [OTHERS] * n_states
    edges = np.append(times, times[-1] + 1) - 0.5
    floor, border = np.zeros(times.size), np.zeros(times.size)
    for position, state in enumerate(likely.tolist()):
        found[state] = looks[labels[state]].colour
        top = floor + probability[:, state]
        ax.stairs(top, edges, baseline=floor, fill=True, facecolor=(found[state], STRENGTH), label=labels[state])
        floor = top
        if lines is not None and position < n_states - 1:  # the upper border of the last state is always 1
            border = border + lines[:, state]
            ax.stairs(border, edges, baseline=None, color=INK, linewidth=0.7, label="_border", zorder=2.5)
    if likely.size < n_states:
        rest = f"{n_states - likely.size} other states"
        ax.stairs(np.ones(times.size), edges, baseline=floor, fill=True, facecolor=(OTHERS, STRENGTH), label=rest)
    return found


def state_probabilities(probability: NDArray[np.float64], **look: Unpack[AxesKeywords]) -> "Axes":
    """Probabilities of hidden states over time, (T, K), alone.

    Raises
    ------
    ParameterError
        If the rows are no probabilities.
    """
    if probability.ndim != 2 or not np.allclose(probability.sum(axis=1), 1.0) or (probability < 0.0).any():
        raise ParameterError(
            f"an array of shape {probability.shape}: an array is drawn if its rows are the probabilities of hidden "
            "states over time; return these, a solution or a plan"
        )
    axes = open_axes(look, _size(0.0))
    draw_areas(axes, np.arange(len(probability)), probability, names(None, probability.shape[1], "state"))
    label_axes(axes, "", "time step", "probability")
    count_along(axes)
    return finish(axes, look, [])


MOST_ROWS: Final = 8
"""Actions, and observations, with a row of their own; the others of a larger model share one."""


@styled
def belief_trace(
    pomdp: "POMDP", episodes: "BeliefEpisodes", *, episode: int = 0, **look: Unpack[AxesKeywords]
) -> "Axes":
    """The belief in each state during one episode, with the actions taken and the observations made below it.

    At step t the figure shows the belief after t steps, an area for each state. Below it are the hidden state, the
    observation that led to the belief, and the action that was taken then.

    Parameters
    ----------
    pomdp
        The model.
    episodes
        What `simulate_beliefs` returned for this model, with ``keep_beliefs=True``.
    episode
        Which of the episodes to draw.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes
        Probabilities lie between 0 and 1, the rows of marks below 0.

    Raises
    ------
    ParameterError
        If the beliefs were not kept or are over another number of states, or there is no such episode.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import simulate_beliefs
    >>> from rlsuite.plotting import belief_trace
    >>> machine = POMDP.from_arrays(
    ...     [[[0.9, 0.1], [1, 0]], [[0, 1], [1, 0]]], [[1, -1], [0, -1]], [[0.9, 0.1], [0.4, 0.6]], order="sas",
    ...     gamma=0.9, start=0,
    ...     state_labels=["fine", "broken"], action_labels=["make", "repair"], observation_labels=["good", "bad"],
    ... )
    >>> episodes = simulate_beliefs(machine, lambda b: int(b[1] > 0.5), steps=20, seed=1, keep_beliefs=True)
    >>> ax = belief_trace(machine, episodes)
    >>> ax.patches[0].get_label(), ax.patches[0].get_data().values[:3].round(2).tolist()
    ('fine', [1.0, 0.95, 0.93])
    """
    if episodes.beliefs is None:
        raise ParameterError("these episodes have no beliefs: simulate_beliefs(..., keep_beliefs=True) keeps them")
    if episodes.beliefs.shape[2] != pomdp.n_states:
        raise ParameterError(
            f"these beliefs are over {episodes.beliefs.shape[2]} states, and the model has {pomdp.n_states}: give the "
            "model that was simulated"
        )
    number = whole_number("episode", episode, at_least=0)
    if number >= episodes.lengths.size:
        raise ParameterError(f"episode={number} is not one of 0..{episodes.lengths.size - 1}")

    length = int(episodes.lengths[number])
    # An episode that has terminated has no belief after its last step.
    beliefs = episodes.beliefs[number, : length + (not episodes.terminated[number])]
    done = _by_name(episodes.actions[number, :length], names(pomdp.action_labels, pomdp.n_actions, "action"), 0)
    seen_names = names(pomdp.observation_labels, pomdp.n_observations, "observation")
    seen = _by_name(episodes.observations[number, :length], seen_names, 1)
    axes = open_axes(look, _size(len(done) + len(seen) + 3.0))

    state_names = names(pomdp.state_labels, pomdp.n_states, "state")
    looks = draw_areas(axes, np.arange(len(beliefs)), beliefs, state_names)
    rows = Rows(axes)
    rows.states("hidden state", episodes.states[number, : length + 1], looks, first=0.0)
    for group in (seen, done):
        rows.gap()
        for name, times in group.items():
            rows.marks(name, times)
    label_axes(axes, title_of_model(pomdp), "steps", "belief")
    rows.label()
    count_along(axes)
    axes.set_xlim(-0.5, length + 0.5)
    total = f"{float(episodes.returns[number]):.6g}".replace("-", "\N{MINUS SIGN}")
    ended = "it ended" if episodes.terminated[number] else "it was cut off"
    said = ["Areas: probability of each state given the actions and observations until then."]
    said.append("Marks: what had been observed, and which action was taken then.")
    return finish(
        axes,
        look,
        [*said, f"Episode {number}: {counted(length, 'step')}, then {ended}; return {total}."],
    )


def _by_name(happened: NDArray[np.int64], named: list[str], delay: int) -> dict[str, NDArray[np.float64]]:
    """The times of each action or observation that occurred; if there are too many, the rarest together."""
    kinds, counts = np.unique(happened, return_counts=True)
    times = np.arange(happened.size, dtype=np.float64) + delay
    own = kinds if kinds.size <= MOST_ROWS else np.sort(kinds[np.argsort(-counts, kind="stable")[: MOST_ROWS - 1]])
    found: dict[str, NDArray[np.float64]] = {named[kind]: times[happened == kind] for kind in own.tolist()}
    if own.size < kinds.size:
        found[f"{kinds.size - own.size} others"] = times[~np.isin(happened, own)]
    return found


MOST_SYMBOLS: Final = 10
"""Symbols with a row of their own; more are drawn as numbers."""

MOST_CHANNELS: Final = 4
"""Columns of an observation that are drawn."""

MOST_TIMES: Final = 20_000
"""Times that a figure can show."""


@styled
def state_posteriors(
    hmm: "HMM | HSMM",
    z: ArrayLike,
    *,
    states: ArrayLike | None = None,
    path: bool = False,
    between: tuple[int, int] | None = None,
    observation_labels: Sequence[str] | None = None,
    **look: Unpack[AxesKeywords],
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
    path
        Whether to draw the most probable path below, as `decode` finds it.
    between
        ``(begin, end)``: draw only the times begin <= t < end; all observations are used. None: all times.
    observation_labels
        Names of the symbols, if the observations are symbols.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes
        Probabilities lie between 0 and 1, the observations below 0.

    Raises
    ------
    ParameterError
        If `z` is more than one sequence, `states` or `observation_labels` do not fit, `between` is not
        within the times, or there are more times than a figure can show.
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
    model: Any = hmm
    smoothed: Any = model.smooth(z)
    if isinstance(smoothed, list):
        raise ParameterError("state_posteriors draws one sequence, and z is a list of them: pass one of them")
    filtered: Any = model.filter(z)
    observed: Any = hmm.emission.check(z)
    times = _times(len(smoothed), between)
    truth = None if states is None else _checked_states(states, len(smoothed), hmm.n_states)[times]
    labels = _symbols(hmm, observation_labels)
    columns = np.asarray(observed).reshape(len(smoothed), -1)[times]
    n_rows = len(labels) if labels else TALL * min(columns.shape[1], MOST_CHANNELS)
    decoded = np.asarray(model.decode(z), dtype=np.int64)[times] if path else None
    drawn = [(name, of) for name, of in (("true state", truth), ("best path", decoded)) if of is not None]
    axes = open_axes(look, _size(n_rows + 1.0 + len(drawn) + 0.5 * bool(drawn)))

    labels_of_states = names(hmm.state_labels, hmm.n_states, "state")
    found = draw_areas(axes, times, smoothed[times], labels_of_states, filtered[times])
    rows = Rows(axes)
    for name, of in drawn:
        rows.states(name, of, found, first=float(times[0]))
    if drawn:
        rows.gap()
    said = ["Areas: probability of each state given all observations."]
    said.append("Lines: their borders given only the observations until then.")
    said += _draw_observations(rows, times, columns, np.asarray(hmm.emission.missing(observed))[times], labels)
    label_axes(
        axes, f"{counted(hmm.n_states, 'state')}, {counted(len(smoothed), 'observation')}", "time step", "probability"
    )
    rows.label()
    count_along(axes)
    axes.set_xlim(float(times[0]) - 0.5, float(times[-1]) + 0.5)
    if times.size < len(smoothed):
        said.append(f"Drawn: {times.size:,} of {len(smoothed):,} times.")
    return finish(axes, look, said)


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


def _symbols(hmm: "HMM | HSMM", labels: Sequence[str] | None) -> list[str]:
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
