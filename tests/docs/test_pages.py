"""The README and the pages of docs: blocks run alone, commands run, links lead somewhere, and nothing is left out."""

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
from rlsuite.models import MDP, POMDP
from rlsuite.planning import methods
from rlsuite.registry import agent_classes

Blocks = Callable[..., list[str]]
Listed = Callable[[str], set[str]]

ROOT = Path(__file__).parents[2]
IN_A_ROW = {"docs/approximators.md", "docs/reference.md"}
"""Pages that are one program; they have tests of their own."""
PAGES = sorted(
    str(page.relative_to(ROOT)) for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "envs/README.md"]
)
WITH_CODE = [page for page in PAGES if page not in IN_A_ROW and "```python" in (ROOT / page).read_text("utf-8")]

RUN_ELSEWHERE = {"rlsuite demo", "rlsuite --help"}
"""Commands that .ci/run runs, because they are too long for a test or end the process."""

EACH_ALONE = """
import runpy, sys
for block in sys.argv[1:]:
    runpy.run_path(block, run_name="__main__")
"""


def printed_by(blocks: list[str], folder: Path) -> list[str]:
    """Run blocks in one process, each in a namespace of its own, and return the lines that they print."""
    files = [folder / f"block_{number}.py" for number in range(1, len(blocks) + 1)]
    for file, block in zip(files, blocks, strict=True):
        file.write_text(block, encoding="utf-8")
    command = [sys.executable, "-W", "error", "-c", EACH_ALONE, *map(str, files)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def promised(code: str) -> list[str]:
    """What the comments say that the lines with `print` print."""
    return re.findall(r"^ *print\(.*\)  # (.*)$", code, flags=re.MULTILINE)


def test_there_are_pages() -> None:
    assert {"README.md", "docs/agents.md", "docs/faq.md", "docs/saving.md", "envs/README.md"} <= set(WITH_CODE)


@pytest.mark.parametrize("page", WITH_CODE)
def test_blocks_import_what_they_use(page: str, blocks: Blocks) -> None:
    """In one process an import of another block would do."""
    for block in blocks("python", page):
        assert "import rlsuite as rl\n" in block
        assert ("import rlsuite_envs" in block) == ('"rlsuite/' in block), block


@pytest.mark.cases("README.md")
@pytest.mark.parametrize("page", [page for page in WITH_CODE if page != "envs/README.md"])
def test_each_block_runs_when_pasted_alone(page: str, blocks: Blocks, tmp_path: Path) -> None:
    code = blocks("python", page)
    assert printed_by(code, tmp_path) == promised("".join(code))
    for figure in re.findall(r'plotting\.save\(.*"(\w+\.png)"\)', "".join(code)):
        assert (tmp_path / figure).stat().st_size > 5_000


@pytest.mark.slow
def test_each_block_of_the_readme_runs_in_its_own_process(blocks: Blocks, tmp_path: Path) -> None:
    code = blocks("python")
    assert len(code) == 6
    for block in code:
        assert printed_by([block], tmp_path) == promised(block)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page not in {"CONTRIBUTING.md", "CHANGELOG.md"}])
def test_commands_run(
    page: str,
    blocks: Blocks,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for files in ("runs/*.toml", "examples/notes/*.pomdp", "examples/notes/*.csv"):
        for file in root.glob(files):
            (copy := tmp_path / file.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    monkeypatch.chdir(tmp_path)
    commands = [line for block in blocks("console", page) for line in block.splitlines() if line.startswith("rlsuite ")]
    for command in commands:
        assert command in RUN_ELSEWHERE or main(shlex.split(command)[1:]) == 0, (command, capsys.readouterr().err)
        named = re.findall(r"\w+\.(?:png|gif|npz)", command)
        assert [name for name in named if not (tmp_path / name).exists()] == []


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as on code hosting sites."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere(root: Path) -> None:
    for page in PAGES:
        text = (root / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" not in target:
                name, _, anchor = target.partition("#")
                file = (root / page).parent / name if name else root / page
                assert file.exists(), f"{page}: {target}"
                assert not anchor or anchor in anchors_of(file), f"{page}: {target}"


def test_every_page_can_be_reached_from_the_readme(root: Path) -> None:
    found, waiting = set(), [root / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page not in found and page.suffix == ".md":
            found.add(page)
            targets = re.findall(r"\]\(([^)\s#]+)", page.read_text(encoding="utf-8"))
            waiting += [page.parent / target for target in targets if "://" not in target]
    assert {str(page.relative_to(root)) for page in found} == set(PAGES)


def test_all_planning_methods_are_listed(listed: Listed) -> None:
    assert methods(MDP).keys() <= listed("docs/planning.md")
    assert methods(POMDP).keys() <= listed("docs/hidden_states.md")


def test_all_agents_and_explorations_are_listed(listed: Listed) -> None:
    ours = {name for name, kind in agent_classes().items() if getattr(rl, name, None) is kind}
    explorations = {name for name, kind in kinds(Exploration).items() if getattr(rl, name, None) is kind}
    assert len(explorations) >= 6
    assert ours | explorations <= listed("docs/agents.md")


def test_all_that_approximates_is_listed(listed: Listed) -> None:
    from rlsuite.approximation import features

    agents = {name for name, kind in agent_classes().items() if kind.__module__.startswith("rlsuite.approximation")}
    found = [getattr(features, name) for name in features.__all__]
    maps = {kind.__name__ for kind in found if hasattr(kind, "rule") and kind.rule is not features.FeatureMap.rule}
    assert agents | maps <= listed("docs/features.md")


def test_the_experiment_runs(blocks: Blocks, tmp_path: Path) -> None:
    import rlsuite_envs  # noqa: F401 - as the command line does

    text, *_ = blocks("toml", "docs/experiments.md")  # the first is a whole file
    file = tmp_path / "experiment.toml"
    file.write_text(text, encoding="utf-8")
    assert tomllib.loads(text)["seeds"] == 30
    results = Experiment.read(file, seeds=2).run(tmp_path / "experiment")
    assert [run.agent for run in results["rlsuite/GridGoal-v0"]] == ["Q-learning", "Sarsa"]


def test_an_entry_of_the_changelog_is_one_line(root: Path) -> None:
    lines = (root / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n## ")[2].splitlines()
    assert [line for line in lines if line.startswith(" ") or len(line) > 125] == []
