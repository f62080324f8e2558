"""``rlsuite run`` and ``rlsuite plot``: experiments in TOML files, and figures of their results."""

import argparse
import signal
import threading
import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlsuite.cli.figures import add_look_flags, look_of
from rlsuite.cli.options import (
    Commands,
    Keywords,
    add_command,
    add_workers_flag,
    command,
    import_packages,
    keywords,
    parameters,
    whole_number,
    workers_of,
)
from rlsuite.cli.output import print_json, print_note
from rlsuite.errors import FailedRunsWarning, FileError, ParameterError, unknown

if TYPE_CHECKING:
    from rlsuite.experiments import Experiment
    from rlsuite.plotting import Palette

    Figure = str | Mapping[str, Any]
    from rlsuite.training.results import Results


def add(commands: Commands) -> None:
    """Describe the commands."""
    run = add_command(commands, "run", run_experiment)
    run.add_argument("file", metavar="FILE.toml", help="the experiment")
    run.add_argument("--output", metavar="FOLDER", help="results folder (default: beside the file, without .toml)")
    run.add_argument("--seeds", type=whole_number, metavar="N", help="number of seeds, instead of that in the file")
    run.add_argument("--loop", metavar="LOOP", help="auto, compiled or stepwise; does not change the results")
    add_workers_flag(run, "processes, if that is faster")
    run.add_argument(
        "--backend",
        default="auto",
        metavar="NAME",
        help="threads, processes, dask (processes of this machine), dask://HOST:PORT (a cluster), or MODULE:FUNCTION "
        "that returns an executor; by default what is measured to be faster; does not change the results",
    )
    run.add_argument("--retry", action="store_true", help="learn again what failed before, or is damaged")
    run.add_argument("--fail-fast", action="store_true", help="stop at the first part that fails")
    run.add_argument(
        "--shard",
        metavar="K/N",
        help="learn only the K-th of N parts; other processes, also on other machines, may learn the others in the "
        "same folder at the same time",
    )
    run.add_argument(
        "--limits",
        nargs="+",
        metavar="KEY=VALUE",
        help="what a part may take, seconds=60 memory=2GB; one that takes more has failed",
    )
    run.add_argument("--most-cells", type=whole_number, metavar="N", help="refuse more cells (default 1,000,000)")
    run.add_argument("--dry-run", action="store_true", help="print what would be done")
    plot = add_command(commands, "plot", plot_results)
    plot.add_argument("folder", metavar="FOLDER", help="folder that 'rlsuite run' has written")
    plot.add_argument(
        "--figures", metavar="NAME,...", help="which figures (default: those of the experiment's file, or all)"
    )
    plot.add_argument("--output", metavar="FOLDER", help="folder for the figures (default: the same folder)")
    plot.add_argument("--format", default="png", metavar="SUFFIX", help="png, svg or pdf (default png)")
    add_look_flags(plot)
    runs = add_command(commands, "runs", runs_status)
    runs.add_argument("folder", metavar="FOLDER", help="folder that 'rlsuite run' has written, or a new one")
    runs.add_argument("--merge", nargs="+", metavar="OTHER", help="folders to copy results from")
    runs.add_argument(
        "--export",
        metavar="TARGET",
        help="write all numbers: FILE.csv, FILE.parquet, monitor:FOLDER (for readers of Stable-Baselines3's files), "
        "tensorboard:FOLDER, wandb:PROJECT, or MODULE:PROJECT of a tracker with wandb's three calls",
    )
    report = add_command(commands, "report", report_results, json=False)
    report.add_argument("folder", metavar="FOLDER", help="folder that 'rlsuite run' has written")
    report.add_argument("-o", "--output", metavar="FILE.html", help="the file (default: report.html in the folder)")


def run_experiment(chosen: argparse.Namespace) -> int:
    """Run the experiment in a TOML file.

    Run an experiment. Finished parts are never computed again: the same command resumes a run that was stopped, and
    more seeds, agents or environments are added to the results.

    Examples
    --------
    rlsuite run study.toml
    rlsuite run study.toml --seeds 50 --workers 2
    """
    import_packages()
    from rlsuite.experiments import Experiment, compare, status_of, table
    from rlsuite.training.failures import failure_table

    changes = {key: getattr(chosen, key) for key in ("seeds", "loop") if getattr(chosen, key) is not None}
    if chosen.limits:
        changes["limits"] = keywords("--limits", chosen.limits)
    experiment = Experiment.read(chosen.file, **changes)
    check_figures(experiment.figures)
    folder = Path(chosen.output) if chosen.output else Path(chosen.file).with_suffix("")
    most_cells: Keywords = {} if chosen.most_cells is None else {"most_cells": chosen.most_cells}
    if chosen.dry_run:
        experiment.check_size(**most_cells)
        return _plan(experiment, folder, chosen.json)
    with _ending_signals(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FailedRunsWarning)  # the failures are listed at the end
        results = experiment.run(
            folder,
            workers=workers_of(chosen),
            backend=chosen.backend,
            retry=chosen.retry,
            fail_fast=chosen.fail_fast,
            progress=True,
            shard=chosen.shard,
            **most_cells,
        )
    rows = compare(results)
    status = status_of(folder)
    failures = status.failures
    if chosen.json:
        listed = [failure._asdict() for failure in failures]
        print_json({"folder": str(folder), "rows": [row._asdict() for row in rows], "failures": listed})
        return 1 if failures else 0
    if chosen.shard:
        print(f"shard {chosen.shard}: {status}")
    elif rows:
        print(table(rows))
    if failures:
        print_note(failure_table(failures))
    plot = f"\nnext: {command('plot', str(folder))}" if rows else ""
    again = f"\nagain what failed: {command('run', chosen.file, '--retry')}" if failures else ""
    print_note(f"results: {folder}{plot}{again}")
    return 1 if failures else 0


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


def plot_results(chosen: argparse.Namespace) -> int:
    """Draw the figures of an experiment.

    Draw figures of the results in a folder; of an unfinished run, figures of its finished part.

    Examples
    --------
    rlsuite plot study
    rlsuite plot study --figures regret --format svg
    """
    from rlsuite.experiments import load_results
    from rlsuite.experiments.folder import read_run
    from rlsuite.training.failures import failure_table

    folder = Path(chosen.folder)
    results = load_results(folder)
    failures = [failure for agents in results.values() for one in agents for failure in one.failures]
    asked: list[str] = chosen.figures.split(",") if chosen.figures else []
    check_figures(asked)
    entries: list[Figure] = [*asked] or read_run(folder)["config"].get("figures", [])
    target = Path(chosen.output) if chosen.output else folder
    if not target.is_dir():
        raise FileError(f"there is no folder {target}; create it first")
    written, skipped = draw(results, entries, target, chosen.format, look=look_of(chosen))
    if asked and skipped:
        raise ParameterError("; ".join(skipped))
    if chosen.json:
        print_json({"figures": [str(path) for path in written]})
        return 0
    for path in written:
        print(path)
    if failures:
        print_note(failure_table(failures))
    for reason in skipped:
        print_note(f"left out: {reason}")
    return 0


def runs_status(chosen: argparse.Namespace) -> int:
    """Tell how far an experiment is, merge results of several machines, or export them.

    Count the cells that are done, failed and left, also while they are learned, and tell how long the rest takes. With
    --merge, first copy the results of other folders, of the same experiment, into this one.

    Examples
    --------
    rlsuite runs study
    rlsuite runs study --export study.csv
    """
    from rlsuite.experiments import export, merge_results, status_of
    from rlsuite.training.failures import failure_table

    status = merge_results(chosen.folder, chosen.merge) if chosen.merge else status_of(chosen.folder)
    if chosen.export:
        written = str(export(chosen.folder, chosen.export))
        print_json({"exported": written}) if chosen.json else print(written)
        return 0
    if chosen.json:
        print_json({**status._asdict(), "failures": [failure._asdict() for failure in status.failures]})
        return 0
    print(status)
    if status.failures:
        print_note(failure_table(status.failures))
    return 0


def report_results(chosen: argparse.Namespace) -> int:
    """Write a report of an experiment as one HTML file.

    Write one HTML file with the results of an experiment: tables that sort, figures whose lines switch on and off,
    failures, and how to repeat it. It loads nothing from a network.

    Examples
    --------
    rlsuite report study -o study.html
    """
    from rlsuite.plotting.reporting import write_report

    folder = Path(chosen.folder)
    if folder.suffix == ".toml" and folder.is_file():
        folder = folder.with_suffix("")  # the folder of its results
    print(write_report(folder, chosen.output or folder / "report.html"))
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
    look: Keywords | None = None,
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
    look : dict, optional
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
                written.append(write(path, figures()[name], runs, palette=looks, **given | (look or {})))
            except ParameterError as error:
                skipped.append(f"{name} of {environment}: {error}")
    return written, skipped


def _plan(experiment: "Experiment", folder: Path, as_json: bool) -> int:
    """Print what would be done; everything is checked, nothing is written."""
    from rlsuite.experiments.run import Originals
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
