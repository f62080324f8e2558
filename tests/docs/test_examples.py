import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def run(example: Path, folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", str(example), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_shows_something(path: Path) -> None:
    with Image.open(path) as image:
        image.verify()
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape[0] > 300
    assert pixels.shape[1] > 300
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_draws_one_figure(example: Path, tmp_path: Path) -> None:
    said = run(example, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{example.stem}.png"]
    assert_shows_something(tmp_path / f"{example.stem}.png")
    if "your_own_agent" in example.stem:
        assert said == "both loops, the same bytes: True\n"


def test_example_writes_where_it_is_told(tmp_path: Path) -> None:
    figure = tmp_path / "figure.svg"
    run(next(example for example in EXAMPLES if "environment" in example.stem), tmp_path, str(figure))
    assert list(tmp_path.iterdir()) == [figure]
    assert figure.read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_examples_are_short_and_numbered() -> None:
    numbers = [example.stem[:3] for example in EXAMPLES]
    assert all(re.fullmatch(r"\d\d_", number) for number in numbers)
    assert len(set(numbers)) == len(numbers)
    for example in EXAMPLES:
        code = [line for line in example.read_text(encoding="utf-8").splitlines() if line.strip()]
        assert len(code) <= 40, example.name
