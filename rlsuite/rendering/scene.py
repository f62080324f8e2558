"""A grid as plain numbers: what every picture of it shows, where, how large and in which colour.

A scene is a list of squares, polygons and texts. What draws it knows nothing of grids: `canvas` with Pillow, and
`rlsuite.plotting.squares` with matplotlib. So a new mark, or another look of arrows, is a change here alone.

The side of a square is the unit of length. The middle of the first square is (0, 0); x grows to the right, y downwards.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rlsuite.rendering.colours import (
    FLOOR,
    GREEN,
    LINE,
    PAPER,
    SKY_BLUE,
    UNKNOWN,
    VERMILLION,
    WALL,
    Colour,
    heat,
    inks_on,
    tint,
)
from rlsuite.rendering.overlay import Overlay

# Sides of squares, in pixels, from which on lines, arrows, letters and numbers are drawn.
LINES_FROM: Final = 6
ARROWS_FROM: Final = 10
LETTERS_FROM: Final = 14
NUMBERS_FROM: Final = 26


class Cells(NamedTuple):
    """Squares of (n_rows, n_columns, 3) colours, and the line between them."""

    colours: NDArray[np.uint8]
    line: Colour | None = None


class Polygons(NamedTuple):
    """Filled polygons: (n, n_corners, 2) corners, (n, 3) colours, and the line around each."""

    name: str
    corners: NDArray[np.float64]
    colours: NDArray[np.uint8]
    line: Colour | None = None


class Texts(NamedTuple):
    """Texts in the middle of (n, 2) places, in (n, 3) colours, as large as `size` where they fit into `room`."""

    name: str
    places: NDArray[np.float64]
    texts: Sequence[str]
    colours: NDArray[np.uint8]
    size: float
    room: float = 1.0
    bold: NDArray[np.bool_] | bool = False

    @property
    def fitting(self) -> float:
        """The size at which the longest text fills the room: a digit is about 0.6 of its height wide."""
        return self.room / (0.62 * (max(map(len, self.texts), default=0) or 1))


Scene: TypeAlias = Sequence[Cells | Polygons | Texts]
"""Shapes, the lowest first."""


class Kind(NamedTuple):
    """A kind of squares, and how it looks; `ink` is the colour of the hatch and of the symbol, one of `SYMBOLS`."""

    label: str
    colour: Colour
    hatch: str = ""
    symbol: str = ""
    ink: Colour = (150, 154, 160)


START: Final = Kind("start", tint(SKY_BLUE, 0.35))
GOAL: Final = Kind("goal", tint(GREEN, 0.40), symbol="star", ink=(0, 84, 61))
PIT: Final = Kind("pit", tint(VERMILLION, 0.45), symbol="cross", ink=(122, 44, 0))

MARKS: Final = {"S": START, "G": GOAL, "X": PIT, "H": PIT}
"""The marks of squares that have a meaning. Other marks are only written."""

END: Final = Kind("end", UNKNOWN, symbol="square", ink=(92, 97, 104))

_TURN: Final = np.arange(10)[:, np.newaxis] * (np.pi / 5.0)
_STAR: Final = np.concatenate([np.sin(_TURN), -np.cos(_TURN)], axis=1) * np.tile([(1.0,), (0.38,)], (5, 1))
_CROSS: Final = [
    (1, 0), (2, 1), (1, 2), (0, 1), (-1, 2), (-2, 1), (-1, 0), (-2, -1), (-1, -2), (0, -1), (1, -2), (2, -1),
]  # fmt: skip

SYMBOLS: Final[Mapping[str, NDArray[np.float64]]] = {
    "star": 0.18 * _STAR,
    "cross": 0.09 * np.array(_CROSS, dtype=np.float64),
    "square": 0.18 * np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
}
"""Corners of the symbols of kinds, round (0, 0)."""


def grid_scene(
    overlay: Overlay,
    squares: NDArray[np.uint8],
    side: float,
    kinds: Mapping[Kind, NDArray[np.bool_]] = {},
) -> Scene:
    """Return what is drawn of a grid.

    Parameters
    ----------
    overlay
        The grid, the values of its states and a policy.
    squares
        (n_rows, n_columns, 3) uint8 colours, as of `square_colours`; those of `kinds` go before.
    side
        Of a square, in pixels: smaller ones show less.
    kinds
        From kinds to their squares, (n_rows, n_columns) bool; a symbol takes the place of the mark.

    Returns
    -------
    Scene
        Squares, symbols, arrows, marks and numbers, in this order.

    Examples
    --------
    >>> from rlsuite.rendering import GridLayout
    >>> overlay = Overlay(GridLayout.row_major(1, 2, actions=["right"]), value=[0.0, 1.0], policy=[0, -1])
    >>> cells, arrows, numbers = grid_scene(overlay, square_colours(overlay), side=40)
    >>> arrows.corners[0, 3].round(3).tolist(), numbers.texts, numbers.places.tolist()
    ([0.225, -0.14], ['0', '1'], [[0.0, 0.29], [1.0, 0.29]])
    """
    squares = squares.copy()
    for kind, where in kinds.items():
        squares[where] = kind.colour
    inks = inks_on(squares)
    with_numbers = overlay.value is not None and side >= NUMBERS_FROM
    symbols = [(kind, where) for kind, where in kinds.items() if kind.symbol and side >= ARROWS_FROM]
    return [
        Cells(squares, LINE if side >= LINES_FROM else None),
        *(_symbols(kind, where) for kind, where in symbols),
        *(_arrows(overlay, inks, side, 0.14 if with_numbers else 0.0) if side >= ARROWS_FROM else []),
        *(_marks(overlay, inks, side, [where for _, where in symbols]) if side >= LETTERS_FROM else []),
        *(_numbers(overlay, inks) if with_numbers else []),
    ]


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
    >>> from rlsuite.rendering import GridLayout
    >>> square_colours(Overlay(GridLayout.row_major(1, 2), value=[0.0, 1.0])).tolist()
    [[[68, 1, 84], [253, 231, 37]]]
    """
    layout = overlay.layout
    colours = np.full((*layout.walls.shape, 3), PAPER, dtype=np.uint8)
    colours[layout.has_state] = FLOOR
    for square, mark in layout.marks.items():
        colours[square] = MARKS[mark].colour if mark in MARKS else FLOOR
    if overlay.value is not None:
        states = layout.states
        colours[states >= 0] = (heat(overlay.fractions) if of_states is None else of_states)[states[states >= 0]]
    colours[layout.walls] = WALL
    return colours


@lru_cache(maxsize=64)
def rounded(left: float, top: float, right: float, bottom: float, radius: float = 0.0) -> NDArray[np.float64]:
    """(32, 2) corners of a box whose own corners are rounded."""
    turn = (np.arange(32) + 0.5) * (np.pi / 16.0)
    x = np.where(np.sin(turn) > 0.0, right - radius, left + radius) + radius * np.sin(turn)
    y = np.where(np.cos(turn) > 0.0, top + radius, bottom - radius) - radius * np.cos(turn)
    corners = np.stack([x, y], axis=1)
    corners.flags.writeable = False
    return corners


def disc(radius: float) -> NDArray[np.float64]:
    """(32, 2) corners of a disc round (0, 0)."""
    return rounded(-radius, -radius, radius, radius, radius)


def ring(reach: float, thickness: float) -> NDArray[np.float64]:
    """(66, 2) corners of a square frame round (0, 0), whose sides are `reach` away."""
    outer, inner = (rounded(-to, -to, to, to, 0.03) for to in (reach, reach - thickness))
    return np.concatenate([outer, outer[:1], inner[:1], inner[::-1]])


def shapes(name: str, *parts: tuple[NDArray[np.float64], Colour]) -> Scene:
    """Polygons, each with its colour."""
    return [Polygons(name, corners[np.newaxis], painted(colour, 1)) for corners, colour in parts]


def painted(colour: Colour, n: int) -> NDArray[np.uint8]:
    """(n, 3): the same colour for all."""
    return np.tile(np.array(colour, dtype=np.uint8), (n, 1))


def _symbols(kind: Kind, where: NDArray[np.bool_]) -> Polygons:
    middles = np.argwhere(where)[:, ::-1].astype(np.float64)
    corners = middles[:, np.newaxis] + SYMBOLS[kind.symbol]
    return Polygons(kind.label, corners, painted(kind.ink, len(middles)))


def _arrows(overlay: Overlay, inks: NDArray[np.uint8], side: float, lift: float) -> Scene:
    """An arrow for each action that may be taken, and a dot where one may stay."""
    layout, cells = overlay.layout, overlay.layout.cells
    lengths = overlay.arrow_lengths * (cells[:, :1] >= 0)
    states, actions = np.nonzero(lengths)
    if layout.arrows is None or not len(states):
        return []
    ink = inks[cells[states, 0], cells[states, 1]]
    middle = cells[states, ::-1].astype(np.float64) - (0.0, lift)
    move = np.sign(layout.arrows[actions, ::-1]).astype(np.float64)
    distance = np.sqrt((move**2).sum(axis=1))
    still = distance == 0.0
    reach = (0.30 if lift else 0.38) * (0.4 + 0.6 * lengths[states, actions]) / np.maximum(distance, 1.0)
    # A single arrow is centred; several begin at the centre.
    alone = np.count_nonzero(lengths, axis=1)[states] == 1
    tail = middle - (np.where(alone, 0.6, 0.0) * reach)[:, np.newaxis] * move
    tip = middle + (np.where(alone, 0.75, 1.0) * reach)[:, np.newaxis] * move
    outlines = _outlines(tail[~still], tip[~still], max(0.045, 0.8 / side))
    dots = middle[still, np.newaxis] + disc(0.07)
    shown = [Polygons("arrows", outlines, ink[~still]), Polygons("stays", dots, ink[still])]
    return [shape for shape in shown if len(shape.colours)]


def _outlines(tail: NDArray[np.float64], tip: NDArray[np.float64], thickness: float) -> NDArray[np.float64]:
    """(n, 7, 2) corners of arrows between (n, 2) points; a head is three times as wide as its shaft."""
    length = np.sqrt(((tip - tail) ** 2).sum(axis=1, keepdims=True))
    along = (tip - tail) / length
    across = thickness * along[:, ::-1] * (-1.0, 1.0)
    neck = tip - np.minimum(2.4 * thickness, length) * along
    half, wide = 0.5 * across, 1.5 * across
    return np.stack([tail + half, neck + half, neck + wide, tip, neck - wide, neck - half, tail - half], axis=1)


def _marks(overlay: Overlay, inks: NDArray[np.uint8], side: float, explained: Sequence[NDArray[np.bool_]]) -> Scene:
    """The marks of squares that no symbol explains: in the middle, or in a corner where there is something else."""
    marks = {square: mark for square, mark in overlay.layout.marks.items() if not any(w[square] for w in explained)}
    if not marks:
        return []
    # In a small square a letter is nearer to the middle, so that it does not lie on a wall.
    corner = np.maximum((-0.36, -0.33), 6.5 / side - 0.46)
    inside, size = ((0.0, 0.0), 0.45) if overlay.is_empty else (corner, max(0.2, 9.0 / side))
    at = np.array([*marks], dtype=np.int64)
    places, ink = at[:, ::-1].astype(np.float64) + inside, inks[at[:, 0], at[:, 1]]
    return [Texts("marks", places, [*marks.values()], ink, size, bold=True)]


def _numbers(overlay: Overlay, inks: NDArray[np.uint8]) -> Scene:
    texts, drop = overlay.texts, (0.0, 0.0 if overlay.weights is None else 0.29)
    shown = [state for state, text in enumerate(texts) if text and overlay.layout.cells[state, 0] >= 0]
    cells = overlay.layout.cells[shown]
    places, colours = cells[:, ::-1].astype(np.float64) + drop, inks[cells[:, 0], cells[:, 1]]
    return [Texts("numbers", places, [texts[state] for state in shown], colours, 0.24, room=0.86)] if shown else []
