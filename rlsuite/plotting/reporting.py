"""A report of an experiment: one HTML file that needs no network, with tables that sort and lines that switch off."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import json
import os
import warnings
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from rlsuite.core.files import replacing
from rlsuite.errors import MissingPackage, ParameterError, RlsuiteWarning
from rlsuite.experiments import compare, load_results
from rlsuite.experiments.folder import read_run
from rlsuite.experiments.rows import Row, brackets, rows_of, sign_of
from rlsuite.plotting.figure import for_a_file, svg_of
from rlsuite.plotting.figure_list import figures, figures_of
from rlsuite.plotting.learned_maps import learned_maps
from rlsuite.plotting.style import Palette
from rlsuite.training.failures import failure_table
from rlsuite.training.results import Results
from rlsuite.training.statistics import interval_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADINGS: Final = ("agent", "seeds", "mean", "interval", "optimum", "undiscounted return", "regret", "reach an end")

MOST_LINES: Final = 12
"""Agents of which curves are drawn, the best ones; the table has all."""

MOST_SENTENCES: Final = 6
"""Sentences about one environment; those of all pairs are those of `rlsuite.compare`."""


def write_report(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """Write a report of what an experiment has learned, also of an unfinished one.

    Parameters
    ----------
    folder : str or path
        Folder that `Experiment.run` or ``rlsuite run`` has written.
    path : str or path
        The HTML file. It holds its figures, and loads nothing.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the file's suffix is not .html.
    FileError
        If the folder holds no results, or the file cannot be written.
    MissingPackage
        If Jinja2 is not installed.
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"a report is an HTML file: {target.name} must end with .html")
    run = read_run(Path(folder))
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise MissingPackage("reports need Jinja2, which is not installed: pip install 'rlsuite[report]'") from error
    results = load_results(folder)
    config: dict[str, Any] = run["config"]
    # Pairs of a sweep are too many, and its settings were not chosen to be compared with each other.
    compared = compare({label: runs for label, runs in results.items() if len(runs) <= MOST_LINES})
    palette = Palette(one.agent for runs in results.values() for one in runs)
    failures = tuple(failure for runs in results.values() for one in runs for failure in one.failures)
    text = files("rlsuite.plotting").joinpath("report.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(text)
    unit = "steps" if config.get("steps") else "episodes"
    page = template.render(
        name=config["name"],
        agents=config["agents"],
        seeds=len(config["seeds"]),
        length=f"{config[unit]:,} {unit}",
        headings=HEADINGS,
        environments=[
            {
                "sentences": compared.sentences(label)[:MOST_SENTENCES] if label in compared.results else [],
                **_environment(number, label, runs, palette, config),
            }
            for number, (label, runs) in enumerate(results.items())
        ],
        failures=failure_table(failures) if failures else "",
        command=run.get("command", "rlsuite run FILE.toml"),
        versions=", ".join(f"{name} {version}" for name, version in run.get("versions", {}).items()),
        config=json.dumps(config, indent=1),
    )
    with replacing(target) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return target


def _environment(
    number: int, label: str, runs: Sequence[Results], palette: Palette, config: dict[str, Any]
) -> dict[str, object]:
    """What the page says of one environment."""
    rows = rows_of({label: runs})
    rows.sort(key=lambda row: -sign_of(row.measure) * row.mean)
    shown = [row.agent for row in rows[:MOST_LINES]]
    best = sorted((run for run in runs if run.agent in shown), key=lambda run: shown.index(run.agent))
    drawn, left_out = _figures(number, best, palette, config.get("figures") or ())
    maps = _maps(number, config, best[0])
    if len(rows) > MOST_LINES:
        left_out.append(f"curves of {len(rows) - MOST_LINES} agents that are worse")
    seeds = min(row.seeds for row in rows)
    interval = f"; 95 % interval: {interval_method(seeds)}" if seeds > 1 else ""
    return {
        "label": label,
        "caption": f"{rows[0].measure}, mean over the seeds{interval}",
        "rows": [_cells(row) for row in rows],
        "switches": [
            {"line": f"line-{number}-{index}", "label": agent, "colour": palette[agent].colour}
            for index, agent in enumerate(shown)
        ],
        "figures": drawn,
        "maps": maps,
        "left_out": left_out,
    }


def _cells(row: Row) -> list[dict[str, object]]:
    """The cells of a row of the table: what is written, and the number that sorts it."""

    def number(value: float | None, more: str = "") -> dict[str, object]:
        return {"value": value, "text": "" if value is None else f"{value:.5g} {more}".strip()}

    return [
        {"value": None, "text": row.agent},
        {"value": row.seeds, "text": str(row.seeds)},
        number(row.mean),
        {"value": row.low, "text": brackets(row.low, row.high)},
        number(row.optimum),
        number(row.undiscounted),
        number(row.regret, brackets(row.regret_low, row.regret_high)),
        {"value": row.arriving, "text": "" if row.arriving is None else f"{row.arriving} of {row.seeds}"},
    ]


def _figures(
    number: int, runs: Sequence[Results], palette: Palette, asked: Sequence[str | dict[str, Any]]
) -> tuple[list[dict[str, str]], list[str]]:
    """The figures of one environment as SVG, and why others are missing."""
    known = figures()
    entries = [{"name": entry} if isinstance(entry, str) else dict(entry) for entry in asked]
    drawn: list[dict[str, str]] = []
    left_out: list[str] = []
    for entry in entries or [{"name": name} for name in figures_of(runs)]:
        name = entry.pop("name")
        try:
            with warnings.catch_warnings(), for_a_file():
                warnings.simplefilter("ignore", RlsuiteWarning)  # one seed has no interval; the table says so
                ax = known[name](list(runs), palette=palette, **entry)
        except ParameterError as error:
            if entries:
                left_out.append(f"{name}: {error}")
            continue
        for index, run in enumerate(runs):
            _name_lines(ax, palette[run.agent].colour, f"line-{number}-{index}-{name}")
        text = f"{name.replace('_', ' ')} of {', '.join(run.agent for run in runs)}"
        drawn.append({"text": text, "svg": svg_of(ax, f"{number}-{name}")})
    return drawn, left_out


def _maps(number: int, config: dict[str, Any], best: Results) -> list[dict[str, str]]:
    """What the best agent has learned, as SVG."""
    with warnings.catch_warnings(), for_a_file():
        warnings.simplefilter("ignore", RlsuiteWarning)
        maps = learned_maps(config, best)
    return [{"text": text, "svg": svg_of(ax, f"{number}-map-{index}")} for index, (text, ax) in enumerate(maps)]


def _name_lines(ax: "Axes", colour: str, name: str) -> None:
    """Give what is drawn in the colour of an agent the ids ``name-0``, ``name-1`` ..., by which it is switched off."""
    from matplotlib.colors import to_rgb

    wanted = to_rgb(colour)
    artists = [line for line in ax.lines if to_rgb(cast("Any", line.get_color())) == wanted]
    filled = [(one, cast("Any", one.get_facecolor())) for one in ax.collections]
    areas = [one for one, colours in filled if len(colours) and to_rgb(colours[0]) == wanted]
    for index, artist in enumerate((*artists, *areas)):
        artist.set_gid(f"{name}-{index}")
