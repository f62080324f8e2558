"""Moves on a grid, for all squares at once.

Rows are counted downwards from the top, as in the text of a map; the notes' i is our column.
"""

from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

FOUR: Final = ("Left", "Right", "Up", "Down")
KINGS: Final = (*FOUR, "Up-left", "Up-right", "Down-left", "Down-right")
KINGS_AND_STAY: Final = (*KINGS, "Stay")

DISPLACEMENTS: Final[dict[str, tuple[int, int]]] = {
    "Left": (0, -1),
    "Right": (0, 1),
    "Up": (-1, 0),
    "Down": (1, 0),
    "Up-left": (-1, -1),
    "Up-right": (-1, 1),
    "Down-left": (1, -1),
    "Down-right": (1, 1),
    "Stay": (0, 0),
}


def displacements(names: tuple[str, ...]) -> NDArray[np.int64]:
    """Return (row, column) steps of the named moves: (A, 2) int64.

    >>> displacements(("Left", "Up"))
    array([[ 0, -1],
           [-1,  0]])
    """
    return np.array([DISPLACEMENTS[name] for name in names], dtype=np.int64)


class Board(NamedTuple):
    """The squares of a grid that are states, numbered along the rows from the top."""

    state: NDArray[np.int64]
    """(n_rows, n_columns): the state of each square, -1 where there is none."""
    cells: NDArray[np.int64]
    """(S, 2): row and column of each state."""

    @classmethod
    def of(cls, free: NDArray[np.bool_]) -> Self:
        """Number the squares where `free` (n_rows, n_columns) is True."""
        cells = np.ascontiguousarray(np.argwhere(free))
        cells.setflags(write=False)
        state = np.full(free.shape, -1, dtype=np.int64)
        state[free] = np.arange(len(cells))
        return cls(state, cells)

    def look(self, displacement: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Look from every state along one displacement.

        Returns
        -------
        found : ndarray (S,) int64
            The state there, -1 if there is none.
        inside : ndarray (S,) bool
            Whether the square there is on the grid at all.

        Examples
        --------
        >>> Board.of(np.array([[True, False, True]])).look(np.array([0, 1]))
        (array([-1, -1]), array([ True, False]))
        """
        (rows, rows_there), (columns, columns_there) = map(_overlap, self.state.shape, displacement.tolist())
        found = np.full_like(self.state, -1)
        found[rows, columns] = self.state[rows_there, columns_there]
        inside = np.zeros(self.state.shape, dtype=np.bool_)
        inside[rows, columns] = True
        free = self.state >= 0
        return found[free], inside[free]


def _overlap(length: int, step: int) -> tuple[slice, slice]:
    """Return which of the indices 0..length-1 are still among them after a step, and what they become."""
    return slice(max(0, -step), max(0, length - step)), slice(max(0, step), max(0, length + step))
