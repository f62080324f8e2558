"""Shards, how far they are, and one folder of several."""

import filecmp
import shutil
import subprocess
import sys

import pytest

from rlsuite.errors import FileError, ParameterError
from rlsuite.experiments import Experiment, load_results, merge_results, status_of
from rlsuite.experiments.runs import Shard
from rlsuite.experiments.segments import write_segment
from rlsuite.experiments.store import Store
from rlsuite.experiments.writing import write_progress, writing

FILE = """
steps = 60
seeds = 3
environments = [{ id = "FrozenLake-v1" }]
agents = [{ name = "q-learning", label = "Q" }, { name = "sarsa" }]
"""


@pytest.fixture
def experiment(tmp_path):
    (tmp_path / "two.toml").write_text(FILE)
    return Experiment.read(tmp_path / "two.toml")


def same(one, other):
    """Whether two folders hold the same files with the same bytes."""
    compared = filecmp.dircmp(one, other)
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    _, different, failed = filecmp.cmpfiles(one, other, compared.common_files, shallow=False)
    return not different and not failed and all(same(one / name, other / name) for name in compared.common_dirs)


def test_shards_write_what_one_run_writes(experiment, tmp_path):
    experiment.run(tmp_path / "whole")
    for number in (2, 1, 3):
        results = experiment.run(tmp_path / "shared", shard=(number, 3))
        assert sum(len(run.records) for runs in results.values() for run in runs) == 2
    assert same(tmp_path / "whole", tmp_path / "shared")
    assert str(status_of(tmp_path / "shared")) == "6 of 6 cells done, 0 to go"


def test_a_shard_keeps_out_its_twin_and_runs_of_the_whole(experiment, tmp_path):
    folder = tmp_path / "shared"
    with writing(folder, Shard(1, 2)):
        experiment.run(folder, shard="2/2")
        with pytest.raises(FileError, match="another process is writing shard 1/2 of"):
            experiment.run(folder, shard="1/2")
        with pytest.raises(FileError, match="another process is writing to"):
            experiment.run(folder)
        assert str(status_of(folder)) == "3 of 6 cells done, 3 to go"
    with writing(folder), pytest.raises(FileError, match="another process is writing to"):
        experiment.run(folder, shard="1/2")


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/2/3", (1,), 3.5])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(ParameterError, match=r"must be like '3/16'"):
        Shard.parse(text)


def test_folders_of_other_machines_become_one(experiment, tmp_path):
    experiment.run(tmp_path / "whole")
    for number in (1, 2):
        experiment.run(tmp_path / f"part{number}", shard=(number, 2))
    status = merge_results(tmp_path / "merged", [tmp_path / "part1", tmp_path / "part2"])
    assert (status.done, status.total) == (6, 6)
    assert same(tmp_path / "whole", tmp_path / "merged")
    again = merge_results(tmp_path / "part1", [tmp_path / "part2", tmp_path / "whole"])
    assert again.done == 6
    assert len(load_results(tmp_path / "part1")["FrozenLake-v1"][0].records) == 3


def test_what_cannot_be_merged_is_named_and_nothing_is_copied(experiment, tmp_path):
    experiment.run(tmp_path / "one", shard="1/2")
    Experiment.read(tmp_path / "two.toml", steps=61).run(tmp_path / "other", shard="2/2")
    with pytest.raises(ParameterError, match=r"other holds another experiment than .*one: steps was 61 and is now 60"):
        merge_results(tmp_path / "merged", [tmp_path / "one", tmp_path / "other"])
    shutil.copytree(tmp_path / "one", tmp_path / "changed")
    found = Store(tmp_path / "changed")
    entry = found.entry(("FrozenLake-v1", "Q"), 0)
    changed = entry._replace(about={**entry.about, "loop": "stepwise"})
    write_segment(tmp_path / "changed" / "cells" / "zoo-00000.cells", [changed])
    with pytest.raises(ParameterError, match=r"differ in seed 0 of Q in .*: the same cell was learned twice"):
        merge_results(tmp_path / "merged", [tmp_path / "one", tmp_path / "changed"])
    with pytest.raises(FileError, match="holds no results"):
        merge_results(tmp_path / "merged", [tmp_path / "nothing"])
    with pytest.raises(ParameterError, match="nothing to merge"):
        merge_results(tmp_path / "merged", [])
    assert not (tmp_path / "merged").exists()


OWN = """
import gymnasium

class Own(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.bad = self.bad if seed is None else seed % 3 == 0
        return 0, {}

    def step(self, action):
        if self.bad:
            raise RuntimeError("bad luck")
        return 0, 1.0, True, False, {}
"""


def test_failures_are_counted_and_merged(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "two.toml").write_text(FILE.replace("FrozenLake-v1", "own.py:Own").replace("seeds = 3", "seeds = 4"))
    experiment = Experiment.read(tmp_path / "two.toml")
    for number in (1, 2):
        with pytest.warns(match="bad luck"):
            experiment.run(tmp_path / f"part{number}", shard=(number, 2))
    status = merge_results(tmp_path / "merged", [tmp_path / "part1", tmp_path / "part2"])
    with pytest.warns(match="bad luck"):
        experiment.run(tmp_path / "whole")
    assert status == status_of(tmp_path / "whole")
    assert same(tmp_path / "whole", tmp_path / "merged")
    assert str(status) == f"{status.done} of 8 cells done, {8 - status.done} failed, 0 to go"
    assert 0 < status.done < 8


def test_the_time_left_is_that_of_those_who_learn(experiment, tmp_path):
    experiment.run(tmp_path / "shared", shard="1/3")
    with writing(tmp_path / "shared", Shard(2, 3)) as second, writing(tmp_path / "shared", Shard(3, 3)) as third:
        write_progress(second, 90.0)
        write_progress(third, None)
        found = status_of(tmp_path / "shared")
        assert (found.writers, found.seconds_left) == (2, 90.0)
        assert str(found) == "2 of 6 cells done, 4 to go; 2 processes learning, 1.5 min left"
        (second / "progress.json").write_text('"soon"')
        assert status_of(tmp_path / "shared").seconds_left is None
    assert status_of(tmp_path / "shared").writers == 0


@pytest.mark.slow
def test_processes_that_write_at_once_and_one_that_is_killed(experiment, tmp_path):
    experiment.run(tmp_path / "whole")
    command = [sys.executable, "-m", "rlsuite", "run", str(tmp_path / "two.toml"), "--output", str(tmp_path / "shared")]
    running = [
        subprocess.Popen([*command, "--shard", f"{number}/3"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for number in (1, 2, 3)
    ]
    running[1].kill()
    assert [process.wait(timeout=120) for process in running] == [0, -9, 0]
    assert status_of(tmp_path / "shared").done >= 4
    assert subprocess.run([*command, "--shard", "2/3"], capture_output=True).returncode == 0
    assert same(tmp_path / "whole", tmp_path / "shared")
