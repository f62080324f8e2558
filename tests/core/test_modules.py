"""Modules that a user names: imported or run, and what is said of those that are not there."""

import os
import sys

import pytest

from rlsuite.core.modules import WRITTEN, module_of, parts_of, run_file
from rlsuite.errors import FileError


def test_a_specification_has_a_place_and_a_name():
    assert parts_of("sklearn.tree:DecisionTreeRegressor") == ("sklearn.tree", "DecisionTreeRegressor")


def test_a_file_is_run_once_and_again_when_it_changes(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("X = 1\n")
    module = module_of("mine.py", tmp_path)
    assert (module.X, vars(module)[WRITTEN]) == (1, "mine.py")
    assert run_file(file) is module
    file.write_text("X = 234\n")
    assert run_file(file).X == 234


def test_a_file_is_what_it_says_whatever_the_clocks_say(tmp_path, monkeypatch):
    """Files of one size and date, as a clock that jumps makes them, or a checkout that is copied with its dates."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "dated.py"
    for number in (1, 2):
        file.write_text(f"X = {number}\n")
        os.utime(file, (1e9, 1e9))
        for _ in range(2):
            assert number == run_file(file).X
            del sys.modules[run_file(file).__name__]  # as in another process
    assert not (tmp_path / "__pycache__").exists()


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("sklearn.treee", "there is no module 'sklearn.treee' to import; did you mean 'sklearn.tree'?"),
        ("nowhere.py", "there is no file"),
        (".x", "'.x' is not the name of a module"),
    ],
)
def test_mistakes_are_answered(place, sentence):
    with pytest.raises(FileError, match="^" + sentence.replace("?", r"\?")):
        module_of(place)
