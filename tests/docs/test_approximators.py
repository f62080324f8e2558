"""The page on approximators: its code prints what its comments say, and its tables list what was measured."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "approximators.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_code_prints_what_its_comments_say(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^print\(.*\)  # (.*)$", "\n".join(blocks), flags=re.MULTILINE)) == 6
    if not importlib.util.find_spec("torch"):
        blocks = [block for block in blocks if "torch" not in block]
    code = "\n".join(blocks)
    promised = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
    script = tmp_path / "page.py"
    script.write_text(code, encoding="utf-8")
    run = [sys.executable, "-W", "error", script]
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == promised


def test_tables_list_every_estimator_that_was_measured(page: str, root: Path) -> None:
    spec = importlib.util.spec_from_file_location("approximators", root / "benchmarks" / "approximators.py")
    assert spec is not None
    assert spec.loader is not None
    measured = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(measured)
    rows = [f"| {row.notes} | {row.name} |" for row in (*measured.REGRESSORS, *measured.CLASSIFIERS)]
    assert [row for row in rows if row not in page] == []
    assert len(re.findall(r"^\|[^|]+\|[^|]+\| `\w+` \|", page, flags=re.MULTILINE)) == len(rows)
    assert not re.findall(r"\b[A-Z]\d\d\b", page), "a number that only the inventory of the notes explains"
