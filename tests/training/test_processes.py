"""Seeds in environments that have to be stepped are learned in several processes, with the bytes of one."""

import importlib
import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import Future

import gymnasium
import numpy as np
import pytest

import rlsuite as rl
from rlsuite.core.modules import run_file
from rlsuite.errors import FailedRunsWarning, FileError, LearningError, OneProcessWarning
from rlsuite.training import processes
from rlsuite.training.failures import ends_all
from rlsuite.training.results import Record
from rlsuite.training.train import _Run

LAKE = "FrozenLake-v1"


class Slippery(gymnasium.Env):
    """Fifty cells without a table."""

    def __init__(self, bad_seed=None, exit_seed=None, parent=None):
        self.observation_space = gymnasium.spaces.Discrete(50)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.bad_seed, self.exit_seed, self.parent = bad_seed, exit_seed, parent

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        self.seed = seed if seed is not None else self.seed
        if self.seed == self.exit_seed and os.getpid() != self.parent:
            os._exit(3)
        return 0, {}

    def step(self, action):
        if self.seed == self.bad_seed:
            raise ZeroDivisionError("no way on")
        self.cell = max(self.cell + (1 if self.np_random.random() < (0.6, 0.4)[action] else -1), 0)
        return self.cell, -1.0, self.cell == 49, False, {}


def reset_seed(seed):
    """The seed that the environment is reset with in the run of a seed."""
    return int(np.random.SeedSequence(seed).spawn(3)[1].generate_state(1)[0])


@pytest.fixture
def at_once(monkeypatch):
    """Other processes get the first seeds, one at a time; this one begins when one of them has answered."""
    work = processes.Seeds._work

    def patient(self):
        with self._changed:
            if self.n_helpers:
                assert self._changed.wait_for(lambda: self._runs or self._ended or self._warned, 60.0)
        work(self)

    monkeypatch.setattr(processes.Seeds, "_work", patient)
    monkeypatch.setattr(processes, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(processes, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(processes, "BATCH_SECONDS", 0.0)


@pytest.fixture
def helpers(monkeypatch):
    """The seeds of which other processes have sent records."""
    numbers = []
    note = processes.Seeds._record
    monkeypatch.setattr(processes.Seeds, "_record", lambda self, *what: numbers.extend(what[1]) or note(self, *what))
    return numbers


def train(env, workers, seeds=8, steps=500, agent=None, **options):
    agent = rl.QLearning() if agent is None else agent
    return rl.train(agent, env, steps=steps, seeds=seeds, workers=workers, loop="stepwise", **options)


@pytest.mark.slow
def test_processes_change_no_byte(at_once, helpers, same_records):
    one, two = train(Slippery(), 1), train(Slippery(), 2)
    assert helpers
    assert [record.seed for record in two.records] == list(range(8))
    for record, twin in zip(one.records, two.records, strict=True):
        same_records(record, twin)


@pytest.mark.slow
def test_regret_is_noted_in_other_processes(at_once, helpers, same_records):
    one, two = train(LAKE, 1), train(LAKE, 3)
    assert helpers
    assert one.records[0].regret.size
    for record, twin in zip(one.records, two.records, strict=True):
        same_records(record, twin)


SCRIPT = """
import gymnasium
import rlsuite as rl
from rlsuite.training import processes

processes.LEAST_SECONDS, processes.LOOK_EVERY, processes.BATCH_SECONDS = 0.0, 0.01, 0.0
sent, note, work = [], processes.Seeds._record, processes.Seeds._work
def patient(self):
    with self._changed:
        self._changed.wait_for(lambda: sent or not self.n_helpers, 60)
    work(self)
processes.Seeds._work = patient
processes.Seeds._record = lambda self, *what: sent.extend(what[1]) or note(self, *what)

class Mine(gymnasium.Env):
    observation_space, action_space = gymnasium.spaces.Discrete(9), gymnasium.spaces.Discrete(2)
    pay = staticmethod(lambda cell: -1.0 - cell)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 0
        return 0, {}

    def step(self, action):
        self.cell = max(self.cell + (1 if self.np_random.random() < (0.6, 0.4)[action] else -1), 0)
        return self.cell, self.pay(self.cell), self.cell == 8, False, {}

@rl.compiled
def step(memory, t, rng):
    rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    return rl.choose(memory, t.next_state, rng)

class Own(rl.TabularAgent):
    step = step

def local():
    class Local(Mine):
        pass
    return Local()

gymnasium.register("Mine-v0", entry_point=lambda: Mine())
for env in ("Mine-v0", local()):
    sent.clear()
    one, two = (rl.train(Own(), env, steps=500, seeds=8, workers=n, loop="stepwise").records for n in (1, 2))
    assert sent
    assert all(a.cumulative_reward.tobytes() == b.cumulative_reward.tobytes() for a, b in zip(one, two))
print("fine")
"""


@pytest.mark.slow
def test_what_a_script_defines_can_be_sent(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)  # without a guard: other processes do not run it
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_a_file_is_run_where_its_classes_are_sent_to_if_it_is_the_same_there(tmp_path):
    file = tmp_path / "sent.py"
    file.write_text("class Sent:\n    x = 1\n")
    sent = processes.pickled(run_file(file).Sent())
    del sys.modules[run_file(file).__name__]  # as in another process
    assert processes.unpickled(sent).x == 1
    file.write_text("class Sent:\n    x = 2\n")
    with pytest.raises(FileError, match=r"sent\.py is not what it was when this run began: it has been edited since"):
        processes.unpickled(sent)
    file.unlink()
    with pytest.raises(FileError, match=r"cannot read .*sent\.py: .*; every process and machine needs this file"):
        processes.unpickled(sent)


REGISTERS = """
import gymnasium

class Lake(gymnasium.envs.toy_text.FrozenLakeEnv):
    pass

gymnasium.register("LakeOfThisTest-v0", entry_point="registers_a_lake:Lake")
"""


def test_a_package_that_registers_its_environments_does_not_warn_where_they_are_sent_to(tmp_path, monkeypatch):
    (tmp_path / "registers_a_lake.py").write_text(REGISTERS)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("registers_a_lake")
    sent = pickle.dumps(_Run(rl.QLearning(), "LakeOfThisTest-v0", {"steps": 10}))
    del sys.modules["registers_a_lake"], gymnasium.registry["LakeOfThisTest-v0"]  # as in another process
    try:
        assert pickle.loads(sent)(3).seed == 3  # here, warnings are errors
    finally:
        sys.modules.pop("registers_a_lake", None)
        gymnasium.registry.pop("LakeOfThisTest-v0", None)


class Locked(Slippery):
    """It can be copied, but not sent."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def __deepcopy__(self, memo):
        return Locked()


def test_what_cannot_be_sent_is_learned_here(at_once, helpers, same_records):
    with pytest.warns(OneProcessWarning, match=r"one after the other, .* \(TypeError: .*lock") as said:
        two = train(Locked(), 2)
    assert len(said) == 1
    assert "\n" not in str(said[0].message)
    assert not helpers
    for record, twin in zip(train(Locked(), 1).records, two.records, strict=True):
        same_records(record, twin)


class Unread(Slippery):
    """It can be sent, but not read."""

    def __reduce__(self):
        return unread, (os.getpid(),)

    def __deepcopy__(self, memo):
        return Unread()


def unread(sender):
    raise OSError("no such device")


@pytest.mark.slow
def test_what_cannot_be_read_is_learned_here(at_once, helpers):
    with pytest.warns(OneProcessWarning, match=r"\(OSError: no such device\)"):
        assert len(train(Unread(), 2).records) == 8


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_names_its_seed(workers, at_once):
    with pytest.raises(ZeroDivisionError, match="no way on") as caught:
        train(Slippery(bad_seed=reset_seed(0)), workers, fail_fast=True)
    assert caught.value.__notes__ == ["(in the run with seed=0)"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_loses_the_run_that_failed(workers, at_once, same_records):
    with pytest.warns(FailedRunsWarning, match="no way on") as caught:
        results = train(Slippery(bad_seed=reset_seed(3)), workers)
    assert caught[0].filename == __file__
    assert [record.seed for record in results.records] == [0, 1, 2, 4, 5, 6, 7]
    for record, twin in zip(
        results.records, [one for one in train(Slippery(), 1).records if one.seed != 3], strict=True
    ):
        same_records(record, twin)
    (failure,) = results.failures
    assert failure[:5] == ("QLearning", "Slippery", 3, 1, "ZeroDivisionError: no way on")
    line = inspect.getsourcelines(Slippery.step)[1] + 2
    assert failure.where == f"{__file__}, line {line}"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_of_several_failures_the_first_seed_is_named(workers, at_once):
    with pytest.raises(ZeroDivisionError) as caught:
        train(Always(), workers)
    assert caught.value.__notes__ == ["(in the run with seed=0)"]


class Always(Slippery):
    def step(self, action):
        raise ZeroDivisionError("no way on")


@pytest.mark.slow
def test_an_error_in_another_process_ends_a_long_run_of_this_one(monkeypatch):
    monkeypatch.setattr(processes, "LEAST_SECONDS", 0.0)
    with pytest.raises(ZeroDivisionError, match="no way on") as caught:
        train(OnlyHere(), 2, steps=10**10, fail_fast=True)
    assert caught.value.__notes__ == ["(in the run with seed=1)"]


class OnlyHere(Slippery):
    """It can be stepped in one process only."""

    def __init__(self):
        super().__init__()
        self.home = os.getpid()

    def step(self, action):
        if os.getpid() != self.home:
            raise ZeroDivisionError("no way on")
        return super().step(action)


class NanOnce(Slippery):
    """The reward is NaN in the run of one seed."""

    nan_seed = reset_seed(0)

    def step(self, action):
        observation, reward, *rest = super().step(action)
        return (observation, np.nan if self.seed == self.nan_seed else reward, *rest)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_ours_stays_one(workers, at_once):
    with pytest.raises(LearningError, match=r"^seed 0: NanOnce, step 1: .* nan; rewards must be finite numbers"):
        train(NanOnce(), workers, fail_fast=True)


@pytest.mark.slow
def test_what_a_process_had_that_was_killed_is_learned_here(at_once, same_records):
    with pytest.warns(OneProcessWarning, match=r"a process that learned with seeds .* has ended"):
        two = train(Slippery(exit_seed=reset_seed(0), parent=os.getpid()), 2)
    for record, twin in zip(train(Slippery(), 1).records, two.records, strict=True):
        same_records(record, twin)


class Warns(Slippery):
    def reset(self, *, seed=None, options=None):
        if seed is not None:
            warnings.warn("the floor is wet", UserWarning, stacklevel=2)
        return super().reset(seed=seed)


@pytest.mark.slow
def test_warnings_of_other_processes_are_issued_here_once(at_once, helpers):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        train(Warns(), 2)
    assert helpers
    assert 1 <= sum(str(one.message) == "the floor is wet" for one in said) <= 3


def test_little_work_starts_no_process(monkeypatch):
    monkeypatch.setattr(processes.Seeds, "_start", lambda self, seconds: pytest.fail("a process was started"))
    assert len(train(Slippery(), 2, seeds=5, steps=500).records) == 5


class Idle:
    """Takes work, and never does it."""

    def __init__(self):
        self.sent = []

    def submit(self, serve, payload, seeds, ends):
        self.sent.append(seeds)
        return Future()


@pytest.mark.parametrize(
    ("alone", "own", "other", "goes_on"),
    [
        (1.0, 1.0, 1.1, True),
        (1.0, 2.0, 2.0, False),
        (1.0, 1.9, 3.0, False),
        (0.0, 9.0, 9.0, True),
        (1.0, 0.0, 9.0, True),
    ],
)
def test_processes_that_make_this_one_slower_get_no_more_seeds(alone, own, other, goes_on):
    seeds = processes.Seeds(None, range(100), 2, lambda n: None, ends_all)
    seeds._pool, seeds._alone, seeds._together = Idle(), alone, (own, 0.0)
    answer = Future()
    answer.set_result(processes._Outcome([Record(0, "stepwise", "steps", np.zeros(0), np.zeros(0, int))], other, []))
    seeds._receive(answer, [0])
    assert bool(seeds._pool.sent) is goes_on


ENDLESS = """
import os, sys
import rlsuite as rl
from rlsuite.training import processes

processes.LEAST_SECONDS, processes.LOOK_EVERY = 0.0, 0.01
start = processes.Seeds._start
processes.Seeds._start = lambda self, seconds: [start(self, seconds), print("started", flush=True)]
rl.train(rl.QLearning(), "FrozenLake-v1", steps=10**9, seeds=8, workers=3, loop="stepwise", regret=False)
"""


def alive(session):
    """The processes of a session, with the signals that they ignore, in hexadecimal digits."""
    shown = ["ps", "-o", "pid=,stat=,ignored=", "-s", str(session)]
    found = subprocess.run(shown, capture_output=True, text=True, check=False)
    return [line.split() for line in found.stdout.splitlines() if " Z" not in line]


def at_work(session):
    """Those that work for the first one: they leave Ctrl-C to it. Those that clean up ignore SIGTERM as well."""
    ctrl_c, both = 1 << signal.SIGINT - 1, 1 << signal.SIGINT - 1 | 1 << signal.SIGTERM - 1
    return [ignored for _, _, ignored in alive(session) if int(ignored, 16) & both == ctrl_c]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_all_processes(number):
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout.readline() == "started\n"
            until = time.monotonic() + 60.0
            while len(at_work(process.pid)) < 2 and time.monotonic() < until:
                time.sleep(0.1)
            assert len(at_work(process.pid)) == 2
            if number == signal.SIGINT:
                os.killpg(process.pid, number)  # as a terminal does it
            else:
                process.send_signal(number)
            _, said = process.communicate(timeout=30.0)
            until = time.monotonic() + 10.0
            while alive(process.pid) and time.monotonic() < until:
                time.sleep(0.05)
            assert not alive(process.pid)
        finally:
            process.kill()
    assert process.returncode == -number
    assert said.count("Traceback") == (number == signal.SIGINT), said
