"""What plain `pytest` may cost is counted: tests here, compiled functions at the end of a run, in `conftest.py`."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BOOK = ("blackjack", "counterexamples", "mountain_car", "random_walk_1000")
ALL_SLOW = {f"tests/approximation/linear/test_{name}.py" for name in BOOK}
"""Files without a test that plain `pytest` runs: about figures of a book, not about a module."""


@pytest.fixture(scope="module")
def settings(root: Path) -> dict[str, int]:
    """The budgets in `conftest.py`."""
    text = (root / "conftest.py").read_text(encoding="utf-8")
    return {name: int(value.replace("_", "")) for name, value in re.findall(r"^(MOST_\w+) = ([\d_]+)$", text, re.M)}


def items_of_the_default(request: pytest.FixtureRequest) -> list[pytest.Item]:
    """The tests of this run if it takes what plain `pytest` takes, or a part of it; none otherwise."""
    config = request.config
    return request.session.items if config.getoption("markexpr") == config.getini("addopts")[-1] else []


def test_not_too_many_tests(request: pytest.FixtureRequest, settings: dict[str, int]) -> None:
    assert len(items_of_the_default(request)) <= settings["MOST_TESTS"], "mark some as slow, see CONTRIBUTING.md"


def test_each_file_and_each_matrix_has_a_test_that_is_not_slow(
    request: pytest.FixtureRequest, matrices: set[str], root: Path
) -> None:
    config, items = request.config, items_of_the_default(request)
    if items and config.args == config.getini("testpaths") and not config.getoption("keyword"):
        files = set((root / "tests").rglob("test_*.py"))
        if not find_spec("torch"):  # then pytest finds no tests in these
            files -= set((root / "tests" / "approximation" / "deep").iterdir())
        assert files - {item.path for item in items} == {root / file for file in ALL_SLOW}
        assert matrices - {item.nodeid.split("[")[0] for item in items} == set()


def test_each_file_has_a_quick_test(request: pytest.FixtureRequest, root: Path) -> None:
    items = [item for item in items_of_the_default(request) if item.path.name.startswith("test_")]
    if len({item.path for item in items}) > 1 and "::" not in "".join(request.config.args):
        quick = {item.path for item in items if item.get_closest_marker("quick")}
        lines = (root / "tests" / "quick.txt").read_text(encoding="utf-8").split()
        all_take_seconds = {root / line.removesuffix("::") for line in lines if line.endswith("::")}
        assert {item.path for item in items} - quick <= all_take_seconds


def test_no_package_grows(sizes: dict[str, tuple[int, int, int]], ceilings: dict[str, tuple[int, int, int]]) -> None:
    """Whoever adds code takes as much away, in the same package; whoever only takes away lowers `CEILINGS`."""
    grown = {
        package: f"{size} files, code lines, tokens; at most {ceilings.get(package)}"
        for package, size in sizes.items()
        if any(mine > most for mine, most in zip(size, ceilings.get(package, (0, 0, 0)), strict=True))
    }
    assert grown == {}


def test_contributing_states_the_budgets(root: Path, settings: dict[str, int]) -> None:
    page = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert set(settings) == {"MOST_TESTS", "MOST_COMPILED"}
    assert f"{settings['MOST_TESTS']:,} tests or {settings['MOST_COMPILED']:,} compiled functions" in page


MATRIX = """
import pytest
import rlsuite as rl

@pytest.mark.cases("a.*")
@pytest.mark.parametrize("name", ["ab", "ba", "c"])
def test_names(name):
    pass

@rl.compiled
def double(x):
    return 2 * x

def test_compiled():
    assert double(3) == 6 and double(0.5) == 1.0
"""


@pytest.mark.cases("1-1")
@pytest.mark.parametrize(("most", "status"), [(1, 1), (2, 0)])
def test_a_run_that_compiles_too_much_fails(root: Path, tmp_path: Path, most: int, status: int) -> None:
    """Two functions: one for whole numbers, and one for others."""
    settings = (root / "conftest.py").read_text(encoding="utf-8")
    settings = re.sub(r"^MOST_COMPILED = \d+$", f"MOST_COMPILED = {most}", settings, flags=re.M)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "quick.txt").touch()
    (tmp_path / "conftest.py").write_text(settings, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text((root / "pyproject.toml").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "tests" / "test_matrix.py").write_text(MATRIX, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "tests/test_matrix.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout
    assert "2 passed, 2 deselected" in done.stdout
    assert f"2 compiled functions, of at most {most}" in done.stdout
    assert "bringing up nodes" not in done.stdout  # one file


@pytest.mark.slow
def test_each_test_is_in_one_part(root: Path) -> None:
    def taken(*part: str) -> list[str]:
        command = [sys.executable, "-m", "pytest", "tests/core", "-n0", "--collect-only", "-qm", "slow or not slow"]
        done = subprocess.run([*command, *part], cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return [line for line in done.stdout.splitlines() if "::" in line]

    parts = [taken("--part", f"{part}/3") for part in (1, 2, 3)]
    together = [test for part in parts for test in part]
    assert sorted(together) == sorted(taken())
    assert min(map(len, parts)) > len(together) / 4
    command = [sys.executable, "-m", "pytest", "tests/core", "--part", "4/3"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert "'4/3' is not a part such as 1/4, 2/4, 3/4 or 4/4" in done.stderr
