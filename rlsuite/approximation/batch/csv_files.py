"""Batches as tables: one line of names, one line per transition."""

import csv
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TypedDict

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.errors import FileError
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.synonyms import nearest

MASKS = ("action_mask", "next_action_mask")
_FLAGS = {"false": 0.0, "true": 1.0}


class Table(TypedDict):
    """The content of a table: arguments of `Batch.from_arrays`."""

    observation: FloatArray
    action: FloatArray
    reward: FloatArray
    next_observation: FloatArray
    terminated: FloatArray
    first: BoolArray | None
    weight: FloatArray | None
    action_mask: FloatArray | None
    next_action_mask: FloatArray | None


def read(path: str | PathLike[str]) -> Table:
    """Read a table; see `Batch.from_csv`."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    if len(lines) < 2:
        raise FileError(f"{path} has {len(lines)} lines; a line of column names and at least one transition are needed")
    names = [name.strip() for name in lines[0]]
    seen, ahead = _numbered(path, names, "observation"), _numbered(path, names, "next_observation")
    wanted = [*seen, *ahead, "action", "reward", "terminated"]
    for name in wanted:
        if name not in names:
            near = nearest(name, [each for each in names if each not in wanted])
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise FileError(f"{path} has no column {name!r}{hint} (columns: {', '.join(names)})")
    extra = [name for name in ("episode", "weight") if name in names]
    masks = {what: _numbered(path, names, what) for what in MASKS if any(name.startswith(what) for name in names)}
    extra += [name for numbered in masks.values() for name in numbered]
    columns = [names.index(name) for name in [*wanted, *extra]]
    table = np.array([_numbers(path, number, line, names, columns) for number, line in enumerate(lines[1:], 2)])
    column = dict(zip([*wanted, *extra], table.T, strict=True))
    first = None
    if "episode" in column:
        first = np.concatenate([[True], np.diff(column["episode"]) != 0])
    return Table(
        observation=table[:, : len(seen)],
        action=column["action"],
        reward=column["reward"],
        next_observation=table[:, len(seen) : len(seen) + len(ahead)],
        terminated=column["terminated"],
        first=first,
        weight=column.get("weight"),
        action_mask=_columns(column, masks.get("action_mask")),
        next_action_mask=_columns(column, masks.get("next_action_mask")),
    )


def _columns(column: Mapping[str, FloatArray], names: Sequence[str] | None) -> FloatArray | None:
    return None if names is None else np.stack([column[name] for name in names], axis=1)


def _numbered(path: str | PathLike[str], names: Sequence[str], what: str) -> list[str]:
    """Return the names of the columns of an observation, in order."""
    if what in names:
        return [what]
    numbers = sorted(int(name.removeprefix(f"{what}_")) for name in names if re.fullmatch(rf"{what}_\d+", name))
    if numbers != list(range(len(numbers))) or not numbers:
        listed = f"{numbers[0]}..{numbers[-1]} with gaps or repetitions" if numbers else "none of them"
        raise FileError(f"{path} needs the columns {what}_0, {what}_1, ... (or {what}); it has {listed}")
    return [f"{what}_{number}" for number in numbers]


def _numbers(
    path: str | PathLike[str], number: int, line: Sequence[str], names: Sequence[str], columns: Sequence[int]
) -> list[float]:
    if len(line) != len(names):
        raise FileError(f"{path}, line {number}: {len(line)} entries, but the first line names {len(names)} columns")
    values: list[float] = []
    for column in columns:
        word = line[column].strip()
        try:
            values.append(_FLAGS[word.casefold()] if names[column] == "terminated" and word.isalpha() else float(word))
        except (KeyError, ValueError):
            wanted = "false, true, 0 or 1" if names[column] == "terminated" else "a number"
            raise FileError(f"{path}, line {number}: {names[column]} is {word!r}; it must be {wanted}") from None
    return values


def write(path: str | PathLike[str], columns: Mapping[str, FloatArray | IndexArray]) -> None:
    """Write columns (n,) and (n, d) by name, the latter as ``name_0``, ``name_1``, ...; see `Batch.to_csv`."""
    names: list[str] = []
    blocks: list[Sequence[Sequence[float]]] = []
    for name, column in columns.items():
        names += [name] if column.ndim == 1 else [f"{name}_{i}" for i in range(column.shape[1])]
        blocks.append(column.reshape(len(column), -1).tolist())
    with replacing(path) as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows([entry for part in parts for entry in part] for parts in zip(*blocks, strict=True))
