"""The course: eight notebooks, forty exercises, and their solutions apart."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.testing import BestPath, BestPolicy, Number, Probabilities, Values, grade

COURSE = Path(__file__).parents[2] / "examples" / "course"
NOTEBOOKS = sorted(COURSE.glob("*.ipynb"))

RUN = """
import ast, sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
import matplotlib
matplotlib.use("agg")
space = {}
for cell in sys.stdin.read().split("\\0"):
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    if last is not None and (shown := eval(compile(ast.Expression(last.value), "cell", "eval"), space)) is not None:
        print(repr(shown))
"""


@pytest.fixture(scope="module")
def course():
    """The exercises, and how their answers are found."""
    sys.path.insert(0, str(COURSE))
    try:
        return importlib.import_module("rlsuite_envs.course"), importlib.import_module("solutions").SOLUTIONS
    finally:
        sys.path.remove(str(COURSE))


def code_of(notebook):
    cells = json.loads(notebook.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def optimal(exercise, rng, right):
    """An answer that is as good as the right one, and as often as possible another."""
    if isinstance(exercise, BestPolicy):
        best = rl.solve(exercise.mdp)
        return [int(rng.choice(np.flatnonzero(row))) if row.any() else -1 for row in best.optimal_actions]
    rounded = np.asarray(right, dtype=float)
    return right if isinstance(exercise, BestPath) else rounded * (1 + 1e-4 * rng.uniform(-1, 1, rounded.shape))


def wrong(exercise, rng, right):
    """An answer that may be anything but right."""
    if isinstance(exercise, BestPolicy):
        legal = exercise.mdp.legal
        answer = [int(rng.choice(np.flatnonzero(row))) if row.any() else -1 for row in legal]
        best = rl.solve(exercise.mdp).optimal_actions
        return None if all(a < 0 or best[s, a] for s, a in enumerate(answer)) else answer
    if isinstance(exercise, BestPath):
        answer = rng.integers(exercise.hmm.n_states, size=len(right))
        return None if (answer == right).all() else answer
    if isinstance(exercise, Probabilities):
        answer = rng.dirichlet(np.ones(len(right)))
        return answer if np.abs(answer - right).max() > 0.002 else None  # once in some thousand it is right
    if isinstance(exercise, Values):
        acting = np.flatnonzero(exercise.mdp.legal.any(axis=1))
        answer = np.array(right)
        answer[rng.choice(acting)] += rng.choice([-1, 1]) * rng.uniform(0.01, 1) * np.abs(right).max()
        return answer
    return right + rng.choice([-1, 1]) * rng.uniform(0.002, 3) * (abs(right) or 1)


def test_each_exercise_is_asked_once(course):
    exercises = course[0].EXERCISES
    assert len(exercises) == 40
    assert len(NOTEBOOKS) == 8
    asked = []
    for notebook in NOTEBOOKS:
        code = "\n".join(code_of(notebook))
        found = re.findall(r'^rl\.testing\.grade\(.*EXERCISES\["(.*)"\]\)$', code, re.MULTILINE)
        assert [name[0] for name in found] == [notebook.name[0]] * 5
        assert all(code.count(f'"{name}"') == 2 for name in found)  # its question is printed, too
        asked += found
    assert asked == list(exercises)


def test_notebooks_are_kept_without_what_they_printed():
    for notebook in NOTEBOOKS:
        for cell in json.loads(notebook.read_text())["cells"]:
            assert not cell.get("outputs")
            assert cell.get("execution_count") is None


def test_solutions_get_full_marks(course):
    exercises, solutions = course
    assert list(solutions) == list(exercises.EXERCISES)
    for name, exercise in exercises.EXERCISES.items():
        if isinstance(exercise, Number | Probabilities | BestPath):
            assert grade(solutions[name](), exercise).correct, name


@pytest.mark.parametrize(
    "n", [pytest.param(20, marks=pytest.mark.slow), pytest.param(1_000, marks=pytest.mark.exhaustive)]
)
def test_all_right_answers_get_full_marks_and_no_wrong_one_does(course, n):
    rng = np.random.default_rng(1)
    exercises, solutions = course
    for name, exercise in exercises.EXERCISES.items():
        right = solutions[name]()
        assert grade(right, exercise).correct, name
        for _ in range(n):
            assert grade(optimal(exercise, rng, right), exercise).correct, name
            answer = wrong(exercise, rng, right)
            if answer is not None:
                found = grade(answer, exercise)
                assert not found.correct, (name, answer)
                assert found.points < 1.0
                assert found.reason


def printed_by(notebook, *hidden, warnings="error"):
    """What a notebook prints where some packages are not installed."""
    command = [sys.executable, "-W", warnings, "-c", RUN, *hidden]
    variables = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        command, input="\0".join(code_of(notebook)), env=variables, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)


@pytest.mark.slow
@each_notebook
def test_notebooks_run(notebook):
    """Without a warning; the answers that they begin with are wrong."""
    grades = [line for line in printed_by(notebook).splitlines() if " of 1: " in line]
    assert len(grades) == 5
    assert not any("correct" in line for line in grades)


@pytest.mark.exhaustive
@each_notebook
def test_without_a_compiler_they_print_the_same(notebook):
    without = printed_by(notebook, "numba", "llvmlite", "sklearn", "joblib", "threadpoolctl", warnings="ignore")
    assert without == printed_by(notebook)
