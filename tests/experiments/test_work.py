import pickle
import threading

import numpy as np
import pytest

import rlsuite as rl
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.experiments import AgentEntry, EnvironmentEntry, Experiment, work
from rlsuite.experiments.config import Limits
from rlsuite.experiments.work import Threads, Work, backend_of, serve
from rlsuite.training.failures import FailedRun, ends_all
from rlsuite.training.processes import pickled

OWN = """
import gymnasium

class Own(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 1.0 / action, True, False, {}
"""


def works(folder, environments, agents, many=True, **timing):
    timing = timing or {"steps": 300, "evaluate_every": 100}
    experiment = Experiment(
        environments=[EnvironmentEntry(env) for env in environments],
        agents=[AgentEntry(agent, label=str(number)) for number, agent in enumerate(agents)],
        seeds=1,
        **timing,
    )
    common = timing, "auto", True, folder, str(folder), many, "records", {"rlsuite": "0"}, Limits()
    return [Work(cell.case, *common) for cell in experiment.cells()]


def assert_same(one, other):
    for name, value in vars(one).items():
        if isinstance(value, np.ndarray):
            assert value.tobytes() == getattr(other, name).tobytes(), name
        elif name not in ("seconds", "compiling_seconds", "loop_reason"):
            assert value == getattr(other, name), name


def test_cells_that_share_what_they_can_are_those_by_themselves(tmp_path):
    agents = [
        rl.QLearning(gamma=0.9),
        rl.QLearning(gamma=0.9, learning_rate=0.1),
        rl.TD(gamma=0.9),
        rl.Sarsa(gamma=0.8),
    ]
    for one in works(tmp_path, ["FrozenLake-v1", "rlsuite/RandomWalk-v0"], agents):
        outcomes = one(range(4), threading.Event())
        for seed, record in outcomes.runs:
            alone = type(one.agent)(**{name: getattr(one.agent, name) for name in ("gamma", "learning_rate")})
            alone.learn(one.env_id, seed=seed, regret=True, **one.timing)
            assert_same(record, alone.record_)
    assert len(work._bench.replicas) == 8
    assert len(work._bench.environments) == 2


def test_a_run_that_takes_long_is_one_by_itself(tmp_path, monkeypatch):
    alone = []
    learn = Work._learn
    monkeypatch.setattr(Work, "_learn", lambda self, *args: alone.append(args[2]) or learn(self, *args))
    (one,) = works(tmp_path / "a", ["FrozenLake-v1"], [rl.QLearning(gamma=0.9)])
    whole = one(range(3), threading.Event())
    assert alone == []
    monkeypatch.setattr(work, "LONG", 0.0)
    (one,) = works(tmp_path / "b", ["FrozenLake-v1"], [rl.QLearning(gamma=0.9)])
    for (_, record), (_, other) in zip(whole.runs, one(range(3), threading.Event()).runs, strict=True):
        assert_same(record, other)
    assert alone == [0, 1, 2]


def test_an_error_is_an_outcome_and_the_next_cell_is_learned(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (one,) = works(tmp_path, [f"{tmp_path}/own.py:Own"], [rl.QLearning()], steps=2)
    runs = dict(one(range(8), threading.Event()).runs)
    assert list(runs) == list(range(8))
    failed = [run for run in runs.values() if isinstance(run, FailedRun)]
    assert len(failed) > 0
    assert "ZeroDivisionError" in repr(failed[0].error)


def test_a_file_that_is_edited_meanwhile_ends_the_run(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    (one,) = works(tmp_path, [f"{tmp_path}/own.py:Own"], [rl.QLearning()], steps=2)
    (tmp_path / "own.py").write_text(OWN.replace("1.0", "2.0"))
    ((_, failed),) = one([0], threading.Event()).runs
    assert "own.py is not what it was when this run began" in str(failed.error)
    assert ends_all(failed)


def test_a_run_that_is_stopped_returns_what_it_has(tmp_path):
    (one,) = works(tmp_path, ["FrozenLake-v1"], [rl.QLearning()])
    stop = threading.Event()
    stop.set()
    assert one(range(3), stop).runs == []


def test_what_was_sent_is_learned_as_it_is_here(tmp_path):
    (one,) = works(tmp_path, ["FrozenLake-v1"], [rl.QLearning(gamma=0.9)])
    here, there = one([5, 6], threading.Event()), serve(pickled(one), [5, 6])
    for (_, record), (_, other) in zip(here.runs, there.runs, strict=True):
        assert_same(record, other)
    assert there.versions.keys() > {"numpy", "processor"}
    assert serve(b"nothing", [5]).unreadable.startswith("UnpicklingError: ")
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(b"nothing")


def test_threads_return_results_and_errors():
    threads = Threads(2)
    assert threads.submit(max, 3, 4).result() == 4
    assert isinstance(threads.submit(int, "x").exception(), ValueError)
    names = {threads.submit(lambda: threading.current_thread().name).result() for _ in range(9)}
    assert names <= {"rlsuite worker 0", "rlsuite worker 1"}
    threads.shutdown()
    assert not any(thread.is_alive() for thread in threads._threads)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("thread", ParameterError, r"backend='thread': unknown backend 'thread'; did you mean 'threads'\?"),
        ("math:tau", ParameterError, r"backend='math:tau': math has no function tau; give one that returns"),
        ("math:gcd", ParameterError, r"backend='math:gcd' returned 0, which has no submit; return an executor of conc"),
        ("nowhere_at_all:make", FileError, "there is no module 'nowhere_at_all' to import"),
    ],
)
def test_what_is_no_backend_is_named(name, kind, message):
    with pytest.raises(kind, match=message):
        backend_of(name, 2)


def test_dask_is_asked_for_where_it_is_missing(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(work, "import_module", missing)
    with pytest.raises(MissingPackage, match=r"backend='dask://host:8786' needs dask: pip install 'rlsuite\[dask\]'"):
        backend_of("dask://host:8786", 1)


def test_a_scheduler_that_is_away_is_named(monkeypatch):
    class Away:
        @staticmethod
        def Client(address, timeout):  # noqa: N802 - dask's name
            raise OSError(f"Timed out trying to connect to {address}")

    monkeypatch.setattr(work, "import_module", lambda name: Away)
    with pytest.raises(ParameterError, match=r"no scheduler answers there \(Timed out .* tcp://host:8786\); start one"):
        backend_of("dask://host:8786", 1)
