"""Assignments to the cells of a table, by lines with wildcards of which the last one counts.

A table of 10^5 states has 10^10 cells per action, so no cell is ever visited: a line is kept as one entry however many
cells it covers, and the cells that matter ask which entry came last. Entries with wildcards in the same slots cover
a cell if they agree with it in the other slots, so one sorted search per such form answers for all cells at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.cassandra.names import ANY


class Entries:
    """The entries of one table, in the order of the file.

    Parameters
    ----------
    dims : tuple of int
        Size of the table along each slot.
    """

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims
        self._slots: list[IndexArray] = []
        self._values: list[FloatArray] = []

    def extend(self, columns: Sequence[IndexArray | Sequence[int] | int], values: FloatArray) -> None:
        """Add one entry per value; a slot may be the same for all."""
        slots = np.empty((len(self.dims), values.size), dtype=np.int64)
        for slot, column in zip(slots, columns, strict=True):
            slot[:] = column
        self._slots.append(slots)
        self._values.append(values)

    def add(self, slots: Sequence[int], value: float) -> None:
        """Add one entry."""
        self.extend(slots, np.array([value]))

    def table(self) -> tuple[IndexArray, FloatArray]:
        """Return the slots (n, E) int64, with `ANY` for wildcards, and the values (E,) of all entries."""
        if not self._values:
            return np.zeros((len(self.dims), 0), dtype=np.int64), np.zeros(0)
        return np.concatenate(self._slots, axis=1), np.concatenate(self._values)

    def cells_covered(self) -> int:
        """Return how many cells the entries other than 0 cover, counted once per entry."""
        slots, values = self.table()
        sizes = np.where(slots == ANY, np.array(self.dims, dtype=np.float64)[:, None], 1.0)
        return int(sizes.prod(axis=0)[values != 0.0].sum())

    def support(self) -> IndexArray:
        """Return the cells that some entry other than 0 covers, ascending: flat indices, (n,) int64."""
        slots, values = self.table()
        found: list[IndexArray] = []
        for wild, chosen in _forms(slots):
            columns = slots[:, chosen[values[chosen] != 0.0]]
            for slot in np.flatnonzero(wild):
                given = columns.shape[1]
                columns = np.repeat(columns, self.dims[slot], axis=1)
                columns[slot] = np.tile(np.arange(self.dims[slot]), given)
            found.append(self._flat(columns, range(len(self.dims))))
        if not found:
            return np.zeros(0, dtype=np.int64)
        cells = np.sort(np.concatenate(found))
        return cells[np.append(True, cells[1:] != cells[:-1])] if cells.size else cells

    def values_at(self, cells: IndexArray) -> FloatArray:
        """Return what the last entry that covers each cell says, 0 if there is none: (n,) float64."""
        slots, values = self.table()
        of_cell = np.stack(np.unravel_index(cells, self.dims)).astype(np.int64)
        last = np.full(cells.size, -1, dtype=np.int64)
        for wild, chosen in _forms(slots):
            told = np.flatnonzero(~wild)
            key = self._flat(slots[:, chosen], told)
            order = np.argsort(key, kind="stable")
            key = key[order]
            latest = np.append(key[1:] != key[:-1], True)
            key, entry = key[latest], chosen[order[latest]]
            wanted = self._flat(of_cell, told)
            at = np.minimum(np.searchsorted(key, wanted), key.size - 1)
            last = np.where(key[at] == wanted, np.maximum(last, entry[at]), last)
        return np.where(last >= 0, values[last], 0.0) if values.size else np.zeros(cells.size)

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
