"""The layers, lowest first: who may import whom, and how long a module may be."""

import ast
import graphlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

LAYERS = (
    "synonyms",
    "errors",
    "core",
    "features",
    "models",
    "reference",
    "inference",
    "rendering",
    "environments",
    "planning",
    "training",
    "agents",
    "approximation",
    "registry",
    "testing",
    "experiments",
    "plotting",
    "cli",
    "__main__",
)
"""Modules and packages of rlsuite; each imports only from those before it."""

UPWARDS = {
    ("core", "plotting"): "what is shown in a notebook is drawn, and nothing before",
    ("models", "rendering"): "`from_env` keeps where the states lie on a grid, for figures",
    ("models", "environments"): "`to_env` and `from_env` are where a user of a model looks for its environment",
}
"""Imports that point upwards, inside functions only, and why they may."""

LONGEST = 600
"""Lines of a module."""


class Import(NamedTuple):
    module: str
    """Who imports."""
    name: str
    """What is imported."""
    lazy: bool
    """Whether it happens inside a function."""

    @property
    def layers(self) -> tuple[str, str]:
        return self.module.split(".")[1], self.name.split(".")[1]


@cache
def imports_of(module: str, path: Path) -> list[Import]:
    """All imports that are executed: what stands under ``if TYPE_CHECKING:`` is not."""

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.expr):  # imports are statements, which expressions do not hold
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.orelse:
                yield from walk(child, lazy)
            return
        if isinstance(node, ast.Import):
            yield from (Import(module, alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively; rlsuite writes names in full"
            assert node.module is not None
            yield from (Import(module, f"{node.module}.{alias.name}", lazy) for alias in node.names)
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    return list(walk(ast.parse(path.read_text(encoding="utf-8")), False))


def modules(root: Path, package: str, folder: str) -> dict[str, Path]:
    found = sorted((root / folder).rglob("*.py"))
    names = (".".join([package, *path.relative_to(root / folder).with_suffix("").parts]) for path in found)
    return dict(zip((name.removesuffix(".__init__") for name in names), found, strict=True))


@pytest.fixture(scope="module")
def ours(root: Path) -> dict[str, Path]:
    return modules(root, "rlsuite", "rlsuite")


@pytest.fixture(scope="module")
def inner_imports(ours: dict[str, Path]) -> list[Import]:
    """Imports from one layer of rlsuite to another; ``from rlsuite import __version__`` is none."""
    found = [
        each
        for module, path in ours.items()
        if module != "rlsuite"
        for each in imports_of(module, path)
        if each.name.startswith("rlsuite.") and not each.name.endswith("__")
    ]
    return [each for each in found if each.layers[0] != each.layers[1]]


def test_every_package_has_a_layer(ours: dict[str, Path]) -> None:
    assert {module.split(".")[1] for module in ours if module != "rlsuite"} == set(LAYERS)


def test_imports_point_downwards(inner_imports: list[Import]) -> None:
    def points_upwards(each: Import) -> bool:
        above, below = each.layers
        return LAYERS.index(below) > LAYERS.index(above)

    upwards = [each for each in inner_imports if points_upwards(each)]
    assert [each for each in upwards if not each.lazy] == []
    assert {each.layers for each in upwards} == set(UPWARDS)


@pytest.mark.slow
def test_no_module_imports_itself_by_way_of_others(ours: dict[str, Path]) -> None:
    def imported(module: str, path: Path) -> Iterator[str]:
        for each in imports_of(module, path):
            name = each.name if each.name in ours else each.name.rpartition(".")[0]
            upwards = each.lazy and (module.split(".")[1], name.split(".")[1:2]) in [(a, [b]) for a, b in UPWARDS]
            if name in ours and name not in (module, "rlsuite") and not upwards:
                yield name

    graph = {module: set(imported(module, path)) for module, path in ours.items() if module != "rlsuite"}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which lists the circle


@pytest.mark.slow
def test_the_oldest_typing_extensions_will_do(ours: dict[str, Path]) -> None:
    """`pyproject.toml` allows 4.6, which has no `TypeIs`; names for type checkers alone are not imported."""
    imports = {each.name for module, path in ours.items() for each in imports_of(module, path)}
    found = {name for name in imports if name.startswith("typing_extensions")}
    assert found == {"typing_extensions.TypeAliasType"}


def test_the_library_knows_no_environment(ours: dict[str, Path]) -> None:
    for module, path in ours.items():
        assert not [each for each in imports_of(module, path) if each.name.startswith("rlsuite_envs")], module
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        docstrings = {
            id(node.body[0].value)
            for node in nodes
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        named = [
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
            if re.search(r"rlsuite_envs|rlsuite/\w+-v\d", node.value)
        ]
        assert named == [], module


def test_environments_use_what_everybody_may_use(root: Path) -> None:
    for module, path in modules(root, "rlsuite_envs", "envs/rlsuite_envs").items():
        for each in imports_of(module, path):
            if each.name.startswith("rlsuite."):
                assert not any(part.startswith("_") for part in each.name.split(".")), each


def test_modules_are_short(root: Path) -> None:
    lengths = {
        str(path.relative_to(root)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("rlsuite", "envs", "benchmarks", "examples")
        for path in (root / folder).rglob("*.py")
        if not any(part.startswith(".") for part in path.relative_to(root).parts)  # what the benchmarks have installed
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}
    assert not [name for name in lengths if Path(name).stem in {"utils", "helpers", "misc", "common"}]


def test_who_catches_every_exception_says_why_on_that_line(root: Path) -> None:
    silent = [
        f"{path.relative_to(root)}:{number}"
        for folder in ("rlsuite", "envs")
        for path in sorted((root / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.match(r"\s*except( (Base)?Exception\b[^#]*)?:?$", line)
    ]
    assert silent == []


@pytest.fixture(scope="module")
def page(root: Path) -> list[str]:
    """The pictures of docs/architecture.md."""
    return (root / "docs" / "architecture.md").read_text(encoding="utf-8").split("```")[1::2]


def test_the_page_shows_the_layers_in_their_order(page: list[str]) -> None:
    shown = [name.strip() for line in page[0].strip().splitlines() for name in line[:18].split(",")]
    assert shown == [name for name in reversed(LAYERS) if name != "__main__"]


def test_the_page_names_files_and_functions_that_exist(page: list[str], root: Path) -> None:
    lines = [line for picture in page[1:] for line in picture.strip().splitlines()]
    assert len(lines) >= 20
    for line in lines:
        file = re.search(r"[\w/]+\.py", line)
        assert file is not None, line
        text = (root / "rlsuite" / file[0]).read_text(encoding="utf-8")
        for name in re.findall(r"\w+", line[:34].split("(")[0]):
            if name not in ("rule", "kernels"):
                assert re.search(rf"\b{name}\b", text), f"{name} is not in {file[0]}"
