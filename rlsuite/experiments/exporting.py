"""What an experiment has learned, for other programs: tables, TensorBoard, trackers, and monitor files.

A table has one number in each row: what it measures, of which run, and when. A tracker is any module with the three
functions that W&B has introduced: ``init(project=, group=, name=, config=)``, ``log(numbers, step=)``, ``finish()``.
"""

import csv
import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.experiments.folder import Number, load_results, read_run, slug
from rlsuite.experiments.runs import seed_name

TABLES = (".csv", ".parquet")


@says_what_to_write
def export(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> Path | str:
    """Write the results of an experiment for another program.

    Parameters
    ----------
    folder : str or path
        Folder that `Experiment.run` or ``rlsuite run`` has written.
    target : str or path
        ``numbers.csv`` or ``numbers.parquet``: a table with the columns of `Number`. ``monitor:FOLDER``: a file of
        episodes for each run, which readers of Stable-Baselines3's monitor files read. ``tensorboard:FOLDER``: event
        files. ``wandb:PROJECT``, ``trackio:PROJECT``, or any other module that has ``init``, ``log`` and ``finish``.

    Returns
    -------
    Path or str
        What was written, or the project.

    Raises
    ------
    ParameterError
        If `target` is something else.
    FileError
        If the folder holds no results, or the target cannot be written.
    MissingPackage
        If a package that the target needs is not installed.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from tempfile import TemporaryDirectory
    >>> lake = rl.experiments.EnvironmentEntry("FrozenLake-v1")
    >>> agents = [rl.experiments.AgentEntry(rl.Sarsa())]
    >>> experiment = rl.experiments.Experiment(environments=[lake], agents=agents, steps=500, seeds=2)
    >>> with TemporaryDirectory() as top:
    ...     _ = experiment.run(f"{top}/lake")
    ...     table = export(f"{top}/lake", f"{top}/numbers.csv")
    ...     table.read_text().splitlines()[:2]
    ['environment,agent,seed,measure,time,number', 'FrozenLake-v1,Sarsa,0,cumulative_reward,3,0.0']
    """
    kind, colon, name = os.fspath(target).partition(":")
    top = Path(folder)
    if os.fspath(target).endswith(TABLES):
        return _table(top, Path(target))
    if not colon or not name:
        raise ParameterError(
            f"export to {os.fspath(target)!r}: give a file that ends with .csv or .parquet, monitor:FOLDER, "
            "tensorboard:FOLDER, wandb:PROJECT, or MODULE:PROJECT"
        )
    if kind == "monitor":
        return _monitors(top, Path(name))
    return _track(top, _TensorBoard(Path(name)) if kind == "tensorboard" else _tracker(kind), name)


def _table(folder: Path, target: Path) -> Path:
    """A table, of which only one run at a time is in memory."""
    results = load_results(folder)
    if target.suffix == ".csv":
        with replacing(target) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(Number._fields)
            for rows in results.numbers():
                writer.writerows(rows)
        return target
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingPackage(f"{target.name} needs PyArrow: pip install 'rlsuite[parquet]'") from error
    types = (arrow.string(), arrow.string(), arrow.string(), arrow.string(), arrow.int64(), arrow.float64())
    schema = arrow.schema(list(zip(Number._fields, types, strict=True)))  # seeds may be larger than any integer type
    with replacing(target) as unfinished, parquet.ParquetWriter(unfinished, schema) as writer:
        for rows in results.numbers():
            columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in types]
            columns[2] = list(map(str, columns[2]))
            writer.write_table(arrow.table(columns, schema=schema))
    return target


def _monitors(folder: Path, target: Path) -> Path:
    """Files in the format of Stable-Baselines3's Monitor; time is counted in steps of the environment."""
    described = {entry["label"]: entry["id"] for entry in read_run(folder)["config"]["environments"]}
    for environment, runs in load_results(folder).items():
        for run in runs:
            parent = target / slug(environment) / slug(run.agent)
            try:
                parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise FileError(f"cannot make the folder {parent}: {error.strerror}") from error
            for record in run.records:
                header = {"t_start": 0.0, "env_id": described[environment], "t_unit": "environment steps"}
                ends = np.cumsum(record.episode_length).tolist()
                episodes = record.episode_return.tolist(), record.episode_length.tolist(), ends
                rows = ["r,l,t", *(",".join(map(repr, row)) for row in zip(*episodes, strict=True))]
                text = "\n".join([f"#{json.dumps(header)}", *rows, ""])
                with replacing(parent / f"{seed_name(record.seed)}.monitor.csv") as unfinished:
                    unfinished.write_text(text, encoding="utf-8", newline="\n")
    return target


def _tracker(module: str) -> Any:
    try:
        tracker = import_module(module)
    except ImportError as error:
        raise MissingPackage(f"export to {module}: pip install {module} ({error})") from error
    for name in ("init", "log", "finish"):
        if not callable(getattr(tracker, name, None)):
            raise ParameterError(f"export to {module}: it has no function {name}; a tracker has init, log and finish")
    return tracker


def _track(folder: Path, tracker: Any, project: str) -> str:
    """Send each run to a tracker, what was measured at one time in one call."""
    config = read_run(folder)["config"]
    agents = {entry["label"]: entry for entry in config["agents"]}
    for environment, runs in load_results(folder).items():
        for run in runs:
            group = f"{environment}/{run.agent}"
            for record in run.records:
                at: dict[int, dict[str, float]] = {}
                for measure, times, found in record.series():
                    for time, number in zip(times.tolist(), found.tolist(), strict=True):
                        at.setdefault(time, {})[measure] = number
                about = {"environment": environment, "seed": record.seed, "agent": agents[run.agent]}
                name = f"{group}/{seed_name(record.seed)}"
                tracker.init(project=project, group=group, name=name, config=about)
                for time in sorted(at):
                    tracker.log(at[time], step=time)
                tracker.finish()
    return project


class _TensorBoard:
    """Event files, by the three calls of a tracker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.writer_of: Any = import_module("tensorboardX").SummaryWriter
        except ImportError as error:
            raise MissingPackage("event files need tensorboardX: pip install 'rlsuite[tensorboard]'") from error

    def init(self, *, project: str, group: str, name: str, config: object) -> None:
        """Begin a run."""
        self.writer: Any = self.writer_of(str(self.folder.joinpath(*map(slug, name.split("/")))))

    def log(self, found: dict[str, float], step: int) -> None:
        """Write what was measured at one time."""
        for measure, number in found.items():
            self.writer.add_scalar(measure, number, step)

    def finish(self) -> None:
        """End a run."""
        self.writer.close()
