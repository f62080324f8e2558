"""Make figures of examples small enough for the tops of pages: `python docs/page_figures.py FOLDER`.

FOLDER has the figures of the examples, as `scripts/figures` draws them. Which ones are needed is in the pages:
`](figures/NAME.png)` shows what the example NAME draws. Tests compare them with the tiles of `contact_sheet.png`.
"""

import re
import sys
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parent
WIDTH = 900
"""Pixels, which is what a page of the site has room for on most screens."""

MOST_BYTES = 60_000


def shown() -> set[str]:
    """Names of the examples whose figures pages show."""
    pages = [page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")]
    return {name for page in pages for name in re.findall(r"\]\(figures/(\w+)\.png\)", page)}


def shrink(source: Path, target: Path) -> None:
    """Write a figure with at most `MOST_BYTES`: of at most `WIDTH`, and of as many colours as there is room for."""
    with Image.open(source) as image:
        figure = image.convert("RGB")
    if figure.width > WIDTH:
        figure = figure.resize((WIDTH, round(figure.height * WIDTH / figure.width)), Image.Resampling.LANCZOS)
    for colours in (128, 64, 32, 16):
        figure.quantize(colours, kmeans=2, dither=Image.Dither.NONE).save(target, optimize=True)
        if target.stat().st_size <= MOST_BYTES:
            return
    raise SystemExit(f"{target} has more than {MOST_BYTES:,} bytes: show a simpler figure")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for name in sorted(shown()):
        if (source := folder / f"{name}.png").exists():
            shrink(source, DOCS / "figures" / f"{name}.png")
            print(DOCS / "figures" / f"{name}.png")
