"""An unfinished cell goes on where it was saved, with the bytes of an undisturbed one."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from rlsuite.errors import CheckpointWarning, FileError
from rlsuite.experiments import Experiment, checkpoints
from rlsuite.experiments.checkpoints import CellCheckpoint
from rlsuite.training import run_log

LONG = """
steps = 3_000_000
seeds = 2
record_every = 70_001
evaluate_every = 900_000

[[environments]]
id = "FrozenLake-v1"

[[environments]]
id = "CartPole-v1"

[[agents]]
name = "QLearning"
gamma = 0.9
"""

FEATURES = """
steps = 60_000
seeds = 1
evaluate_every = 25_000

[[environments]]
id = "MountainCar-v0"

[[agents]]
name = "SemiGradientSarsa"
gamma = 0.9
features = { name = "TileCoding", n_tilings = 2, bins = 2 }
"""

RUN = """
import signal
import sys

for one in (signal.SIGINT, signal.SIGHUP):  # those of who started it may be ignored, and are inherited then
    signal.signal(one, signal.default_int_handler if one == signal.SIGINT else signal.SIG_DFL)

import rlsuite_envs
from rlsuite.cli import main
from rlsuite.experiments import checkpoints

checkpoints.EVERY = 0.02
sys.exit(main(["run", sys.argv[1], "--output", sys.argv[2], "--workers", sys.argv[3]]))
"""


def start(file, folder, workers=1):
    command = [sys.executable, "-c", RUN, str(file), str(folder), str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_checkpoint(process, folder, after=0.0):
    deadline = time.monotonic() + 100
    while not list(folder.glob(".checkpoints/*/0*.cells")):
        if process.poll() is not None:
            return False
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(after)
    return True


@pytest.fixture
def lake(toml):
    return toml(LONG.replace('[[environments]]\nid = "CartPole-v1"\n\n', ""), name="lake.toml")


@pytest.fixture
def cart(toml):
    return toml(FEATURES, name="cart.toml")


@pytest.mark.cases("9")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_cell_goes_on_after_any_end(lake, tmp_path, tree, number):
    whole, ended = tmp_path / "whole", tmp_path / "ended"
    Experiment.read(lake).run(whole)
    process = start(lake, ended)
    assert wait_for_checkpoint(process, ended, 0.05)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    if number != signal.SIGKILL:
        assert told.splitlines()[-1].endswith("of 2 cells are done; run it again to continue")
    assert list(ended.glob(".checkpoints/*/0*.cells"))
    Experiment.read(lake).run(ended)
    assert tree(ended) == tree(whole)


@pytest.mark.slow
def test_a_cell_that_is_killed_again_and_again_ends_the_same(cart, tmp_path, tree):
    """With features, compiled dynamics, and evaluations by episodes."""
    whole, ended = tmp_path / "whole", tmp_path / "ended"
    Experiment.read(cart).run(whole)
    kills = 0
    for _ in range(20):
        process = start(cart, ended)
        if not wait_for_checkpoint(process, ended, 0.1):
            break
        process.kill()
        process.communicate()
        kills += 1
    Experiment.read(cart).run(ended)
    assert kills > 1
    assert tree(ended) == tree(whole)


@pytest.fixture
def stopped(lake, tmp_path):
    """A folder with a cell that was stopped."""
    process = start(lake, tmp_path / "out")
    assert wait_for_checkpoint(process, tmp_path / "out", 0.05)
    process.kill()
    process.communicate()
    return tmp_path / "out"


@pytest.mark.cases("agent")
@pytest.mark.parametrize("damage", ["agent", "record", "no agent", "spec"])
def test_checkpoints_that_cannot_be_used_are_not(lake, stopped, tmp_path, tree, damage):
    place = next(stopped.glob(".checkpoints/*/0*.cells"))
    if damage == "agent":
        content = bytearray(place.with_suffix(".npz").read_bytes())
        content[len(content) // 2] ^= 1
        place.with_suffix(".npz").write_bytes(bytes(content))
    elif damage == "record":
        place.write_text("time")
    elif damage == "no agent":
        place.with_suffix(".npz").unlink()
    else:
        lake.write_text(lake.read_text().replace("gamma = 0.9", "gamma = 0.8"))
    if damage == "spec":
        shutil.rmtree(stopped / "cells", ignore_errors=True)
    Experiment.read(lake).run(stopped)
    Experiment.read(lake).run(tmp_path / "whole")
    assert tree(stopped) == tree(tmp_path / "whole")


EVALUATED = """
steps = 24
seeds = 1
evaluate_every = 6
loop = "stepwise"
environments = [{ id = "FrozenLake-v1" }]
agents = [{ name = "q-learning" }]
"""


def test_no_evaluation_is_missing_wherever_a_cell_was_saved(toml, tmp_path, tree, monkeypatch):
    """Also where it was saved at the very time of an evaluation, or in its last step."""
    experiment, write = Experiment.read(toml(EVALUATED)), checkpoints.CellCheckpoint.write
    moments = []

    def copied(checkpoint, agent, record):
        write(checkpoint, agent, record)
        moments.append(tmp_path / str(agent.steps_))
        shutil.copytree(checkpoint.folder.parent, moments[-1] / ".checkpoints", dirs_exist_ok=True)

    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    monkeypatch.setattr(checkpoints.CellCheckpoint, "write", copied)
    experiment.run(tmp_path / "whole")
    monkeypatch.undo()
    assert len(moments) >= 23
    for moment in moments:
        experiment.run(moment)
        assert tree(moment) == tree(tmp_path / "whole"), moment
    shutil.copytree(moments[0], tmp_path / "left")
    (tmp_path / "left" / ".checkpoints" / "b6").mkdir(parents=True)  # of a cell of another experiment
    CellCheckpoint(tmp_path / "left", ("FrozenLake-v1", "QLearning"), 0, {}, {}).folder.mkdir()
    experiment.run(tmp_path / "left")
    assert os.listdir(tmp_path / "left" / ".checkpoints") == ["b6"]


@pytest.mark.slow
def test_a_full_disk_does_not_end_a_cell(lake, tmp_path, tree, monkeypatch):
    def full(*_, **__):
        raise FileError("cannot write it: No space left on device")

    Experiment.read(lake).run(tmp_path / "whole")
    monkeypatch.setattr(checkpoints, "save", full)
    monkeypatch.setattr(checkpoints, "EVERY", 0.01)
    with pytest.warns(CheckpointWarning, match=r"No space left on device\. The run continues"):
        Experiment.read(lake).run(tmp_path / "out")
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_a_full_disk_does_not_end_a_run(tmp_path, monkeypatch):
    import rlsuite as rl

    agent, saves = rl.QLearning(), []
    write = run_log.Keeping.begin

    def begin(keeping):
        write(keeping)
        saves.append(keeping.write)

        def full():
            raise FileError("cannot write it: No space left on device")

        keeping.write = full

    monkeypatch.setattr(run_log.Keeping, "begin", begin)
    with pytest.warns(CheckpointWarning, match="No space left"):
        agent.learn("FrozenLake-v1", steps=1_000_000, seed=1, save_to=tmp_path / "run.npz", save_every=0.05)
    assert len(saves) == 1
    assert agent.q_.tobytes() == rl.QLearning().learn("FrozenLake-v1", steps=1_000_000, seed=1).q_.tobytes()
    assert os.listdir(tmp_path) == ["run.npz"]
