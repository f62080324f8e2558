"""From a file to the same model with one statement in a line, as the checkers of proofs read it.

Matrices, rows, wildcards, ``uniform``, ``identity`` and ``reset`` are written out, each number as the file has it, but
costs as rewards below 0. Rows are not rescaled, and rewards that depend on the observation stay apart: what is made of
them is for the checker to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.cassandra.grammar import Parsed
from rlsuite.models.cassandra.names import ANY, Names
from rlsuite.models.cassandra.reading import LOOSE, MAX_CELLS
from rlsuite.models.cassandra.text import Text
from rlsuite.models.cassandra.writing import decimal


def plain_lines(path: str | os.PathLike[str]) -> str | None:
    """Return the text of a file, one statement in a line; None if that would be too long, or it has no discount.

    Raises
    ------
    FileError
        If the file is missing or malformed; the line and the column are named.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rlsuite.models.cassandra.plain import plain_lines
    >>> with TemporaryDirectory() as folder:
    ...     text = "discount: 0.5 states: 2 actions: go T: go uniform R: go : 0 : * 3"
    ...     _ = Path(folder, "two.mdp").write_text(text)
    ...     print(plain_lines(Path(folder, "two.mdp")), end="")
    discount: 0.5
    values: reward
    states: 2
    actions: go
    start: 0.5 0.5
    T: go : 0 : 0 0.5
    T: go : 0 : 1 0.5
    T: go : 1 : 0 0.5
    T: go : 1 : 1 0.5
    R: go : 0 : 0 3.0
    R: go : 0 : 1 3.0
    """
    parsed = Parsed(Text.of(path), LOOSE).parse()
    covered = sum(parsed.entries[key].cells_covered() for key in ("T", "O") if key in parsed.entries)
    if parsed.discount is None or "T" not in parsed.entries or covered > MAX_CELLS:
        return None
    lines = _lines(parsed)
    return None if lines is None else "".join(f"{line}\n" for line in lines)


def _lines(parsed: Parsed) -> Iterator[str] | None:
    moves, chances = _possible(parsed, "T")
    hidden = parsed.declared.observations is not None
    seen, likely = _possible(parsed, "O") if hidden and "O" in parsed.entries else (moves[:0], chances[:0])
    paid = _rewards(parsed, moves, seen if hidden else None)
    if paid is None:
        return None
    cells, rewards = paid
    return _written(parsed, (moves, chances), (seen, likely), (cells, 0.0 - rewards if parsed.costs else rewards))


def _written(
    parsed: Parsed,
    moves: tuple[IndexArray, FloatArray],
    seen: tuple[IndexArray, FloatArray],
    paid: tuple[IndexArray, FloatArray],
) -> Iterator[str]:
    actions, states, views = parsed.declared
    start = np.full(states.size, 1.0 / states.size) if parsed.start is None else parsed.start
    yield f"discount: {decimal(parsed.discount or 0.0)}"
    yield "values: reward"
    for names in (states, actions, *([] if views is None else [views])):
        yield f"{names.kind}s: {' '.join(names.labels or [str(names.size)])}"
    yield f"start: {' '.join(map(decimal, start.tolist()))}"
    for key, (cells, values) in (("T", moves), ("O", seen), ("R", paid)):
        kinds = parsed.declared.slots(key)
        named = [_names(kind) for kind in kinds]
        for cell, value in zip(cells.tolist(), values.tolist(), strict=True):
            yield f"{key}: {' : '.join(names[int(k)] for names, k in zip(named, cell, strict=True))} {decimal(value)}"


def _names(names: Names) -> Sequence[str]:
    """The name of each element, and in the last place, for the number -1, that of any."""
    return [*(names.labels or map(str, range(names.size))), "*"]


def _possible(parsed: Parsed, key: str) -> tuple[IndexArray, FloatArray]:
    """Return the cells (n, 3) int64 whose probability is not 0, and these (n,)."""
    table = parsed.entries[key].part((0, 1, 2))
    flat = table.support()
    values = table.values_at(flat)
    kept = values != 0.0
    return np.stack(np.unravel_index(flat[kept], table.dims), axis=1).astype(np.int64), values[kept]


def _rewards(parsed: Parsed, moves: IndexArray, seen: IndexArray | None) -> tuple[IndexArray, FloatArray] | None:
    """Return the cells that a reward other than 0 is paid for; with observations `ANY` where it is the same for all."""
    entries = parsed.entries.get("R")
    width = 3 if seen is None else 4
    if entries is None:
        return np.zeros((0, width), dtype=np.int64), np.zeros(0)
    slots, _ = entries.table()
    cells = moves
    if seen is not None and (slots[3] != ANY).any():
        # Each transition with each observation that can follow it.
        states = entries.dims[2]
        key = seen[:, 0] * states + seen[:, 1]
        order = np.argsort(key, kind="stable")
        wanted = moves[:, 0] * states + moves[:, 2]
        first = np.searchsorted(key[order], wanted)
        counts = np.searchsorted(key[order], wanted, side="right") - first
        if int(counts.sum()) > MAX_CELLS:
            return None
        of = np.repeat(np.arange(len(moves)), counts)
        within = np.arange(of.size) - np.repeat(np.cumsum(counts) - counts, counts)
        cells = np.column_stack([moves[of], seen[order][first[of] + within, 2]])
        values = entries.values_at(_flat(cells, entries.dims))
    else:
        table = entries.part((0, 1, 2))
        values = table.values_at(_flat(cells, table.dims))
        cells = cells if seen is None else np.column_stack([cells, np.full(len(cells), ANY)])
    return cells[values != 0.0], values[values != 0.0]


def _flat(cells: IndexArray, dims: tuple[int, ...]) -> IndexArray:
    """Return the flat number (n,) int64 of each cell."""
    number: IndexArray = np.zeros(len(cells), dtype=np.int64)
    for size, column in zip(dims, cells.T, strict=True):
        number = number * size + column
    return number
