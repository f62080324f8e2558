"""A grid in pixels, and the agent on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.rendering.arrows import Displacement, unit
from rlsuite.rendering.canvas import inside, paint, paint_on, paper
from rlsuite.rendering.colours import INK, ORANGE, Colour
from rlsuite.rendering.layout import GridLayout, Square
from rlsuite.rendering.overlay import Overlay
from rlsuite.rendering.scene import (
    LETTERS_FROM,
    NUMBERS_FROM,
    Cells,
    Scene,
    disc,
    grid_scene,
    ring,
    shapes,
    square_colours,
)

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
    walls
        Between squares.
    """

    layout: GridLayout
    overlay: Overlay
    colours: Mapping[Square, Colour] = field(default_factory=lambda: {})
    walls: Scene = ()

    @property
    def side(self) -> int:
        """Side of one square in pixels; large grids have small squares."""
        rows, columns = self.layout.n_rows, self.layout.n_columns
        by_area = int((PICTURE_AREA / (rows * columns)) ** 0.5)
        return max(1, min(LARGEST_SQUARE, by_area, LONGEST_SIDE // max(rows, columns)))

    @property
    def width(self) -> int:
        """Of the grid with its margins, in pixels."""
        return self.layout.n_columns * self.side + 2 * MARGIN

    def with_agent(self, state: int, action: int | None) -> NDArray[np.uint8]:
        """Paper with the agent on the grid, facing where its last action led; without it for a state off the grid."""
        sheet = self._background.copy()
        row, column = self.layout.cells[state].tolist()
        if row >= 0:
            move = (0, 0) if action is None or self.layout.arrows is None else unit(self.layout.arrows[action])
            self.draw(sheet, (row, column), _agent(self.side, move, plain=self.overlay.is_empty))
        return sheet

    def draw(self, sheet: NDArray[np.uint8], square: Square, scene: Scene) -> None:
        """Draw on one square of the grid, whose middle is (0, 0) for the scene."""
        reach = max(self.side // 2 + 2, 6)
        row, column = square
        left, top = (int(MARGIN + (place + 0.5) * self.side) - reach for place in (column, row))
        patch = inside(sheet, self.width)[top : top + 2 * reach, left : left + 2 * reach]
        origin = MARGIN + column * self.side - left, MARGIN + row * self.side - top
        paint_on(patch, scene, self.side, origin)

    @cached_property
    def _background(self) -> NDArray[np.uint8]:
        squares = square_colours(self.overlay)
        for square, colour in self.colours.items():
            squares[square] = colour
        cells, *others = grid_scene(self.overlay, squares, self.side)
        assert isinstance(cells, Cells)
        sheet = paper(self.width, self.layout.n_rows * self.side + 2 * MARGIN)
        paint(inside(sheet, self.width), cells, [*others, *self.walls], self.side, MARGIN)
        return sheet


@lru_cache(maxsize=64)
def _agent(side: int, move: Displacement, *, plain: bool) -> Scene:
    """A disc, or a frame over a number, which a disc would hide; with a beak towards the last move."""
    with_disc = plain or side < NUMBERS_FROM
    base, height, half = (0.26, 0.155, 0.20) if with_disc else (0.36, 0.12, 0.13)
    along = np.array([move[1], move[0]]) / (np.hypot(*move) or 1.0)
    across = half * along[::-1] * (-1.0, 1.0)
    beak = (base * along + np.stack([across, height * along, -across]), INK)
    beaks = [beak] if move != (0, 0) and side >= LETTERS_FROM else []
    if not with_disc:
        return shapes("agent", *framed(0.5, side, ORANGE), *beaks)
    radius = max(0.30, 2.5 / side)
    return shapes("agent", *beaks, (disc(radius), INK), (disc(radius - max(0.025, 0.7 / side)), ORANGE))


def framed(reach: float, side: int, colour: Colour) -> list[tuple[NDArray[np.float64], Colour]]:
    """A square frame with a line on both sides."""
    line = max(0.018, 1.0 / side)
    return [(ring(reach, 0.06 + 2.0 * line), INK), (ring(reach - line, 0.06), colour)]
