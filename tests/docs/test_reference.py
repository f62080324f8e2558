"""The page that shows the plain algorithms: it runs, its code is that of the package, and nothing is left out."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rlsuite import reference
from rlsuite.reference import learning
from rlsuite.training import kernels


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "reference.md").read_text(encoding="utf-8")


def code_of(page: str) -> str:
    return "\n\n\n".join(re.findall(r"^```python\n(.*?)\n```$", page, flags=re.MULTILINE | re.DOTALL)) + "\n"


def without_docstring(function: Any) -> str:
    lines = inspect.getsource(function).splitlines()
    (definition,) = ast.parse("\n".join(lines)).body
    docstring = definition.body[0]
    del lines[docstring.lineno - 1 : docstring.end_lineno]
    return "\n".join(lines)


@pytest.mark.slow
def test_it_prints_what_its_comments_say(page: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(code_of(page), encoding="utf-8")
    promised = re.findall(r"^print\(.*\)  # (.*)$", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == promised
    assert len(promised) == 21


def test_its_functions_are_those_of_the_package(page: str) -> None:
    code = code_of(page)
    shown = [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    for name in shown:
        assert without_docstring(getattr(reference, name, None) or getattr(learning, name)) in code, name


def test_every_algorithm_is_listed(page: str) -> None:
    (table,) = re.findall(r"^\| algorithm .*?\n\n", page, flags=re.MULTILINE | re.DOTALL)
    helpers = {"arrays", "hidden_arrays", "lookahead", "backprojection", "generators", "epsilon_greedy"}
    listed = set(re.findall(r"`(\w+)`", table))
    assert set(reference.__all__) - helpers <= listed
    assert helpers <= set(re.findall(r"\b\w+\b", page))


def test_algorithms_are_short() -> None:
    """One that is to be read has 40 lines, or a few more."""
    lengths = {name: len(without_docstring(getattr(reference, name)).splitlines()) for name in reference.__all__}
    assert lengths
    assert {name: length for name, length in lengths.items() if length > 45} == {}


FAST = {path: path.read_text(encoding="utf-8") for path in Path(reference.__file__).parents[1].rglob("*.py")}
"""The modules of the package."""


def plain_forms(code: str) -> list[str]:
    """The plain forms that the docstring of a module names."""
    words = "In plain NumPy: "
    docstring = (ast.get_docstring(ast.parse(code)) or "") if words in code else ""
    _, _, named = docstring.partition(words)
    return re.findall(r"`(rlsuite\.reference\.[\w.]+)`", named)


def fast_elsewhere(module: ModuleType) -> list[str]:
    """The classes of scikit-learn that are the fast forms of a module's algorithms."""
    _, _, named = (module.__doc__ or "").partition("Fast forms: ")
    return re.findall(r"`(sklearn\.[\w.]+)`", named)


def test_every_fast_module_names_its_plain_form() -> None:
    """A module with the name of a plain algorithm; and each plain algorithm is named by one, or names a library's."""
    named = {path: plain_forms(code) for path, code in FAST.items() if "reference" not in path.parts}
    algorithms = {*reference.__all__} - {"arrays", "hidden_arrays", "generators"}  # these prepare what others take
    theirs = {name for name in algorithms if fast_elsewhere(sys.modules[getattr(reference, name).__module__])}
    for path, forms in named.items():
        assert path.stem not in algorithms or any(one.endswith(f".{path.stem}") for one in forms), path
    assert {one.rpartition(".")[2] for forms in named.values() for one in forms} == algorithms - theirs


def test_fast_forms_that_a_library_has_exist() -> None:
    modules = {getattr(reference, name).__module__ for name in reference.__all__}
    classes = [one for module in modules for one in fast_elsewhere(sys.modules[module])]
    assert len(classes) == 11
    for one in classes:
        module, _, name = one.rpartition(".")
        assert hasattr(import_module(module), name), one


def test_plain_forms_that_are_named_exist() -> None:
    for code in FAST.values():
        for one in plain_forms(code):
            module, _, name = one.rpartition(".")
            function = getattr(reference, name)
            assert f"{function.__module__}.{function.__name__}" == f"{module}.{name}"


@pytest.mark.parametrize(("name", "phases"), [("run_compiled", 7), ("session", 6)])
def test_the_loops_say_what_each_phase_does(name: str, phases: int) -> None:
    source = inspect.getsource(getattr(kernels, name).function)
    assert [int(number) for number in re.findall(r"^ +# (\d)\. [A-Z].*[.:]$", source, flags=re.MULTILINE)] == [
        *range(1, phases + 1)
    ]
