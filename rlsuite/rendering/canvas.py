"""Scenes with Pillow: smooth shapes and fitted text.

Pillow fills polygons without smoothing their edges, so they are painted on a sheet `SCALE` times finer and then
averaged down; text is smoothed by the font engine and is written last, at final size.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from rlsuite.rendering.colours import INK, PAPER, Colour
from rlsuite.rendering.scene import Cells, Polygons, Scene, Texts

SCALE: Final = 4

CAPTION_HEIGHT: Final = 28
"""Height in pixels of the strip below every picture."""

MIN_WIDTH: Final = 288
"""Narrower pictures are centred on a strip of this width, so that the caption stays readable."""


def paper(width: int, height: int) -> NDArray[np.uint8]:
    """White paper for a picture, in the middle, and a caption below it."""
    return np.full((height + CAPTION_HEIGHT, max(width, MIN_WIDTH), 3), PAPER, dtype=np.uint8)


def inside(sheet: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """The part of the paper that has the picture."""
    left = (sheet.shape[1] - width) // 2
    return sheet[:-CAPTION_HEIGHT, left : left + width]


def write_caption(sheet: NDArray[np.uint8], caption: str) -> NDArray[np.uint8]:
    """Write one line of text below the picture; return the paper."""
    height, width = CAPTION_HEIGHT, sheet.shape[1]
    strip = Image.new("RGB", (width, height), PAPER)
    text, size = fitted(caption, width - 16, 15, 10)
    write(strip, (width / 2, height / 2), text, size, INK)
    sheet[-height:] = np.asarray(strip)
    return sheet


def paint(picture: NDArray[np.uint8], cells: Cells, shapes: Scene, side: int, margin: int) -> None:
    """Paint squares, `side` pixels wide and with a margin, and what is on them."""
    squares = cells.colours.repeat(side, axis=0).repeat(side, axis=1)
    height, width = squares.shape[:2]
    within = picture[margin : margin + height + 1, margin : margin + width + 1]
    within[:height, :width] = squares
    if cells.line is not None:
        within[::side] = within[:, ::side] = cells.line
    paint_on(picture, shapes, side, (margin, margin))


def paint_on(ground: NDArray[np.uint8], shapes: Scene, side: int, origin: tuple[float, float]) -> None:
    """Paint polygons and, on top of these, texts; `origin` is where the first square of the ground begins, x and y."""

    def pixels(places: NDArray[np.float64]) -> NDArray[np.float64]:
        # A line of one pixel runs along the upper and the left edge of every square.
        return origin + (places + 0.5) * side + 0.5

    picture = Image.fromarray(ground)
    polygons = [shape for shape in shapes if isinstance(shape, Polygons)]
    if polygons:
        fine = picture.resize((picture.width * SCALE, picture.height * SCALE), Image.Resampling.NEAREST)
        draw = ImageDraw.Draw(fine)
        for shape in polygons:
            n, n_corners, _ = shape.corners.shape
            outlines = (SCALE * pixels(shape.corners)).reshape(n, 2 * n_corners).tolist()
            for outline, colour in zip(outlines, shape.colours.tolist(), strict=True):
                draw.polygon(outline, fill=tuple(colour))
        picture = fine.reduce(SCALE)
    for shape in shapes:
        if isinstance(shape, Texts):
            where = zip(pixels(shape.places).tolist(), shape.texts, shape.colours.tolist(), strict=True)
            for (x, y), text, (red, green, blue) in where:
                shown, size = fitted(text, shape.room * side, round(shape.size * side), 7)
                write(picture, (x, y), shown, size, (red, green, blue))
    ground[:] = np.asarray(picture)


@lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's built-in typeface at `size` pixels."""
    return ImageFont.load_default(size)


def write(image: Image.Image, centre: tuple[float, float], text: str, size: int, colour: Colour) -> None:
    """Write `text` centred at a point."""
    ImageDraw.Draw(image).text(centre, text, fill=colour, font=font(size), anchor="mm")


def fitted(text: str, width: float, largest: int, smallest: int) -> tuple[str, int]:
    """Text and size in pixels that fit into `width`: first smaller letters, then fewer.

    >>> fitted("reward 100", 500, 15, 10)
    ('reward 100', 15)
    >>> fitted("a caption much too long for its picture", 100, 15, 10)
    ('a caption much too...', 10)
    """
    for size in range(largest, smallest - 1, -1):
        if font(size).getlength(text) <= width:
            return text, size
    kept = text
    while kept and font(smallest).getlength(kept + "...") > width:
        kept = kept[:-1]
    return kept.rstrip() + "...", smallest
