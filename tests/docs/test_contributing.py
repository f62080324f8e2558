"""What CONTRIBUTING.md promises is there: files, commands and the groups that they install."""

import inspect
import os
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
    (setup, tests) = re.findall(r"^```console\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "--group dev" in setup
    assert "dev" in project["dependency-groups"]
    for command in tests.splitlines():
        program, *arguments = command.removeprefix("bash ").split()
        assert program in {"pytest", "make"} or os.access(root / program, os.X_OK), command
        if program == "make":
            folder, target = re.fullmatch(r"make -C (\w+) (\w+)", command).groups()
            assert f"\n{target}:" in (root / folder / "Makefile").read_text(encoding="utf-8")
        else:
            assert [name for name in arguments if not (root / name).exists()] == []
    assert {path.name for path in (root / "scripts").iterdir()} == set(
        re.findall(r"^scripts/(\w+)", tests, re.MULTILINE)
    )


def test_marks_are_those_of_pytest(page: str, root: Path) -> None:
    options = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    marks = [re.split(r"[:(]", marker)[0] for marker in options["markers"]]
    assert marks == ["quick", "slow", "exhaustive", "cases", "arithmetic", "notebook", "cluster"]
    assert [mark for mark in marks if not re.search(rf"`(@pytest\.mark\.)?{mark}\b", page)] == ["quick"]
    assert options["addopts"][-2:] == ["-m", "not slow and not exhaustive and not notebook and not cluster"]
    gate = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert "\nslow=(-m slow)\n" in gate
    assert '\npytest "${slow[@]}" ' in gate
    assert '-m "arithmetic and not slow"' in gate


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
    for mark in re.findall(r"`(figure_of)\(", page):
        assert callable(getattr(figure_list, mark))
