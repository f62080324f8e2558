"""Put the figures of a folder side by side on one picture: `python docs/contact_sheet.py FOLDER SHEET.png`.

The sheet is what the tests compare the examples with, in two ways that a font drawn otherwise does not disturb: each
figure as it is seen from afar, and how much there is of each of its colours at full size.
"""

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageOps, PngImagePlugin

TILE = (300, 200)
LABEL = 14
COLUMNS = 8

TIMED = ("08", "66")
"""Numbers of the examples that draw what took how long, no two such figures are the same, and tests skip them."""

Colours = list[tuple[int, int]]
"""Colours as one number, red first, each with the number of its pixels."""


def tile(path: Path) -> Image.Image:
    """Return a figure in the size that it has on the sheet, on white."""
    with Image.open(path) as image:
        return ImageOps.pad(image.convert("RGB"), TILE, Image.Resampling.BOX, color="white")


def place(number: int) -> tuple[int, int]:
    """Return the left upper corner of a tile on the sheet, below its label."""
    row, column = divmod(number, COLUMNS)
    return column * TILE[0], row * (TILE[1] + LABEL) + LABEL


def sheet(paths: list[Path]) -> Image.Image:
    """Return all figures on one sheet, each below its name."""
    rows = -(-len(paths) // COLUMNS)
    whole = Image.new("RGB", (COLUMNS * TILE[0], rows * (TILE[1] + LABEL)), "white")
    for number, path in enumerate(paths):
        x, y = place(number)
        whole.paste(tile(path), (x, y))
        ImageDraw.Draw(whole).text((x + 2, y - LABEL + 1), path.stem, fill="black")
    return whole


def differing(one: Image.Image, other: Image.Image) -> int:
    """Count the pixels of two tiles that are like no pixel near them in the other, as seen from afar."""
    looks = [
        np.asarray(image.convert("RGB").filter(ImageFilter.BoxBlur(2)).convert("YCbCr"), dtype=np.int64)
        for image in (one, other)
    ]
    return int(np.maximum(_strangeness(*looks), _strangeness(*looks[::-1])).astype(bool).sum())


NEAR = 2
"""Pixels by which something may have moved on a tile."""

ALIKE = 20
"""Distance of lightness and colour, each of 0 to 255, from which on two pixels differ."""


def _strangeness(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.bool_]:
    height, width, _ = one.shape
    around = np.pad(other, ((NEAR, NEAR), (NEAR, NEAR), (0, 0)), mode="edge")
    moves = [(y, x) for y in range(2 * NEAR + 1) for x in range(2 * NEAR + 1)]
    shifted = (around[y : y + height, x : x + width] for y, x in moves)
    return np.all([((one - moved) ** 2).sum(axis=2) > ALIKE**2 for moved in shifted], axis=0)


def colours_of(path: Path) -> Colours:
    """Return how many pixels have each colour, of those that are not grey and lie in a square of one colour."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=np.int64)
    packed = pixels @ [65536, 256, 1]
    plain = np.ptp(pixels, axis=2) > 24
    plain[:-1, :-1] &= (packed[:-1, :-1] == packed[1:, :-1]) & (packed[:-1, :-1] == packed[:-1, 1:])
    plain[:-1, :-1] &= packed[:-1, :-1] == packed[1:, 1:]
    plain[-1], plain[:, -1] = False, False
    colours, numbers = np.unique(packed[plain], return_counts=True)
    seen = numbers >= 30
    return list(zip(colours[seen].tolist(), numbers[seen].tolist(), strict=True))


MANY = 150
"""Pixels of a colour, from which on it has to be in the other figure too."""


def largest_loss(one: Colours, other: Colours) -> float:
    """Return the largest part of a colour of the first figure that the second figure does not have."""
    first, second = (np.array(colours, dtype=np.int64).reshape(-1, 2) for colours in (one, other))
    parts = [np.stack([table[:, 0] >> byte & 255 for byte in (16, 8, 0)]) for table in (first, second)]
    has, finds = (
        (np.abs(parts[0][:, :, None] - found[:, None, :]).max(axis=0) <= 6) @ table[:, 1]
        for found, table in zip(parts, (first, second), strict=True)
    )
    return max((1.0 - finds / has)[first[:, 1] >= MANY].tolist(), default=0.0)


if __name__ == "__main__":
    folder, target = map(Path, sys.argv[1:])
    figures = sorted(path for path in folder.glob("[0-9]*.png"))
    facts = PngImagePlugin.PngInfo()
    facts.add_text("colours", json.dumps({path.stem: colours_of(path) for path in figures}), zip=True)
    sheet(figures).quantize(256, Image.Quantize.FASTOCTREE, kmeans=2, dither=Image.Dither.NONE).save(
        target, optimize=True, pnginfo=facts
    )
    print(target)
