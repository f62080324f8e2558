"""The figures at the tops of pages: on each, described, small, and what the examples draw now."""

import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

WITHOUT = {"architecture", "certificates", "contributing", "environments_of_ours", "faq", "sources"}
"""Pages that show code, links or messages, and no results."""

OF_THE_NOTES = "fig_9_03_obstacle_grid"
"""The figure that is not on the sheet."""

MOST_DIFFERING = 40
"""Pixels of a tile of the sheet that may be unlike all near them: it is another reduction of the same figure."""


@pytest.fixture(scope="module")
def page_figures(root: Path) -> Any:
    return SimpleNamespace(**runpy.run_path(str(root / "docs" / "page_figures.py")))


@pytest.fixture(scope="module")
def contact_sheet(root: Path) -> Any:
    return SimpleNamespace(**runpy.run_path(str(root / "docs" / "contact_sheet.py")))


def test_pages_begin_with_a_figure_that_is_described(root: Path) -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in (root / "docs").glob("*.md")}
    assert set(pages) > WITHOUT
    for name in set(pages) - WITHOUT:
        before_headings = pages[name].split("\n## ")[0].split("\n```")[0]
        figures = re.findall(r"!\[(.*?)\]\((?:figures/)?\w+\.png\)", before_headings)
        assert len(figures) == 1, name
        assert 40 <= len(figures[0]) <= 130, name


def test_they_are_small_and_none_is_left_over(root: Path, page_figures: Any) -> None:
    kept = {path.stem: path for path in (root / "docs" / "figures").iterdir()}
    assert set(kept) == page_figures.shown()
    assert set(kept) <= {example.stem for example in (root / "examples").rglob("*.py")}
    for path in kept.values():
        assert 3_000 < path.stat().st_size <= page_figures.MOST_BYTES
        with Image.open(path) as image:
            assert image.width <= page_figures.WIDTH


def test_they_are_those_of_the_contact_sheet(
    root: Path, page_figures: Any, contact_sheet: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = sorted((root / "examples").glob("[0-9]*.py"))
    with Image.open(root / "docs" / "contact_sheet.png") as sheet:
        whole = sheet.convert("RGB")
    compared: dict[str, int] = {}
    for number, example in enumerate(examples):
        if example.stem in page_figures.shown() and example.stem[:2] not in contact_sheet.TIMED:
            x, y = contact_sheet.place(number)
            tile = whole.crop((x, y, x + contact_sheet.TILE[0], y + contact_sheet.TILE[1]))
            drawn = contact_sheet.tile(root / "docs" / "figures" / f"{example.stem}.png")
            compared[example.stem] = contact_sheet.differing(drawn, tile)
    assert len(compared) > 10
    monkeypatch.setattr(sys, "argv", ["example", str(tmp_path / "grid.png")])
    runpy.run_path(str(root / "examples" / "notes" / f"{OF_THE_NOTES}.py"))
    drawn = [contact_sheet.tile(path) for path in (tmp_path / "grid.png", root / f"docs/figures/{OF_THE_NOTES}.png")]
    compared[OF_THE_NOTES] = contact_sheet.differing(*drawn)
    assert {name: number for name, number in compared.items() if number > MOST_DIFFERING} == {}
