"""Curves of several agents: a mean over seeds, its confidence band, and thin lines for few seeds."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import (
    CURVE_SIZE,
    INK,
    LABEL_SIZE,
    AxesKeywords,
    dress_curves,
    finish,
    open_axes,
    takes_look,
    write_in_full,
)
from rlsuite.plotting.style import OPTIMUM, Look, Palette
from rlsuite.training.statistics import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CONFIDENCE: Final = 0.95

FEW_SEEDS: Final = 10
"""With fewer seeds than this every seed gets a thin line of its own."""

FEW_POINTS: Final = 40
"""Curves with at most this many points show where they were measured."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity of one agent over time, for all seeds.

    Parameters
    ----------
    label
        Label of the agent.
    x
        (T,) where it was measured.
    samples
        (n_seeds, T) one row per seed.
    """

    label: str
    x: NDArray[np.float64]
    samples: NDArray[np.float64]

    @property
    def n_seeds(self) -> int:
        """Number of seeds."""
        return len(self.samples)


def draw_band(ax: "Axes", curve: Curve, look: Look, marker: str = "") -> None:
    """Draw the mean over seeds as a line, its 95 % interval as a band, and single seeds as thin lines if few.

    One seed alone has no interval and gets no band.

    Parameters
    ----------
    ax
        Where to draw.
    curve
        What to draw.
    look
        Colour and line style of the agent.
    marker
        matplotlib's name of the marker at every measured point; empty for none.
    """
    mean = curve.samples.mean(axis=0)
    if curve.n_seeds > 1:
        _, low, high = mean_interval(curve.samples, CONFIDENCE)
        if len(curve.x) > 1:
            ax.fill_between(curve.x, low, high, color=look.colour, alpha=0.20, linewidth=0)
        else:
            # A band over a single point would have no width.
            ax.vlines(curve.x, low, high, color=look.colour, alpha=0.5, linewidth=3.0)
        if curve.n_seeds < FEW_SEEDS:
            ax.plot(curve.x, curve.samples.T, color=look.colour, alpha=0.35, linewidth=0.7)
    ax.plot(
        curve.x,
        mean,
        label=curve.label,
        color=look.colour,
        linestyle=look.line,
        linewidth=1.8,
        marker=marker,
        markersize=3.5,
    )


def draw_curves(
    ax: "Axes", curves: Sequence[Curve], looks: Palette, look: AxesKeywords, of: str = "seeds"
) -> list[str]:
    """Draw curves with their bands, from 0 on; return the sentences of the caption about them.

    Parameters
    ----------
    ax
        Where to draw.
    curves
        What to draw.
    looks
        Colours and line styles.
    look
        Keywords of the axes: which differences can be seen depends on the limits and the scale.
    of
        What the samples are, in the plural.
    """
    for curve in curves:
        draw_band(ax, curve, looks[curve.label], marker="o" if len(curve.x) <= FEW_POINTS else "")
    right = max(float(curve.x.max()) for curve in curves)
    if right > 0.0 <= min(float(curve.x.min()) for curve in curves):
        ax.set_xlim(0.0, 1.01 * right)
    every = np.concatenate([curve.samples.ravel() for curve in curves])
    low, high = float(every.min()), float(every.max())
    said = sentences(curves, of)
    if high - low > NOTHING * max(abs(low), abs(high)):
        return said + _identical(curves, look)
    middle, room = (low + high) / 2.0, max(abs(high), 1.0) / 2.0
    ax.set_ylim(middle - room, middle + room)
    ends = f"{low:.6g}", f"{high:.6g}"
    words = f"all {ends[1]}" if ends[0] == ends[1] else f"all between {ends[0]} and {ends[1]}"
    ax.text(0.5, 0.6, words, transform=ax.transAxes, ha="center", fontsize=LABEL_SIZE, color=INK)
    return [*said, f"No differences to see: {words}."]


NOTHING: Final = 1e-5
"""A range below this fraction of the largest number holds nothing to see."""

CLOSE: Final = 4e-3
"""Lines are told apart if they are farther apart than this fraction of the height of the axes."""


def _identical(curves: Sequence[Curve], look: AxesKeywords) -> list[str]:
    """A sentence for each group of lines that hide each other, from the beginning or for the last half at least."""
    said: list[str] = []
    heights = [curve.samples.mean(axis=0) for curve in curves]
    if look.get("yscale") == "log":
        heights = [np.log(np.maximum(height, np.finfo(float).tiny)) for height in heights]
    low, high = (float(end(np.concatenate(heights))) for end in (np.min, np.max))
    if look.get("yscale") != "log":
        below, above = look.get("ylim") or (None, None)
        low, high = low if below is None else below, high if above is None else above
    close = CLOSE * abs(high - low)
    left = [Curve(curve.label, curve.x, height[np.newaxis]) for curve, height in zip(curves, heights, strict=True)]
    while left:
        first = left.pop(0)
        begins = [_alike_from(first, other, close) for other in left]
        group = [(other.label, begin) for other, begin in zip(left, begins, strict=True) if begin is not None]
        left = [other for other, begin in zip(left, begins, strict=True) if begin is None]
        if group:
            begin = max(begin for _, begin in group)
            since = f" from {first.x[begin]:,g} on" if begin else ""
            said.append(f"Identical{since}: {', '.join([first.label, *(label for label, _ in group)])}.")
    return said


def _alike_from(one: Curve, other: Curve, close: float) -> int | None:
    """Return from which point on two lines cannot be told apart; None if it is later than the middle."""
    if not np.array_equal(one.x, other.x):
        return None
    apart = np.flatnonzero(np.abs(one.samples[0] - other.samples[0]) > close)
    begin = int(apart[-1]) + 1 if apart.size else 0
    return begin if begin <= one.x.size // 2 and begin < one.x.size else None


FAR: Final = 3.0
"""Points are far from the others if they are farther away than this many times the size of the largest of these."""


def leave_out_far_points(ax: "Axes", curves: Sequence[Curve]) -> list[str]:
    """Limit the y axis to most points of the lines if a few are far away; return a sentence about these.

    They are far from the middle nine tenths by more than `FAR` times the size of these: the first returns of an agent
    that falls from a cliff for an hour, not those of one that learns to reach a goal.
    """
    means = np.concatenate([curve.samples.mean(axis=0) for curve in curves])
    low, high = (float(end) for end in np.quantile(means, [0.05, 0.95]))
    size = max(abs(low), abs(high))
    room = 0.5 * (high - low) + 0.05 * size
    below, above = low - means.min() > FAR * size, means.max() - high > FAR * size
    if not (below or above) or size == 0.0:
        return []
    ax.set_ylim((low if below else means.min()) - room, (high if above else means.max()) + room)
    said = [f"{_points(means < low - room)} below, the lowest {means.min():,.4g}"] if below else []
    if above:
        said.append(f"{_points(means > high + room)} above, the highest {means.max():,.4g}")
    return [f"Outside: {'; '.join(said)}."]


def _points(outside: NDArray[np.bool_]) -> str:
    return f"{outside.sum():,} point{'s' if outside.sum() > 1 else ''}"


@takes_look
def mean_curves(
    samples: Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike]],
    *,
    x: ArrayLike | None = None,
    of: str = "runs",
    references: Mapping[str, float] | None = None,
    notes: Sequence[str] = (),
    palette: Palette | None = None,
    **look: Unpack[AxesKeywords],
) -> "Axes":
    """Mean and 95 % band of numbers of your own, over runs, in the style of the other figures.

    Parameters
    ----------
    samples
        By label: (n, T) numbers, a row for each run; or (T,) numbers of one run. Or a pair of (T,) positions along x
        and such numbers.
    x
        (T,) positions along x of those that have none of their own; None: 1 to T.
    of
        What the rows are, in the plural, for the caption.
    references
        Heights of dashed lines, by label: an optimum, a known bound.
    notes
        Further sentences for the caption, such as the unit.
    palette
        Looks of all labels; None: a palette of these alone.
    **look
        Axes, title, labels, limits and scales: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If there are no samples, a shape does not fit, or a number is not finite.

    Examples
    --------
    >>> from rlsuite.plotting import mean_curves
    >>> ax = mean_curves({"mine": [[1.0, 2.0], [3.0, 4.0]]}, references={"optimum": 5.0}, title="A study", xlabel="day")
    >>> [line.get_label() for line in ax.get_lines()][2:], ax.get_lines()[2].get_ydata().tolist()
    (['mine', 'optimum'], [2.0, 3.0])
    """
    if not isinstance(cast("object", samples), Mapping) or not samples:
        raise ParameterError("mean_curves draws a dict {label: numbers}, of a row for each run")
    curves = [_curve(label, given, x) for label, given in samples.items()]
    ax = open_axes(look, CURVE_SIZE)
    said = [*draw_curves(ax, curves, palette or Palette(samples), look, of), *notes]
    _draw_references(ax, references or {})
    dress_curves(ax, "", "", "")
    write_in_full(ax.xaxis)
    write_in_full(ax.yaxis)
    return finish(ax, look, said)


@takes_look
def style_axes(notes: Sequence[str] = (), **look: Unpack[AxesKeywords]) -> "Axes":
    """Give axes on which you drew yourself the style of these figures: a legend above, a caption below.

    Parameters
    ----------
    notes
        Sentences for the caption: of how many runs, which interval, which unit.
    **look
        Axes, by default pyplot's current ones, title, labels, limits and scales: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from matplotlib import pyplot as plt
    >>> from rlsuite.plotting import style_axes
    >>> _ = plt.plot([1, 3, 2], label="mine")
    >>> ax = style_axes(["One run."], title="A study", xlabel="days")
    >>> ax.get_title(loc="left"), ax.get_legend().get_texts()[0].get_text()
    ('A study', 'mine')
    """
    from matplotlib import pyplot

    ax = look.get("ax") or pyplot.gca()
    dress_curves(ax, ax.get_title(loc="left") or ax.get_title(), ax.get_xlabel(), ax.get_ylabel())
    return finish(ax, {**look, "ax": ax}, list(notes))


def _curve(label: str, given: ArrayLike | tuple[ArrayLike, ArrayLike], x: ArrayLike | None) -> Curve:
    own, numbers = cast("tuple[ArrayLike, ArrayLike]", given) if isinstance(given, tuple) else (x, given)
    table = np.atleast_2d(np.asarray(numbers, dtype=np.float64))
    along = np.arange(1.0, table.shape[-1] + 1) if own is None else np.asarray(own, dtype=np.float64)
    if table.ndim != 2 or along.shape != table.shape[1:] or not table.size:
        raise ParameterError(
            f"samples[{label!r}] has shape {np.shape(numbers)} and x {along.shape}: needed (n, T), a row for each run, "
            "and (T,)"
        )
    if not (np.isfinite(table).all() and np.isfinite(along).all()):
        raise ParameterError(f"samples[{label!r}] and its x must be finite numbers")
    return Curve(label, along, table)


def _draw_references(ax: "Axes", heights: Mapping[str, float]) -> None:
    """Draw dashed lines at some heights, by label."""
    for number, (label, height) in enumerate(heights.items()):
        line = OPTIMUM.line if number == 0 else (0.0, (1.0, 1.0 + number))
        ax.axhline(height, label=label, color=OPTIMUM.colour, linestyle=line, linewidth=1.4, zorder=1.5)


def sentences(curves: Sequence[Curve], of: str = "seeds") -> list[str]:
    """Sentences for the caption about the lines and bands of these curves."""
    counts = {curve.label: curve.n_seeds for curve in curves}
    several = sorted(set(counts.values()))
    if several == [1]:
        return ["One seed: no interval." if of == "seeds" else f"n = 1: no interval over {of}."]
    if len(several) == 1:
        said = [f"Lines: mean over n = {several[0]:,} {of}."]
    else:
        said = [f"Lines: mean over {of} (" + ", ".join(f"{label}: n = {n:,}" for label, n in counts.items()) + ")."]
    said.append(f"Bands: {CONFIDENCE:.0%} confidence interval of the mean (Student t over {of}).")
    if any(1 < n < FEW_SEEDS for n in several):
        said.append(f"Thin lines: single {of}.")
    return said
