"""Scenes with matplotlib."""

# pyright: reportUnknownMemberType=false
# (matplotlib leaves the keywords of its drawing functions untyped.)

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlsuite.plotting.figure import CAPTION_SIZE
from rlsuite.rendering.colours import hexadecimal, hexadecimals
from rlsuite.rendering.scene import Cells, Polygons, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
