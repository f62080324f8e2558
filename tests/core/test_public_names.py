"""Public names stand at one place: all of them can be had, and are what their modules call so."""

import ast
import importlib
import inspect

import pytest

from rlsuite.core.public_names import loaded_on_first_use, modules_of_names


@pytest.mark.parametrize("package", ["rlsuite", "rlsuite.planning", "rlsuite.inference", "rlsuite.plotting"])
def test_names_are_what_their_modules_call_so(package):
    public = importlib.import_module(package)
    modules = modules_of_names(package)
    tree = ast.walk(ast.parse(inspect.getsource(public)))
    aliases = [name for line in tree if isinstance(line, ast.ImportFrom) for name in line.names]
    assert list(modules) == sorted(name.name for name in aliases if name.asname == name.name)
    for name, module in modules.items():
        if module != package:
            assert getattr(public, name) is getattr(importlib.import_module(module), name)


def test_a_name_from_elsewhere_is_told_where_it_is():
    lazy = loaded_on_first_use("rlsuite", {"PPO": "rlsuite has no PPO"})
    assert lazy.getattr("QLearning").__name__ == "QLearning"
    assert set(lazy.all) <= set(lazy.dir())
    with pytest.raises(AttributeError, match="rlsuite has no PPO"):
        lazy.getattr("PPO")
