import re
from pathlib import Path

import gymnasium
import pytest

import rlsuite_envs

README = (Path(rlsuite_envs.__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_run_as_they_stand(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[number], f"README example {number}", "exec"), {"__name__": "__main__"})


def test_there_are_four_ways():
    assert len(EXAMPLES) == 4


def test_the_table_lists_every_environment_and_its_limit():
    listed = re.findall(r"^\| `(rlsuite/[\w-]+)` \|.*\| (\d+)[ steps]* \|$", README, flags=re.MULTILINE)
    registered = {
        spec.id: spec.max_episode_steps for spec in gymnasium.registry.values() if spec.namespace == "rlsuite"
    }
    assert {name: int(limit) for name, limit in listed} == registered


def test_the_table_lists_every_map():
    row = next(line for line in README.splitlines() if "GridWorld-v0" in line and "shipped" in line)
    assert set(re.findall(r"`([\w.]+)`", row.partition("shipped")[2])) == set(rlsuite_envs.maps.shipped_maps())
