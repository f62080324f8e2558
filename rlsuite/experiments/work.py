"""Learning cells of one agent in one environment, in whatever thread, process or machine.

What the cells share is prepared once: the environment, and what was found out about it, for all agents; the memory and
the compiled loop for all seeds of an agent (`rlsuite.training.replicas`). That is done where the table, or the
dynamics, of the environment are known to be right. In any other environment each cell begins from scratch, so that what
it finds out does not depend on the cells before it.

Cells are learned in threads, processes, dask's workers, or any other executor of ``concurrent.futures`` (`backend_of`).
"""

import copy
import dataclasses
import functools
import json
import os
import queue
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import gymnasium

from rlsuite.agents import Agent
from rlsuite.core.modules import check_content, module_of, parts_of
from rlsuite.core.narrowing import Table
from rlsuite.environments.facts import facts_of
from rlsuite.environments.finding import closed, find_env
from rlsuite.environments.forms.known_kinds import is_known_kind
from rlsuite.errors import MissingPackage, ParameterError, unknown
from rlsuite.experiments.checkpoints import CellCheckpoint, learn_cell
from rlsuite.experiments.config import Limits
from rlsuite.experiments.runs import Case
from rlsuite.experiments.writing import versions
from rlsuite.training.budget import Budget, LoopChoice
from rlsuite.training.failures import FailedRun
from rlsuite.training.optimum import Optima
from rlsuite.training.processes import begin, pickled, unpickled
from rlsuite.training.replicas import Replica, Replicas
from rlsuite.training.results import Record
from rlsuite.training.run import Run
from rlsuite.training.signals import Stopped
from rlsuite.training.train import own_options

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env


MANY = 200
"""Cells from which on it pays to load the compiled loop, also for runs that would be over before it is loaded."""

LONG = 2.0
"""Seconds of a run from which on it is one by itself, which is saved from time to time."""

MOST_KEPT = 8
"""Environments, and agents in them, that a thread has ready."""


class Outcomes(NamedTuple):
    """What has become of some cells."""

    runs: list[tuple[int, Record | FailedRun]]
    """By seed; fewer than were asked for, if the run was stopped."""
    seconds: float
    learning: float
    """Seconds of these in compiled loops, in which other threads can go on."""
    versions: Mapping[str, str]
    warned: list[tuple[type[Warning], str]]
    agents: Mapping[int, bytes]
    """Files of the agents by seed, if they are kept."""
    unreadable: str = ""
    """Why what was sent could not be read, if so."""


class Bench(threading.local):
    """What a thread has ready for an experiment."""

    def __init__(self) -> None:
        self.experiment = ""
        self.environments: OrderedDict[str, tuple[Env, bool]] = OrderedDict()
        self.firsts: OrderedDict[tuple[str, float], Run] = OrderedDict()
        self.replicas: OrderedDict[str, Replica] = OrderedDict()

    def clear(self, experiment: str) -> None:
        """Clear away what belongs to another experiment."""
        if self.experiment != experiment:
            self.experiment = experiment
            for kept in (self.environments, self.firsts, self.replicas):
                kept.clear()


_bench = Bench()
_optima: dict[str, Optima] = {}
running: dict[int, Agent] = {}
"""The agents that learn in threads of this process."""


class Work:
    """One agent in one environment; it can be sent to another process.

    Parameters
    ----------
    case : Case
        The agent and the environment.
    timing, loop, regret
        Of the experiment.
    folder : Path
        Of the experiment, for checkpoints where it exists.
    experiment : str
        What tells this run of the experiment apart from others.
    many : bool
        Whether to prepare once what the cells share.
    keep : {"records", "agents"}
        Whether agents are kept.
    made_with : mapping
        The versions in this process.
    limits : Limits
        Of each cell; with some, each begins from scratch.
    """

    def __init__(
        self,
        case: Case,
        timing: Table,
        loop: LoopChoice,
        regret: bool,
        folder: Path,
        experiment: str,
        many: bool,
        keep: str,
        made_with: Mapping[str, str],
        limits: Limits,
    ) -> None:
        self.agent = dataclasses.replace(case.agent.agent)
        self.env_id, self.keywords, self.files = case.env_id, case.keywords, case.files
        self.pair, self.spec = case.pair, case.spec
        self.timing, self.regret, self.folder = timing, regret, folder
        self.loop: LoopChoice = loop
        self.experiment, self.keep, self.made_with, self.limits = experiment, keep, made_with, limits
        self.many = many and keep == "records" and limits == Limits()
        self.own_loop = type(self.agent).learn is not Agent.learn

    def __call__(self, seeds: Sequence[int], stop: threading.Event) -> Outcomes:
        """Learn with some seeds; an error is an outcome, too."""
        began = time.perf_counter()
        runs: list[tuple[int, Record | FailedRun]] = []
        agents: dict[int, bytes] = {}
        _bench.clear(self.experiment)
        try:
            for seed, record in zip(seeds, self._together(_bench, seeds, stop), strict=True):
                runs.append((seed, self._alone(_bench, seed, stop, agents) if record is None else record))
                if stop.is_set():
                    break
        except Stopped:  # by `stop`; the run has been saved
            pass
        learning = sum(one.seconds for _, one in runs if isinstance(one, Record) and one.loop == "compiled")
        return Outcomes(runs, time.perf_counter() - began, learning, self.made_with, [], agents)

    def _together(self, bench: Bench, seeds: Sequence[int], stop: threading.Event) -> Iterator[Record | None]:
        """The records of runs that need not be learned one by one; None of the others."""
        replica = self._replica(bench, seeds[0], stop) if self.many else None
        if replica is None:
            for _ in seeds:
                yield None
        else:
            for record in replica.records(seeds):
                if record is None and stop.is_set():
                    raise Stopped
                yield record

    def _replica(self, bench: Bench, seed: int, stop: threading.Event) -> Replica | None:
        """What learns with many seeds; None if each run begins from scratch."""
        if self.own_loop or self.loop == "stepwise":
            return None
        key = json.dumps([self.pair, self.spec])
        if (replica := bench.replicas.get(key)) is not None:
            return replica
        try:
            env, known = self._environment(bench)
            if not known:
                return None
            agent, budget, of = dataclasses.replace(self.agent), Budget.of(**self.timing), (self._key, self.agent.gamma)
            first = agent.first_run(env, seed, self.loop, self._optima(), budget, bench.firsts.get(of))
            replicas = None if first is None else Replicas.of(first, agent, budget)
            if first is None or replicas is None:
                return None
            _keep(bench.firsts, of, first)
            replica = Replica(replicas, stop, LONG)
        except Exception:  # whatever it is, a run by itself says it, with its seed
            return None
        _keep(bench.replicas, key, replica)
        return replica

    def _alone(self, bench: Bench, seed: int, stop: threading.Event, agents: dict[int, bytes]) -> Record | FailedRun:
        agent = dataclasses.replace(self.agent)
        running[threading.get_ident()] = agent

        try:
            env, known = self._environment(bench)
            own = env if known else self._copy(env)
            with nullcontext() if known else closed(own):
                record = self._learn(agent, own, seed, stop)
                if self.keep == "agents":
                    agents[seed] = file_of(agent)
        except Exception as error:  # any error of the environment or the agent
            steps: int | None = getattr(agent, "steps_", None)
            return FailedRun.of(error, None if steps is None else steps + 1)
        finally:
            del running[threading.get_ident()]
        return record

    def _learn(self, agent: Agent, env: "Env", seed: int, stop: threading.Event) -> Record:
        optima = self._optima()
        if self.own_loop:
            options = {**self.timing, **own_options(agent, self.loop, None, optima)}
            agent.learn(env, **options, seed=seed)
            return agent.record_
        checkpoint = CellCheckpoint(self.folder, self.pair, seed, self.spec, self.made_with)
        return learn_cell(
            agent, env, Budget.of(**self.timing), seed, self.loop, optima, checkpoint, stop, self.limits.begin()
        )

    @property
    def _key(self) -> str:
        return json.dumps([self.env_id, self.keywords], sort_keys=True)

    def _environment(self, bench: Bench) -> tuple["Env", bool]:
        """The environment, and whether all runs can share it."""
        found = bench.environments.get(self._key)
        if found is None:
            env = self._made()
            facts = facts_of(env)
            found = env, is_known_kind(facts) and facts.only_transparent()
        _keep(bench.environments, self._key, found)
        return found

    def _copy(self, env: "Env") -> "Env":
        """An environment for one run; copying is cheaper than building a model again."""
        try:
            return copy.deepcopy(env)
        except (TypeError, ValueError, RuntimeError):  # a window, a file or a thread cannot be copied
            return self._made()

    def _made(self) -> "Env":
        for path, held in self.files.items():
            check_content(Path(path), held)
        return find_env(self.env_id, **self.keywords)

    def _optima(self) -> Optima | None:
        if not self.regret:
            return None
        if self.experiment not in _optima:
            _optima.clear()
        return _optima.setdefault(self.experiment, Optima())

    def __getstate__(self) -> dict[str, Any]:
        """What the id means is sent, too: it may have been registered in the user's own script."""
        _, _, name = self.env_id.rpartition(":")
        return {**vars(self), "registered": gymnasium.registry.get(name)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        registered = state.pop("registered")
        if registered is not None:
            if isinstance(registered.entry_point, str):  # its package may register the id, too, and is to come first
                import_module(registered.entry_point.partition(":")[0])
            gymnasium.registry[registered.id] = registered
        vars(self).update(state, made_with=_own_versions())


def file_of(agent: Agent) -> bytes:
    """The file of an agent that has learned, without the state of its run."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "agent.npz"
        copy.copy(agent).save(file)
        return file.read_bytes()


@functools.cache
def _own_versions() -> Mapping[str, str]:
    return versions()


def _keep(kept: "OrderedDict[Any, Any]", key: object, value: object) -> None:
    """Keep what was used last."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)


_received: dict[bytes, Work] = {}
"""What was sent to this process."""

MOST_RECEIVED = 1_000


def serve(payload: bytes, seeds: Sequence[int]) -> Outcomes:
    """Learn in another process."""
    work = _received.get(payload)
    if work is None:
        if len(_received) >= MOST_RECEIVED:
            _received.clear()
        try:
            work = unpickled(payload)
        except Exception as error:  # whatever the parts of an environment raise
            return Outcomes([], 0.0, 0.0, {}, [], {}, f"{type(error).__name__}: {error}")
        _received[payload] = work
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        outcomes = work(seeds, threading.Event())
    return outcomes._replace(warned=list(dict.fromkeys((one.category, str(one.message)) for one in said)))


WORKER = "rlsuite worker"
"""Prefix of the names of threads that learn."""

BACKENDS: Final = ("auto", "threads", "processes", "dask")

SECONDS: Final[Mapping[str, float]] = {"threads": 0.25, "processes": 0.5, "dask": 2.0}
"""Seconds of work that are sent at once: to send something takes a thread, a process and dask more and more."""

CONNECT = 10.0
"""Seconds that a scheduler has for answering."""

NO_WORKERS = 60.0
"""Seconds without any worker after which something is done about it."""


class Threads(Executor):
    """Threads that do not keep the program from ending.

    Parameters
    ----------
    n : int
        How many.
    """

    def __init__(self, n: int) -> None:
        self._todo: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"{WORKER} {number}", daemon=True) for number in range(n)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a thread call a function."""
        future: Future[Any] = Future()
        self._todo.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end after their calls, which are waited for a second."""
        for _ in self._threads:
            self._todo.put(None)
        until = time.monotonic() + 1.0
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self) -> None:
        while (job := self._todo.get()) is not None:
            future, call = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = call()
            except BaseException as error:  # kept in the future, whose result() raises it again
                future.set_exception(error)
            else:
                future.set_result(result)


@dataclass
class Backend:
    """An executor, and how it is used.

    Parameters
    ----------
    kind : str
        "threads", "processes", "dask", or the name of a function.
    start : callable
        Makes the executor; it is made again when its processes have been killed.
    slots : callable
        How many batches it can have at once.
    close : callable
        Ends the executor.
    is_own : bool
        Whether the workers were started by this process, which may start them again.
    executor : Executor, optional
        One that is made already.
    """

    kind: str
    start: Callable[[], Any]
    slots: Callable[[Any], int]
    close: Callable[[Any], object]
    is_own: bool = True
    executor: Any = None
    sent: set[Future[Outcomes]] = field(default_factory=lambda: set())
    payloads: dict[Work, bytes] = field(default_factory=lambda: {})
    _seen: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds of work to be sent at once."""
        return SECONDS.get(self.kind, SECONDS["dask"])

    @property
    def room(self) -> int:
        """How many more batches it can take."""
        return self.slots(self.executor) - len(self.sent)

    def is_deserted(self) -> bool:
        """Whether there has been no worker for a while; asked regularly."""
        if self.slots(self.executor) > 0:
            self._seen = time.monotonic()
        return time.monotonic() - self._seen > NO_WORKERS

    def submit(self, work: Work, seeds: list[int], stop: threading.Event) -> Future[Outcomes]:
        """Send some cells; whatever the executor raises, if that cannot be done."""
        if self.executor is None:
            self.executor = self.start()
        if self.kind == "threads":
            future = self.executor.submit(work, seeds, stop)
        else:
            payload = self.payloads.get(work)
            if payload is None:
                payload = self.payloads[work] = pickled(work)
            future = self.executor.submit(serve, payload, seeds)
        self.sent.add(future)
        return future

    def restart(self) -> None:
        """Make the executor anew, for its processes have been killed."""
        self.end()
        self.sent.clear()
        self._seen = time.monotonic()

    def end(self) -> None:
        """End the executor."""
        if self.executor is not None:
            self.close(self.executor)
            self.executor = None


def backend_of(name: str, workers: int) -> Backend:
    """Return the backend of a name.

    Parameters
    ----------
    name : str
        "threads", "processes", "dask", "dask://host:port", or "module:function" of a function that returns an executor.
    workers : int
        How many threads or processes, where that is not decided elsewhere.

    Raises
    ------
    ParameterError
        If there is none of this name, or it does not answer.
    MissingPackage
        If dask is not installed.
    """
    if name == "threads":
        return Backend("threads", lambda: Threads(workers), lambda _: workers, lambda made: made.shutdown())
    if name == "processes":
        return Backend("processes", lambda: _processes(workers), lambda _: workers, _end_processes)
    if name == "dask" or name.startswith("dask://"):
        own = name == "dask"
        return Backend("dask", lambda: _Dask(name, workers), _slots, _Dask.close, own, _Dask(name, workers))
    module, function = parts_of(name)
    if not module or not function:
        raise ParameterError(
            f"backend={name!r}: {unknown('backend', name, (*BACKENDS, 'dask://host:port', 'module:function'))}"
        )
    executor = _own(name, module, function)
    most = max(workers, int(getattr(executor, "_max_workers", 1) or 1))
    return Backend(name, lambda: executor, lambda _: 2 * most, lambda made: made.shutdown())


def _processes(workers: int) -> Any:
    try:
        from joblib.externals import loky
    except ImportError as error:
        raise MissingPackage("processes need joblib, which is not installed: pip install joblib") from error
    executor: Any = loky.ProcessPoolExecutor
    return executor(workers, initializer=begin, initargs=(os.getpid(),))


def _end_processes(executor: Any) -> None:
    executor.shutdown(kill_workers=True)


class _Dask:
    """Dask as an executor: the workers of a scheduler at an address, or processes on this machine."""

    def __init__(self, name: str, workers: int) -> None:
        try:
            make: Any = import_module("distributed").Client
        except ImportError as error:
            raise MissingPackage(f"backend={name!r} needs dask: pip install 'rlsuite[dask]'") from error
        try:
            if name == "dask":
                self._client = make(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            else:
                self._client = make(f"tcp://{name.removeprefix('dask://')}", timeout=CONNECT)
        except (OSError, ValueError) as error:
            raise ParameterError(
                f"backend={name!r}: no scheduler answers there ({error}); start one with 'dask scheduler', and workers "
                "with 'dask worker', or leave the backend out"
            ) from error
        self.submit = self._client.get_executor().submit
        self._counted, self._threads = -1.0, 0

    def threads(self) -> int:
        """How many threads the workers have now; asked once a second."""
        if time.monotonic() - self._counted > 1.0:
            self._threads = sum(self._client.nthreads().values())
            self._counted = time.monotonic()
        return self._threads

    def close(self) -> None:
        """Disconnect, and end the processes of this machine."""
        self._client.close()


def _slots(dask: _Dask | None) -> int:
    return 2 * dask.threads() if dask is not None else 1


def _own(name: str, module: str, function: str) -> Any:
    found: Any = getattr(module_of(module), function, None)
    if not callable(found):
        raise ParameterError(
            f"backend={name!r}: {module} has no function {function}; give one that returns an executor"
        )
    executor: Any = found()
    if not callable(getattr(executor, "submit", None)):
        raise ParameterError(
            f"backend={name!r} returned {executor!r}, which has no submit; return an executor of concurrent.futures"
        )
    return executor
