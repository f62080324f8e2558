import subprocess
import sys

import pytest

from rlsuite.errors import FailedRunsWarning, LimitReached, ParameterError
from rlsuite.experiments import Experiment, checkpoints, limits, status_of
from rlsuite.experiments.limits import Limits

FILE = """
steps = 400_000
seeds = 1
loop = "stepwise"
limits = { seconds = 60 }
environments = [{ id = "FrozenLake-v1" }]
agents = [{ name = "q-learning" }, { name = "sarsa" }]
"""


def test_memory_is_that_by_which_the_process_grows(monkeypatch):
    sizes = iter([5 * 10**9, 6 * 10**9, 8 * 10**9])
    monkeypatch.setattr(limits, "memory_of_process", lambda: next(sizes))
    look = Limits(memory=2e9).begin()
    look()
    with pytest.raises(LimitReached, match=r"^it had taken 3 GB of memory, more than 2 GB; raise limits=, or leave "):
        look()


GROWS = """
from rlsuite.experiments.limits import memory_of_process
before = memory_of_process()
held = bytearray(b"1") * 50_000_000
print(memory_of_process() - before > 0.9 * len(held))
"""


def test_memory_is_that_of_the_process():
    """Asked in one of its own: from another one the system may take back memory at the same time."""
    done = subprocess.run([sys.executable, "-c", GROWS], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_cell_that_takes_too_long_has_failed_and_goes_on_from_where_it_was_saved_when_it_gets_more(
    toml, tmp_path, tree, monkeypatch
):
    saved = tmp_path / "out" / ".checkpoints"
    monkeypatch.setattr(limits, "monotonic", lambda: 61.0 if list(saved.glob("*/*.cells")) else 0.0)
    monkeypatch.setattr(checkpoints, "EVERY", 0.02)
    file = toml(FILE)
    with pytest.warns(FailedRunsWarning, match="it had not ended after 60 s; raise limits=, or leave it out"):
        Experiment.read(file).run(tmp_path / "out")
    assert {failure.agent for failure in status_of(tmp_path / "out").failures} >= {"QLearning"}
    monkeypatch.setattr(checkpoints, "EVERY", 60.0)
    continued, joined = [], checkpoints.joined
    monkeypatch.setattr(checkpoints, "joined", lambda one, other: continued.append(one) or joined(one, other))
    Experiment.read(file, limits={}).run(tmp_path / "out", retry=True)
    assert continued
    Experiment.read(file, limits={}).run(tmp_path / "whole")
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_impossible_limits_are_named():
    for given in (3, {"second": 1}, {"seconds": 0}, {"memory": "2 XB"}, {"memory": "-1 GB"}, {"memory": float("inf")}):
        with pytest.raises(ParameterError, match=r"^limits"):
            Limits.of(given)
