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


def paint(cells: Cells, shapes: Scene, side: int, margin: int) -> Image.Image:
    """Paint squares, `side` pixels wide and with a white margin, and what is on them."""
    squares = cells.colours.repeat(side, axis=0).repeat(side, axis=1)
    height, width = squares.shape[:2]
    framed = np.full((height + 2 * margin, width + 2 * margin, 3), PAPER, dtype=np.uint8)
    inside = framed[margin : margin + height + 1, margin : margin + width + 1]
    inside[:height, :width] = squares
    if cells.line is not None:
        inside[::side] = inside[:, ::side] = cells.line
    return painted_on(Image.fromarray(framed), shapes, side, (margin, margin))


def painted_on(picture: Image.Image, shapes: Scene, side: int, origin: tuple[float, float]) -> Image.Image:
    """A picture with polygons and, on top of these, texts; `origin` is where its first square begins, x and y."""

    def pixels(places: NDArray[np.float64]) -> NDArray[np.float64]:
        # A line of one pixel runs along the upper and the left edge of every square.
        return origin + (places + 0.5) * side + 0.5

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
    return picture


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


def with_caption(picture: Image.Image, caption: str) -> NDArray[np.uint8]:
    """Pixels of a picture with one line of text below it; (height, width, 3) uint8."""
    width = max(picture.width, MIN_WIDTH)
    framed = Image.new("RGB", (width, picture.height + CAPTION_HEIGHT), PAPER)
    framed.paste(picture, ((width - picture.width) // 2, 0))
    text, size = fitted(caption, width - 16, 15, 10)
    write(framed, (width / 2, picture.height + CAPTION_HEIGHT / 2), text, size, INK)
    return np.asarray(framed, dtype=np.uint8).copy()
