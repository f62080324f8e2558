import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SHORT = {1, 2, 4, 8, 21, 40, 63, 64, 65, 67}
"""Numbers of the examples that take about a second, the first ones among them; `pytest -m slow` runs the others."""


def number_of(example: Path) -> int:
    return int(example.stem[:2])


def assert_shows_something(path: Path) -> None:
    with Image.open(path) as image:
        image.verify()
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] > 300
    assert pixels.shape[1] > 300
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50


# In this process, because most of what a new one does is to import the same libraries again.
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(example, id=example.stem, marks=[] if number_of(example) in SHORT else [pytest.mark.slow])
        for example in EXAMPLES
    ],
)
def test_example_draws_one_figure(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "dqn" in example.stem:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert [path.name for path in tmp_path.iterdir()] == [f"{example.stem}.png"]
    assert_shows_something(tmp_path / f"{example.stem}.png")
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
