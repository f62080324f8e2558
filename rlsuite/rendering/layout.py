"""The positions of the states of a grid problem in a picture.

A model has no positions; a `GridLayout` adds them, and every picture of a grid,
rendered or plotted, is drawn from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.rendering.arrows import from_labels

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env

Square: TypeAlias = tuple[int, int]
"""Row (counted downwards from 0) and column of a square."""


@dataclass(frozen=True, eq=False, init=False)
class GridLayout:
    """Squares, walls and marks of a grid, and the direction of every action.

    Parameters
    ----------
    n_rows, n_columns
        Size of the grid in squares.
    cells
        (S, 2) int: row and column of each state, rows counted downwards; ``(-1, -1)`` for a state that lies
        nowhere on the grid (an absorbing "end", say).
    walls
        (n_rows, n_columns) bool, True where no state can be; None: no walls.
    marks
        One character per marked square: ``S`` start, ``G`` goal, ``X`` or ``H`` pit, anything else as it is.
    arrows
        (A, 2) int displacement ``(d_row, d_column)`` of each action, or None when actions are not directions.
    idle
        (S,) bool, True for states in which no action is ever taken (ends, the foot of a cliff): no policy arrow is
        drawn there. None: no such states. States whose policy is "no action" need not be listed.

    Raises
    ------
    ParameterError
        If an array has the wrong shape, or a state lies outside the grid or inside a wall.

    Examples
    --------
    >>> layout = GridLayout.row_major(2, 3, marks={(1, 0): "S", (0, 2): "G"}, actions=["L", "R", "U", "D"])
    >>> layout.n_states, layout.cells[5].tolist(), layout.arrows[2].tolist()
    (6, [1, 2], [-1, 0])
    """

    n_rows: int
    n_columns: int
    cells: NDArray[np.int64]
    walls: NDArray[np.bool_]
    marks: Mapping[Square, str]
    arrows: NDArray[np.int64] | None
    idle: NDArray[np.bool_]

    def __init__(
        self,
        n_rows: int,
        n_columns: int,
        cells: ArrayLike,
        walls: ArrayLike | None = None,
        marks: Mapping[Square, str] | None = None,
        arrows: ArrayLike | None = None,
        idle: ArrayLike | None = None,
    ) -> None:
        if n_rows < 1 or n_columns < 1:
            raise ParameterError(f"a grid needs at least one row and one column, got {n_rows} x {n_columns}")
        places = _frozen(cells, np.int64)
        fields = {
            "n_rows": int(n_rows),
            "n_columns": int(n_columns),
            "cells": places,
            "walls": _frozen(np.zeros((n_rows, n_columns)) if walls is None else walls, np.bool_),
            "marks": dict(marks or {}),
            "arrows": None if arrows is None else _frozen(arrows, np.int64),
            "idle": _frozen(np.zeros(len(places)) if idle is None else idle, np.bool_),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check_shapes()
        self._check_states()
        self._check_marks()

    def _check_shapes(self) -> None:
        if self.cells.ndim != 2 or self.cells.shape[1] != 2:
            raise ParameterError(f"cells has shape {self.cells.shape}, needed (n_states, 2): row and column of each")
        if self.walls.shape != (self.n_rows, self.n_columns):
            raise ParameterError(f"walls has shape {self.walls.shape}, needed {(self.n_rows, self.n_columns)}")
        if self.idle.shape != (self.n_states,):
            raise ParameterError(f"idle has shape {self.idle.shape}, needed ({self.n_states},): one flag per state")
        if self.arrows is not None and (self.arrows.ndim != 2 or self.arrows.shape[1] != 2):
            raise ParameterError(f"arrows has shape {self.arrows.shape}, needed (n_actions, 2): row and column steps")

    def _check_states(self) -> None:
        row, column = self.cells.T
        nowhere = (row == -1) & (column == -1)
        outside = ~nowhere & ((row < 0) | (row >= self.n_rows) | (column < 0) | (column >= self.n_columns))
        if outside.any():
            state = int(outside.argmax())
            raise ParameterError(
                f"cells[{state}] = {tuple(self.cells[state].tolist())} lies outside the {self.n_rows} x "
                f"{self.n_columns} grid ((-1, -1) marks a state that is not on it)"
            )
        walled = ~nowhere & self.walls[row, column]
        if walled.any():
            state = int(walled.argmax())
            raise ParameterError(f"cells[{state}] = {tuple(self.cells[state].tolist())} lies inside a wall")

    def _check_marks(self) -> None:
        for (row, column), mark in self.marks.items():
            if len(mark) != 1 or not mark.isprintable():
                raise ParameterError(
                    f"the mark of square {(row, column)} is {mark!r}; it must be one printable character"
                )
            if not (0 <= row < self.n_rows and 0 <= column < self.n_columns):
                raise ParameterError(
                    f"mark {mark!r} at {(row, column)} lies outside the {self.n_rows} x {self.n_columns} grid"
                )

    @property
    def n_states(self) -> int:
        """Number of states, S."""
        return len(self.cells)

    @property
    def has_state(self) -> NDArray[np.bool_]:
        """(n_rows, n_columns) bool: whether any state lies on the square."""
        row, column = self.cells[self.cells[:, 0] >= 0].T
        squares = np.zeros((self.n_rows, self.n_columns), dtype=np.bool_)
        squares[row, column] = True
        return squares

    @property
    def states(self) -> NDArray[np.int64]:
        """(n_rows, n_columns) int64: the state of each square, -1 where there is none.

        Raises
        ------
        ParameterError
            If two states share a square: then no map can show one number per state.
        """
        on_grid = np.flatnonzero(self.cells[:, 0] >= 0)
        row, column = self.cells[on_grid].T
        states = np.full((self.n_rows, self.n_columns), -1, dtype=np.int64)
        states[row, column] = on_grid
        hidden = on_grid[states[row, column] != on_grid]
        if hidden.size:
            square = tuple(self.cells[hidden[0]].tolist())
            raise ParameterError(
                f"states {hidden[0]} and {states[square]} share square {square}: "
                "a map of values or actions needs one state per square"
            )
        return states

    @classmethod
    @says_what_to_write
    def row_major(
        cls,
        n_rows: int,
        n_columns: int,
        *,
        marks: Mapping[Square, str] | None = None,
        actions: Sequence[str] | None = None,
        idle: ArrayLike | None = None,
    ) -> Self:
        """Layout of a grid without walls whose states are numbered along the rows, from the top.

        Parameters
        ----------
        n_rows, n_columns
            Size of the grid in squares.
        marks
            One character per marked square.
        actions
            Names of the actions; they become arrows if all of them are directions (``["left", "down", ...]``).
        idle
            (S,) bool: states in which no action is ever taken.

        Returns
        -------
        GridLayout
            With ``n_rows * n_columns`` states; state ``r * n_columns + c`` lies at ``(r, c)``.

        Raises
        ------
        ParameterError
            As for `GridLayout`.
        """
        cells = np.indices((n_rows, n_columns)).reshape(2, -1).T
        arrows = None if actions is None else from_labels(actions)
        return cls(n_rows, n_columns, cells, marks=marks, arrows=arrows, idle=idle)

    @classmethod
    def from_env(cls, env: "Env") -> Self:
        """Layout of an environment on a grid.

        Parameters
        ----------
        env
            An environment, wrapped or not, whose innermost ``layout`` attribute is a `GridLayout`, or Gymnasium's
            FrozenLake (any map) or CliffWalking.

        Returns
        -------
        GridLayout
            One state per square.

        Raises
        ------
        ParameterError
            If it is not an environment.
        UnsuitableEnvironment
            If the environment does not say where its states are.

        Examples
        --------
        >>> import gymnasium
        >>> layout = GridLayout.from_env(gymnasium.make("CliffWalking-v1"))
        >>> layout.n_rows, layout.n_columns, layout.marks[3, 11]
        (4, 12, 'G')
        """
        from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
        from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

        if not hasattr(env, "unwrapped"):
            made = f"gymnasium.make({env!r})" if isinstance(env, str) else "gymnasium.make('FrozenLake-v1')"
            raise ParameterError(f"env={env!r} is not an environment; write GridLayout.from_env({made})")
        inner = cast("Any", env.unwrapped)
        layout = getattr(inner, "layout", None)
        if isinstance(layout, cls):
            return layout
        if isinstance(layout, GridLayout):
            parts = (layout.n_rows, layout.n_columns, layout.cells, layout.walls, layout.marks, layout.arrows)
            return cls(*parts, layout.idle)
        if isinstance(inner, FrozenLakeEnv):
            return cls.row_major(**_frozen_lake(inner.desc))
        if isinstance(inner, CliffWalkingEnv):
            return cls.row_major(**_cliff_walking(*inner.shape))
        name = type(inner).__name__ if env.spec is None else env.spec.id
        raise UnsuitableEnvironment(
            f"{name} does not say where its states are on a grid: env.unwrapped.layout is missing. "
            "Give the environment a rlsuite.rendering.GridLayout as its `layout` attribute, or pass a layout "
            "instead of the environment."
        )


def _frozen(values: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    given = np.asarray(values, dtype=dtype)
    if given.flags.owndata and given.flags.c_contiguous and not given.flags.writeable:
        return given
    array = given.copy(order="C")
    array.flags.writeable = False
    return array


def _frozen_lake(desc: NDArray[np.bytes_]) -> dict[str, Any]:
    """Return the arguments of `GridLayout.row_major`."""
    letters = np.char.decode(desc, "ascii")
    marks = {(int(row), int(column)): str(letters[row, column]) for row, column in np.argwhere(letters != "F")}
    idle = ((letters == "H") | (letters == "G")).ravel()
    size = dict(zip(("n_rows", "n_columns"), letters.shape, strict=True))
    return {**size, "marks": marks, "actions": ["left", "down", "right", "up"], "idle": idle}


def _cliff_walking(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Return the arguments of `GridLayout.row_major`."""
    # Gymnasium keeps the cliff in a private attribute but fixes it to the last row between start and goal.
    bottom = n_rows - 1
    marks = {(bottom, column): "X" for column in range(1, n_columns - 1)}
    marks |= {(bottom, 0): "S", (bottom, n_columns - 1): "G"}
    idle = np.zeros((n_rows, n_columns), dtype=np.bool_)
    idle[bottom, 1:] = True
    size = {"n_rows": n_rows, "n_columns": n_columns}
    return {**size, "marks": marks, "actions": ["up", "right", "down", "left"], "idle": idle.ravel()}
