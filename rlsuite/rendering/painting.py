"""A grid in pixels, and the agent on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rlsuite.rendering.arrows import Displacement, unit
from rlsuite.rendering.canvas import Point, Sheet, paint
from rlsuite.rendering.colours import INK, ORANGE, Colour
from rlsuite.rendering.layout import GridLayout, Square
from rlsuite.rendering.overlay import Overlay
from rlsuite.rendering.scene import LETTERS_FROM, NUMBERS_FROM, grid_scene, square_colours

LARGEST_SQUARE: Final = 96
"""Side in pixels of the squares of a small grid."""

PICTURE_AREA: Final = 480 * 480
"""Pixels that a grid may fill before its squares shrink; never below one pixel a square."""

LONGEST_SIDE: Final = 1600
"""Pixels of a long, narrow grid before its squares shrink further."""

MARGIN: Final = 8
"""Pixels around the grid."""


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
        squares = square_colours(self.overlay)
        for square, colour in self.colours.items():
            squares[square] = colour
        return np.asarray(paint(grid_scene(self.overlay, squares, self.side), self.side, MARGIN), dtype=np.uint8)


def _beak(centre: Point, move: Displacement, base: float, height: float, half_width: float) -> list[Point]:
    """Corners of a triangle `base` away from the centre that points where the agent moved."""
    along = np.array([move[1], move[0]]) / np.hypot(*move)
    across = np.array([-along[1], along[0]])
    foot = np.array(centre) + base * along
    corners = [foot + half_width * across, foot + height * along, foot - half_width * across]
    return [(float(x), float(y)) for x, y in corners]
