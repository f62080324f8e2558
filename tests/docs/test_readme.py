"""The README: short, with two commands, and a figure that its script draws."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

Blocks = Callable[..., list[str]]


def test_it_is_short(root: Path) -> None:
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 150
    prose = [line for line in lines if not line.startswith(("|", "!"))]
    assert [line for line in prose if len(line) > 125] == []


def test_the_two_commands(blocks: Blocks, root: Path) -> None:
    commands = ["pip install -e . && rlsuite demo", 'pip install -e ".[test]" && pytest']
    assert [line for line in blocks("console")[0].splitlines() if not line.startswith("#")] == commands
    text = (root / "README.md").read_text(encoding="utf-8")
    assert re.findall("^pip install -e.*", text, flags=re.MULTILINE) == commands, ".ci/run takes these lines"


def test_it_says_what_it_is_and_for_whom(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    (first,) = re.findall(r"^rlsuite is (.*?)\.\s", text, flags=re.MULTILINE | re.DOTALL)
    assert "reinforcement learning" in first
    assert "students, teachers and researchers" in first


def test_measured_with_losses(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    scripts = re.findall(r"^\|.*\| `(\w+\.py)` \|$", text, flags=re.MULTILINE)
    assert len(scripts) == 8
    assert text.count("| **loss:**") == 2
    assert [script for script in scripts if not (root / "benchmarks" / script).exists()] == []


def test_figure_is_small(root: Path) -> None:
    assert 10_000 < (root / "docs" / "at_a_glance.png").stat().st_size < 200_000


def looks_like(one: Path, other: Path) -> bool:
    """Whether two figures look the same: edges may differ by a pixel, no patch may have another colour."""
    with Image.open(one) as first, Image.open(other) as second:
        if first.size != second.size:
            return False
        size = (first.width // 8, first.height // 8)
        small = [np.asarray(image.convert("RGB").resize(size, Image.Resampling.BOX), int) for image in (first, second)]
    return bool(np.abs(small[0] - small[1]).max() <= 40)


@pytest.mark.slow
def test_figure_is_what_its_script_draws(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = tmp_path / "at_a_glance.png"
    monkeypatch.setattr("sys.argv", ["07_at_a_glance.py", str(drawn)])
    runpy.run_path(str(root / "examples" / "07_at_a_glance.py"), run_name="__main__")
    assert looks_like(drawn, root / "docs" / "at_a_glance.png"), "draw it again: examples/07_at_a_glance.py"


def test_another_figure_does_not_look_like_it(root: Path, tmp_path: Path) -> None:
    with Image.open(root / "docs" / "at_a_glance.png") as image:
        changed = image.convert("RGB")
    assert looks_like(root / "docs" / "at_a_glance.png", root / "docs" / "at_a_glance.png")
    changed.paste((68, 1, 84), (328, 380, 352, 404))  # one square of the grid in the darkest colour
    changed.save(tmp_path / "changed.png")
    assert not looks_like(tmp_path / "changed.png", root / "docs" / "at_a_glance.png")
