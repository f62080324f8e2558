"""Backends that lose what they were sent, that cannot read it, or that are slower."""

import filecmp
import os
import signal
import threading
import time
from collections import deque
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from rlsuite.errors import FailedRunsWarning, LearningError, NoWorkersWarning, OneProcessWarning, ParameterError
from rlsuite.experiments import Experiment, crew, status_of
from rlsuite.experiments.crew import Pace
from rlsuite.experiments.work import Backend, Outcomes, serve
from rlsuite.training.results import Record

FILE = """
steps = 60
seeds = 5
environments = [{ id = "FrozenLake-v1" }]
agents = [{ name = "q-learning", label = "Q" }, { name = "sarsa" }]
"""


@pytest.fixture
def experiment(toml):
    return Experiment.read(toml(FILE))


class Losing:
    """An executor that now and then loses what it was sent, as if its process had been killed."""

    _max_workers = 2

    def __init__(self, lost):
        self.lost, self.calls = lost, 0

    def submit(self, function, payload, seeds):
        future = Future()
        self.calls += 1
        if self.lost(self.calls, seeds):
            future.set_exception(BrokenProcessPool("a process was terminated abruptly"))
        else:
            future.set_result(serve(payload, seeds))
        return future

    def shutdown(self):
        self.over = True


@pytest.fixture
def losing(monkeypatch):
    """Make an executor a backend."""

    def use(lost):
        executor = Losing(lost)
        monkeypatch.setattr(crew, "backend_of", lambda name, workers, known=crew.backend_of: known("own:make", workers))
        monkeypatch.setattr("rlsuite.experiments.work._own", lambda *names: executor)
        return executor

    return use


def same(one, other):
    names = sorted(os.listdir(one))
    assert names == sorted(os.listdir(other))
    files = [name for name in names if name != "cells"]
    return filecmp.cmpfiles(one, other, files, shallow=False)[0] == files and (
        "cells" not in names or same(one / "cells", other / "cells")
    )


def test_cells_that_were_lost_are_learned_again(experiment, tmp_path, losing):
    experiment.run(tmp_path / "whole")
    executor = losing(lambda call, seeds: call % 3 == 0)
    experiment.run(tmp_path / "lost", backend="own:make")
    assert executor.calls > 10
    assert executor.over
    assert same(tmp_path / "whole", tmp_path / "lost")


def test_a_cell_that_kills_its_process_again_and_again_has_failed(experiment, tmp_path, losing):
    losing(lambda call, seeds: 3 in seeds)
    with pytest.warns(FailedRunsWarning, match="the process that learned it ended 5 times"):
        experiment.run(tmp_path / "lost", backend="own:make")
    assert str(status_of(tmp_path / "lost")) == "8 of 10 cells done, 2 failed, 0 to go"


def test_a_backend_that_learns_nothing_is_an_error_and_what_was_learned_is_kept(experiment, tmp_path, losing):
    losing(lambda call, seeds: call > 4)
    with pytest.raises(LearningError, match=r"learns nothing \(BrokenProcessPool: .*; what was learned is kept"):
        experiment.run(tmp_path / "out", backend="own:make")
    status = status_of(tmp_path / "out")
    assert (status.done, status.failures) == (4, ())


class Deserted(Losing):
    """An executor whose workers leave after some cells; they come back when it is started again, or after a while."""

    def __init__(self, comes_back):
        super().__init__(lambda call, seeds: False)
        self.comes_back, self.left, self.waiting = comes_back, 0.0, []

    def submit(self, function, payload, seeds):
        if self.calls == 4 and not self.left:
            self.left = time.monotonic()
        if self.slots():
            return super().submit(function, payload, seeds)
        self.waiting.append((Future(), payload, seeds))
        return self.waiting[-1][0]

    def slots(self):
        if self.left and time.monotonic() < self.left + self.comes_back:
            return 0
        while self.waiting:
            future, payload, seeds = self.waiting.pop()
            future.set_result(serve(payload, seeds))
        return 2


def test_processes_of_its_own_that_have_all_left_are_started_again(experiment, tmp_path, monkeypatch):
    experiment.run(tmp_path / "whole")
    made = [Deserted(1e9), Deserted(0.0)]
    left = list(made)
    monkeypatch.setattr("rlsuite.experiments.work.NO_WORKERS", 0.2)
    backend = Backend("dask", lambda: left.pop(0), lambda one: one.slots() if one else 1, Deserted.shutdown)
    monkeypatch.setattr(crew, "backend_of", lambda name, workers: backend)
    experiment.run(tmp_path / "left", workers=2, backend="dask")
    assert not left
    assert all(one.over for one in made)
    assert same(tmp_path / "whole", tmp_path / "left")


def test_it_says_when_a_cluster_has_no_workers_and_waits_for_them(experiment, tmp_path, monkeypatch):
    experiment.run(tmp_path / "whole")
    monkeypatch.setattr("rlsuite.experiments.work.NO_WORKERS", 0.2)
    backend = Backend(
        "dask", None, Deserted.slots, Deserted.shutdown, is_own=False, executor=Deserted(1.0)
    )  # of the scheduler
    monkeypatch.setattr(crew, "backend_of", lambda name, workers: backend)
    with pytest.warns(NoWorkersWarning, match=r"has no workers, and [1-9] cells wait for one; start some .*Ctrl-C"):
        experiment.run(tmp_path / "left", backend="dask://host:8786")
    assert same(tmp_path / "whole", tmp_path / "left")


def test_a_scheduler_that_has_gone_ends_the_run_at_once(experiment, tmp_path, monkeypatch):
    def gone():
        raise ParameterError("backend='dask://host:8786': no scheduler answers there")

    backend = Backend("dask", gone, lambda _: 2, Losing.shutdown, executor=Losing(lambda call, seeds: call > 4))
    monkeypatch.setattr(crew, "backend_of", lambda name, workers: backend)
    with pytest.raises(LearningError, match="no scheduler answers there; what was learned is kept: run it again"):
        experiment.run(tmp_path / "out", backend="dask://host:8786")
    assert 4 <= status_of(tmp_path / "out").done < 10


def test_what_is_no_backend_is_found_out_before_anything_is_learned(experiment, tmp_path):
    with pytest.raises(ParameterError, match="unknown backend 'prozesse'"):
        experiment.run(tmp_path / "none", backend="prozesse")
    assert not (tmp_path / "none" / "cells").exists()


def cells(cost, n=1):
    record = Record(0, "stepwise", "steps", *[None] * 2)
    return Outcomes([(seed, record) for seed in range(n)], cost * n, 0.0, {}, [], {})


def test_helpers_are_measured(experiment, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(crew.time, "monotonic", lambda: now[0])
    case = experiment.cells()[0].case
    pace = Pace()
    assert pace.size(case, 1.0, 100) == 1
    pace.add(case, cells(0.01), alone=True, helper=False)
    assert pace.size(case, 1.0, 1_000) == 100
    assert pace.size(case, 1.0, 7) == 7
    assert pace.left([(case, deque(range(50)))], 9.0) == pytest.approx(0.5)
    now[0] = 3.0
    pace.add(case, cells(0.02), alone=False, helper=True)
    for _ in range(12):
        now[0] += 0.5
        pace.add(case, cells(0.02, 40), alone=False, helper=True)  # 40 in half a second; alone 50
    assert pace.is_tried()
    assert pace.speed() == pytest.approx(0.8)
    assert not pace.is_tried()


@pytest.mark.slow
def test_processes_write_what_one_thread_writes_and_what_they_cannot_read_is_learned_here(toml, tmp_path, monkeypatch):
    monkeypatch.setattr(crew, "LEAST_SECONDS", 0.0)
    experiment = Experiment.read(toml(FILE), seeds=40, loop="stepwise")
    experiment.run(tmp_path / "whole")
    experiment.run(tmp_path / "two", workers=2, backend="processes")
    assert same(tmp_path / "whole", tmp_path / "two")
    monkeypatch.setattr("rlsuite.experiments.work.pickled", lambda work: b"nothing")
    with pytest.warns(OneProcessWarning, match=r"cells are learned in one thread, .* \(UnpicklingError"):
        experiment.run(tmp_path / "three", workers=2)
    assert same(tmp_path / "whole", tmp_path / "three")


KILLS = int(os.environ.get("RLSUITE_KILLS", "1"))
"""How often a worker is killed; more takes longer, as each has to start again."""


@pytest.mark.slow
def test_workers_of_dask_that_are_killed_lose_nothing(toml, tmp_path):
    """A real cluster of two processes; the nanny of each starts it again, or gives up, if it dies while it starts."""
    distributed = pytest.importorskip("distributed")
    experiment = Experiment.read(toml(FILE), seeds=20 + 40 * KILLS, steps=1_000, loop="stepwise")
    experiment.run(tmp_path / "whole")
    over, kills = threading.Event(), []
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster:

        def kill():
            done = 0
            while len(kills) < KILLS and not over.wait(0.2):
                if (tmp_path / "killed" / "run.json").is_file() and (now := status_of(tmp_path / "killed").done) > done:
                    alive = [one.pid for one in list(cluster.workers.values()) if one.pid is not None]
                    if len(cluster.workers) < 2:
                        cluster.scale(2)
                    elif len(alive) == len(cluster.scheduler.workers) == 2:
                        os.kill(alive[len(kills) % len(alive)], signal.SIGKILL)
                        kills.append(alive)
                        done = now

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            experiment.run(tmp_path / "killed", backend=f"dask://{cluster.scheduler_address.removeprefix('tcp://')}")
        finally:
            over.set()
            killer.join()
    assert len(kills) == KILLS
    assert same(tmp_path / "whole", tmp_path / "killed")
