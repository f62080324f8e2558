"""Scenes with Pillow: smooth shapes and fitted text.

Pillow fills polygons without smoothing their edges, so shapes are painted on a sheet `SCALE` times finer and then
averaged down; text is smoothed by the font engine and is written last, at final size.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

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

Point: TypeAlias = tuple[float, float]


class Sheet:
    """A sheet of `width` x `height` pixels for shapes; all coordinates are in final pixels.

    Parameters
    ----------
    width, height
        Size in pixels.
    background
        Colour of the empty sheet, or an image to paint upon.
    """

    def __init__(self, width: int, height: int, background: "Colour | Image.Image") -> None:
        size = (width * SCALE, height * SCALE)
        if isinstance(background, Image.Image):
            self._image = background.resize(size, Image.Resampling.NEAREST)
        else:
            self._image = Image.new("RGB", size, background)
        self._draw = ImageDraw.Draw(self._image)

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """Fill a polygon."""
        self._draw.polygon([(x * SCALE, y * SCALE) for x, y in points], fill=colour)

    def disc(self, centre: Point, radius: float, colour: Colour) -> None:
        """Fill a disc."""
        self._draw.circle((centre[0] * SCALE, centre[1] * SCALE), radius * SCALE, fill=colour)

    def frame(self, centre: Point, reach: float, thickness: float, colour: Colour, edge_colour: Colour) -> None:
        """Draw a square frame whose sides are `reach` away from the centre, with a line on both sides."""
        line = max(SCALE, round(0.3 * thickness * SCALE))
        for inset, width, shade in (
            (0, round(thickness * SCALE) + 2 * line, edge_colour),
            (line, round(thickness * SCALE), colour),
        ):
            left, top = ((c - reach) * SCALE + inset for c in centre)
            right, bottom = ((c + reach) * SCALE - inset for c in centre)
            self._draw.rounded_rectangle((left, top, right, bottom), 3 * SCALE, outline=shade, width=width)

    def box(self, left: float, top: float, right: float, bottom: float, colour: Colour, *, radius: float = 0) -> None:
        """Fill a rectangle (`right` and `bottom` excluded), with rounded corners if asked."""
        corners = (left * SCALE, top * SCALE, right * SCALE - 1, bottom * SCALE - 1)
        self._draw.rounded_rectangle(corners, radius * SCALE, fill=colour)

    def finish(self) -> Image.Image:
        """The sheet at final size."""
        return self._image.reduce(SCALE)


def paint(scene: Scene, side: int, margin: int) -> Image.Image:
    """Paint a scene whose squares are `side` pixels wide, with a white margin: first its shapes, then its texts."""

    def pixels(places: NDArray[np.float64]) -> NDArray[np.float64]:
        # A line of one pixel runs along the upper and the left edge of every square.
        return margin + (places + 0.5) * side + 0.5

    picture = Image.new("RGB", (1, 1))
    sheet: Sheet | None = None
    for shape in scene:
        if isinstance(shape, Cells):
            picture = Image.fromarray(_squares(shape, side, margin))
        elif isinstance(shape, Polygons):
            sheet = sheet or Sheet(*picture.size, picture)
            for corners, (red, green, blue) in zip(pixels(shape.corners).tolist(), shape.colours.tolist(), strict=True):
                sheet.polygon(corners, (red, green, blue))
    picture = picture if sheet is None else sheet.finish()
    for shape in scene:
        if isinstance(shape, Texts):
            where = zip(pixels(shape.places).tolist(), shape.texts, shape.colours.tolist(), strict=True)
            for (x, y), text, (red, green, blue) in where:
                shown, size = fitted(text, shape.room * side, round(shape.size * side), 7)
                write(picture, (x, y), shown, size, (red, green, blue))
    return picture


def _squares(cells: Cells, side: int, margin: int) -> NDArray[np.uint8]:
    squares = cells.colours.repeat(side, axis=0).repeat(side, axis=1)
    height, width = squares.shape[:2]
    framed = np.full((height + 2 * margin, width + 2 * margin, 3), PAPER, dtype=np.uint8)
    inside = framed[margin : margin + height + 1, margin : margin + width + 1]
    inside[:height, :width] = squares
    if cells.line is not None:
        inside[::side] = inside[:, ::side] = cells.line
    return framed


@lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's built-in typeface at `size` pixels."""
    return ImageFont.load_default(size)


def write(image: Image.Image, centre: Point, text: str, size: int, colour: Colour) -> None:
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
