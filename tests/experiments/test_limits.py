import importlib
import os
import subprocess
import sys
import time

import pytest

from rlsuite.errors import FailedRunsWarning, LimitReached, ParameterError
from rlsuite.experiments import Experiment, checkpoints, limits, status_of
from rlsuite.experiments.limits import Limits, within

OWN = """
import os
import time

import gymnasium

class Hangs(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.hangs = self.np_random.random() < 0.4
        return 0, {}

    def step(self, action):
        if self.hangs:
            os.environ["HANGS"] = "yes"
            try:
                while True:
                    try:
                        time.sleep(0.001)
                    except Exception:
                        pass
            finally:
                del os.environ["HANGS"]
        return 0, 1.0, self.np_random.random() < 0.1, False, {}
"""

FILE = """
steps = 40
seeds = [0, 5]
limits = { seconds = 60 }
environments = [{ id = "own.py:Hangs" }]
agents = [{ name = "q-learning" }, { name = "fitted-q", regressor = "sklearn.linear_model:Ridge" }]
"""


def test_a_cell_that_never_ends_has_failed_and_no_other(toml, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "monotonic", lambda: 61.0 if "HANGS" in os.environ else 0.0)
    (tmp_path / "own.py").write_text(OWN)
    with pytest.warns(FailedRunsWarning) as told:
        Experiment.read(toml(FILE)).run(tmp_path / "out")
    status = status_of(tmp_path / "out")
    assert [(failure.agent, failure.seed) for failure in status.failures] == [("QLearning", 0), ("FittedQ", 0)]
    assert status.done == 2
    assert "it had not ended after 60 s; raise limits=, or leave it out" in str(told[0].message)
    assert "own.py, line 2" in str(told[0].message)


def test_memory_is_that_by_which_the_process_grows(monkeypatch):
    sizes = iter([5 * 10**9, 6 * 10**9, 8 * 10**9])
    monkeypatch.setattr(limits, "memory_of_process", lambda: next(sizes))
    monkeypatch.setattr(limits, "LOOK_EVERY", 0.01)
    with pytest.raises(LimitReached, match=r"^it had taken 3 GB of memory, more than 2 GB; raise limits=, or leave "):
        within(Limits(memory=2e9), lambda: [time.sleep(0.001) for _ in range(10_000)])


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


def test_nothing_is_raised_after_the_call(monkeypatch):
    monkeypatch.setattr(limits, "LOOK_EVERY", 0.0)
    ends = []
    for number in range(100):
        until = time.perf_counter() + number * 2e-4

        def spin(until=until):
            while time.perf_counter() < until:
                pass
            return "done"

        try:
            ends.append(within(Limits(seconds=0.001), spin))
        except LimitReached:
            ends.append("reached")
        sum(range(1_000))
    assert {"done", "reached"} == {*ends}


def test_no_import_is_interrupted(tmp_path, monkeypatch):
    """Modules that were imported in part cannot be imported again."""
    (tmp_path / "imported_slowly.py").write_text("import time\nfor _ in range(50):\n    time.sleep(0.005)\nX = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(limits, "LOOK_EVERY", 0.01)
    after = []

    def call():
        after.append(importlib.import_module("imported_slowly").X)
        while True:
            time.sleep(0.001)

    with pytest.raises(LimitReached):
        within(Limits(seconds=0.02), call)
    assert after == [1]


@pytest.mark.slow
def test_a_cell_goes_on_from_where_it_was_saved_when_it_gets_more(toml, tmp_path, tree, monkeypatch):
    saved = tmp_path / "out" / ".checkpoints"
    monkeypatch.setattr(limits, "monotonic", lambda: 61.0 if list(saved.glob("*/*.cells")) else 0.0)
    monkeypatch.setattr(checkpoints, "EVERY", 0.02)
    text = FILE.replace("own.py:Hangs", "FrozenLake-v1").replace("40", "400_000").replace("[0, 5]", "1")
    file = toml(text.replace(', { name = "fitted-q", regressor = "sklearn.linear_model:Ridge" }', ""))
    with pytest.warns(FailedRunsWarning, match="1 run failed"):
        Experiment.read(file, loop="stepwise").run(tmp_path / "out")
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


TRACED = """
import sys
import time
from rlsuite.errors import LimitReached
from rlsuite.experiments import limits
from rlsuite.experiments.limits import Limits, within

limits.LOOK_EVERY = 0.001
for seconds in (0.002, 60.0) * 20:
    try:
        within(Limits(seconds=seconds), lambda: [time.sleep(0.001) for _ in range(5)])
    except LimitReached:
        pass
traced = []
sys.settrace(lambda frame, event, given: traced.append(event))
(lambda: None)()
sys.settrace(None)
print(len(traced) > 0)
"""


def test_a_debugger_goes_on_afterwards():
    done = subprocess.run([sys.executable, "-c", TRACED], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True\n"
