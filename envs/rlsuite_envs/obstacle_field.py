"""The field of the lecture notes' Fig. 9.3: squares (i, j), some of them black, and the right-most column to reach.

The notes draw the field and leave its details open: how large it is, where the black squares are, whether they count
as states, whether indices begin at 0 or 1, which way j grows. All of these are parameters here.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.errors import ModelError, ParameterError
from rlsuite.rendering import GridLayout
from rlsuite_envs.keywords import choice, sequence, square, whole
from rlsuite_envs.moves import Board

WIDTH, HEIGHT = 8, 5

# Our drawing of the field; the black squares of the notes' figure are not given in numbers.
OBSTACLES = ((2, 1), (2, 2), (2, 3), (4, 3), (4, 4), (5, 0), (5, 1))


class Field(NamedTuple):
    """The squares of a field as states, rows counted from the top."""

    black: NDArray[np.bool_]
    """(height, width)"""
    board: Board
    start: NDArray[np.float64]
    """(S,) probability of starting in each state."""
    labels: tuple[str, ...]
    """The notes' names of the states, ``(i,j)``."""

    @property
    def column(self) -> NDArray[np.int64]:
        """(S,) column of each state from the left."""
        return self.board.cells[:, 1]

    @property
    def at_goal(self) -> NDArray[np.bool_]:
        """(S,) whether a state lies in the right-most column."""
        return self.column == self.black.shape[1] - 1

    def layout(self, arrows: NDArray[np.int64], ends: bool) -> GridLayout:
        """Return the layout of the states; `ends`: no action is taken in the right-most column."""
        height, width = self.black.shape
        rows = np.flatnonzero(~self.black[:, -1]).tolist()
        marks = {(row, width - 1): "G" for row in rows}
        # A square is drawn as a wall only where no state lies.
        walls = self.board.state < 0
        marks |= {(row, column): "#" for row, column in np.argwhere(self.black & ~walls).tolist()}
        idle = self.at_goal & ends
        return GridLayout(height, width, self.board.cells, walls=walls, marks=marks, arrows=arrows, idle=idle)


def field(
    *,
    width: int,
    height: int,
    obstacles: Iterable[tuple[int, int]] | None,
    start: str | tuple[int, int],
    obstacle_states: bool,
    origin: int,
    j_axis: str,
) -> Field:
    """Lay out a field; the keywords are those of `rlsuite_envs.obstacle_grids.ObstacleGridEnv`.

    Raises
    ------
    ParameterError
        If a keyword lies outside its allowed values; an obstacle or a start outside the field is named.
    ModelError
        If there is no square to start on, or no goal.
    """
    whole("width", width, 2)
    whole("height", height, 1)
    whole("origin", origin, 0)
    choice("j_axis", j_axis, ["up", "down"])
    if obstacles is None:
        obstacles = [(i + origin, j + origin) for i, j in OBSTACLES] if (width, height) == (WIDTH, HEIGHT) else []

    def place(name: str, given: object) -> tuple[int, int]:
        """Return row from the top and column of the square that the user calls (i, j)."""
        i, j = square(name, given)
        column, row = i - origin, j - origin
        if not (0 <= column < width and 0 <= row < height):
            last = (width - 1 + origin, height - 1 + origin)
            raise ParameterError(
                f"{name}={(i, j)} lies outside the field, which goes from {(origin, origin)} to {last}"
            )
        return (height - 1 - row if j_axis == "up" else row), column

    black = np.zeros((height, width), dtype=np.bool_)
    for index, obstacle in enumerate(sequence("obstacles", obstacles)):
        black[place(f"obstacles[{index}]", obstacle)] = True
    if black[:, -1].all():
        raise ModelError("every square of the right-most column is an obstacle: no goal can be reached")
    board = Board.of(np.ones_like(black) if obstacle_states else ~black)

    allowed = ~black
    allowed[:, -1] = False
    if isinstance(start, str):
        choice("start", start, ["anywhere", "left"])
        if start == "left":
            allowed[:, 1:] = False
    else:
        chosen = place("start", start)
        if not allowed[chosen]:
            raise ParameterError(f"start={start} is an obstacle or in the right-most column; choose another square")
        allowed[:] = False
        allowed[chosen] = True
    if not allowed.any():
        raise ModelError("there is nowhere to start: every square outside the right-most column is an obstacle")
    starts = allowed[tuple(board.cells.T)]
    rows, columns = board.cells.T
    upwards = height - 1 - rows if j_axis == "up" else rows
    labels = tuple(f"({i},{j})" for i, j in zip((columns + origin).tolist(), (upwards + origin).tolist(), strict=True))
    return Field(black, board, starts / np.count_nonzero(starts), labels)
