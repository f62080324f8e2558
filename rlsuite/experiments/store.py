"""Finished cells on disk: text files that other tools read, with checksums, written atomically.

A cell is a folder of

``monitor.csv``
    One row per finished episode, in the format of Stable-Baselines3's Monitor: a first line ``#{...}`` of JSON, then
    ``r,l,t``: return, length in steps, and the time at which it ended. Time is counted in environment steps, not in
    seconds, so that the same seed gives the same bytes; the first line says so. Where the optimum is known a column
    ``regret`` follows.
``curve.csv``
    ``time,cumulative_reward`` and, where the optimum is known, ``regret``: the records.
``evaluation.csv``
    ``time,value,return``: the evaluations of the policy, discounted and undiscounted; only if there were some. Of an
    agent that evaluates a policy a column ``error`` follows: the root mean squared error of the learned state values.
``cell.json``
    The spec of the cell, what its numbers were made with, and the SHA-256 of its files, itself included.

Floats are written so that reading them gives the same bits.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.checks import finite_number, fraction, whole_number
from rlsuite.core.described import describe
from rlsuite.core.files import sync
from rlsuite.core.named_estimators import imported_class
from rlsuite.errors import FileError, RlsuiteError
from rlsuite.registry import build_agent
from rlsuite.synonyms import FORMER_NAMES
from rlsuite.training.failures import Failure
from rlsuite.training.results import Bounds, Record

if TYPE_CHECKING:
    from typing_extensions import TypeIs

FORMAT = "rlsuite cell 1"
FAILURE_FORMAT = "rlsuite failure 1"
CELL, MONITOR, CURVE, EVALUATION = "cell.json", "monitor.csv", "curve.csv", "evaluation.csv"
UNDISCOUNTED, ERROR = "return", "error"  # columns of evaluation.csv
LARGEST_COUNT = 2**53
"""Up to this number, floats represent all whole numbers exactly."""

Table: TypeAlias = Annotated[Mapping[str, Any], "plain data"]
"""A table of a TOML or JSON file; what its values are is checked where they are read."""


def is_table(value: object) -> TypeIs[Table]:
    """Whether `value` is a table; the keys of those of TOML and JSON are text."""
    return isinstance(value, Mapping)


def write_cell(folder: Path, spec: Table, versions: Mapping[str, str], record: Record, aside: Path) -> None:
    """Write a cell; its folder appears only when it is complete.

    Parameters
    ----------
    folder : Path
        The cell's folder, which must not exist.
    spec, versions : mapping
        What the numbers depend on, and what they were made with.
    record : Record
        The run.
    aside : Path
        Folder of unfinished cells, on the same disk.
    """
    unfinished = aside / _sha256(str(folder).encode())
    try:
        unfinished.mkdir(parents=True)
        contents = _contents(spec, record)
        for name, text in contents.items():
            (unfinished / name).write_text(text, encoding="utf-8", newline="\n")
        cell = {
            "format": FORMAT,
            "seed": record.seed,
            "unit": record.unit,
            "loop": record.loop,
            **({"follows": True} if record.follows else {}),
            "end_probability": record.end_probability,
            "optimal_value": record.optimal_value,
            "value_bounds": _as_json(record.value_bounds),
            "return_bounds": _as_json(record.return_bounds),
            "optimum_unknown": record.optimum_unknown,
            "spec": spec,
            "versions": versions,
        }
        checksums = {name: _sha256(text.encode()) for name, text in contents.items()}
        cell["sha256"] = {**checksums, CELL: _own_checksum({**cell, "sha256": checksums})}
        (unfinished / CELL).write_text(_json(cell), encoding="utf-8", newline="\n")
        for name in (*contents, CELL):
            sync(unfinished / name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.replace(unfinished, folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise FileError(f"cannot write {folder}: {error.strerror}") from error


def write_failure(folder: Path, spec: Table, failure: Failure, aside: Path) -> None:
    """Write beside the folder of a cell that it failed; `read_failure` reads it."""
    file = failure_file(folder)
    unfinished = aside / _sha256(str(file).encode())
    try:
        aside.mkdir(parents=True, exist_ok=True)
        content = {"format": FAILURE_FORMAT, "spec": spec, "failure": failure._asdict()}
        unfinished.write_text(_json(content), encoding="utf-8", newline="\n")
        sync(unfinished)
        file.parent.mkdir(parents=True, exist_ok=True)
        os.replace(unfinished, file)
    except OSError as error:
        raise FileError(f"cannot write {file}: {error.strerror}") from error


def read_failure(folder: Path, spec: Table | None = None) -> Failure | None:
    """Read why a cell failed; None if it has not, or did so with another spec than a given one, or if it is damaged."""
    try:
        content = json.loads(failure_file(folder).read_text(encoding="utf-8"))
        if content["format"] != FAILURE_FORMAT or spec not in (None, as_written_now(content["spec"])):
            return None
        failure = Failure(**content["failure"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    texts: tuple[object, ...] = (failure.agent, failure.environment, failure.error, failure.where)
    counts = (failure.seed, 0 if failure.step is None else failure.step)
    valid = all(type(one) is str for one in texts) and all(type(one) is int for one in counts)
    return failure if valid else None


def as_written_now(spec: Table) -> Table:
    """The spec of a cell that an earlier version has written, as this version writes it.

    It has the present names; parameters that its agent did not have then have their defaults.
    """
    named = {FORMER_NAMES.get(name, name): value for name, value in spec.items()}
    try:
        return named | {"agent": json.loads(json.dumps(describe(build_agent(named["agent"], imported_class))))}
    except (KeyError, TypeError, RlsuiteError):  # an agent that this version does not know
        return named


def forget_failure(folder: Path) -> None:
    """Remove what `write_failure` has written, if there is something."""
    failure_file(folder).unlink(missing_ok=True)


def failure_file(folder: Path) -> Path:
    """Where it is written that the cell of a folder failed."""
    return folder.with_name(f"{folder.name}.failed.json")


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


def _as_json(bounds: Bounds) -> list[float | None]:
    """Bounds as JSON has them, which has no infinity: null."""
    return [end if math.isfinite(end) else None for end in bounds]


def _bounds(cell: Table, name: str) -> Bounds:
    """The bounds of this name; unknown in the cells of earlier versions."""
    low, high = cell.get(name, (None, None))
    for end in (low, high):
        if end is not None:
            finite_number(name, end)
    return Bounds(-math.inf if low is None else low, math.inf if high is None else high)


def _contents(spec: Table, record: Record) -> dict[str, str]:
    """The tables of a record as text, by file name."""
    header = {"t_start": 0.0, "env_id": spec["environment"]["id"], "t_unit": "environment steps"}
    ends = np.cumsum(record.episode_length)
    episodes = {"r": record.episode_return, "l": record.episode_length, "t": ends}
    records = {"time": record.time, "cumulative_reward": record.cumulative_reward}
    if record.regret.size or record.episode_regret.size:  # of an unfinished run, one may be empty yet
        episodes["regret"] = record.episode_regret
        records["regret"] = record.regret
    contents = {MONITOR: f"#{json.dumps(header)}\n" + _table(episodes), CURVE: _table(records)}
    if record.evaluation.size:
        evaluations = {"time": record.evaluation_time, "value": record.evaluation}
        if record.evaluation_return.size:
            evaluations[UNDISCOUNTED] = record.evaluation_return
        if record.value_error.size:
            evaluations[ERROR] = record.value_error
        contents[EVALUATION] = _table(evaluations)
    return contents


def _table(columns: Mapping[str, NDArray[Any]]) -> str:
    rows: Sequence[Sequence[float]] = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    return "\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]) + "\n"


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
