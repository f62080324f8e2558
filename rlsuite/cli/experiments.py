"""``rlsuite demo``, ``run`` and ``report``: experiments in TOML files, and what their results show."""

import signal
import threading
import time
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.options import Keywords, Look, Work, command, import_packages, keywords, parameters
from rlsuite.cli.output import print_failures, print_json, print_note
from rlsuite.errors import FailedRunsWarning, FileError, ParameterError, unknown

if TYPE_CHECKING:
    from rlsuite.experiments import Experiment
    from rlsuite.plotting import Palette
    from rlsuite.training.results import Results

    Figure = str | Mapping[str, Any]

DEMO_GROUP = "rlsuite.demos"
"""Entry-point group in which a package registers its experiments: ``name = "package"``."""


def demo(*, output: str = "runs/demo", work: Work, json: bool = False) -> int:
    """Watch agents learn: figures, and a table with the optimum.

    Run the experiments of the installed packages of environments, and draw their results.

    Parameters
    ----------
    output : FOLDER
        folder for all results (default runs/demo)
    json
        print the result as JSON

    Examples
    --------
    rlsuite demo
    rlsuite demo --output first-look
    """
    before = time.perf_counter()
    import_packages()
    from rlsuite.experiments import Experiment, compare, table
    from rlsuite.plotting import Palette

    experiments = [Experiment.read(file) for file in demo_files()]
    if not experiments:
        raise FileError(f"no installed package announces experiments in the entry-point group {DEMO_GROUP!r}")
    palette = Palette(entry.label for experiment in experiments for entry in experiment.agents)
    rows: list[Any] = []
    figures: list[Path] = []
    for experiment in experiments:
        check_figures(experiment.figures)
        folder = Path(output) / experiment.name
        known = (folder / "run.json").exists()
        results = experiment.run(folder, workers=work.cores, progress=True)
        if known:
            print_note(f"{folder} exists already: its finished cells were not learned again, only drawn")
        rows += compare(results)
        figures += draw(results, experiment.figures, folder, palette=palette)[0]
        figures += value_maps(experiment, folder)
    if json:
        print_json({"rows": [row._asdict() for row in rows], "figures": [str(path) for path in figures]})
        return 0
    print(table(rows), "figures:", *(f"  {path}" for path in figures), sep="\n")
    print_note(f"{time.perf_counter() - before:.1f} s; everything is in {output}\nnext: rlsuite envs, rlsuite agents")
    return 0


def demo_files() -> list[Path]:
    """TOML files of all packages in `DEMO_GROUP`, in alphabetical order within each."""
    from importlib.resources import files

    found: list[Path] = []
    for point in entry_points(group=DEMO_GROUP):
        folder = files(point.value)
        found += sorted(Path(str(entry)) for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return found


def value_maps(experiment: "Experiment", folder: Path) -> list[Path]:
    """Optimal values and actions of the experiment's environments that lie on a grid, each as a figure."""
    from rlsuite.environments.finding import find_env
    from rlsuite.errors import UnsuitableEnvironment
    from rlsuite.experiments.folder import slug
    from rlsuite.models import MDP
    from rlsuite.planning import solve
    from rlsuite.plotting import value_map
    from rlsuite.plotting.figure import write
    from rlsuite.rendering import GridLayout

    written: list[Path] = []
    places = {cell.environment.label: cell for cell in reversed(experiment.cells())}
    for label, cell in reversed(places.items()):
        env = find_env(cell.env_id, **cell.keywords)
        try:
            GridLayout.from_env(env)
        except UnsuitableEnvironment:
            continue
        solution = solve(MDP.from_env(env, gamma=cell.agent.agent.gamma))
        written.append(write(folder / f"{slug(label)}-optimum.png", value_map, env, solution))
    return written


def run(
    file: str,
    *,
    output: str | None = None,
    seeds: int | None = None,
    loop: str | None = None,
    work: Work,
    backend: str = "auto",
    retry: bool = False,
    fail_fast: bool = False,
    shard: str | None = None,
    limits: tuple[str, ...] | None = None,
    most_cells: int | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> int:
    """Run the experiment in a TOML file.

    Run an experiment. Finished parts are never computed again: the same command resumes a run that was stopped, and
    more seeds, agents or environments are added to the results.

    Parameters
    ----------
    file : FILE.toml
        the experiment
    output : FOLDER
        results folder (default: beside the file, without .toml)
    seeds : N
        number of seeds, instead of that in the file
    loop : LOOP
        auto, compiled or stepwise; does not change the results
    backend : NAME
        threads, processes, dask (processes of this machine), dask://HOST:PORT (a cluster), or MODULE:FUNCTION that
        returns an executor; by default what is measured to be faster; does not change the results
    retry
        learn again what failed before, or is damaged
    fail_fast
        stop at the first part that fails
    shard : K/N
        learn only the K-th of N parts; other processes, also on other machines, may learn the others in the same folder
        at the same time
    limits : KEY=VALUE
        what a part may take, seconds=60 memory=2GB; one that takes more has failed
    most_cells : N
        refuse more cells (default 1,000,000)
    dry_run
        print what would be done
    json
        print the result as JSON

    Examples
    --------
    rlsuite run study.toml
    rlsuite run study.toml --seeds 50 --workers 2
    """
    import_packages()
    from rlsuite.experiments import Experiment, compare, status_of, table

    asked = {"seeds": seeds, "loop": loop, "limits": keywords("--limits", limits) if limits else None}
    changes: Keywords = {key: value for key, value in asked.items() if value is not None}
    experiment = Experiment.read(file, **changes)
    check_figures(experiment.figures)
    folder = Path(output) if output else Path(file).with_suffix("")
    most: Keywords = {} if most_cells is None else {"most_cells": most_cells}
    if dry_run:
        experiment.check_size(**most)
        return _plan(experiment, folder, json)
    how: Keywords = {"backend": backend, "retry": retry, "fail_fast": fail_fast, "shard": shard}
    with _ending_signals(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedRunsWarning)  # the failures are listed at the end
        results = experiment.run(folder, workers=work.cores, progress=True, **how, **most)
    rows, status = compare(results), status_of(folder)
    failures = status.failures
    if json:
        listed = [failure._asdict() for failure in failures]
        print_json({"folder": str(folder), "rows": [row._asdict() for row in rows], "failures": listed})
        return 1 if failures else 0
    if shard:
        print(f"shard {shard}: {status}")
    elif rows:
        print(table(rows))
    code = print_failures(failures)
    show = f"\nnext: {command('report', str(folder))}" if rows else ""
    again = f"\nagain what failed: {command('run', file, '--retry')}" if failures else ""
    print_note(f"results: {folder}{show}{again}")
    return code


@contextmanager
def _ending_signals() -> Generator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does; the code of the process says which it was."""
    come: list[int] = []

    def stop(number: int, frame: object) -> None:
        come.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    former = {one: signal.signal(one, stop) for one in ours if signal.getsignal(one) == signal.SIG_DFL}
    try:
        yield
    except KeyboardInterrupt as error:
        if come:
            error.code = 128 + come[0]  # pyright: ignore[reportAttributeAccessIssue] - of the process
        raise
    finally:
        for one, handler in former.items():
            signal.signal(one, handler)


def report(
    folder: str,
    *,
    output: str | None = None,
    plot: bool = False,
    figures: str | None = None,
    format: str = "png",
    look: Look,
    status: bool = False,
    merge: tuple[str, ...] | None = None,
    export: str | None = None,
    json: bool = False,
) -> int:
    """Show what an experiment has found: a page, figures, how far it is, or all its numbers.

    Write one HTML file with the results of an experiment: tables that sort, figures whose lines switch on and off,
    failures, and how to repeat it. It loads nothing from a network.

    With --plot, draw figures instead; of an unfinished run, those of its finished part. With --status, count the cells
    that are done, failed and left, also while they are learned, and tell how long the rest takes. With --merge, copy
    the results of other folders, of the same experiment, into this one.

    Parameters
    ----------
    folder : FOLDER
        folder that 'rlsuite run' has written; with --merge, perhaps a new one
    output : FILE.html|FOLDER
        the page (default: report.html in the folder), or the folder of the figures (default: the same)
    plot
        draw figures: those of the experiment's file, or all
    figures : NAME,...
        with --plot: which figures
    format : SUFFIX
        with --plot: png, svg or pdf (default png)
    status
        count what is done
    merge : OTHER
        folders to copy results from
    export : TARGET
        write all numbers: FILE.csv, FILE.parquet, monitor:FOLDER (for readers of Stable-Baselines3's files),
        tensorboard:FOLDER, wandb:PROJECT, or MODULE:PROJECT of a tracker with wandb's three calls
    json
        print the result as JSON

    Examples
    --------
    rlsuite report study -o study.html
    rlsuite report study --plot
    rlsuite report study --plot --figures regret --format svg
    rlsuite report study --status
    rlsuite report study --export study.csv
    """
    from rlsuite import experiments

    if plot:
        return _plot(Path(folder), figures.split(",") if figures else [], Path(output or folder), format, look, json)
    for flag, given in (("figures", figures), *look.keywords.items()):
        if given:
            raise ParameterError(f"--{flag} applies only to the figures of --plot: add --plot")
    if merge or status or export:
        found = experiments.merge_results(folder, merge) if merge else experiments.status_of(folder)
        if export:
            written = str(experiments.export(folder, export))
            print_json({"exported": written}) if json else print(written)
        elif json:
            print_json({**found._asdict(), "failures": [failure._asdict() for failure in found.failures]})
        else:
            print(found)
            print_failures(found.failures)
        return 0
    from rlsuite.plotting.reporting import write_report

    place = Path(folder)
    if place.suffix == ".toml" and place.is_file():
        place = place.with_suffix("")  # the folder of its results
    page = str(write_report(place, output or place / "report.html"))
    print_json({"page": page}) if json else print(page)
    return 0


def _plot(folder: Path, asked: list[str], target: Path, suffix: str, look: Look, as_json: bool) -> int:
    """Draw figures of the results in a folder."""
    from rlsuite.experiments import load_results
    from rlsuite.experiments.folder import read_run

    results = load_results(folder)
    check_figures(asked)
    entries: list[Figure] = [*asked] or read_run(folder)["config"].get("figures", [])
    if not target.is_dir():
        raise FileError(f"there is no folder {target}; create it first")
    written, skipped = draw(results, entries, target, suffix, look=look.keywords)
    if asked and skipped:
        raise ParameterError("; ".join(skipped))
    if as_json:
        print_json({"figures": [str(path) for path in written]})
        return 0
    print(*written, sep="\n")
    print_failures([failure for agents in results.values() for one in agents for failure in one.failures])
    for reason in skipped:
        print_note(f"left out: {reason}")
    return 0


def check_figures(entries: "Sequence[Figure]") -> dict[str, Keywords]:
    """Return the keywords of each figure by its name.

    Raises
    ------
    ParameterError
        If there is no such figure, it does not take a keyword, or is named twice.
    """
    from rlsuite.plotting import figures

    found: dict[str, Keywords] = {}
    for entry in entries:
        given: Keywords = {"name": entry} if isinstance(entry, str) else dict(entry)
        name = given.pop("name")
        if name not in figures():
            raise ParameterError(unknown("figure", name, figures()))
        if name in found:
            raise ParameterError(f"figures has {name} twice, and both are the file of that name: leave one out")
        known = parameters(figures()[name]) - {"ax", "palette"}
        for key in given.keys() - known:
            raise ParameterError(f"figures, {name}: {unknown('keyword', key, known)}")
        found[name] = given
    return found


def draw(
    results: "dict[str, list[Results]]",
    entries: "Sequence[Figure]",
    folder: Path,
    suffix: str = "png",
    palette: "Palette | None" = None,
    look: Mapping[str, Any] = {},
) -> tuple[list[Path], list[str]]:
    """Draw figures of all environments, an agent in the same colour everywhere.

    Parameters
    ----------
    results : dict
        As `load_results` returns it.
    entries : sequence of str or dict
        Names of figures, or tables of a name and its keywords; empty: all.
    folder : Path
        Where they go, as ``<environment>-<figure>.<suffix>``.
    suffix : str
        Their format.
    palette : Palette, optional
        Looks of the agents; by default of those of these results.
    look : mapping, optional
        Keywords of all figures.

    Returns
    -------
    list of Path, list of str
        The files that were written; and why other figures were not: what the results lack.
    """
    from rlsuite.experiments.folder import slug
    from rlsuite.plotting import Palette, figures
    from rlsuite.plotting.figure import check_format, write
    from rlsuite.plotting.figure_list import figures_of

    check_format(f".{suffix}")
    looks = palette or Palette(run.agent for runs in results.values() for run in runs)
    written: list[Path] = []
    skipped: list[str] = []
    for environment, runs in results.items():
        for name, given in (check_figures(entries) or {name: {} for name in figures_of(runs)}).items():
            try:
                path = folder / f"{slug(environment)}-{name}.{suffix}"
                written.append(write(path, figures()[name], runs, palette=looks, **{**given, **look}))
            except ParameterError as error:
                skipped.append(f"{name} of {environment}: {error}")
    return written, skipped


def _plan(experiment: "Experiment", folder: Path, as_json: bool) -> int:
    """Print what would be done; everything is checked, nothing is written."""
    from rlsuite.experiments.experiment import Originals
    from rlsuite.experiments.store import Store
    from rlsuite.experiments.writing import check_known

    cells = experiment.cells()
    originals = Originals(cells)
    sizes = {cell.environment.label: originals.size(cell.case) for cell in reversed(cells)}
    store = Store(folder)
    check_known(store, cells, folder)
    done = sum(cell.seed in store.of(cell.case.pair).done for cell in cells)
    if as_json:
        print_json({"folder": str(folder), "cells": len(cells), "done": done, "config": experiment.plain()})
        return 0
    length = f"{experiment.steps:,} steps" if experiment.steps else f"{experiment.episodes:,} episodes"
    print(f"{experiment.name}: {len(cells)} cells of {length}, {done} of them done, in {folder}")
    for label, size in reversed(sizes.items()):
        print(f"  {label}: {size}")
    for entry in experiment.agents:
        print(f"  {entry.label}: {entry.agent!r}")
    return 0
