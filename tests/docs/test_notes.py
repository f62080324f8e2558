"""The page about the lecture notes: every row is there once, what it names exists, and its commands run."""

import ast
import importlib
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import rlsuite as rl
import rlsuite_envs  # noqa: F401 - as the command line does
from rlsuite import cli
from rlsuite.cli import main
from rlsuite.cli.flags import AgentFlags
from rlsuite.cli.options import EnvFlags
from rlsuite.core.described import describe
from rlsuite.environments.finding import find_env
from rlsuite.experiments import AgentEntry, EnvironmentEntry, Experiment
from rlsuite.registry import learner_classes

PAGE = (Path(__file__).parents[2] / "docs" / "notes.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"`(rlsuite (?:envs|agents|\w+ [^`]+))`", PAGE)))
LONG = [command for command in COMMANDS if command.startswith(("rlsuite run", "rlsuite choose"))]
"""Experiments, which take minutes."""
OWN = [command for command in COMMANDS if ".py:" in command]
"""With an environment in a file of the user's."""

LEFT_OUT = "What is left out"
SUBJECTS = [
    "Reinforcement learning",
    "Chains and hidden states",
    "Bayesian inference",
    "Classifiers as policies",
    "Trees, neighbours, ensembles",
    "Linear models, margins, kernels",
    "Neural networks",
    "Unsupervised learning as features",
    "Evaluation",
]
ROWS = {"R": 39, "H": 15, "P": 9, "B": 54, "C": 11, "T": 16, "L": 19, "N": 13, "U": 12, "E": 16}
"""How many rows each letter has."""


def rows(section: str) -> list[list[str]]:
    """The cells of the table of a section, without its head."""
    (text,) = re.findall(rf"^## {section}.*?\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def numbers(cell: str) -> list[str]:
    """The rows that a cell names, as in "R01, B29 to B32"."""
    found: list[str] = []
    for part in cell.split(", "):
        first, _, last = part.partition(" to ")
        found += [f"{first[0]}{n:02}" for n in range(int(first[1:]), int((last or first)[1:]) + 1)]
    return found


def named(path: str) -> Any:
    """What a dotted name stands for."""
    first, *others = path.split(".")
    found: Any = rl if first == "rl" else importlib.import_module(first)
    for place, name in enumerate(others, start=1):
        if first != "rl" and not hasattr(found, name):
            importlib.import_module(".".join([first, *others[:place]]))
        found = getattr(found, name)
    return found


def parsed(command: str) -> Any:
    """What a command says, as the command line reads it."""
    return cli.parse(*cli.parsers(), shlex.split(command)[1:])


def agent_of(chosen: Any) -> Any:
    return AgentFlags(agent=chosen.agent).made(chosen.agent_name)


def test_every_row_is_there_once() -> None:
    found = [number for section in [*SUBJECTS, LEFT_OUT] for row in rows(section) for number in numbers(row[0])]
    assert sorted(found) == sorted(f"{letter}{n:02}" for letter, last in ROWS.items() for n in range(1, last + 1))
    assert f"Each of the {sum(ROWS.values())} rows" in PAGE.replace("\n", " ")


def test_its_classes_and_functions_exist() -> None:
    paths = set(re.findall(r"`((?:rl|sklearn)\.[\w.]+)`", PAGE))
    assert len(paths) > 80
    for path in paths:
        assert named(path) is not None, path


def test_every_row_has_something_that_does_it_a_command_and_an_example(root: Path) -> None:
    for section in SUBJECTS:
        for row in rows(section):
            assert re.search(r"`(rl|sklearn)\.|`window=`", row[3]), row
            assert re.fullmatch(r"Python: .{30,}|`rlsuite [^`]+`", row[4]), row
            (example,) = re.findall(r"\]\(\.\./(examples/[\w/]+\.py)\)", row[5])
            assert (root / example).is_file(), row
    for row in rows(LEFT_OUT):
        assert len(row) == 3
        assert row[2]


def test_what_learns_or_acts_has_a_command() -> None:
    """A row says "Python" only where it has no agent: no class in it is one, or can take the place of a table."""
    agents = learner_classes()
    for section in SUBJECTS:
        for row in rows(section):
            if row[4].startswith("Python"):
                names = [path.rpartition(".")[2] for path in re.findall(r"`([\w.]+)`", row[3])]
                assert not [name for name in names if name in agents], row


def test_every_command_is_read_and_every_agent_is_a_table_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is run: the command line reads its words, and what it makes of them is what a file says."""
    monkeypatch.chdir(tmp_path)
    trained = 0
    for command in COMMANDS:
        chosen = parsed(command)
        if chosen.command != "train" or "DQN" in command or "Autoencoder" in command:  # without PyTorch
            continue
        agent, trained = agent_of(chosen), trained + 1
        keywords = EnvFlags(env=chosen.env, observe=chosen.observe).keywords
        if command not in OWN:
            find_env(chosen.environment, **keywords).close()
        environment = EnvironmentEntry(chosen.environment, parameters=keywords)
        written = Experiment(environments=[environment], agents=[AgentEntry(agent)], steps=10).plain()
        (again,) = Experiment.from_plain(written).agents
        assert describe(again.agent) == describe(agent), command
    assert trained > 60


def test_the_file_of_the_page_is_its_command(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "tree.toml").write_text(text, encoding="utf-8")
    (entry,) = Experiment.read(tmp_path / "tree.toml").agents
    (command,) = (row[4].strip("`") for row in rows("Trees, neighbours, ensembles") if row[0] == "T01")
    assert describe(entry.agent) == describe(agent_of(parsed(command)))


def test_every_example_of_the_notes_is_named(root: Path) -> None:
    named_here = set(re.findall(r"\(\.\./examples/notes/(\w+\.py)\)", PAGE))
    assert named_here == {path.name for path in (root / "examples" / "notes").glob("*.py")}


def test_the_tests_that_hold_a_correction_exist(root: Path) -> None:
    corrections = rows("Misprints")
    assert len(corrections) == 38
    for number, *_, held_by in corrections:
        assert numbers(number)[0][0] in "RHPB", number
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
    files = {re.findall(r"runs/\w+\.toml", command)[0] for command in LONG}
    assert len(files) == 5
    for file in files:
        assert Experiment.read(file).agents, file


OWN_FILES = {
    "pictures.py": """
import gymnasium
import numpy as np

import rlsuite_envs


class Pictures(gymnasium.ObservationWrapper):
    def __init__(self):
        super().__init__(gymnasium.make("rlsuite/GridGoal-v0"))
        self.observation_space = gymnasium.spaces.Box(0, 255, (8, 12), np.uint8)

    def observation(self, state):
        picture = np.zeros((8, 12), np.uint8)
        row, column = self.unwrapped.layout.cells[state]
        picture[4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 255
        return picture
""",
}
"""An environment of one's own: pictures of the 2 x 3 grid."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in LONG])
def test_its_commands_run(
    command: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for file, code in OWN_FILES.items():
        (tmp_path / file).write_text(code, encoding="utf-8")
    (tmp_path / "examples").symlink_to(root / "examples")
    assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err


@pytest.mark.slow
def test_its_choice_runs(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert main(["choose", "runs/regressors.toml", "--folds", "2", "--seeds", "2", "--report-episodes", "2"]) == 0
