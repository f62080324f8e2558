"""Modules that a user names: imported or run, and what is said of those that are not there."""

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
