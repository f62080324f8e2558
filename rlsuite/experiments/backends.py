"""Where cells are learned: threads, processes, dask's workers, or any other executor of ``concurrent.futures``.

A backend is asked for work by `rlsuite.experiments.run`, which sends some cells at once, and writes what comes back.
"""

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from rlsuite.core.modules import module_of, parts_of
from rlsuite.errors import MissingPackage, ParameterError, unknown
from rlsuite.experiments.work import Outcomes, Work, serve
from rlsuite.training.processes import begin, pickled

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
