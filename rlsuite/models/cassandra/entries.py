"""Assignments to the cells of a table, by lines with wildcards; the last assignment to a cell counts.

A table of 10^5 states has 10^10 cells per action, so no cell is ever visited: a line is kept as one entry however many
cells it covers, and for the cells that matter the last entry is looked up. Entries with wildcards in the same slots
cover a cell if they agree with it in the other slots, so one sorted search per such form answers for all cells at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.cassandra.names import ANY

BLOCK = 2**20
"""Cells that are looked up at a time."""


class _Form(NamedTuple):
    """The entries with wildcards in the same slots, sorted by their other slots."""

    named: IndexArray
    """The slots without wildcards"""
    key: IndexArray
    """(n,) int64, ascending: one number for the given slots"""
    entry: IndexArray
    """(n,) int64: the last entry with that number"""


class Entries:
    """The entries of one table, in the order of the file.

    Parameters
    ----------
    dims : tuple of int
        Size of the table along each slot.
    """

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims
        self.size = 0
        """How many entries there are"""
        self._slots: list[IndexArray] = []
        self._values: list[FloatArray] = []
        self._at: list[IndexArray] = []

    def extend(
        self, columns: Sequence[IndexArray | Sequence[int] | int], values: FloatArray, at: IndexArray | int = 0
    ) -> None:
        """Add one entry per value; a slot may be the same for all, and so may the offset in the text, `at`."""
        slots = np.empty((len(self.dims), values.size), dtype=np.int64)
        for slot, column in zip(slots, columns, strict=True):
            slot[:] = column
        self._slots.append(slots)
        self._values.append(values)
        self._at.append(np.broadcast_to(np.asarray(at, dtype=np.int64), values.shape))
        self.size += values.size

    def add(self, slots: Sequence[int], value: float, at: int = 0) -> None:
        """Add one entry."""
        self.extend(slots, np.array([value]), at)

    def table(self) -> tuple[IndexArray, FloatArray]:
        """Return the slots (n, E) int64, with `ANY` for wildcards, and the values (E,) of all entries."""
        if not self._values:
            return np.zeros((len(self.dims), 0), dtype=np.int64), np.zeros(0)
        if len(self._values) > 1:
            self._slots = [np.concatenate(self._slots, axis=1)]
            self._values = [np.concatenate(self._values)]
            self._at = [np.concatenate(self._at)]
        return self._slots[0], self._values[0]

    def part(self, slots: Sequence[int], chosen: BoolArray | None = None) -> Self:
        """Return the chosen entries with other slots: those of these numbers, in this order."""
        given, values = self.table()
        if chosen is not None:
            given, values = given[:, chosen], values[chosen]
        found = type(self)(tuple(self.dims[slot] for slot in slots))
        found.extend(list(given[list(slots)]), values)
        return found

    def offset_of(self, row: Sequence[int]) -> int:
        """Return the offset of the last entry about a row, which is given by its first slots; -1 if there is none."""
        slots, _ = self.table()
        about = np.ones(self.size, dtype=np.bool_)
        for slot, number in zip(slots, row, strict=False):
            about &= (slot == number) | (slot == ANY)
        found = np.flatnonzero(about)
        return int(self._at[0][found[-1]]) if found.size else -1

    def widest(self) -> int:
        """Return the offset of the entry other than 0 that covers most cells; there is one."""
        slots, values = self.table()
        sizes = np.where(slots == ANY, np.array(self.dims, dtype=np.float64)[:, None], 1.0).prod(axis=0)
        return int(self._at[0][np.argmax(sizes * (values != 0.0))])

    def cells_covered(self) -> int:
        """Return how many cells the entries other than 0 cover, counted once per entry."""
        slots, values = self.table()
        total = 0
        for wild, chosen in _forms(slots):
            each = math.prod(size for size, free in zip(self.dims, wild.tolist(), strict=True) if free)
            total += each * int(np.count_nonzero(values[chosen]))
        return total

    def support(self) -> IndexArray:
        """Return the cells that some entry other than 0 covers, ascending: flat indices, (n,) int64."""
        slots, values = self.table()
        found: list[IndexArray] = []
        for wild, entries in _forms(slots):
            chosen = entries[values[entries] != 0.0]
            if not chosen.size:
                continue
            # The cells that an entry fills: an offset for the names that it gives, plus one for those left out.
            given = np.where(wild[:, None], 0, slots[:, chosen])
            free = np.zeros(1, dtype=np.int64)
            for slot in np.flatnonzero(wild).tolist():
                step = math.prod(self.dims[slot + 1 :])
                free = (free[:, None] + step * np.arange(self.dims[slot])).reshape(-1)
            found.append((self._flat(given, range(len(self.dims)))[:, None] + free).reshape(-1))
        if not found:
            return np.zeros(0, dtype=np.int64)
        cells = found[0] if len(found) == 1 else np.concatenate(found)
        found.clear()
        cells.sort()
        return cells[np.append(True, cells[1:] != cells[:-1])] if cells.size else cells

    def values_at(self, cells: IndexArray) -> FloatArray:
        """Return the value of the last entry that covers each cell, 0 if there is none: (n,) float64."""
        _, values = self.table()
        found = np.zeros(cells.size)
        if values.size == 0:
            return found
        forms = self._sorted_forms()
        for begin in range(0, cells.size, BLOCK):
            last = self._last(cells[begin : begin + BLOCK], forms)
            found[begin : begin + BLOCK] = np.where(last >= 0, values[last], 0.0)
        return found

    def cover(self, cells: IndexArray) -> BoolArray:
        """Return whether some entry covers each cell: (n,) bool."""
        forms = self._sorted_forms()
        blocks = [self._last(cells[begin : begin + BLOCK], forms) >= 0 for begin in range(0, cells.size, BLOCK)]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *blocks])

    def _sorted_forms(self) -> list[_Form]:
        slots, _ = self.table()
        found: list[_Form] = []
        for wild, chosen in _forms(slots):
            named = np.flatnonzero(~wild)
            key = self._flat(slots[:, chosen], named)
            order = np.argsort(key, kind="stable")
            key = key[order]
            latest = np.append(key[1:] != key[:-1], True)
            found.append(_Form(named, key[latest], chosen[order[latest]]))
        return found

    def _last(self, cells: IndexArray, forms: list[_Form]) -> IndexArray:
        """Return the last entry that covers each cell, -1 if there is none."""
        of_cell = np.stack(np.unravel_index(cells, self.dims)).astype(np.int64, copy=False)
        last = np.full(cells.size, -1, dtype=np.int64)
        for named, key, entry in forms:
            wanted = self._flat(of_cell, named)
            at = np.minimum(np.searchsorted(key, wanted), key.size - 1)
            last = np.where(key[at] == wanted, np.maximum(last, entry[at]), last)
        return last

    def _flat(self, columns: IndexArray, slots: Sequence[int] | IndexArray) -> IndexArray:
        """Return one number per column, from the given slots alone."""
        key = np.zeros(columns.shape[1], dtype=np.int64)
        for slot in slots:
            key = key * self.dims[slot] + columns[slot]
        return key


def _forms(slots: IndexArray) -> list[tuple[BoolArray, IndexArray]]:
    """Return each pattern of wildcards (n,) bool with the entries that have it, in the order of the file."""
    wild = slots == ANY
    code = (wild << np.arange(len(slots))[:, None]).sum(axis=0)
    members = [np.flatnonzero(code == one) for one in np.flatnonzero(np.bincount(code))]
    return [(wild[:, chosen[0]], chosen) for chosen in members]
