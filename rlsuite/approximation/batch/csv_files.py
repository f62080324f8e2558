"""Batches as tables: one line of names, one line per transition."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.files import replacing
from rlsuite.errors import FileError
from rlsuite.synonyms import nearest

if TYPE_CHECKING:
    from rlsuite.approximation.batch.batch import Batch

_FLAGS = {"false": 0.0, "true": 1.0}


class Table(TypedDict):
    """The content of a table: arguments of `Batch.from_arrays`."""

    observation: NDArray[np.float64]
    action: NDArray[np.float64]
    reward: NDArray[np.float64]
    next_observation: NDArray[np.float64]
    terminated: NDArray[np.float64]
    first: NDArray[np.bool_] | None
    weight: NDArray[np.float64] | None


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
    places = [names.index(name) for name in [*wanted, *extra]]
    table = np.array([_numbers(path, number, line, names, places) for number, line in enumerate(lines[1:], 2)])
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
    )


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
    path: str | PathLike[str], number: int, line: Sequence[str], names: Sequence[str], places: Sequence[int]
) -> list[float]:
    if len(line) != len(names):
        raise FileError(f"{path}, line {number}: {len(line)} entries, but the first line names {len(names)} columns")
    values: list[float] = []
    for place in places:
        word = line[place].strip()
        try:
            values.append(_FLAGS[word.casefold()] if names[place] == "terminated" and word.isalpha() else float(word))
        except (KeyError, ValueError):
            wanted = "false, true, 0 or 1" if names[place] == "terminated" else "a number"
            raise FileError(f"{path}, line {number}: {names[place]} is {word!r}; it must be {wanted}") from None
    return values


def write(batch: Batch, path: str | PathLike[str]) -> None:
    """Write a table; see `Batch.to_csv`."""
    width = batch.observation.shape[1]
    names = ["episode", *(f"observation_{i}" for i in range(width)), "action", "reward"]
    names += [*(f"next_observation_{i}" for i in range(width)), "terminated", "weight"]
    columns = (
        batch.episode[:, None].tolist(),
        batch.observation.tolist(),
        (batch.action[:, None] + batch.first_action).tolist(),
        batch.reward[:, None].tolist(),
        batch.next_observation.tolist(),
        batch.terminated[:, None].astype(np.int64).tolist(),
        batch.weight[:, None].tolist(),
    )
    with replacing(path) as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows([entry for part in parts for entry in part] for parts in zip(*columns, strict=True))
