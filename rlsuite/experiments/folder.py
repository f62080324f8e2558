"""Reading the folder of an experiment: ``run.json``, and ``cells`` with what has been learned."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from rlsuite.core.checks import seed_list
from rlsuite.core.shown import DataFrame, frame_of
from rlsuite.errors import FileError, ParameterError
from rlsuite.experiments.store import Store
from rlsuite.training.failures import Failure, failure_table
from rlsuite.training.results import Results


class Number(NamedTuple):
    """A row of a table."""

    environment: str
    agent: str
    seed: int
    measure: str
    """``cumulative_reward``, ``regret``, ``value``, ``return``, ``value_error``, ``episode_return`` ..."""
    time: int
    """In steps, or in episodes if that is how the length of the runs was given."""
    number: float


class ExperimentResults(dict[str, list[Results]]):
    """Label of an environment -> results of each agent in it, as an experiment keeps them: a dict that is a table, too.

    Examples
    --------
    >>> import rlsuite as rl
    >>> runs = rl.train(rl.Sarsa(gamma=0.9), "FrozenLake-v1", steps=200, seeds=2, record_every=100)
    >>> for row in list(ExperimentResults(lake=[runs]).numbers())[0][:2]:
    ...     print(*row)
    lake Sarsa 0 cumulative_reward 100 1.0
    lake Sarsa 0 cumulative_reward 200 1.0
    """

    def numbers(self) -> Iterator[list[Number]]:
        """The rows of the table, those of one run after those of another."""
        for environment, runs in self.items():
            for run in runs:
                for record in run.records:
                    yield [
                        Number(environment, run.agent, record.seed, measure, time, number)
                        for measure, times, found in record.series()
                        for time, number in zip(times.tolist(), found.tolist(), strict=True)
                    ]

    def to_frame(self) -> DataFrame:
        """The table as a pandas DataFrame, a column for each field of `Number`; ``rlsuite report --export`` writes it.

        Group it by everything but the seed, ``frame.groupby(["environment", "agent", "measure", "time"])``.

        Raises
        ------
        MissingPackage
            If pandas is not installed.
        """
        rows = [row for run in self.numbers() for row in run]
        return frame_of({name: [row[index] for row in rows] for index, name in enumerate(Number._fields)})


FORMAT = "rlsuite run 1"
RUN = "run.json"
LONGEST_NAME = 255
"""Bytes that the name of a folder may have on the usual disks."""


def slug(label: str) -> str:
    """A label as the name of a folder.

    >>> slug("mazes/Small-v0"), slug("softmax, k = 2")
    ('mazes-Small-v0', 'softmax-k-2')
    """
    return re.sub(r"[^\w.]+", "-", label).strip("-.")


def as_folder(where: str, label: str) -> str:
    """Return a label as the name of a folder, if it is a valid one.

    Parameters
    ----------
    where : str
        Path of the label in its file, for messages.
    label : str
        The label.

    Raises
    ------
    ParameterError
        If it has no letter or digit, is too long, or is the name of a file of the experiment.
    """
    name = slug(label)
    short = label if len(label) < 60 else f"{label[:57]}..."
    if not name:
        raise ParameterError(f"{where}={short!r} needs a letter or a digit: it names a folder")
    if len(os.fsencode(name)) > LONGEST_NAME:
        raise ParameterError(
            f"{where}={short!r} makes a folder name of {len(os.fsencode(name))} bytes; the longest allowed has "
            f"{LONGEST_NAME}"
        )
    if name.casefold() == RUN:
        raise ParameterError(
            f"{where}={short!r} names a folder, and {RUN} is a file of the experiment; choose another label"
        )
    return name


def read_run(folder: Path) -> dict[str, Any]:
    """Read ``run.json``.

    Raises
    ------
    FileError
        If it is missing or damaged.
    """
    file = folder / RUN
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise FileError(f"{file} has the format {content['format']!r}; this version of rlsuite reads {FORMAT!r}")
        config = content["config"]
        if not isinstance(config["name"], str):
            raise ValueError("name")
        if not isinstance(config["seeds"], list):
            raise ValueError("seeds")
        seed_list(cast("list[Any]", config["seeds"]))
        for what in ("environments", "agents"):
            for label in labels(config, what):
                as_folder("label", label)
    except (FileNotFoundError, NotADirectoryError) as error:
        lacks = f"there is no {RUN}" if folder.is_dir() else "there is no such folder"
        lacks = "it is a file" if folder.is_file() else lacks
        raise FileError(
            f"{folder} holds no results of an experiment: {lacks}; 'rlsuite run FILE.toml' writes the folder FILE"
        ) from error
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"{file} is damaged; delete it and run the experiment again") from error
    return content


def labels(config: dict[str, Any], what: str) -> list[str]:
    """Labels of the environments or agents of an experiment in plain form."""
    return [entry["label"] for entry in config[what]]


def load_results(folder: str | os.PathLike[str]) -> ExperimentResults:
    """Read the finished results of an experiment.

    Parameters
    ----------
    folder : str or path
        Folder that `Experiment.run` or ``rlsuite run`` has written.

    Returns
    -------
    ExperimentResults
        A dict: label of the environment -> one `Results` per agent, in the order of the experiment, with its failures.
        Each record is read when it is asked for. `to_frame` makes a table of all numbers.

    Raises
    ------
    FileError
        If the folder holds no results, or a file in it is damaged; the message names it. If all runs failed, it says
        why.
    """
    top = Path(folder)
    config = read_run(top)["config"]
    store = Store(top)
    found = ExperimentResults()
    failures: list[Failure] = []
    described = {entry["label"]: entry for entry in config["agents"]}
    for environment in labels(config, "environments"):
        for agent in labels(config, "agents"):
            pair = slug(environment), slug(agent)
            records = store.records(pair, config["seeds"])
            failed = store.failures(pair, config["seeds"])
            failures += failed
            if records:
                gamma, setting = (described[agent].get(key) for key in ("gamma", "setting"))
                results = Results(agent, environment, records, tuple(failed), gamma, setting or {})
                found.setdefault(environment, []).append(results)
    if not found and failures:
        raise FileError(
            f"{folder} holds no finished cell: {failure_table(failures)}\nFix this, and run the experiment again with "
            "retry=True (--retry)"
        )
    if not found:
        raise FileError(f"{folder} holds no finished cell yet; run the experiment again to continue it")
    return found
