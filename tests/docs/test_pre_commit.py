"""What is checked before a commit: local tools only, and no commit that is too large."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


def test_hooks_are_local_tools_of_the_development_group(root: Path) -> None:
    text = (root / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"repo: (\S+)", text) == ["local"]
    assert set(re.findall(r"language: (\S+)", text)) == {"system"}
    tools = {entry.split()[0] for entry in re.findall(r"entry: (.+)", text)} - {"python"}
    group = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["dev"]
    assert tools <= {re.split(r"[\[=~><]", entry)[0] for entry in group}
    assert {"ruff", "pyright", "codespell"} <= tools


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    return tmp_path


def check(root: Path, checkout: Path) -> tuple[int, str]:
    subprocess.run(["git", "add", "--all"], cwd=checkout, check=True)
    script = root / ".ci" / "commit_size.py"
    done = subprocess.run([sys.executable, script], cwd=checkout, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_small_commit_passes(root: Path, checkout: Path) -> None:
    (checkout / "text.py").write_text("x = 1\n" * 1_500)
    (checkout / "figure.png").write_bytes(b"\0" * 500_000)
    assert check(root, checkout) == (0, "")


def test_a_large_commit_is_refused_with_what_to_do(root: Path, checkout: Path) -> None:
    (checkout / "one.py").write_text("x = 1\n" * 1_000)
    (checkout / "two.py").write_text("x = 1\n" * 501)
    status, said = check(root, checkout)
    assert status == 1
    assert said == "1501 lines are added, more than 1500: make several commits, each of which is green\n"


def test_a_large_file_is_named(root: Path, checkout: Path) -> None:
    (checkout / "a map.png").write_bytes(b"\0" * 500_001)
    assert check(root, checkout) == (
        1,
        "a map.png has 500001 bytes, more than 500000: leave it out, or make it smaller\n",
    )
