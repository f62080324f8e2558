"""Pictures of a grid problem, optionally with values and a policy drawn over the squares."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.rendering.arrows import GLYPHS, WORDS, unit
from rlsuite.rendering.canvas import write_caption
from rlsuite.rendering.drawing import status
from rlsuite.rendering.layout import GridLayout
from rlsuite.rendering.overlay import Overlay
from rlsuite.rendering.painting import GridPainting


@dataclass(frozen=True, eq=False, init=False)
class GridDrawing:
    """Draws an agent on a grid; optionally a value function as a heat map and a policy as arrows.

    Parameters
    ----------
    layout
        Where the states lie.
    value
        (S,) float, drawn as a heat map (dark is low, yellow is high), with numbers when the squares are large enough.
    policy
        (S,) int or (S, A) probabilities, drawn as arrows: one for each action that may be taken, longer for the more
        probable ones. `rlsuite.rendering.greedy_weights` turns action values into such a policy, ties included.

    Raises
    ------
    ParameterError
        If value or policy do not fit the layout, as `Overlay` says.

    Examples
    --------
    >>> layout = GridLayout.row_major(2, 3, marks={(1, 0): "S", (0, 2): "G"}, actions=["L", "R", "U", "D"])
    >>> print(GridDrawing(layout).ansi(4, 1, 0.0), end="")
     .  .  G
     S [.] .
    right, reward 0
    >>> known = GridDrawing(layout, value=[90, 100, 0, 81, 90, 100], policy=[1, 1, -1, 2, 2, 2])
    >>> print(known.ansi(3), end="")
     .  90→  . 100→  G   0
    [S  81↑] .  90↑  . 100↑
    start
    >>> known.rgb(3).shape
    (236, 304, 3)
    """

    layout: GridLayout
    overlay: Overlay

    def __init__(self, layout: GridLayout, value: ArrayLike | None = None, policy: ArrayLike | None = None) -> None:
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "overlay", Overlay(layout, value, policy))

    def ansi(self, state: int, action: int | None = None, reward: float | None = None, caption: str = "") -> str:
        """Draw the grid in characters: walls ``#``, free squares ``.``, marks as they are, brackets round the agent.

        Parameters
        ----------
        state
            Where the agent is.
        action, reward
            What it did last and what that brought; None after a reset.
        caption
            Added to the last line.

        Returns
        -------
        str
            One line per row, then one with action and reward; with an overlay every square also holds its value and
            the arrows of its actions.
        """
        left = np.full(self.layout.walls.shape, " ")
        right = left.copy()
        row, column = self.layout.cells[state].tolist()
        if row >= 0:
            left[row, column], right[row, column] = "[", "]"
        squares = np.strings.add(np.strings.add(left, self._squares), right)
        rows = ["".join(line).rstrip() for line in squares.tolist()]
        return "\n".join([*rows, status(self._action_word(action), reward, caption)]) + "\n"

    def rgb(
        self, state: int, action: int | None = None, reward: float | None = None, caption: str = ""
    ) -> NDArray[np.uint8]:
        """Draw the grid in pixels; the agent is a disc (a frame over an overlay) with a beak towards its last move.

        Parameters
        ----------
        state, action, reward, caption
            As for `ansi`.

        Returns
        -------
        numpy.ndarray
            (height, width, 3) uint8, of the same size for every state.
        """
        sheet = self._painting.with_agent(state, action)
        return write_caption(sheet, status(self._action_word(action), reward, caption))

    def _action_word(self, action: int | None) -> str:
        if action is None:
            return ""
        if self.layout.arrows is None:
            return f"action {action}"
        return WORDS[unit(self.layout.arrows[action])]

    @cached_property
    def _painting(self) -> GridPainting:
        return GridPainting(self.layout, self.overlay)

    @cached_property
    def _squares(self) -> NDArray[np.str_]:
        """(n_rows, n_columns) text of every square without the agent, all equally wide."""
        floor = self.layout.has_state
        symbols = np.where(self.layout.walls, "#", np.where(floor, ".", " "))
        for square, mark in self.layout.marks.items():
            symbols[square] = mark
        if self.overlay.is_empty:
            return symbols
        notes = self._notes()
        states = self.layout.states
        blank = " " * np.strings.str_len(notes).max()
        return np.strings.add(symbols, np.where(states >= 0, notes[states], blank))

    def _notes(self) -> NDArray[np.str_]:
        """(S,) value and arrows of every state as text, all equally wide."""
        notes = np.full(self.layout.n_states, "")
        if self.overlay.value is not None:
            texts = np.array(self.overlay.texts)
            notes = np.strings.add(" ", np.strings.rjust(texts, np.strings.str_len(texts).max()))
        if self.layout.arrows is not None and self.overlay.weights is not None:
            glyphs = np.full(self.layout.n_states, "")
            for arrow, lengths in zip(self.layout.arrows, self.overlay.arrow_lengths.T, strict=True):
                glyphs = np.strings.add(glyphs, np.where(lengths > 0, GLYPHS[unit(arrow)], ""))
            notes = np.strings.add(notes, np.strings.ljust(glyphs, np.strings.str_len(glyphs).max()))
        return notes
