"""How good an agent is with which values of its parameters."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal, Unpack, cast

import numpy as np

from rlsuite.errors import ParameterError, unknown
from rlsuite.plotting.figure import CURVE_SIZE, AxesKeywords, dress_curves, finish, open_axes, takes_look
from rlsuite.plotting.figure_list import figure_of_results, only_of
from rlsuite.plotting.labels import in_title
from rlsuite.plotting.style import MOST_NAMES, OPTIMUM, REST, Palette, drawn, others
from rlsuite.training.results import Results
from rlsuite.training.statistics import interval_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rlsuite.experiments.rows import Row
    from rlsuite.experiments.sweeping import MeasureName, Sweep

MOST_TICKS: Final = 9
"""Up to so many values are written at the axis; of more, matplotlib chooses."""


@figure_of_results
@only_of(lambda run: bool(run.setting))
@takes_look
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
    from rlsuite.experiments.rows import rows_of, sign_of
    from rlsuite.experiments.sweeping import MEASURES

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
            label = f"{_agent_of(run)}: {name}" if own else _line_of(run, along)
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
    dress_curves(axes, in_title(swept[0].environment), "value of the parameter" if own else along, rows[0].measure)
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
    from rlsuite.experiments.sweeping import Sweep

    given = [results] if isinstance(results, Sweep | Results) else list(results)
    runs = [run for one in given for run in (one.results if isinstance(one, Sweep) else [one])]
    swept = [run for run in runs if run.setting]
    if not swept:
        raise ParameterError(f"{figure} draws a sweep: of rl.sweep(...), or of sweep = {{ ... }} in a TOML file")
    return swept, given[0].measure if measure == "auto" and isinstance(given[0], Sweep) else measure


def _line_of(run: Results, along: str) -> str:
    """The agent, and its values of the other parameters."""
    others = ", ".join(f"{name} {short(value)}" for name, value in run.setting.items() if name != along)
    return f"{_agent_of(run)}, {others}" if others else _agent_of(run)


def _agent_of(run: Results) -> str:
    return run.agent.partition(" (")[0].partition("(")[0]


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
