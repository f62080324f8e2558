"""A grid in pixels: coloured squares, marks, numbers, arrows and the agent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rlsuite.rendering.arrows import Displacement, unit
from rlsuite.rendering.canvas import Point, Sheet, fitted, write
from rlsuite.rendering.colours import (
    FLOOR,
    GREEN,
    INK,
    LINE,
    ORANGE,
    PAPER,
    SKY_BLUE,
    VERMILLION,
    WALL,
    Colour,
    heat,
    ink_on,
    tint,
)
from rlsuite.rendering.layout import GridLayout, Square
from rlsuite.rendering.overlay import Overlay

MARK_COLOURS: Final[dict[str, Colour]] = {
    "S": tint(SKY_BLUE, 0.35),
    "G": tint(GREEN, 0.40),
    "X": tint(VERMILLION, 0.45),
    "H": tint(VERMILLION, 0.45),
}
"""Colours of the squares whose mark has a meaning: start, goal and pits. Other marks are only written."""

LARGEST_SQUARE: Final = 96
"""Side in pixels of the squares of a small grid."""

PICTURE_AREA: Final = 480 * 480
"""Pixels that a grid may fill before its squares shrink; never below one pixel a square."""

LONGEST_SIDE: Final = 1600
"""Pixels of a long, narrow grid before its squares shrink further."""

MARGIN: Final = 8
"""Pixels around the grid."""

# Sides of squares, in pixels, from which on lines, arrows, letters and numbers are drawn.
LINES_FROM: Final = 6
ARROWS_FROM: Final = 10
LETTERS_FROM: Final = 14
NUMBERS_FROM: Final = 26


@dataclass(frozen=True, eq=False)
class GridPainting:
    """The picture of a grid; everything but the agent is painted once.

    Parameters
    ----------
    layout
        Where the states lie.
    overlay
        What is drawn over the squares.
    colours
        Colours of single squares, instead of those of their values and marks.
    """

    layout: GridLayout
    overlay: Overlay
    colours: Mapping[Square, Colour] = field(default_factory=lambda: {})

    @property
    def side(self) -> int:
        """Side of one square in pixels; large grids have small squares."""
        rows, columns = self.layout.n_rows, self.layout.n_columns
        by_area = int((PICTURE_AREA / (rows * columns)) ** 0.5)
        return max(1, min(LARGEST_SQUARE, by_area, LONGEST_SIDE // max(rows, columns)))

    def centre(self, row: int, column: int) -> Point:
        """Middle of a square: x and y in pixels."""
        # A line of one pixel runs along the upper and the left edge of every square.
        return MARGIN + (column + 0.5) * self.side + 0.5, MARGIN + (row + 0.5) * self.side + 0.5

    def with_agent(self, state: int, action: int | None) -> Image.Image:
        """The picture with the agent on it, facing where its last action led; without it for a state off the grid."""
        picture = Image.fromarray(self._background)
        row, column = self.layout.cells[state].tolist()
        if row < 0:
            return picture
        side = self.side
        reach = max(side // 2 + 2, 6)
        x, y = self.centre(row, column)
        corner = int(x) - reach, int(y) - reach
        patch = picture.crop((*corner, corner[0] + 2 * reach, corner[1] + 2 * reach))
        sheet = Sheet(*patch.size, patch)
        middle = x - corner[0], y - corner[1]
        move = (0, 0) if action is None or self.layout.arrows is None else unit(self.layout.arrows[action])
        beak = move != (0, 0) and side >= LETTERS_FROM
        if self.overlay.is_empty or side < NUMBERS_FROM:
            if beak:
                sheet.polygon(_beak(middle, move, 0.26 * side, 0.155 * side, 0.20 * side), INK)
            radius = max(0.30 * side, 2.5)
            sheet.disc(middle, radius, INK)
            sheet.disc(middle, radius - max(0.025 * side, 0.7), ORANGE)
        else:
            # A disc would hide the number.
            sheet.frame(middle, 0.5 * side, 0.06 * side, ORANGE, INK)
            if beak:
                sheet.polygon(_beak(middle, move, 0.36 * side, 0.12 * side, 0.13 * side), INK)
        picture.paste(sheet.finish(), corner)
        return picture

    @cached_property
    def _background(self) -> NDArray[np.uint8]:
        side, colours = self.side, self._colours
        squares = colours.repeat(side, axis=0).repeat(side, axis=1)
        height, width = squares.shape[:2]
        framed = np.full((height + 2 * MARGIN, width + 2 * MARGIN, 3), PAPER, dtype=np.uint8)
        inside = framed[MARGIN : MARGIN + height + 1, MARGIN : MARGIN + width + 1]
        inside[:height, :width] = squares
        if side >= LINES_FROM:
            inside[::side] = LINE
            inside[:, ::side] = LINE
        picture = Image.fromarray(framed)
        if side >= ARROWS_FROM:
            picture = self._with_arrows(picture)
        if side >= LETTERS_FROM:
            self._write_marks(picture)
        if side >= NUMBERS_FROM:
            self._write_numbers(picture)
        return np.asarray(picture, dtype=np.uint8)

    @cached_property
    def _colours(self) -> NDArray[np.uint8]:
        colours = square_colours(self.overlay)
        for square, colour in self.colours.items():
            colours[square] = colour
        return colours

    def _ink(self, row: int, column: int) -> Colour:
        red, green, blue = self._colours[row, column].tolist()
        return ink_on((red, green, blue))

    def _with_arrows(self, picture: Image.Image) -> Image.Image:
        lengths = self.overlay.arrow_lengths
        if self.layout.arrows is None or not lengths.any():
            return picture
        side = self.side
        with_numbers = self.overlay.value is not None and side >= NUMBERS_FROM
        longest, lift = (0.30 * side, 0.14 * side) if with_numbers else (0.38 * side, 0.0)
        thickness = max(0.045 * side, 0.8)
        alone = np.count_nonzero(lengths, axis=1) == 1
        sheet = Sheet(picture.width, picture.height, picture)
        for state, action in np.argwhere(lengths > 0).tolist():
            row, column = self.layout.cells[state].tolist()
            if row < 0:
                continue
            x, y = self.centre(row, column)
            y -= lift
            ink = self._ink(row, column)
            d_row, d_column = unit(self.layout.arrows[action])
            if (d_row, d_column) == (0, 0):
                sheet.disc((x, y), 0.07 * side, ink)
                continue
            reach = longest * (0.4 + 0.6 * float(lengths[state, action])) / float(np.hypot(d_row, d_column))
            # A single arrow is centred; several begin at the centre.
            back, ahead = (0.6 * reach, 0.75 * reach) if alone[state] else (0.0, reach)
            tail, tip = (x - back * d_column, y - back * d_row), (x + ahead * d_column, y + ahead * d_row)
            sheet.arrow(tail, tip, thickness, ink)
        return sheet.finish()

    def _write_marks(self, picture: Image.Image) -> None:
        side = self.side
        for (row, column), mark in self.layout.marks.items():
            x, y = self.centre(row, column)
            if self.overlay.is_empty:
                write(picture, (x, y), mark, round(0.45 * side), self._ink(row, column))
            else:
                corner = x - 0.36 * side, y - 0.33 * side
                write(picture, corner, mark, max(9, round(0.2 * side)), self._ink(row, column))

    def _write_numbers(self, picture: Image.Image) -> None:
        side = self.side
        drop = 0.0 if self.overlay.weights is None else 0.29 * side
        for text, (row, column) in zip(self.overlay.texts, self.layout.cells.tolist(), strict=False):
            if row >= 0 and text:
                x, y = self.centre(row, column)
                shown, size = fitted(text, 0.86 * side, round(0.24 * side), 7)
                write(picture, (x, y + drop), shown, size, self._ink(row, column))


def square_colours(overlay: Overlay, of_states: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
    """Colour of every square: of its value if it has one, else of its mark.

    Parameters
    ----------
    overlay
        The grid and the values of its states.
    of_states
        (S, 3) uint8 colours of the values; None: viridis, from the smallest to the largest.

    Returns
    -------
    numpy.ndarray
        (n_rows, n_columns, 3) uint8.

    Examples
    --------
    >>> square_colours(Overlay(GridLayout.row_major(1, 2), value=[0.0, 1.0])).tolist()
    [[[68, 1, 84], [253, 231, 37]]]
    """
    layout = overlay.layout
    colours = np.full((*layout.walls.shape, 3), PAPER, dtype=np.uint8)
    colours[layout.has_state] = FLOOR
    for square, mark in layout.marks.items():
        colours[square] = MARK_COLOURS.get(mark, FLOOR)
    if overlay.value is not None:
        states = layout.states
        colours[states >= 0] = (heat(overlay.fractions) if of_states is None else of_states)[states[states >= 0]]
    colours[layout.walls] = WALL
    return colours


def _beak(centre: Point, move: Displacement, base: float, height: float, half_width: float) -> list[Point]:
    """Corners of a triangle `base` away from the centre that points where the agent moved."""
    along = np.array([move[1], move[0]]) / np.hypot(*move)
    across = np.array([-along[1], along[0]])
    foot = np.array(centre) + base * along
    corners = [foot + half_width * across, foot + height * along, foot - half_width * across]
    return [(float(x), float(y)) for x, y in corners]
