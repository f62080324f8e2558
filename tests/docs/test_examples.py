import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from rlsuite import plotting

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[0-9]*.py"))
SHORT = {1, 4, 64}
"""Numbers of the examples that take about a second, the first ones among them; `pytest -m slow` runs the others."""


WITHOUT_RUNS = {2, 4, 8, 23, 24, 62, 63, 64, 65, 66, 67}
"""Numbers of the examples that draw solutions, single episodes, or what one run has learned, and no mean."""

NOTES = sorted((Path(__file__).parents[2] / "examples" / "notes").glob("*.py"))
"""The lecture notes' figures and algorithms; each asserts the numbers it draws."""
SHORT_NOTES = {"alg_2_1_id3", "fig_9_03_obstacle_grid"}


def number_of(example: Path) -> int:
    return int(example.stem[:2])


@pytest.fixture(scope="module")
def contact_sheet() -> Any:
    """The functions of the script."""
    return SimpleNamespace(**runpy.run_path(str(EXAMPLES[0].parents[1] / "docs" / "contact_sheet.py")))


def assert_as_on_the_sheet(contact_sheet: Any, example: Path, path: Path) -> None:
    """Check that a figure looks from afar as it did when the sheet was drawn, and has as much of each colour."""
    x, y = contact_sheet.place(EXAMPLES.index(example))
    with Image.open(EXAMPLES[0].parents[1] / "docs" / "contact_sheet.png") as sheet:
        sheet.load()
        colours = json.loads(sheet.text["colours"])[example.stem]
        kept = sheet.crop((x, y, x + contact_sheet.TILE[0], y + contact_sheet.TILE[1]))
    other = "another figure than on docs/contact_sheet.png: look at it, and run scripts/figures"
    assert contact_sheet.differing(contact_sheet.tile(path), kept) <= MOST_DIFFERING, other
    now = contact_sheet.colours_of(path)
    losses = contact_sheet.largest_loss(now, colours), contact_sheet.largest_loss(colours, now)
    assert max(losses) <= LARGEST_LOSS, other


MOST_DIFFERING = 15
"""Pixels of a figure on the sheet that may be unlike all near them; letters drawn otherwise differ in fewer."""

LARGEST_LOSS = 0.35
"""Part of a colour that may be missing."""


def assert_says_of_what(figure: Figure) -> None:
    """Check that axes with lines or points say over how many runs, with which interval, and in which units."""
    for axes in figure.axes:
        drawn = [line for line in axes.get_lines() if not line.get_label().startswith("_child")]
        captions = [text.get_text().replace("\n", " ") for text in axes.texts if text.get_gid() == "caption"]
        if not captions or captions[0].startswith(("Colour", "Areas", "Lines: distributions")) or not drawn:
            continue
        assert re.search(r"n = \d", captions[0]), captions
        if "mean over" in captions[0]:
            assert re.search(r"95% confidence interval of the .*\((Student t|BCa bootstrap).*, over ", captions[0])
        assert axes.get_xlabel(), captions
        assert axes.get_ylabel() or axes.get_yticklabels()[0].get_text().isalpha(), captions


def assert_in_the_style(figure: Figure) -> None:
    """Check that all texts can be read, legends cover nothing, and a caption says what is drawn."""
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert min(text.get_fontsize() for text in texts) >= 8, min(texts, key=lambda text: text.get_fontsize())
    for axes in figure.axes:
        if legend := axes.get_legend():
            assert legend.get_window_extent().y0 >= axes.get_window_extent().y1 - 2
    assert figure.get_supxlabel() or any(text.get_gid() == "caption" for text in texts)


def lines_of(figure: Figure, panel: int = 0) -> dict[str, dict[float, float]]:
    """The means that a panel draws: by label, the height at each place."""
    lines = {str(line.get_label()): line for line in figure.axes[panel].get_lines()}
    return {
        label: dict(zip(np.round(line.get_xdata(), 9).tolist(), np.asarray(line.get_ydata()).tolist(), strict=True))
        for label, line in lines.items()
        if not label.startswith("_")
    }


def rewards_of(figure: Figure, label: str, *times: int) -> list[float]:
    """What a line of cumulative rewards says of some times, between the points that are drawn."""
    of = lines_of(figure)[label]
    return np.interp(times, list(of), list(of.values())).tolist()


def assert_as_in_figure_8_4(figure: Figure) -> None:
    """Both stop for a while when the way is blocked; Dyna-Q+ has about 150 in the end, and Dyna-Q less."""
    plain, curious = (rewards_of(figure, label, 1_000, 1_100, 2_000, 3_000) for label in ("Dyna-Q", "Dyna-Q+"))
    assert 50 < curious[0] < 75
    assert plain[0] < curious[0]
    for rewards in (plain, curious):
        assert rewards[1] - rewards[0] < 3  # of 10, if the way were still open
    assert 130 < curious[3] < 170
    assert plain[3] < curious[3] - 30
    assert 1 / 24 < (curious[3] - curious[2]) / 1_000 < 1 / 16  # it walks the way that is left, of 16 steps


def assert_as_in_figure_8_5(figure: Figure) -> None:
    """Dyna-Q walks the long way for ever, Dyna-Q+ takes the shortcut soon after it has opened: 10 steps, not 16."""
    plain, curious = (rewards_of(figure, label, 5_000, 6_000) for label in ("Dyna-Q", "Dyna-Q+"))
    assert 1 / 24 < (plain[1] - plain[0]) / 1_000 < 1 / 16
    assert 1 / 15 < (curious[1] - curious[0]) / 1_000 < 1 / 10
    assert 320 < curious[1] < 400
    assert plain[1] < curious[1] - 50


def assert_as_in_figures_12_10_and_12_11(figure: Figure) -> None:
    """Traces of 0.92 are the best, none the worst; true online is the best kind, and accumulating traces fail first."""
    by_lambda = {label: min(of.values()) for label, of in lines_of(figure, 0).items()}
    assert by_lambda["lambda = 0.92"] < by_lambda["lambda = 0.68"] - 10 < by_lambda["lambda = 0.0"] - 20
    assert by_lambda["lambda = 0.92"] < by_lambda["lambda = 0.98"]
    assert 215 < by_lambda["lambda = 0.0"] < 250
    assert 150 < by_lambda["lambda = 0.92"] < 200
    by_kind = lines_of(figure, 1)
    for rate in (0.2, 0.4):
        assert by_kind["true online"][rate] > by_kind["dutch"][rate] > by_kind["replacing"][rate] + 20
        assert by_kind["replacing"][rate] > by_kind["clearing"][rate] + 50
    best = {kind: max(of.values()) for kind, of in by_kind.items()}
    assert max(best, key=best.__getitem__) == "true online"
    assert best["accumulating"] < best["replacing"] - 20
    assert best["clearing"] < best["replacing"] - 10
    assert by_kind["accumulating"][0.5] < by_kind["accumulating"][0.4] - 100
    assert -280 < best["true online"] < -220


def assert_as_in_figure_12_14(figure: Figure) -> None:
    """The best lambda lies between 0 and 1; replacing traces are better, above all for large lambda."""
    for panel, highest, best_of in (
        (0, 0.99, {"replacing": (0.9, 0.95, 0.99)}),
        (1, 1.0, {"replacing": (0.7, 0.8, 0.9)}),
    ):
        of = lines_of(figure, panel)
        for kind, heights in of.items():
            best = min(heights, key=heights.__getitem__)
            assert 0.4 <= best < 1.0, (panel, kind)
            assert best in best_of.get(kind, (best,)), (panel, kind)
        assert of["replacing"][highest] < 0.8 * of["accumulating"][highest]
        assert of["replacing"][0.0] == of["accumulating"][0.0]  # the same algorithm
        assert max(of["replacing"], key=of["replacing"].__getitem__) == 1.0


OF_THE_BOOK = {
    "41_blocking_maze": assert_as_in_figure_8_4,
    "42_shortcut_maze": assert_as_in_figure_8_5,
    "34_mountain_car_traces": assert_as_in_figures_12_10_and_12_11,
    "35_lambda": assert_as_in_figure_12_14,
}
"""What Sutton and Barto's figures show: the order of their curves, and ranges for these seeds."""


def assert_shows_something(path: Path) -> None:
    with Image.open(path) as image:
        image.verify()
    with Image.open(path) as image:
        assert min(image.size) > 300
        assert len(image.convert("RGB").getcolors(image.width * image.height)) > 50


def run_example(example: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run an example as a script, and return what it saves: a figure or its axes."""
    monkeypatch.setattr(sys, "argv", [str(example)])
    saved: list[Any] = []
    save = plotting.save
    monkeypatch.setattr(plotting, "save", lambda figure, path: saved.append(figure) or save(figure, path))
    runpy.run_path(str(example), run_name="__main__")
    (figure,) = saved
    return figure


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
    figure = run_example(example, monkeypatch).get_figure(root=True)
    assert_in_the_style(figure)
    if number_of(example) not in WITHOUT_RUNS:
        assert_says_of_what(figure)
    assert [path.name for path in tmp_path.iterdir()] == [f"{example.stem}.png"]
    assert_shows_something(tmp_path / f"{example.stem}.png")
    if example.stem in OF_THE_BOOK:
        OF_THE_BOOK[example.stem](figure)
    if example.stem[:2] not in contact_sheet.TIMED:
        assert_as_on_the_sheet(contact_sheet, example, tmp_path / f"{example.stem}.png")
    if "your_own_agent" in example.stem:
        assert capsys.readouterr().out == "both loops, the same bytes: True\n"


def changes(figure: Figure) -> Iterator[bool]:
    """Change a figure in some ways, one after the other; yield whether that has to be seen."""
    axes = figure.axes[0]
    with matplotlib.rc_context({"text.hinting": "none"}):
        yield False  # letters drawn otherwise
    names = axes.get_legend() or next(text for text in axes.texts if text.get_gid() != "caption")
    names.set_visible(False)
    yield True
    names.set_visible(True)
    for line in axes.get_lines():
        if not line.get_label().startswith("_") and len(line.get_xdata()) > 1:
            colour = line.get_color()
            line.set_color("#882255" if colour != "#882255" else "#0072b2")
            yield True
            line.set_color(colour)


@pytest.mark.cases("example0")
@pytest.mark.parametrize("example", [example for example in EXAMPLES if number_of(example) in (1, 21)])
def test_a_change_of_a_figure_is_seen(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contact_sheet: Any
) -> None:
    saved: list[Figure] = []
    monkeypatch.setattr(sys, "argv", [str(example)])
    monkeypatch.setattr(plotting, "save", lambda figure, path: saved.append(figure.get_figure(root=True)))
    runpy.run_path(str(example), run_name="__main__")
    monkeypatch.undo()
    for number, seen in enumerate(changes(saved[0])):
        path = plotting.save(saved[0], tmp_path / f"{number}.png")
        with pytest.raises(AssertionError, match="another figure") if seen else nullcontext():
            assert_as_on_the_sheet(contact_sheet, example, path)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=example.stem, marks=[] if example.stem in SHORT_NOTES else [pytest.mark.slow])
        for example in NOTES
    ],
)
def test_example_of_the_notes_draws_one_figure(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved = run_example(example, monkeypatch)
    assert_in_the_style(saved.get_figure(root=True))
    assert [path.name for path in tmp_path.iterdir()] == [f"{example.stem}.png"]
    assert_shows_something(tmp_path / f"{example.stem}.png")


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


def test_examples_of_the_notes_are_shorter_and_assert_their_numbers() -> None:
    assert all(re.fullmatch(r"(fig|alg|sec)_\d_\w+", example.stem) for example in NOTES)
    assert {example.stem for example in NOTES} >= SHORT_NOTES
    for example in NOTES:
        code = example.read_text(encoding="utf-8")
        assert sum(bool(line.strip()) for line in code.splitlines()) < 40, example.name
        assert "\nassert " in code or "    assert " in code, example.name
        assert f"``python examples/notes/{example.name} [figure.png]``" in code


WITHOUT_NUMBA = """
import runpy, sys
from importlib.abc import MetaPathFinder
import matplotlib

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if sys.argv.pop(1) == "without":
    sys.meta_path.insert(0, Hidden())
matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "the same"
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

OF_A_SECOND = {1, 4}
"""Numbers of the examples that are quick at their quick size, also where everything is interpreted."""

TIMED = {8, 66}
"""Numbers of the examples that draw seconds."""


def drawn_quickly(example: Path, numba: str, folder: Path) -> tuple[str, bytes]:
    """What an example prints and draws at its quick size, with or without numba."""
    figure = folder / "figure.svg"
    quick = [str(example.parent / "quick.py"), example.name, str(figure)]
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_NUMBA, numba, *quick]
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{example.name}: {done.stderr}"
    return done.stdout, figure.read_bytes()


@pytest.mark.slow
def test_examples_draw_the_same_without_numba(tmp_path: Path) -> None:
    for example in EXAMPLES:
        if number_of(example) in OF_A_SECOND:
            assert drawn_quickly(example, "without", tmp_path) == drawn_quickly(example, "with", tmp_path)


@pytest.mark.exhaustive
def test_other_examples_draw_the_same_without_numba(tmp_path: Path) -> None:
    for example in EXAMPLES:
        if number_of(example) not in OF_A_SECOND | TIMED and "dqn" not in example.stem:
            same = drawn_quickly(example, "without", tmp_path) == drawn_quickly(example, "with", tmp_path)
            assert same, example.name


def test_every_example_has_a_quick_size() -> None:
    quick = SimpleNamespace(**runpy.run_path(str(EXAMPLES[0].parent / "quick.py")))
    assert set(quick.SMALLER) <= {example.stem[:2] for example in EXAMPLES}
    for example in EXAMPLES:
        compile(quick.smaller(example), example, "exec")  # which checks that there is what it makes smaller
