"""The page about the lecture notes: what it names exists, and its commands run."""

import ast
import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - as the command line does
from rlsuite.cli import main
from rlsuite.experiments import Experiment

PAGE = (Path(__file__).parents[2] / "docs" / "notes.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"`(rlsuite [^`]+)`", PAGE)))
LONG = [command for command in COMMANDS if command.startswith("rlsuite run")]
"""Experiments, which take minutes."""


def rows(section: str) -> list[list[str]]:
    """The cells of the table of a section, without its head."""
    (text,) = re.findall(rf"^## {section}.*?\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def named(path: str) -> Any:
    """What a dotted name stands for."""
    first, *others = path.split(".")
    found: Any = rl if first == "rl" else importlib.import_module(first)
    for place, name in enumerate(others, start=1):
        if first != "rl" and not hasattr(found, name):
            importlib.import_module(".".join([first, *others[:place]]))
        found = getattr(found, name)
    return found


def test_its_classes_and_functions_exist() -> None:
    paths = set(re.findall(r"`((?:rl|sklearn)\.[\w.]+)`", PAGE))
    assert len(paths) > 80
    for path in paths:
        assert named(path) is not None, path


@pytest.mark.parametrize("section", ["Chapter 9", "Chapters 1 to 8"])
def test_every_row_has_something_that_does_it_and_an_example(section: str) -> None:
    for row in rows(section):
        assert re.search(r"`(rl|sklearn)\.|`window=`", row[2]), row
        assert "](../examples/" in row[-1], row


def test_every_example_of_the_notes_is_named(root: Path) -> None:
    named_here = set(re.findall(r"\(\.\./examples/notes/(\w+\.py)\)", PAGE))
    assert named_here == {path.name for path in (root / "examples" / "notes").glob("*.py")}


def test_the_tests_that_hold_a_correction_exist(root: Path) -> None:
    corrections = rows("Misprints")
    assert len(corrections) == 38
    for *_, held_by in corrections:
        (test,) = re.findall(r"^`([\w/]+\.py::\w+)`$", held_by)
        file, _, name = test.partition("::")
        tree = ast.parse((root / "tests" / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_every_worked_number_is_a_test(root: Path) -> None:
    code = (root / "tests" / "reference" / "test_notes.py").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"^def test_(x\d\d)_", code, flags=re.MULTILINE))) == [
        row[0] for row in rows("Worked numbers")
    ]


def test_its_experiments_are_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert len(LONG) == 4
    for command in LONG:
        assert Experiment.read(command.removeprefix("rlsuite run ")).agents, command


@pytest.mark.slow
@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in LONG])
def test_its_commands_run(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
