"""Put the figures of a folder side by side on one picture: `python docs/contact_sheet.py FOLDER SHEET.png`."""

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageOps

TILE = (300, 200)
LABEL = 14
COLUMNS = 8


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


if __name__ == "__main__":
    folder, target = map(Path, sys.argv[1:])
    figures = sorted(path for path in folder.glob("[0-9]*.png"))
    sheet(figures).quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
    print(target)
