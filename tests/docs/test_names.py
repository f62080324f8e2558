import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import rlsuite

HEAVY = ("numpy", "scipy", "numba", "gymnasium", "matplotlib", "PIL", "sklearn", "torch")


def test_public_names_have_docstrings() -> None:
    assert [name for name in rlsuite.__all__ if not inspect.getdoc(getattr(rlsuite, name))] == []
    assert set(rlsuite.__all__) <= set(dir(rlsuite))


def test_no_benchmark_hides_a_module_that_others_import(root: Path) -> None:
    """The folder of a script is searched first: numba imports coverage where there is one."""
    scripts = {path.stem for path in (root / "benchmarks").glob("*.py")}
    assert scripts & {*sys.stdlib_module_names, *packages_distributions(), "coverage"} == set()


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="QLerning"):
        _ = rlsuite.QLerning  # a misspelt name, on purpose


@pytest.mark.parametrize("module", ["rlsuite", "rlsuite.cli", "rlsuite.errors", "rlsuite.experiments"])
def test_import_is_cheap(module: str) -> None:
    code = f"import {module}, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_models_are_read_without_compiler_and_figures() -> None:
    code = "import rlsuite, sys; rlsuite.MDP; print('numba' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.mark.slow
@pytest.mark.parametrize("module", ["rlsuite.agents", "rlsuite.training.train", "rlsuite_envs"])
def test_tables_need_no_estimators(module: str) -> None:
    code = f"import {module}, sys; print('sklearn' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.mark.parametrize("package", ["rlsuite.inference", "rlsuite.planning", "rlsuite.reference"])
def test_names_of_large_packages_are_loaded_on_first_use(package: str) -> None:
    """Learning needs no planner, and one planner none of the others."""
    code = f"import {package} as package, sys; print('numba' in sys.modules); from {package} import *; package.__all__"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_name_that_a_package_passes_on_is_public(root: Path) -> None:
    """Also one whose line is so long that it is broken."""
    checked = 0
    for file in sorted((root / "rlsuite").rglob("__init__.py")):
        text = file.read_text(encoding="utf-8")
        if "_loaded_on_first_use(" not in text:
            continue
        lines = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
        passed_on = sorted(one.name for node in lines for one in node.names if one.name == one.asname)
        package = importlib.import_module(".".join(file.parent.relative_to(root).parts))
        assert sorted(package.__all__) == passed_on, package
        assert [name for name in passed_on if not hasattr(package, name)] == []
        checked += 1
    assert checked >= 15


def test_learning_loads_no_planner() -> None:
    code = "import rlsuite as rl, sys; rl.Sarsa; print([name for name in sys.modules if 'rlsuite.planning.' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_both_packages_are_typed(root: Path) -> None:
    assert (root / "rlsuite" / "py.typed").is_file()
    assert (root / "envs" / "rlsuite_envs" / "py.typed").is_file()


def test_changelog_and_metadata_tell_the_version(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == rlsuite.__version__
    headings = re.findall(r"^## (\S+)", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings[0] == rlsuite.__version__


def test_no_file_names_a_package_registry(project_files: list[Path]) -> None:
    # put together here, so that this file does not name them either
    hosts = [
        ".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))
    ]
    assert mentions(project_files, hosts) == []


def test_no_file_names_a_folder_of_one_machine(project_files: list[Path]) -> None:
    folders = [f"/{name}/" for name in ("home", "root", "tmp", "work")]
    assert mentions(project_files, folders) == []


def mentions(files: list[Path], words: list[str]) -> list[str]:
    """Which of the files hold any of the words; figures are looked at too, byte by byte."""
    return [f"{file.name}: {word}" for file in files for word in words if word.encode() in file.read_bytes().lower()]
