"""Curves of several agents: a mean over seeds, its confidence band, and thin lines for few seeds."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import one_of
from rlsuite.errors import ParameterError
from rlsuite.plotting.figure import (
    CURVE_SIZE,
    LABEL_SIZE,
    LEGEND_ROW,
    TICK_SIZE,
    AxesKeywords,
    CurveKeywords,
    finish,
    label_axes,
    open_axes,
    styled,
    write_text,
)
from rlsuite.plotting.labels import counted
from rlsuite.plotting.style import OPTIMUM, REST, Look, Palette, drawn, others, unnamed
from rlsuite.training.results import UNKNOWN, Bounds
from rlsuite.training.statistics import interval_method, pointwise_band, simultaneous_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CONFIDENCE: Final = 0.95

BANDS: Final = ("pointwise", "simultaneous")

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
    bounds
        What the mean can be neither below nor above.
    """

    label: str
    x: NDArray[np.float64]
    samples: NDArray[np.float64]
    bounds: Bounds = UNKNOWN

    @property
    def n_seeds(self) -> int:
        """Number of seeds."""
        return len(self.samples)


def draw_band(
    ax: "Axes", curve: Curve, look: Look, marker: str = "", *, simultaneous: bool = False, to: Curve | None = None
) -> None:
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
    simultaneous
        Whether the band covers the whole curve of the true mean with its confidence, not each point.
    to
        Another curve, of the same seeds and times: the band is the interval of the mean difference to it, around the
        line. None: that of the mean.
    """
    mean = curve.samples.mean(axis=0)
    beside = unnamed(curve.label)
    if curve.n_seeds > 1:
        common = 0.0 if to is None else to.samples - to.samples.mean(axis=0)
        band = simultaneous_band if simultaneous else pointwise_band
        _, low, high = band(curve.samples - common, bounds=curve.bounds)
        if len(curve.x) > 1:
            ax.fill_between(curve.x, low, high, color=look.colour, alpha=0.20, linewidth=0, label=beside)
        else:
            # A band over a single point would have no width.
            ax.vlines(curve.x, low, high, color=look.colour, alpha=0.5, linewidth=3.0, label=beside)
        if curve.n_seeds < FEW_SEEDS:
            ax.plot(curve.x, curve.samples.T, color=look.colour, alpha=0.35, linewidth=0.7, label=beside)
    ax.plot(curve.x, mean, label=curve.label, marker=marker, markersize=3.5, **drawn(look, 1.8))


def draw_curves(
    ax: "Axes",
    curves: Sequence[Curve],
    look: CurveKeywords,
    of: str = "seeds",
    references: Mapping[str, tuple[float, Look]] | None = None,
    rest: Sequence[Curve] = (),
    to: Curve | None = None,
    grows: bool = False,
) -> list[str]:
    """Draw curves with their bands, from 0 on, without a few far points; return what the caption says of them.

    Parameters
    ----------
    ax
        Where to draw.
    curves
        What to draw.
    look
        Keywords of the axes and the palette: which differences can be seen depends on the limits and the scale.
    of
        What the samples are, in the plural.
    references
        Heights and looks of level lines, by label; of what `grows`, heights at the time 1.
    rest
        Curves whose means are grey lines without a name.
    to
        Which of the curves the others are compared with, as in `draw_band`.
    """
    simultaneous = one_of("band", look.get("band") or BANDS[0], BANDS) == BANDS[1]
    for curve in rest:
        ax.plot(curve.x, curve.samples.mean(axis=0), color=REST, linewidth=0.8, zorder=1, label=unnamed(curve.label))
    looks = look.get("palette") or Palette(curve.label for curve in curves)
    for curve in curves:
        marker = "o" if len(curve.x) <= FEW_POINTS else ""
        draw_band(ax, curve, looks[curve.label], marker, simultaneous=simultaneous, to=to)
    time = max((curve.x for curve in curves), key=np.max)
    right = float(time.max())
    heights: list[float] = []
    for label, (height, its_look) in (references or {}).items():
        if grows:
            ax.plot(time, height * time, label=label, **drawn(its_look))
        else:
            ax.axhline(height, label=label, **drawn(its_look))
        heights.append(height * right if grows else height)
    if right > 0.0 <= min(float(curve.x.min()) for curve in curves):
        ax.set_xlim(0.0, 1.01 * right)
    asked = {name: look.get(name) for name in ("xscale", "yscale", "xlim", "ylim")}
    ax.set(**{name: value for name, value in asked.items() if value is not None})
    every = np.concatenate([curve.samples.ravel() for curve in curves])
    low, high = float(every.min()), float(every.max())
    said = [*sentences(curves, of, simultaneous, to), *others(len(curves), len(curves) + len(rest))]
    if high - low > NOTHING * max(abs(low), abs(high)):
        lines = {curve.label: (curve.x, curve.samples.mean(axis=0)) for curve in curves}
        if look.get("ylim") is None and ax.get_yscale() == "linear":
            _leave_out_far_points(ax, list(lines.values()), heights)
        return said + identical(ax, lines) + _outside(ax, list(lines.values()))
    middle, margin = (low + high) / 2.0, max(abs(high), 1.0) / 2.0
    ax.set_ylim(middle - margin, middle + margin)
    ends = f"{low:.6g}", f"{high:.6g}"
    words = f"all {ends[1]}" if ends[0] == ends[1] else f"all between {ends[0]} and {ends[1]}"
    write_text(ax, 0.5, 0.6, words, LABEL_SIZE, transform=ax.transAxes, va="baseline")
    return [*said, f"No differences to see: {words}."]


def label_ends(ax: "Axes") -> None:
    """Write the name of each line beside its right end, in its colour; one above another where they would overlap."""
    lines: list[Any] = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    lines.sort(key=lambda line: line.get_ydata()[-1])
    ends = ax.transData.transform([(line.get_xdata()[-1], line.get_ydata()[-1]) for line in lines])
    heights = ax.transAxes.inverted().transform(ends)[:, 1].clip(0.0, 1.0)
    steps = np.arange(len(lines)) * LEGEND_ROW / 72.0 * cast("Any", ax.figure).dpi / ax.bbox.height
    heights = np.maximum.accumulate(heights - steps) + steps
    for line, height in zip(lines, heights - max(0.0, heights[-1] - 1.0), strict=True):
        look = {"ha": "left", "color": line.get_color(), "label": unnamed(line.get_label())}
        write_text(ax, 1.01, height, line.get_label(), TICK_SIZE, transform=ax.transAxes, **look)


NOTHING: Final = 1e-5
"""A range below this fraction of the largest number holds nothing to see."""

CLOSE: Final = 0.9
"""Lines are told apart if they are farther apart than this in points, half of their width."""

Line = tuple[NDArray[np.float64], NDArray[np.float64]]
"""(T,) positions along x, and the heights there."""


def identical(ax: "Axes", lines: Mapping[str, Line]) -> list[str]:
    """A sentence for each group of drawn lines that hide each other, all along or in the last half at least.

    Parameters
    ----------
    ax
        Where they are drawn, with its limits and scales.
    lines
        By label.
    """
    said: list[str] = []
    drawn = {label: _on_the_page(ax, line) for label, line in lines.items()}
    left = list(drawn)
    while left:
        label = left.pop(0)
        first = drawn[label]
        begins = [(other, _alike_from(first, drawn[other])) for other in left]
        group = {other: begin for other, begin in begins if begin is not None}
        left = [other for other in left if other not in group]
        if group:
            begin = max(group.values())
            known = np.sort(lines[label][0])
            since = f" from {known[np.searchsorted(first[0], begin - 1e-6)]:,g} on" if begin > first[0][0] else ""
            said.append(f"Identical{since}: {', '.join([label, *group])}.")
    return said


def _on_the_page(ax: "Axes", line: Line) -> Line:
    """Return a line in points, from left to right, cut off at the lower and the upper end of the axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    order = np.argsort(line[0], kind="stable")
    limits = ax.get_ylim()  # after it, the transformation knows the limits that matplotlib chooses
    heights = np.clip(line[1][order], min(limits), max(limits))
    x, y = 72.0 / figure.dpi * ax.transData.transform(np.column_stack([line[0][order], heights])).T
    return x, y


def _alike_from(one: Line, other: Line) -> float | None:
    """Return from where on two lines on the page cannot be told apart; None if it is later than their middle."""
    begin, end = max(one[0][0], other[0][0]), min(one[0][-1], other[0][-1])
    first, last = min(one[0][0], other[0][0]), max(one[0][-1], other[0][-1])
    if end - begin < (last - first) / 2:
        return None
    every = np.union1d(one[0], other[0])
    x = every[(every >= begin) & (every <= end)]
    apart = np.flatnonzero(np.abs(np.interp(x, *one) - np.interp(x, *other)) > CLOSE)
    if not apart.size:
        return float(begin)
    alike = x[apart[-1] + 1 :]
    return float(alike[0]) if alike.size and alike[0] <= (first + last) / 2 else None


FAR: Final = 3.0
"""Points are far from the others if they are farther away than this many times the size of the largest of these."""


def _leave_out_far_points(ax: "Axes", lines: Sequence[Line], references: Sequence[float]) -> None:
    """Limit the y axis to references and most points of the lines if a few points are far away.

    A few are a tenth of each line, one at least. They are far from the others by more than `FAR` times the size of
    these: the first returns of an agent that falls from a cliff for an hour, not those of one that learns to reach a
    goal.
    """
    means = np.sort(np.concatenate([heights for _, heights in lines]))
    few = sum(max(1, len(heights) // 10) for _, heights in lines if len(heights) >= 5)
    lowest, low, high, highest = (float(means[i]) for i in (0, few, -1 - few, -1))
    size = max(abs(low), abs(high))
    margin = 0.5 * (high - low) + 0.05 * size
    below, above = low - lowest > FAR * size > 0.0, highest - high > FAR * size > 0.0
    if below or above:
        shown = [low if below else lowest, high if above else highest, *references]
        ax.set_ylim(min(shown) - margin, max(shown) + margin)


def _outside(ax: "Axes", lines: Sequence[Line]) -> list[str]:
    """A sentence about the points of lines below and above the limits of the y axis."""
    x, heights = (np.concatenate(parts) for parts in zip(*lines, strict=True))
    (left, right), (low, high) = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    seen = heights[(left <= x) & (x <= right)]
    below, above = seen[seen < low], seen[seen > high]
    said = [f"{counted(below.size, 'point')} below, the lowest {below.min():,.4g}"] if below.size else []
    said += [f"{counted(above.size, 'point')} above, the highest {above.max():,.4g}"] if above.size else []
    return [f"Outside: {'; '.join(said)}."] if said else []


@styled
def mean_curves(
    samples: Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike]],
    *,
    x: ArrayLike | None = None,
    of: str = "runs",
    references: Mapping[str, float] | None = None,
    notes: Sequence[str] = (),
    **look: Unpack[CurveKeywords],
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
        What the rows are, in the plural, for the caption; empty where numbers are exact rather than a sample.
    references
        Heights of dashed lines, by label: an optimum, a known bound.
    notes
        Further sentences for the caption, such as the unit.
    **look
        Axes, title, labels, limits, scales, band and palette: the keywords of `CurveKeywords`.

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
    level = {
        label: (height, OPTIMUM._replace(line=(0.0, (1.0, 1.0 + number))) if number else OPTIMUM)
        for number, (label, height) in enumerate((references or {}).items())
    }
    said = [*draw_curves(ax, curves, look, of, level), *notes]
    label_axes(ax, "", "", "")
    return finish(ax, look, said)


@styled
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
    label_axes(ax, ax.get_title(loc="left") or ax.get_title(), ax.get_xlabel(), ax.get_ylabel())
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


def sentences(
    curves: Sequence[Curve], of: str = "seeds", simultaneous: bool = False, to: Curve | None = None
) -> list[str]:
    """Sentences for the caption about the lines and bands of these curves."""
    counts = {curve.label: curve.n_seeds for curve in curves}
    several = sorted(set(counts.values()))
    if several == [1]:
        return [f"n = 1: no interval over {of}."] if of else []
    if len(several) == 1:
        said = [f"Lines: mean over n = {several[0]:,} {of}."]
    else:
        said = [f"Lines: mean over {of} (" + ", ".join(f"{label}: n = {n:,}" for label, n in counts.items()) + ")."]
    methods = " or ".join(dict.fromkeys(interval_method(n) for n in several if n > 1))
    mean = "mean" if to is None else f"difference to {to.label} in the same seed, around each line"
    if simultaneous:
        said.append(f"Bands: the whole curve of the true {mean} with {CONFIDENCE:.0%} confidence (over {of}).")
    else:
        said.append(f"Bands: {CONFIDENCE:.0%} confidence interval of the {mean} ({methods}, over {of}).")
    if any(1 < n < FEW_SEEDS for n in several):
        said.append(f"Thin lines: single {of}.")
    return said
