"""Grids with matplotlib: their scenes, and squares without a value, told apart by colour, texture and symbol."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from rlsuite.core.array_like import ArrayLike
from rlsuite.errors import RlsuiteError
from rlsuite.models import MDP
from rlsuite.plotting.figure import CAPTION_SIZE
from rlsuite.rendering import colours
from rlsuite.rendering.colours import hexadecimal, hexadecimals
from rlsuite.rendering.layout import GridLayout
from rlsuite.rendering.overlay import Overlay
from rlsuite.rendering.scene import END, MARKS, SYMBOLS, Cells, Kind, Polygons, Scene

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from rlsuite.core.aliases import Env


UNREACHABLE: Final = Kind("out of reach", colours.FLOOR, hatch="..", ink=(176, 179, 184))
NOT_LEARNED: Final = Kind("nothing learned", colours.UNKNOWN, hatch="////")
NO_VALUE: Final = Kind("no value", colours.UNKNOWN)
WALL: Final = Kind("wall", colours.WALL, hatch="xxxx", ink=(98, 104, 113))

LAST: Final = [END, WALL, NOT_LEARNED, UNREACHABLE, NO_VALUE]
"""In the legend, after marks."""


def without_value(
    overlay: Overlay,
    env: "Env | None",
    *,
    acting: NDArray[np.bool_] | None = None,
    q: ArrayLike | None = None,
) -> tuple[Overlay, dict[Kind, NDArray[np.bool_]]]:
    """Return an overlay without the numbers and arrows of states that have no value to show, and the kinds of these.

    Parameters
    ----------
    overlay
        What is to be drawn.
    env
        The environment, if there is one: its table says where it ends, and what it reaches.
    acting
        (S,) bool, where a solution takes an action; None if there is no solution.
    q
        (S, A) learned action values, if they are to be drawn. A state in which nothing was learned still has its
        initial values, which are those of the ends, or 0.

    Returns
    -------
    Overlay
    dict
        From each kind that occurs to its squares, (n_rows, n_columns) bool; walls are among them.
    """
    assert overlay.value is not None
    layout, value = overlay.layout, overlay.value
    ends = layout.idle | (False if acting is None else ~acting)
    unreachable = np.zeros_like(ends)
    model = None if env is None else _model(env)
    if model is not None and model.n_states == layout.n_states:
        from rlsuite.planning import reachable_states

        unreachable = ~reachable_states(model)
        ends = ends | ~model.legal.any(axis=1)
    found = {END: ends & ~unreachable, UNREACHABLE: unreachable}
    if q is not None:
        found[NOT_LEARNED] = _not_learned(np.asarray(q, dtype=np.float64), ends) & ~ends & ~unreachable
    hidden = np.logical_or.reduce(list(found.values()))
    found[NO_VALUE] = np.isnan(value) & ~hidden
    squares = {WALL: layout.walls} | {kind: _on_grid(layout, states) for kind, states in found.items()}
    for square, mark in layout.marks.items():
        for kind in (END, UNREACHABLE):
            if squares[kind][square] and mark in MARKS and MARKS[mark].symbol:
                squares[kind][square] = False
                squares.setdefault(MARKS[mark], np.zeros_like(layout.walls))[square] = True
    without_numbers = GridLayout(
        *(layout.n_rows, layout.n_columns, layout.cells),
        *(layout.walls, layout.marks, layout.arrows, layout.idle | hidden),
    )
    order = list(dict.fromkeys([*MARKS.values(), *LAST]))
    shown = {kind: squares[kind] for kind in sorted(squares, key=order.index) if squares[kind].any()}
    return Overlay(without_numbers, np.where(hidden, np.nan, value), overlay.weights), shown


def _on_grid(layout: GridLayout, states: NDArray[np.bool_]) -> NDArray[np.bool_]:
    squares = np.zeros((layout.n_rows, layout.n_columns), dtype=np.bool_)
    row, column = layout.cells[states & (layout.cells[:, 0] >= 0)].T
    squares[row, column] = True
    return squares


def _model(env: "Env") -> MDP | None:
    try:
        return MDP.from_env(env, gamma=0.5)
    except RlsuiteError:  # it has no table, or none that can be trusted
        return None


def _not_learned(q: NDArray[np.float64], ends: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows still have the initial value in all legal entries."""
    highest = q.max(axis=1)
    lowest = np.where(np.isneginf(q), highest[:, np.newaxis], q).min(axis=1)
    constant = highest == lowest
    at_ends = np.unique(highest[ends & constant & np.isfinite(highest)])
    initial = at_ends[0] if at_ends.size == 1 else 0.0
    return constant & (highest == initial)


def draw_kinds(ax: "Axes", kinds: dict[Kind, NDArray[np.bool_]]) -> dict[str, Any]:
    """Draw textures on squares; return what the legend shows, by label."""
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    legend: dict[str, tuple[Artist, ...]] = {}
    for kind, squares in kinds.items():
        face, ink = colours.hexadecimal(kind.colour), colours.hexadecimal(kind.ink)
        look: Any = {"edgecolor": ink, "hatch": kind.hatch, "linewidth": 0.0}
        if kind.hatch:
            outlines = np.argwhere(squares)[:, np.newaxis, ::-1] + corners
            ax.add_collection(PolyCollection(list(outlines), facecolors="none", label=f"_{kind.label}", **look))
        legend[kind.label] = (Patch(facecolor=face, **look),)
        if kind.symbol:
            upwards: Any = SYMBOLS[kind.symbol] * (1.0, -1.0)
            symbol = Line2D([], [], linestyle="none", marker=upwards, markersize=7.0, color=ink, markeredgewidth=0.0)
            legend[kind.label] += (symbol,)
    return legend


LARGEST: Final = 11.0
"""Points of the largest texts."""


def draw_scene(axes: "Axes", scene: Scene, side: float, smallest: float = CAPTION_SIZE) -> list[str]:
    """Draw a scene on axes whose squares have a side of so many points; smaller texts are left out.

    Returns the names of the texts that are there.
    """
    from matplotlib.collections import PolyCollection

    written: list[str] = []
    for shape in scene:
        if isinstance(shape, Cells):
            n_rows, n_columns, _ = shape.colours.shape
            axes.imshow(shape.colours, interpolation="nearest")
            axes.set(xticks=[], yticks=[], xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5))
            if shape.line is not None:
                look: Any = {"color": hexadecimal(shape.line), "linewidth": 0.6}
                axes.hlines([row - 0.5 for row in range(n_rows + 1)], -0.5, n_columns - 0.5, **look)
                axes.vlines([column - 0.5 for column in range(n_columns + 1)], -0.5, n_rows - 0.5, **look)
                axes.spines[:].set_visible(False)
            continue
        colours = hexadecimals(shape.colours)
        if isinstance(shape, Polygons):
            edge = {"edgecolors": colours, "linewidths": 0.0}
            if shape.line is not None:
                edge = {"edgecolors": hexadecimal(shape.line), "linewidths": 0.6}
            look = {"facecolors": colours, "label": f"_{shape.name}", "zorder": 2.5, **edge}
            axes.add_collection(PolyCollection(list(shape.corners), **look))
        else:
            size = min(LARGEST, max(shape.size * side, smallest), shape.fitting * side)
            if size >= smallest:
                written.append(shape.name)
                look = {"ha": "center", "va": "center", "fontsize": size, "parse_math": False}
                weights = np.where(np.broadcast_to(shape.bold, len(colours)), "bold", "normal").tolist()
                for (x, y), text, ink, weight in zip(shape.places.tolist(), shape.texts, colours, weights, strict=True):
                    axes.text(x, y, text, color=ink, fontweight=weight, **look)
    return written
