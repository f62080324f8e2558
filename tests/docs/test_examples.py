import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image

from rlsuite import plotting

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SHORT = {1, 4, 64}
"""Numbers of the examples that take about a second, the first ones among them; `pytest -m slow` runs the others."""


TIMED = {8, 66}
"""Numbers of the examples that draw what took how long, so their figures are never the same."""


def number_of(example: Path) -> int:
    return int(example.stem[:2])


def look_of(contact_sheet: Any, path: Path) -> NDArray[np.int64]:
    """A figure as the contact sheet shows it, each number the mean of four by four pixels."""
    return coarse(contact_sheet.tile(path))


def coarse(image: Image.Image) -> NDArray[np.int64]:
    size = image.width // 4, image.height // 4
    return np.asarray(image.convert("RGB").resize(size, Image.Resampling.BOX), dtype=np.int64)


@pytest.fixture(scope="module")
def contact_sheet() -> Any:
    """The functions of the script."""
    return SimpleNamespace(**runpy.run_path(str(EXAMPLES[0].parents[1] / "docs" / "contact_sheet.py")))


def kept_look(contact_sheet: Any, example: Path) -> NDArray[np.int64]:
    """How the figure looked when the sheet was drawn."""
    x, y = contact_sheet.place(EXAMPLES.index(example))
    with Image.open(EXAMPLES[0].parents[1] / "docs" / "contact_sheet.png") as sheet:
        return coarse(sheet.crop((x, y, x + contact_sheet.TILE[0], y + contact_sheet.TILE[1])))


def assert_in_the_style(figure: Figure) -> None:
    """Check that all texts can be read, legends cover nothing, and a caption says what is drawn."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= 8, min(texts, key=lambda text: text.get_fontsize())
    for axes in figure.axes:
        if legend := axes.get_legend():
            assert legend.get_window_extent().y0 >= axes.get_window_extent().y1 - 2
    assert figure.get_supxlabel() or any(text.get_gid() == "caption" for text in texts)


def assert_shows_something(path: Path) -> None:
    with Image.open(path) as image:
        image.verify()
    with Image.open(path) as image:
        assert min(image.size) > 300
        assert len(image.convert("RGB").getcolors(2**24)) > 50


# In this process, because most of what a new one does is to import the same libraries again.
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=example.stem, marks=[] if number_of(example) in SHORT else [pytest.mark.slow])
        for example in EXAMPLES
    ],
)
def test_example_draws_one_figure(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    contact_sheet: Any,
) -> None:
    if "dqn" in example.stem:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    saved: list[Figure] = []
    save = plotting.save
    monkeypatch.setattr(plotting, "save", lambda figure, path: saved.append(figure) or save(figure, path))
    runpy.run_path(str(example), run_name="__main__")
    assert_in_the_style(saved[0].get_figure(root=True))
    assert [path.name for path in tmp_path.iterdir()] == [f"{example.stem}.png"]
    assert_shows_something(tmp_path / f"{example.stem}.png")
    if number_of(example) not in TIMED:
        change = np.abs(look_of(contact_sheet, tmp_path / f"{example.stem}.png") - kept_look(contact_sheet, example))
        assert change.max() <= 60, "another figure than on docs/contact_sheet.png: look at it, and run scripts/figures"
    if "your_own_agent" in example.stem:
        assert capsys.readouterr().out == "both loops, the same bytes: True\n"


@pytest.mark.slow
def test_example_writes_where_it_is_told(tmp_path: Path) -> None:
    figure = tmp_path / "figure.svg"
    (example,) = (example for example in EXAMPLES if "own_environment" in example.stem)
    command = [sys.executable, "-W", "error", str(example), str(figure)]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert list(tmp_path.iterdir()) == [figure]
    assert figure.read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_examples_are_short_and_numbered() -> None:
    numbers = [example.stem[:3] for example in EXAMPLES]
    assert all(re.fullmatch(r"\d\d_", number) for number in numbers)
    assert len(set(numbers)) == len(numbers)
    assert set(map(number_of, EXAMPLES)) >= SHORT
    for example in EXAMPLES:
        code = [line for line in example.read_text(encoding="utf-8").splitlines() if line.strip()]
        assert len(code) <= 40, example.name
