"""Scenes as SVG, for pages, which keep many: attributes are in single quotes, as JSON has no sign for these."""

from collections.abc import Iterator
from html import escape

import numpy as np
from numpy.typing import NDArray

from rlsuite.rendering.colours import hexadecimal, hexadecimals
from rlsuite.rendering.scene import Cells, Polygons, Scene, Texts


def svg_of_scene(scene: Scene, label: str, side: int) -> str:
    r"""Return a scene, whose squares come first, as an SVG element.

    The groups have the classes ``cells``, ``arrows``, ``numbers`` and so on. A square is `side` pixels wide where there
    is room, and what is said of it is its title. The label says what the picture shows.

    >>> cells = Cells(np.array([[(255, 0, 0), (0, 0, 255)]], dtype=np.uint8), said={(0, 1): "it is blue"})
    >>> print(svg_of_scene([cells], "two squares", side=40).replace("><", ">\n<"))
    <svg role='img' aria-label='two squares' viewBox='0 0 80 40' style='max-width:240px'>
    <g class='cells'>
    <path fill='#ff0000' d='M0 0h40v40h-40z'/>
    <path fill='#0000ff' d='M40 0h40v40h-40z'>
    <title>it is blue</title>
    </path>
    </g>
    </svg>
    """
    first = scene[0]
    assert isinstance(first, Cells)
    height, width = (side * n for n in first.colours.shape[:2])
    look = f"viewBox='0 0 {width} {height}' style='max-width:{max(240, width)}px'"
    return f"<svg role='img' aria-label='{escape(label)}' {look}>{''.join(_elements(scene, side))}</svg>"


def _elements(scene: Scene, side: int) -> Iterator[str]:
    for shape in scene:
        if isinstance(shape, Cells):
            line = "" if shape.line is None else f" stroke='{hexadecimal(shape.line)}'"
            yield f"<g class='cells'{line}>{''.join(_squares(shape, side))}</g>"
            continue
        look = "transform='scale(.1)' pointer-events='none'"
        if isinstance(shape, Texts):
            size = 10 * side * min(shape.size, shape.fitting)
            look += f" font-size='{size:.3g}' text-anchor='middle' dominant-baseline='central'"
        shades = np.array(hexadecimals(shape.colours))
        for shade in dict.fromkeys(shades.tolist()):
            inside = "".join(_inside(shape, np.flatnonzero(shades == shade), side))
            yield f"<g class='{shape.name}' fill='{shade}' {look}>{inside}</g>"


def _squares(cells: Cells, side: int) -> Iterator[str]:
    shape = f"h{side}v{side}h-{side}z"
    n_columns = cells.colours.shape[1]
    for number, shade in enumerate(hexadecimals(cells.colours.reshape(-1, 3))):
        row, column = divmod(number, n_columns)
        start = f"<path fill='{shade}' d='M{column * side} {row * side}{shape}'"
        said = cells.said.get((row, column))
        yield f"{start}/>" if said is None else f"{start}><title>{escape(said, quote=False)}</title></path>"


def _inside(shape: Polygons | Texts, which: NDArray[np.int64], side: int) -> Iterator[str]:
    """The shapes of one colour, in tenths of a pixel: whole numbers are shorter, and written faster."""

    def tenths(places: NDArray[np.float64]) -> list[list[int]]:
        return np.rint(places[which].reshape(len(which), -1) * (10 * side)).astype(np.int64).tolist()

    if isinstance(shape, Polygons):
        steps = np.diff(shape.corners, axis=1)
        known: dict[tuple[int, ...], str] = {}
        outlines: list[str] = []
        for (x, y), step in zip(tenths(shape.corners[:, 0] + 0.5), map(tuple, tenths(steps)), strict=True):
            if step not in known:
                known[step] = " ".join(map(str, step))
            outlines.append(f"M{x} {y}l{known[step]}z")
        yield f"<path d='{''.join(outlines)}'/>"
    else:
        bold = np.broadcast_to(shape.bold, len(shape.texts))
        for number, (x, y) in zip(which.tolist(), tenths(shape.places + 0.5), strict=True):
            weight, text = " font-weight='bold'" if bold[number] else "", str(shape.texts[number])
            yield f"<text x='{x}' y='{y}'{weight}>{escape(text, quote=False)}</text>"
