"""Cells that earlier versions have written, each as a folder of text files with checksums; they are only read.

``monitor.csv``
    One row per finished episode, in the format of Stable-Baselines3's Monitor: a first line ``#{...}`` of JSON, then
    ``r,l,t``: return, length in steps, and the time at which it ended. Time is counted in environment steps, not in
    seconds; the first line says so. Where the optimum is known a column ``regret`` follows.
``curve.csv``
    ``time,cumulative_reward`` and, where the optimum is known, ``regret``: the records.
``evaluation.csv``
    ``time,value,return``: the evaluations of the policy, discounted and undiscounted; only if there were some. Of an
    agent that evaluates a policy a column ``error`` follows: the root mean squared error of the learned state values.
``cell.json``
    The spec of the cell, what its numbers were made with, and the SHA-256 of its files, itself included.

Beside the folder ``seed-0007`` the file ``seed-0007.failed.json`` says why a cell failed.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import finite_number, fraction, whole_number
from rlsuite.core.described import describe
from rlsuite.core.named_estimators import imported_class
from rlsuite.core.narrowing import Table
from rlsuite.errors import FileError, RlsuiteError
from rlsuite.experiments.segments import LARGEST_COUNT, Pair, Segment, entry_of, segment_of
from rlsuite.registry import build_agent
from rlsuite.synonyms import FORMER_NAMES
from rlsuite.training.failures import Failure
from rlsuite.training.results import Bounds, Record

FORMAT = "rlsuite cell 1"
FAILURE_FORMAT = "rlsuite failure 1"
CELL, MONITOR, CURVE, EVALUATION = "cell.json", "monitor.csv", "curve.csv", "evaluation.csv"
UNDISCOUNTED, ERROR = "return", "error"  # columns of evaluation.csv
NOTE = ".failed.json"


class CellFolders:
    """The folders of cells below that of an experiment.

    Parameters
    ----------
    folder : Path
        The folder of the experiment.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def cells(self) -> dict[Pair, tuple[list[int], list[int]]]:
        """Return the seeds of the cells of each pair that are finished, and of those that have failed."""
        found: dict[Pair, tuple[list[int], list[int]]] = {}
        for cell in self.folder.glob("*/*/seed-*"):
            name, failed, rest = cell.name.partition(NOTE)
            digits = name.removeprefix("seed-")
            if rest or not digits.isdecimal() or seed_folder(int(digits)) != name:
                continue
            seeds = found.setdefault((cell.parts[-3], cell.parts[-2]), ([], []))
            if not failed and cell.is_dir():
                seeds[0].append(int(digits))
            elif failed and _failure(cell) is not None:
                seeds[1].append(int(digits))
        return found

    def folder_of(self, pair: Pair, seed: int) -> Path:
        """The folder of a cell."""
        return self.folder.joinpath(*pair, seed_folder(seed))

    def made_with(self, pair: Pair, seed: int) -> tuple[Table, Mapping[str, str]]:
        """Return the spec of a cell, and the versions that its numbers were made with.

        Raises
        ------
        FileError
            If it is damaged; the message names the file.
        """
        folder = self.folder_of(pair, seed)
        if folder.is_dir():
            about = read_description(folder)
            return _without_seed(about["spec"]), about["versions"]
        found = _failure(failure_file(folder))
        return {} if found is None else _without_seed(found[0]), {}

    def segment(self, pair: Pair, seed: int) -> Segment:
        """Read a cell as a segment of it alone.

        Raises
        ------
        FileError
            If it is damaged; the message names the file.
        """
        folder = self.folder_of(pair, seed)
        outcome = read_cell(folder) if folder.is_dir() else read_failure(folder)
        if outcome is None:
            raise _damaged(failure_file(folder), "is not the note of a failure")
        entry = entry_of(pair, *self.made_with(pair, seed), outcome)
        return Segment.of(folder, segment_of([entry]))


def _without_seed(spec: Table) -> Table:
    return {name: value for name, value in spec.items() if name != "seed"}


def read_failure(folder: Path) -> Failure | None:
    """Read why the cell of a folder failed; None if it has not, or the note is damaged."""
    found = _failure(failure_file(folder))
    return None if found is None else found[1]


def _failure(file: Path) -> tuple[Table, Failure] | None:
    """The spec of a cell that failed, and why it did; None if that is damaged."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] != FAILURE_FORMAT:
            return None
        spec, failure = as_written_now(content["spec"]), Failure(**content["failure"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    texts: tuple[object, ...] = (failure.agent, failure.environment, failure.error, failure.where)
    counts = (failure.seed, 0 if failure.step is None else failure.step)
    valid = all(type(one) is str for one in texts) and all(type(one) is int for one in counts)
    return (spec, failure) if valid else None


def as_written_now(spec: Table) -> Table:
    """The spec of a cell that an earlier version has written, as this version writes it.

    It has the present names; parameters that its agent did not have then have their defaults.
    """
    named = {FORMER_NAMES.get(name, name): value for name, value in spec.items()}
    try:
        return named | {"agent": json.loads(json.dumps(describe(build_agent(named["agent"], imported_class))))}
    except (KeyError, TypeError, RlsuiteError):  # an agent that this version does not know
        return named


def seed_folder(seed: int) -> str:
    """A seed as the name of a folder.

    >>> seed_folder(7)
    'seed-0007'
    """
    return f"seed-{seed:04d}"


def failure_file(folder: Path) -> Path:
    """Where it is written that the cell of a folder failed."""
    return folder.with_name(f"{folder.name}{NOTE}")


def read_description(folder: Path) -> dict[str, Any]:
    """Read the ``cell.json`` of a finished cell; its ``spec`` says what the cell depends on.

    Raises
    ------
    FileError
        If the file is missing or damaged.
    """
    file = folder / CELL
    try:
        cell = json.loads(_bytes(file))
        stated = cell["sha256"].pop(CELL)
        if cell["format"] != FORMAT:
            raise FileError(f"{file} has the format {cell['format']!r}; this version of rlsuite reads {FORMAT!r}")
        tables = set(cell["sha256"])
        known = isinstance(cell["spec"], dict) and isinstance(cell["versions"], dict)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(file, "is not the JSON of a cell") from error
    if stated != _own_checksum(cell):
        raise _damaged(file, "does not have the checksum that it states")
    cell["spec"] = as_written_now(cell["spec"]) if known else {}
    if not known or not {MONITOR, CURVE} <= tables <= {MONITOR, CURVE, EVALUATION}:
        raise _damaged(file, "does not describe a cell")
    return cell


def read_cell(folder: Path) -> Record:
    """Read a finished cell.

    Raises
    ------
    FileError
        If one of its files is missing, damaged or truncated; the message names it.
    """
    cell = read_description(folder)
    columns: dict[str, Columns] = {}
    for name, checksum in cell["sha256"].items():
        content = _bytes(folder / name)
        if _sha256(content) != checksum:
            raise _damaged(folder / name, f"does not have the checksum that {CELL} states")
        try:
            columns[name] = _columns(content.decode(), skip=1 if name == MONITOR else 0)
        except (ValueError, IndexError) as error:
            raise _damaged(folder / name, f"is not a table of numbers ({error})") from error
    try:
        return _record(cell, columns[MONITOR], columns[CURVE], columns.get(EVALUATION, {}))
    except (ValueError, KeyError) as error:
        raise _damaged(folder / CELL, f"and the tables beside it are not those of a cell ({error})") from error


Columns: TypeAlias = dict[str, NDArray[np.float64]]


def _record(cell: Table, monitor: Columns, curve: Columns, evaluation: Columns) -> Record:
    """The record that was written as a cell.

    Raises
    ------
    KeyError, ValueError
        If an entry or a column is missing, or is not what it should be.
    """
    whole_number("seed", cell["seed"], at_least=0)
    if cell["loop"] not in ("compiled", "stepwise") or cell["unit"] not in ("steps", "episodes"):
        raise ValueError(f"loop {cell['loop']!r}, unit {cell['unit']!r}")
    if cell["optimal_value"] is not None:
        finite_number("optimal_value", cell["optimal_value"])
    if cell.get("end_probability") is not None:
        fraction("end_probability", cell["end_probability"])
    nothing = np.zeros(0)
    return Record(
        seed=cell["seed"],
        loop=cell["loop"],
        unit=cell["unit"],
        episode_return=monitor["r"],
        episode_length=_whole(monitor["l"]),
        episode_regret=monitor.get("regret", nothing),
        time=_whole(curve["time"]),
        cumulative_reward=curve["cumulative_reward"],
        regret=curve.get("regret", nothing),
        evaluation_time=_whole(evaluation.get("time", nothing)),
        evaluation=evaluation.get("value", nothing),
        evaluation_return=evaluation.get(UNDISCOUNTED, nothing),
        follows=bool(cell.get("follows", False)),
        value_error=evaluation.get(ERROR, nothing),
        end_probability=cell.get("end_probability"),
        optimal_value=cell["optimal_value"],
        value_bounds=_bounds(cell, "value_bounds"),
        return_bounds=_bounds(cell, "return_bounds"),
        optimum_unknown=cell.get("optimum_unknown", ""),
    )


def _bounds(cell: Table, name: str) -> Bounds:
    """The bounds of this name; unknown in the cells of earlier versions."""
    low, high = cell.get(name, (None, None))
    for end in (low, high):
        if end is not None:
            finite_number(name, end)
    return Bounds(-math.inf if low is None else low, math.inf if high is None else high)


def _columns(text: str, skip: int) -> dict[str, NDArray[np.float64]]:
    """Columns of a table by name; whole numbers are exact up to 2**53.

    Raises
    ------
    ValueError, IndexError
        If that is not a table of numbers.
    """
    lines = text.splitlines()[skip:]
    names = lines[0].split(",")
    values = np.loadtxt(lines[1:], delimiter=",", ndmin=2) if lines[1:] else np.zeros((0, len(names)))
    if values.shape[1] != len(names):
        raise ValueError(f"{len(names)} names for {values.shape[1]} columns")
    for name, column in zip(names, values.T, strict=True):
        unknown = np.isnan(column) if name == UNDISCOUNTED else False  # NaN if the policy may never reach an end
        if not (np.isfinite(column) | unknown).all():
            raise ValueError(f"column {name} has a number that is not finite")
    return {name: np.ascontiguousarray(values[:, index]) for index, name in enumerate(names)}


def _whole(column: NDArray[np.float64]) -> NDArray[np.int64]:
    """A column of counts."""
    if not ((column >= 0) & (column <= LARGEST_COUNT) & (column == np.floor(column))).all():
        raise ValueError("a count is not a whole number")
    return column.astype(np.int64)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise _damaged(file, "is missing") from error
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from error


def _damaged(file: Path, what: str) -> FileError:
    return FileError(f"{file} {what}; delete the folder {file.parent} to have this cell learned again")


def _json(content: object) -> str:
    return json.dumps(content, indent=2) + "\n"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _own_checksum(cell: Table) -> str:
    return _sha256(_json(cell).encode())
