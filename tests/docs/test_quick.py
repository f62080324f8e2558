"""`pytest -m quick`: one test of each file, and a list without names that no longer exist."""

import ast
from pathlib import Path


def names_in(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [node.name for node in functions if node.name.startswith("test_")]


def test_the_list_names_tests_that_exist_and_are_not_the_first(root: Path) -> None:
    listed = (root / "tests" / "quick.txt").read_text(encoding="utf-8").splitlines()
    assert listed == sorted(set(listed))
    files = [line.split("::")[0] for line in listed]
    assert len(files) == len(set(files)), "one test of a file is enough"
    wrong = [line for line in listed if line.split("::")[-1] not in ["", *names_in(root / line.split("::")[0])[1:]]]
    assert wrong == [], "no such test, or the first of its file, which is taken anyway"
