import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import rlsuite as rl
from rlsuite.agents.exploration import Exploration
from rlsuite.cli import main
from rlsuite.core.described import kinds
from rlsuite.experiments import Experiment
from rlsuite.models import MDP
from rlsuite.planning import methods
from rlsuite.registry import agent_classes

Blocks = Callable[[str], list[str]]

RUN_ELSEWHERE = {"rlsuite demo"}
"""Commands that are too long for a test; .ci/run runs them."""


def test_python_blocks_print_what_their_comments_say(blocks: Blocks, tmp_path: Path) -> None:
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks("python")), encoding="utf-8")
    promised = re.findall(r"^print\(.*\)  # (.*)$", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    done = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == promised
    assert len(promised) >= 4
    for name in ("cliff.npz", "cliff.png", "island.png"):
        assert (tmp_path / name).stat().st_size > 1_000


def test_all_planning_methods_are_listed(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"## Planning\n(.*?)\n## ", text, flags=re.DOTALL)
    listed = set(re.findall(r"`(\w+)`", section))
    assert methods(MDP).keys() <= listed


def test_all_agents_and_explorations_are_listed(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"## Agents\n(.*?)\n## ", text, flags=re.DOTALL)
    listed = set(re.findall(r"`(\w+)`", section))
    ours = {name for name, kind in agent_classes().items() if getattr(rl, name, None) is kind}
    explorations = {name for name, kind in kinds(Exploration).items() if getattr(rl, name, None) is kind}
    assert len(explorations) >= 6
    assert ours | explorations <= listed


def test_all_that_approximates_is_listed(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"## Features instead of tables\n(.*?)\n## ", text, flags=re.DOTALL)
    listed = set(re.findall(r"`(\w+)`", section))
    agents = {name for name, kind in agent_classes().items() if kind.__module__.startswith("rlsuite.approximation")}
    assert agents | {kind.__name__ for kind in feature_maps()} <= listed


def feature_maps() -> list[type]:
    from rlsuite.approximation import features

    found = [getattr(features, name) for name in features.__all__]
    return [kind for kind in found if hasattr(kind, "rule") and kind.rule is not features.FeatureMap.rule]


def test_the_two_commands(blocks: Blocks) -> None:
    installing = [block for block in blocks("console") if "pip" in block]
    assert installing == ["pip install -e . && rlsuite demo\n", 'pip install -e ".[test]" && pytest\n']


@pytest.mark.slow
def test_commands_run(
    blocks: Blocks,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "runs").mkdir()
    for file in (root / "runs").glob("*.toml"):
        shutil.copy(file, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    commands = [line for block in blocks("console") for line in block.splitlines() if line.startswith("rlsuite ")]
    assert len(commands) >= 6
    for command in commands:
        if command not in RUN_ELSEWHERE:
            assert main(shlex.split(command)[1:]) == 0, (command, capsys.readouterr().err)
    made = {path.name for path in tmp_path.iterdir()}
    assert {"cliff.png", "rooms.gif"} <= made


def test_the_experiment_runs(blocks: Blocks, tmp_path: Path) -> None:
    import rlsuite_envs  # noqa: F401 - as the command line does

    (text,) = blocks("toml")
    file = tmp_path / "experiment.toml"
    file.write_text(text, encoding="utf-8")
    assert tomllib.loads(text)["seeds"] == 30
    results = Experiment.read(file, seeds=2).run(tmp_path / "experiment")
    assert [run.agent for run in results["rlsuite/GridGoal-v0"]] == ["QLearning", "Sarsa"]


def test_links_lead_somewhere(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", text) if "://" not in target]
    assert targets
    assert [target for target in targets if not (root / target).exists()] == []


def test_figure_is_small(root: Path) -> None:
    assert 10_000 < (root / "docs" / "at_a_glance.png").stat().st_size < 150_000
