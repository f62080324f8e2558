"""What CONTRIBUTING.md promises is there: files, commands and the groups that they install."""

import inspect
import re
import tomllib
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_files_and_folders_exist(page: str, root: Path) -> None:
    named = re.findall(r"`((?:rlsuite|envs|tests|docs)/[\w./]*)`|\]\(([\w./]+)\)", page)
    paths = {one or other for one, other in named}
    assert len(paths) > 10
    assert sorted(path for path in paths if "my_" not in path and not (root / path).exists()) == []


def test_commands_mean_something(page: str, root: Path) -> None:
    (setup, quick, tests) = re.findall(r"^```console\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "--group dev" in setup
    assert "dev" in project["dependency-groups"]
    assert quick == "pytest -m quick\n"
    options = project["tool"]["pytest"]["ini_options"]
    marks = [marker.partition(":")[0] for marker in options["markers"]]
    assert marks == ["quick", "slow", "notebook", "cluster"]
    assert [f"`{mark}`" in page for mark in marks[1:]] == [True] * 3
    assert options["addopts"][-2:] == ["-m", " and ".join(f"not {mark}" for mark in marks[1:])]
    assert "\npytest -m slow " in (root / ".ci" / "run").read_text(encoding="utf-8")
    folders = [word for word in tests.split() if "/" in word]
    assert [folder for folder in folders if not (root / folder).exists()] == []


def test_functions_that_it_names_are_there(page: str) -> None:
    from rlsuite import plotting, testing
    from rlsuite.planning import certificate
    from rlsuite.plotting import figure_list

    assert "rl.testing.check_agent" in page
    assert callable(testing.check_agent)
    assert "certified(lookahead, value, watch)" in page
    assert list(inspect.signature(certificate.certified).parameters)[:3] == ["lookahead", "value", "watch"]
    assert callable(certificate.certified)
    assert plotting.__all__
    for mark in re.findall(r"`(figure_of_\w+)`", page):
        assert callable(getattr(figure_list, mark))
