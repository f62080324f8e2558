"""Many seeds in an environment that has to be stepped: other processes help, because Python steps in one thread only.

This process learns, too, seed after seed. While it does so it looks how long that will take, and starts the others only
where they will be ready before all is over. Once they learn, it measures whether all together are faster than it was
alone: cores that are busy, or that a container does not really have, help nobody. Where they are not, it continues
alone. The record of a seed does not depend on the process in which its agent learns.
"""

import _thread
import io
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from rlsuite import errors
from rlsuite.core.compilation import Compiled
from rlsuite.core.compiling_clock import Compiling
from rlsuite.core.modules import check_content, files_run, run_file
from rlsuite.training.failures import FailedRun
from rlsuite.training.results import Record

LEAST_SECONDS = 6.0
"""Seconds of work that must be left for processes to be started: each takes one to three seconds until it learns."""

FASTER = 1.2
"""How many times as fast as this process alone all must be together; else the other processes get no more seeds."""

LOOK_EVERY = 0.25
"""Seconds between two looks at how much is left."""

BATCH_SECONDS = 0.3
"""Seconds of work that are sent at once: to send something takes a millisecond."""


class RunOfSeed(Protocol):
    """Learns with one seed; can be sent to another process."""

    def __call__(self, seed: int) -> Record | FailedRun:
        """Learn."""
        ...


class _Outcome(NamedTuple):
    """What another process sends back."""

    runs: list[Record | FailedRun]
    """One for each seed; fewer if one failed, and the others are not wanted then."""
    seconds: float
    """How long the last of them took: an earlier one may have waited for machine code."""
    warned: list[tuple[type[Warning], str]]


class Unreadable(NamedTuple):
    """What was sent to another process cannot be read there."""

    reason: str


def with_seed(error: Exception, seed: int) -> Exception:
    """Name the seed whose run has ended in an error: in the message of an error of ours, in a note to another."""
    if isinstance(error, errors.LearningError):
        error.args = (f"seed {seed}: {error}",)
    elif not isinstance(error, errors.RlsuiteError):
        error.add_note(f"(in the run with seed={seed})")
    return error


class Seeds:
    """The seeds that are still to be learned with, and the records of the others.

    Parameters
    ----------
    run : RunOfSeed
        Learns with one seed.
    seeds : sequence of int
        The seeds.
    workers : int
        Processes, with this one.
    done : callable
        Receives how many runs have been finished since the last time.
    ends : callable
        Whether a failure ends it all.
    """

    def __init__(
        self,
        run: RunOfSeed,
        seeds: Sequence[int],
        workers: int,
        done: Callable[[int], object],
        ends: Callable[[FailedRun], bool],
    ):
        self.run = run
        self.ends = ends
        self.seeds = seeds
        self.done = done
        self.n_helpers = min(workers, len(seeds)) - 1
        self._waiting = deque(range(len(seeds)))
        self._runs: dict[int, Record | FailedRun] = {}
        self._changed = threading.Condition(threading.RLock())  # held to change what follows, and the records
        self._sent: set[Future[Any]] = set()
        self._ended = False  # by a failure
        self._warned: dict[tuple[type[Warning], str], bool] = {}  # whether it has been said here
        self._pool: Any = None  # joblib has no type annotations
        self._payload = b""
        self._seconds = 0.0  # of one run, as far as it is known
        self._alone = 0.0  # the same, of a whole run of this process by itself; 0 if there was none
        self._together = (0.0, 0.0)  # the same of this process, and of another, while all learn
        self._helping = False  # whether another process has learned
        self._begun: float | None = None  # the run of this process
        self._over = False
        self._can_be_ended = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )

    def runs(self) -> dict[int, Record | FailedRun]:
        """Learn with all of them, or until a failure ends it; returns what has become of each, by its number."""
        looks = threading.Thread(target=self._look, name="rlsuite helpers", daemon=True)
        compiling = Compiling(lambda: None)
        self._compiling = compiling
        try:
            with compiling:
                if self.n_helpers:
                    try:
                        looks.start()
                    except RuntimeError as error:  # Python in a browser cannot start threads
                        self._unable(str(error))
                self._work()
                self._wait()
        except KeyboardInterrupt:
            if not self._ended:
                raise
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()
            if looks.is_alive():
                looks.join()
            if self._pool is not None:
                self._pool.shutdown(kill_workers=True)
        self._say()
        return self._runs

    def _work(self) -> None:
        """Learn in this process until no seed is waiting."""
        while self._waiting and not self._ended:
            try:
                number = self._waiting.popleft()
            except IndexError:  # another process was faster
                return
            self._begun = began = time.perf_counter()
            helped = self._helping
            try:
                run = self.run(self.seeds[number])
            finally:
                self._begun = None
            with self._changed:
                self._runs[number] = run
                self.done(1)
                if isinstance(run, FailedRun):
                    self._ended = self._ended or self.ends(run)
                else:
                    seconds = time.perf_counter() - began - run.compiling_seconds
                    if helped:  # from its beginning
                        self._together = (seconds, self._together[1])
                    elif not self._helping:
                        self._seconds = self._alone = min(seconds, self._alone or seconds)
            self._say()

    def _wait(self) -> None:
        """Wait for the other processes; what they could not do is done here."""
        while not self._ended:
            with self._changed:
                while self._sent and not self._waiting and not self._ended:
                    self._changed.wait(1.0)
            if not self._waiting:
                return
            self._work()

    def _look(self) -> None:
        """Start the other processes as soon as they save time."""
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: self._over, LOOK_EVERY):
                    return
            begun = self._begun
            if self._compiling.now:
                continue
            seconds = self._seconds or (0.0 if begun is None else time.perf_counter() - begun)
            if not self._waiting or len(self._waiting) * seconds < LEAST_SECONDS:
                continue
            switches = sys.getswitchinterval()
            sys.setswitchinterval(1e-4)  # otherwise each file that is imported waits some milliseconds for the run
            try:
                self._start(seconds)
            finally:
                sys.setswitchinterval(switches)
            return

    def _start(self, seconds: float) -> None:
        """Start the other processes."""
        try:
            from joblib.externals import loky

            self._payload = pickled(self.run)
        except Exception as error:  # whatever the parts of an environment raise
            self._unable(f"{type(error).__name__}: {error}")
            return
        executor: Any = loky.ProcessPoolExecutor
        pool = executor(self.n_helpers, initializer=begin, initargs=(os.getpid(),))
        with self._changed:
            self._seconds = self._seconds or seconds
            self._pool = pool
            for _ in range(self.n_helpers):
                self._send()

    def _unable(self, reason: str) -> None:
        """Record, once, that no other process can help."""
        with self._changed:
            what = (
                f"the seeds are learned one after the other, because they cannot be sent to other processes ({reason})"
            )
            self._warned.setdefault((errors.OneProcessWarning, " ".join(what.split())), False)
            self._changed.notify_all()

    def _pays(self) -> bool:
        """Whether all processes together are faster than this one was alone; yes as long as that is not known."""
        own, other = self._together
        if 0.0 in (self._alone, own, other):
            return True
        return self._alone * (1.0 / own + self.n_helpers / other) >= FASTER

    def _send(self) -> None:
        """Send some seeds to the other processes, if they help; with the condition held."""
        if self._over or self._ended or not self._pays():
            return
        fair = len(self._waiting) // (4 * (self.n_helpers + 1))
        size = max(1, min(int(BATCH_SECONDS / max(self._seconds, 1e-6)), fair))
        batch: list[int] = []
        while self._waiting and len(batch) < size:
            try:
                batch.append(self._waiting.popleft())
            except IndexError:  # this process was faster
                break
        if not batch:
            return
        try:
            seeds = [self.seeds[number] for number in batch]
            future: Future[Any] = self._pool.submit(_serve, self._payload, seeds, self.ends)
        except Exception as error:  # the processes have ended
            self._back(batch, error)
            return
        self._sent.add(future)
        future.add_done_callback(lambda future: self._receive(future, batch))

    def _receive(self, future: Future[Any], batch: list[int]) -> None:
        """Record what another process has learned, and send it more."""
        with self._changed:
            self._sent.discard(future)
            if self._over:
                return
            lost = None if future.cancelled() else future.exception()
            if lost is not None or future.cancelled():
                self._back(batch, lost)
            else:
                outcome = future.result()
                if isinstance(outcome, Unreadable):
                    self._waiting.extendleft(reversed(batch))
                    self._unable(outcome.reason)
                else:
                    self._record(outcome, batch)
                    self._send()
            self._changed.notify_all()

    def _record(self, outcome: _Outcome, batch: list[int]) -> None:
        self._runs.update(zip(batch, outcome.runs, strict=False))
        self._helping, self._together = True, (self._together[0], outcome.seconds)
        if outcome.runs:
            self.done(len(outcome.runs))
        for warned in outcome.warned:
            self._warned.setdefault(warned, warned[0] is errors.SlowWarning)  # this process has said that
        if any(isinstance(run, FailedRun) and self.ends(run) for run in outcome.runs):
            self._ended = True
            # the run of this process, which may last for hours, need not be completed
            if self._begun is not None and self._can_be_ended:
                _thread.interrupt_main()

    def _back(self, batch: list[int], lost: BaseException | None) -> None:
        """Learn here what a process that has ended was to learn."""
        self._waiting.extendleft(reversed(batch))
        seeds = ", ".join(str(self.seeds[number]) for number in batch[:3]) + (", ..." if len(batch) > 3 else "")
        why = "" if lost is None else f" ({type(lost).__name__})"
        said = f"a process that learned with seeds {seeds} has ended{why}, as one does that is killed for its memory; "
        self._warned.setdefault((errors.OneProcessWarning, said + "this process learns with them"), False)

    def _say(self) -> None:
        """Issue the warnings of the other processes, each once."""
        with self._changed:
            new = [warned for warned, said in self._warned.items() if not said]
            self._warned.update(dict.fromkeys(new, True))
        for category, message in new:
            warnings.warn(message, category, stacklevel=errors.level_of_the_caller())


def pickled(run: object) -> bytes:
    """The run by value, where its classes and functions are those of the user's script.

    Files that were run for it, such as ``agents.py:MyAgent``, are run there, too, if they are the same there.
    """
    import cloudpickle

    pickler: Any = cloudpickle.Pickler

    with io.BytesIO() as file:
        sender: Any = pickler(file)
        others: Any = sender.reducer_override

        def reduced(value: object) -> object:
            if isinstance(value, Compiled):
                return cast("Compiled[..., object]", value).for_another_process()
            return others(value)

        sender.reducer_override = reduced
        sender.dump(run)
        content = file.getvalue()
    files = {name: held for name, held in files_run().items() if name.encode() in content}
    return pickle.dumps((files, content))


def unpickled(payload: bytes) -> Any:
    """Read what another process has pickled.

    Raises
    ------
    FileError
        If a file that it needs is missing here, or differs.
    Exception
        Whatever the parts of an environment raise.
    """
    files, content = pickle.loads(payload)  # made by the process that has started this one, or asks for it
    for path, held in files.values():
        check_content(Path(path), held)
        run_file(Path(path))
    return pickle.loads(content)


def begin(parent: int) -> None:
    """What another process does first: Ctrl-C is its parent's affair, and it ends when its parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, name="rlsuite parent", daemon=True).start()


_read: dict[bytes, RunOfSeed] = {}
"""What was sent to this process."""


def _serve(payload: bytes, seeds: Sequence[int], ends: Callable[[FailedRun], bool]) -> _Outcome | Unreadable:
    """Learn in another process."""
    if payload not in _read:
        try:
            _read[payload] = unpickled(payload)
        except Exception as error:  # whatever the parts of an environment raise
            return Unreadable(f"{type(error).__name__}: {error}")
    run = _read[payload]
    runs: list[Record | FailedRun] = []
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for seed in seeds:
            began = time.perf_counter()
            runs.append(one := run(seed))
            if isinstance(one, FailedRun) and ends(one):
                break
    warned = list(dict.fromkeys((one.category, str(one.message)) for one in said))
    return _Outcome(runs, time.perf_counter() - began, warned)
