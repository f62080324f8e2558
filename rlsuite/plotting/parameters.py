"""How good an agent is with which values of its parameters: lines over one of them, a map of two."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal, Unpack, cast

import numpy as np

from rlsuite.errors import ParameterError, unknown
from rlsuite.experiments.rows import Row, rows_of, sign_of
from rlsuite.experiments.sweeping import MEASURES, MeasureName, Sweep
from rlsuite.models.aliases import FloatArray
from rlsuite.plotting.colour_scale import colour_scale, draw_bar, is_constant
from rlsuite.plotting.figure import (
    CURVE_SIZE,
    AxesKeywords,
    ColourKeywords,
    finish,
    label_axes,
    open_axes,
    styled,
    write_text,
)
from rlsuite.plotting.figure_list import figure_of
from rlsuite.plotting.labels import in_title
from rlsuite.plotting.style import MOST_NAMES, OPTIMUM, REST, Palette, drawn, others
from rlsuite.rendering.colours import hexadecimals, inks_on
from rlsuite.training.results import Results
from rlsuite.training.statistics import interval_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable


MOST_TICKS: Final = 9
"""Up to so many values are written at the axis; of more, matplotlib chooses."""


@figure_of("results", has=lambda run: bool(run.setting))
@styled
def parameter_study(
    results: "Sweep | Sequence[Results] | Sequence[Sweep]",
    *,
    parameter: str | None = None,
    measure: Literal["auto", "value", "return", "episode", "reward"] = "auto",
    palette: Palette | None = None,
    **look: Unpack[AxesKeywords],
) -> "Axes":
    """Performance against the value of a parameter, a line for each agent and each setting of the other parameters.

    S&B2 Fig. 2.6 is such a figure, in which every agent has a parameter of its own.

    Parameters
    ----------
    results : Sweep, sequence of Sweep, or sequence of Results
        What `rlsuite.sweep` returned, of one environment; or the results of an experiment with ``sweep`` in its file.
    parameter : str, optional
        What the x axis shows; by default the parameter with the most values, or that of each agent where every agent
        has one of its own.
    measure : {"auto", "value", "return", "episode", "reward"}
        What the y axis shows, as for `rlsuite.sweep`; that of a sweep by default.
    palette
        Not used: a line is an agent with a setting, and has a look of its own.
    **look
        Axes, title and limits: the keywords of `AxesKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If there is no sweep among the results, no such parameter, or a value of it is not a number.
    """
    swept, measure = swept_runs(results, measure, "parameter_study")
    values: dict[str, set[object]] = {}
    for run in swept:
        for name, value in run.setting.items():
            values.setdefault(name, set()).add(value)
    own = parameter is None and len(values) > 1 and all(len(run.setting) == 1 for run in swept)
    along = parameter or max(values, key=lambda name: len(values[name]))
    if along not in values:
        raise ParameterError(unknown("parameter of this sweep", along, values))
    rows = rows_of({run.environment: swept for run in swept}, MEASURES.get(measure))
    lines: dict[str, list[tuple[float, Row]]] = {}
    for run, row in zip(swept, rows, strict=True):
        name = next(iter(run.setting)) if own else along
        if name in run.setting:
            label = f"{_agent(run)}: {name}" if own else _line_of(run, along)
            lines.setdefault(label, []).append((_number(name, run.setting[name]), row))
    sign = sign_of(rows[0].measure)
    ordered = sorted(lines, key=lambda label: -max(sign * row.mean for _, row in lines[label]))
    named = ordered[: MOST_NAMES - 1]  # and the optimum
    looks = Palette(named)
    axes = open_axes(look, CURVE_SIZE)
    for label, points in lines.items():
        points.sort(key=lambda point: point[0])
        x = [value for value, _ in points]
        if label not in named:
            axes.plot(x, [row.mean for _, row in points], color=REST, linewidth=0.8, zorder=1)
            continue
        if all(row.low is not None for _, row in points):
            low, high = ([cast("float", getattr(row, end)) for _, row in points] for end in ("low", "high"))
            axes.fill_between(x, low, high, color=looks[label].colour, alpha=0.20, linewidth=0)
        means = [row.mean for _, row in points]
        axes.plot(x, means, label=label, marker="o", markersize=3.5, **drawn(looks[label], 1.5))
    known = {row.optimum for row in rows if row.optimum is not None}
    if len(known) == 1:
        axes.axhline(known.pop(), label="optimum", **drawn(OPTIMUM))
    ticks = sorted({value for points in lines.values() for value, _ in points})
    if look.get("xscale") is None and _is_logarithmic(ticks):
        axes.set_xscale("log")
    if len(ticks) <= MOST_TICKS and look.get("xscale") is None:
        axes.set_xticks(ticks, [f"{value:.3g}" for value in ticks])
        axes.set_xticks([], minor=True)
    label_axes(axes, in_title(swept[0].environment), "value of the parameter" if own else along, rows[0].measure)
    seeds = sorted({row.seeds for row in rows})
    interval = f", 95 % interval: {interval_method(seeds[0])}" if seeds[0] > 1 else ""
    return finish(
        axes, look, [f"Mean over {' or '.join(map(str, seeds))} seeds{interval}.", *others(len(named), len(lines))]
    )


def swept_runs(
    results: "Sweep | Sequence[Results] | Sequence[Sweep]", measure: "MeasureName", figure: str
) -> "tuple[list[Results], MeasureName]":
    """The results of all settings, and what they are to be compared by.

    Raises
    ------
    ParameterError
        If there are none.
    """
    given = [results] if isinstance(results, Sweep | Results) else list(results)
    runs = [run for one in given for run in (one.results if isinstance(one, Sweep) else [one])]
    swept = [run for run in runs if run.setting]
    if not swept:
        raise ParameterError(f"{figure} draws a sweep: of rl.sweep(...), or of sweep = {{ ... }} in a TOML file")
    return swept, given[0].measure if measure == "auto" and isinstance(given[0], Sweep) else measure


def _line_of(run: Results, along: str) -> str:
    """The agent, and its values of the other parameters."""
    others = ", ".join(f"{name} {short(value)}" for name, value in run.setting.items() if name != along)
    return f"{_agent(run)}, {others}" if others else _agent(run)


def _agent(run: Results) -> str:
    return run.agent.partition("(")[0].strip()


def short(value: object) -> str:
    """A value as a few letters."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{name} has the value {value!r}, which is not a number: name another parameter=")
    return float(value)


def _is_logarithmic(ordered: Sequence[float]) -> bool:
    """Whether values spread over at least a decade, and lie more evenly by their ratios than by their differences."""
    if len(ordered) < 3 or ordered[0] <= 0.0 or ordered[-1] < 10.0 * ordered[0]:
        return False
    differences, ratios = np.diff(ordered), np.diff(np.log(ordered))
    return float(ratios.max() / ratios.min()) < float(differences.max() / differences.min())


MOST_NUMBERS: Final = 120
"""Up to so many cells have their numbers written in them."""

MOST_MAP_TICKS: Final = 12


@figure_of("results", has=lambda run: len(run.setting) > 1)
@styled
def parameter_map(
    results: "Sweep | Sequence[Results]",
    *,
    parameters: tuple[str, str] | None = None,
    at: Mapping[str, object] | None = None,
    measure: Literal["auto", "value", "return", "episode", "reward"] = "auto",
    palette: Palette | None = None,
    **look: Unpack[ColourKeywords],
) -> "Axes":
    """Performance over the values of two parameters; the best setting has a frame.

    Parameters
    ----------
    results : Sweep, or sequence of Results
        What `rlsuite.sweep` returned; or the results of an experiment with ``sweep`` in its file, of which the agent
        with the best setting is drawn.
    parameters : (str, str), optional
        What the x and the y axis show; by default the two parameters with the most values.
    at : mapping, optional
        Values of the other parameters, where there are more than two: a map shows one slice. By default those of the
        best setting.
    measure : {"auto", "value", "return", "episode", "reward"}
        What the colours show, as for `rlsuite.sweep`; that of a sweep by default.
    palette
        Not used: colours are those of numbers.
    **look
        Axes, title and colours: the keywords of `ColourKeywords`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If no result is of a sweep of two parameters, a parameter is unknown, or `at` names no setting of the sweep.
    """
    from matplotlib.patches import Rectangle

    swept, measure = swept_runs(results, measure, "parameter_map")
    best = Sweep(swept, measure).best
    sweep = Sweep([run for run in swept if _agent(run) == _agent(best)], measure)
    values = {one: _ordered([run.setting.get(one) for run in sweep.results]) for one in sweep.parameters}
    if len(values) < 2:
        raise ParameterError("parameter_map draws two parameters, and one is swept: parameter_study draws it")
    x, y = parameters or sorted(values, key=lambda one: -len(values[one]))[:2]
    for one in (x, y, *(at or ())):
        if one not in values:
            raise ParameterError(unknown("parameter of this sweep", one, values))
    fixed = {one: best.setting.get(one) for one in values if one not in (x, y)} | dict(at or {})
    shown = [(run, row) for run, row in zip(sweep.results, sweep.rows, strict=True) if _is_in(run, fixed)]
    slice_ = ", ".join(f"{one} {short(value)}" for one, value in fixed.items())
    if not shown:
        raise ParameterError(f"no setting of this sweep has {slice_}")
    means = np.full((len(values[y]), len(values[x])), np.nan)
    for run, row in shown:
        means[values[y].index(run.setting.get(y)), values[x].index(run.setting.get(x))] = row.mean
    n_rows, n_columns = means.shape
    wide, high = (min(6.0, max(least, side * n)) for least, side, n in ((2.2, 0.55, n_columns), (1.0, 0.4, n_rows)))
    every_mean = np.array([row.mean for row in sweep.rows])  # all slices have the same colours
    axes, scale = open_axes(look, (wide, high)), colour_scale(every_mean, look)
    axes.pcolormesh(means, cmap=scale.cmap, norm=cast("Any", scale.norm), edgecolors="white", linewidth=0.5)
    first, _ = max(shown, key=lambda pair: sign_of(pair[1].measure) * pair[1].mean)
    corner = values[x].index(first.setting.get(x)), values[y].index(first.setting.get(y))
    look_of_frame: Any = {"fill": False, "edgecolor": "#d55e00", "linewidth": 2.0, "zorder": 3, "clip_on": False}
    axes.add_patch(Rectangle(corner, 1.0, 1.0, **look_of_frame))
    if means.size <= MOST_NUMBERS:
        _write_numbers(axes, means, scale)
    label_axes(axes, in_title(best.environment, _agent(best)), x, y)
    axes.grid(visible=False)
    for axis, given in ((axes.xaxis, values[x]), (axes.yaxis, values[y])):
        every = -(-len(given) // MOST_MAP_TICKS)
        axis.set_ticks([place + 0.5 for place in range(0, len(given), every)], [short(one) for one in given[::every]])
    axes.set_xlim(0.0, len(values[x]))
    axes.tick_params(length=0.0)
    if not is_constant(every_mean, look):
        draw_bar(axes, scale)
    quantity = shown[0][1].measure
    seeds = " or ".join(map(str, sorted({row.seeds for _, row in shown})))
    where = f" at {slice_}" if slice_ else ""
    said = f"Colour: {quantity}, mean over {seeds} seeds{where}."
    return finish(axes, look, [said, "Frame: the best setting here."])


def slices(sweep: "Sweep") -> list[dict[str, object]]:
    """What `parameter_map` takes as ``at``, one for each of its maps: values of all parameters but the first two.

    One empty slice where two parameters are swept; none where one is.
    """
    if len(sweep.parameters) < 2:
        return []
    values = {one: _ordered([run.setting.get(one) for run in sweep.results]) for one in sweep.parameters}
    _, _, *others = sorted(values, key=lambda one: -len(values[one]))
    return [dict(zip(others, one, strict=True)) for one in product(*(values[name] for name in others))]


def _is_in(run: Results, fixed: Mapping[str, object]) -> bool:
    return all(run.setting.get(one) == value for one, value in fixed.items())


def _write_numbers(axes: "Axes", means: FloatArray, scale: "ScalarMappable") -> None:
    shades = scale.to_rgba(np.ma.masked_invalid(means).ravel(), bytes=True)[:, :3]
    inks = hexadecimals(inks_on(shades))
    for ((row, column), mean), ink in zip(np.ndenumerate(means), inks, strict=True):
        if np.isfinite(mean):
            write_text(axes, column + 0.5, row + 0.5, f"{mean:.3g}", 7, color=ink)


def _ordered(values: Sequence[object]) -> list[Any]:
    """Each once: numbers by size, anything else as the sweep has it."""
    once: list[Any] = list(dict.fromkeys(values))
    return sorted(once) if all(isinstance(value, int | float) for value in once) else once
