"""A report of an experiment: one HTML file that needs no network, with tables that sort and lines that switch off.

It is small whatever the size of the experiment: tables have the best rows, curves are those of the best agents, and
figures are drawn as long as the page has room. Records are read one after the other, those of the curves of one
environment together. Maps show what the best agent has learned: an experiment keeps numbers, not agents, but a run in
an environment with a table has the same bytes each time, so one is repeated; nothing else is run again.
"""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

import json
import os
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import numpy as np

from rlsuite.core.checks import is_array
from rlsuite.core.described import Plain
from rlsuite.core.files import replacing
from rlsuite.environments.facts import facts_of
from rlsuite.environments.finding import find_env
from rlsuite.errors import ParameterError, RlsuiteError, RlsuiteWarning
from rlsuite.experiments import Comparison, compare, load_results
from rlsuite.experiments.comparison import aggregate, interquartile_mean
from rlsuite.experiments.experiment import Experiment
from rlsuite.experiments.folder import read_run
from rlsuite.experiments.rows import Row, brackets, rows_of, sign_of
from rlsuite.models import MDP
from rlsuite.planning import solve
from rlsuite.plotting.comparisons import performance_profile
from rlsuite.plotting.figure import evenly, for_a_file, svg_of
from rlsuite.plotting.figure_list import figures, figures_of
from rlsuite.plotting.style import Palette, unnamed
from rlsuite.plotting.values import value_map
from rlsuite.rendering.layout import GridLayout
from rlsuite.training.failures import failure_table
from rlsuite.training.results import Results
from rlsuite.training.statistics import interval_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Config = dict[str, Any]

MOST_BYTES: Final = 900_000
"""Size of a page at which no more figures are drawn."""

MOST_LINES: Final = 12
"""Agents of which curves are drawn, the best ones."""

MOST_ROWS: Final = 2_000
"""Rows of all tables together."""

MOST_ENVIRONMENTS: Final = 200
"""Environments that a page shows."""

MOST_SENTENCES: Final = 6
"""Sentences about one environment; those of all pairs are those of `rlsuite.compare`."""

MOST_MAPS: Final = 6
"""Environments with maps of what an agent has learned, for which it learns again."""

FIRST: Final = ("evaluation", "regret", "value_error")
"""Figures that are drawn before others if the experiment asks for none."""

MOST_POINTS: Final = 250
"""Points of a line."""

MOST_IN_MEMORY: Final = 2**28
"""Bytes of records that are kept while the figures of one environment are drawn."""

MEANINGS: Final = {
    "mean": "what the line above the table says, of the last evaluation of each run, or of its last episodes",
    "interval": "95 % interval of the mean over the seeds, cut at what is possible where the model is known",
    "optimum": "exact value of the optimal policy, from the model of the environment",
    "undiscounted return": "of the last greedy policies, and the mean over the seeds",
    "regret": "sum of V*(s) - Q*(s, a) over all steps of a run, mean over the seeds, with its 95 % interval",
    "reach an end": "seeds whose last greedy policy surely reaches an end",
    "score": "0 is the value of the uniform policy, 1 that of the optimal one; interquartile mean of all runs in all "
    "environments, with a stratified bootstrap over the seeds",
}
"""What the columns of tables mean."""


def write_report(results: str | os.PathLike[str] | Comparison, path: str | os.PathLike[str]) -> Path:
    """Write a report of what an experiment or a comparison has learned, also of an unfinished experiment.

    Parameters
    ----------
    results : str, path or Comparison
        Folder that `Experiment.run` or ``rlsuite run`` has written; or what `rlsuite.compare` has returned, which does
        not keep what its agents and environments were, so that there are no maps of what was learned.
    path : str or path
        The HTML file. It holds its figures, and loads nothing; it has at most 1 MB.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the file's suffix is not .html, or ``results`` is something else.
    FileError
        If the folder holds no results, or the file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"a report is an HTML file: {target.name} must end with .html")
    if not isinstance(cast("object", results), str | os.PathLike | Comparison):
        raise ParameterError(
            f"write_report takes the folder of an experiment, or a Comparison, and not a {type(results).__name__}; of "
            "results of rlsuite.train, write_report(rlsuite.compare([results]), path)"
        )
    run: dict[str, Any] = {"config": {}} if isinstance(results, Comparison) else read_run(Path(results))
    from jinja2 import Environment, StrictUndefined

    found = results.results if isinstance(results, Comparison) else load_results(results)
    config: Config = run["config"]
    sections = _sections(found)
    text = files("rlsuite.plotting").joinpath("report.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(text)
    used = {title for section in sections for title in section.headings}
    content: dict[str, object] = {
        **(_about_these(found, target.stem) if isinstance(results, Comparison) else _about(run, found, Path(results))),
        "sections": sections,
        "meanings": {title: meaning for title, meaning in MEANINGS.items() if title in used},
    }
    _illustrate(sections, config, MOST_BYTES - len(template.render(content)))
    with replacing(target) as unfinished:
        unfinished.write_text(template.render(content), encoding="utf-8")
    return target


@dataclass
class _Section:
    """What the page says of one environment, or with the number 0 of all together."""

    label: str
    number: int
    caption: str
    headings: list[str]
    rows: list[list[str]]
    best: list[Results]
    """Of the agents with curves, the best one first."""
    sentences: list[str] = field(default_factory=list[str])
    compared: Comparison | None = None
    """What a performance profile is drawn of."""
    switches: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    figures: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    notes: list[str] = field(default_factory=list[str])


def _about(run: Mapping[str, Any], results: Mapping[str, Sequence[Results]], folder: Path) -> dict[str, object]:
    """What was run, how far it is, and how to repeat it."""
    config: Config = run["config"]
    seeds: list[int] = config["seeds"]
    done = sum(len(one.records) for runs in results.values() for one in runs)
    total = len(config["environments"]) * len(config["agents"]) * len(seeds)
    unit = "steps" if config.get("steps") else "episodes"
    versions = dict(run.get("versions", {}))
    return {
        "name": config["name"],
        "agents": len(config["agents"]),
        "environments": len(config["environments"]),
        "length": f"{config[unit]:,} {unit}",
        **_common(results, seeds),
        "done": f"{done:,} of {total:,} runs are done" if done < total else "",
        "command": run.get("command", ""),
        "folder": folder.resolve().name,
        "quoted": repr,
        "shell": shlex.quote,
        "processor": versions.pop("processor", ""),
        "versions": versions,
        "config": json.dumps(config, indent=1) if len(config["agents"]) <= MOST_LINES else "",
    }


def _about_these(results: Mapping[str, Sequence[Results]], name: str) -> dict[str, object]:
    """The same of results that are in no folder: what they know of themselves."""
    runs = [one for them in results.values() for one in them]
    first = runs[0].records[0]
    seeds = sorted({record.seed for one in runs for record in one.records})
    return {
        "name": name,
        "agents": len({one.agent for one in runs}),
        "environments": len(results),
        "length": f"{int(first.time[-1]):,} {first.unit}",
        **_common(results, seeds),
        **dict.fromkeys(("done", "command", "folder", "processor", "config"), ""),
        "versions": {},
    }


def _common(results: Mapping[str, Sequence[Results]], seeds: Sequence[int]) -> dict[str, object]:
    failures = tuple(failure for runs in results.values() for one in runs for failure in one.failures)
    in_a_row = list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))) and len(seeds) > 1
    return {
        "seeds": f"{seeds[0]} to {seeds[-1]}" if in_a_row else ", ".join(map(str, seeds)),
        "n_seeds": len(seeds),
        "failures": failure_table(failures) if failures else "",
    }


# ------------------------------------------------------------------------------------------------------------- tables


def _sections(results: Mapping[str, Sequence[Results]]) -> list[_Section]:
    """All environments together, if there are several, and each of them."""
    together = _together(results)
    shown = dict(islice(results.items(), MOST_ENVIRONMENTS))
    most_rows = max(3, MOST_ROWS // len(shown))
    # Pairs of a sweep are too many, and its settings were not chosen to be compared with each other.
    few = compare({label: runs for label, runs in shown.items() if len(runs) <= MOST_LINES})
    each = [_section(number, label, runs, few, most_rows) for number, (label, runs) in enumerate(shown.items(), 1)]
    if len(results) > len(shown):
        together.notes.append(f"{len(results) - len(shown):,} environments: rlsuite compare shows them all")
    if len(results) > 1:
        return [together, *each]
    each[0].compared = together.compared
    return each


def _section(number: int, label: str, runs: Sequence[Results], compared: Comparison, most_rows: int) -> _Section:
    rows = rows_of({label: runs})
    rows.sort(key=lambda row: -sign_of(row.measure) * row.mean)
    by_label = {run.agent: run for run in runs}
    seeds = min(row.seeds for row in rows)
    interval = f"; 95 % interval: {interval_method(seeds)}" if seeds > 1 else ""
    section = _Section(
        label,
        number,
        f"{rows[0].measure}, mean over the seeds{interval}",
        *_without_empty([_texts(row) for row in rows[:most_rows]]),
        [by_label[row.agent] for row in rows[:MOST_LINES]],
    )
    if label in compared.results:
        section.sentences = compared.sentences(label)[:MOST_SENTENCES]
    else:
        section.notes.append(f"verdicts on all pairs, and curves but those of the {MOST_LINES} best agents")
    if len(rows) > most_rows:
        section.notes.append(f"rows of {len(rows) - most_rows:,} agents that are worse")
    return section


def _texts(row: Row) -> dict[str, str]:
    """A row of the table of an environment; the first number of a text sorts it."""

    def number(value: float | None, more: str = "") -> str:
        return "" if value is None else f"{value:.5g} {more}".strip()

    return {
        "agent": row.agent,
        "seeds": str(row.seeds),
        "mean": number(row.mean),
        "interval": brackets(row.low, row.high),
        "optimum": number(row.optimum),
        "undiscounted return": number(row.undiscounted),
        "regret": number(row.regret, brackets(row.regret_low, row.regret_high)),
        "reach an end": "" if row.arriving is None else f"{row.arriving} of {row.seeds}",
    }


def _without_empty(rows: Sequence[Mapping[str, str]]) -> tuple[list[str], list[list[str]]]:
    """Headings, and rows of texts, without columns in which nothing is written."""
    titles = [title for title in rows[0] if any(row[title] for row in rows)]
    return titles, [[row[title] for title in titles] for row in rows]


def _together(results: Mapping[str, Sequence[Results]]) -> _Section:
    """The scores of all agents in all environments, as far as these have scores."""
    section = _Section("All environments", 0, "", [], [], [])
    try:
        scores = compare(results).scores
    except ParameterError as error:
        section.notes.append(f"scores, as {error}")
        return section
    middle = {agent: float(interquartile_mean(np.concatenate(own))) for agent, own in scores.items()}
    best = sorted(middle, key=lambda agent: -middle[agent])[:MOST_LINES]
    section.compared = compare({label: [run for run in runs if run.agent in best] for label, runs in results.items()})
    section.best = sorted(next(iter(section.compared.results.values())), key=lambda run: best.index(run.agent))
    section.caption = f"score in {len(results)} environments, interquartile mean of all runs"
    section.headings = ["agent", "runs", "score", "interval"]
    for agent in best:
        one = aggregate(scores[agent])
        runs = sum(map(len, scores[agent]))
        section.rows.append([agent, str(runs), f"{one.value:.4g}", brackets(one.low, one.high)])
    if len(middle) > len(best):
        section.notes.append(f"{len(middle) - len(best)} agents with lower scores")
    return section


# ------------------------------------------------------------------------------------------------------------ figures


class _Drawing(NamedTuple):
    kind: Literal["curves", "map"]
    text: str
    """What it shows, for those who do not see it."""
    ax: "Axes"


def _illustrate(sections: Sequence[_Section], config: Config, room: int) -> None:
    """Draw the figures of all sections, each within its share of the room that is left on the page."""
    palette = Palette(run.agent for section in sections for run in section.best)
    most_points = min(MOST_POINTS, max(60, 600 // len(sections)))
    for index, section in enumerate(sections):
        share, used = room // (len(sections) - index), 0
        switched: set[int] = set()
        too_many: list[str] = []
        for name, draw in _drawings(section, config, palette):
            with warnings.catch_warnings(), for_a_file():
                warnings.simplefilter("ignore", RlsuiteWarning)  # one seed has no interval; the table says so
                drawn = draw() if used < share else []
            if used >= share:
                too_many.append(name)
            for number, (kind, text, ax) in enumerate(drawn):
                _thin_out(ax, most_points)
                line = f"{name}-{number}"
                lines = {
                    place
                    for place, run in enumerate(section.best)
                    if _name_lines(ax, run.agent, _id(section, place, line))
                }
                svg = svg_of(ax, f"{section.number}-{line}")
                if used + len(svg) > room:
                    too_many.append(name)
                    share = 0  # nothing else is drawn in vain
                    continue
                used += len(svg)
                switched |= lines
                section.figures.append({"kind": kind, "text": text, "svg": svg})
        room -= used
        section.switches = [
            {"line": _id(section, place), "label": run.agent, "colour": palette[run.agent].colour}
            for place, run in enumerate(section.best)
            if place in switched
        ]
        if too_many:
            section.notes.append(
                f"{', '.join(dict.fromkeys(too_many))}, as the page is long enough; rlsuite report --plot draws figures"
            )


def _id(section: _Section, place: int, *more: str) -> str:
    """With what the ids of all that is drawn of an agent in a section begin."""
    return "-".join(("line", str(section.number), str(place), *more))


def _drawings(section: _Section, config: Config, palette: Palette) -> "list[tuple[str, Callable[[], list[_Drawing]]]]":
    """The figures of a section by name, which are drawn when they are called, the most important ones first."""
    of = f"of {', '.join(run.agent for run in section.best)}"
    compared, found = section.compared, list[tuple[str, Callable[[], list[_Drawing]]]]()
    if section.number:
        runs = [_in_memory(run, len(section.best)) for run in section.best]
        asked: Sequence[str | dict[str, Any]] = config.get("figures") or ()
        entries = [{"name": entry} if isinstance(entry, str) else dict(entry) for entry in asked]
        every = sorted(figures_of(runs), key=lambda name: (name not in FIRST, name))
        for entry in entries or [{"name": name} for name in every]:
            name = entry.pop("name")

            def draw(name: str = name, entry: Config = entry) -> list[_Drawing]:
                try:
                    ax = figures()[name](runs, palette=palette, **entry)
                except ParameterError as error:
                    if entries:
                        section.notes.append(f"{name}: {error}")
                    return []
                return [_Drawing("curves", f"{name.replace('_', ' ')} {of}", ax)]

            found.append((name, draw))
    if config and 0 < section.number <= MOST_MAPS:
        found.insert(
            1,
            (
                "maps of what is learned",
                lambda: [_Drawing("map", *one) for one in learned_maps(config, section.best[0])],
            ),
        )
    if compared is not None and min(row.seeds for row in compared) > 1:
        text = f"performance profile {of}: share of the runs with at least a score"
        found.append(
            ("performance_profile", lambda: [_Drawing("curves", text, performance_profile(compared, palette=palette))])
        )
    return found


def _in_memory(run: Results, n_agents: int) -> Results:
    """The same results, whose records are read once for all figures, if they are small."""
    first = run.records[0]
    size = sum(value.nbytes for value in vars(first).values() if is_array(value))
    small = size * len(run.records) * n_agents <= MOST_IN_MEMORY
    return replace(run, records=list(run.records)) if small else run


def _thin_out(ax: "Axes", most_points: int) -> None:
    """Leave out points of long lines and the outlines of their bands, evenly."""
    for line in ax.lines:
        points = np.column_stack([np.asarray(values) for values in line.get_data()])
        if len(points) > most_points:
            line.set_data(*points[evenly(len(points), most_points)].T)
    for band in ax.collections:
        for path in band.get_paths():
            outline = np.asarray(path.vertices)
            if len(outline) > 2 * most_points:
                path.vertices = outline[evenly(len(outline), 2 * most_points)]
                cast("Any", path).codes = None  # a line from each point to the next


def _name_lines(ax: "Axes", agent: str, name: str) -> bool:
    """Give what is drawn of an agent the ids ``name-0``, ``name-1`` ..., if there is anything; they switch it off."""
    own = [artist for artist in ax.get_children() if artist.get_label() in (agent, unnamed(agent))]
    for index, artist in enumerate(own):
        artist.set_gid(f"{name}-{index}")
    return bool(own)


MOST_STEPS: Final = 1_000_000
"""A longer run is not repeated."""

MOST_SQUARES: Final = 1_000
"""Squares of a grid that is drawn."""


def learned_maps(config: Plain, run: Results) -> "list[tuple[str, Axes]]":
    """Maps of what one run of an agent has learned, each with a description.

    Parameters
    ----------
    config : dict
        The experiment in plain form.
    run : Results
        Of the agent. The run of its first seed is repeated.

    Returns
    -------
    list of (str, matplotlib.axes.Axes)
        Values with the greedy policy, and the optimal values less these; empty if the environment has no table or no
        grid, comes from a file of the user's, or the agent has no table of action values.
    """
    if not _is_short(config):
        return []
    whole = Experiment.from_plain(config)
    record = run.records[0]
    part = replace(
        whole,
        environments=[entry for entry in whole.environments if entry.label == run.environment],
        agents=[entry for entry in whole.agents if entry.label == run.agent],
        seeds=[record.seed],
    )
    try:
        (cell,) = part.cells()
        env = find_env(cell.env_id, **cell.keywords)
        layout = GridLayout.from_env(env)
    except RlsuiteError:  # its file is elsewhere, or it is no grid
        return []
    if "files" in cell.spec or not facts_of(env).has_table or layout.n_rows * layout.n_columns > MOST_SQUARES:
        return []
    agent: Any = replace(cell.agent.agent)
    agent.learn(env, **part.timing, seed=record.seed)
    q = getattr(agent, "q_", None)
    if not is_array(q) or q.shape[:1] != (layout.n_states,) or not _is_repeated(agent.record_, record):
        return []
    seed = f"seed {record.seed}"
    learned = value_map(env, q=q, title=f"What {run.agent} has learned, {seed}")
    maps = [(f"Map of the values and the greedy policy that {run.agent} has learned, {seed}", learned)]
    solution = solve(MDP.from_env(env, gamma=agent.gamma))
    if solution.converged:
        error = solution.value - q.max(axis=1)
        title = f"Where {run.agent} is still wrong, {seed}"
        drawn = value_map(env, error, title=title, of="optimal value less the learned value of the state")
        maps.append((f"Map of the optimal values less the values that {run.agent} has learned, {seed}", drawn))
    return maps


def _is_short(config: Plain) -> bool:
    return (config.get("steps") or 1_000 * int(config.get("episodes") or 0)) <= MOST_STEPS


def _is_repeated(now: Any, before: Any) -> bool:
    return np.array_equal(now.evaluation, before.evaluation) and np.array_equal(
        now.episode_return, before.episode_return
    )
