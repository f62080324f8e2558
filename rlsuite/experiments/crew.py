"""Cells are sent to backends in batches; one thread writes what comes back, wherever it was learned.

By default this process begins alone, in one thread. How long cells take, and how much of that in compiled loops,
decides who helps: other threads, which can learn while a compiled loop runs; or other processes, if there is enough to
do for them to be started. If all together are not faster than this one thread was, it goes on alone.
"""

import math
import secrets
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, NoReturn

from rlsuite.agents.schedules import EPISODES, STEPS
from rlsuite.core.files import replacing
from rlsuite.errors import (
    LearningError,
    LimitReached,
    NotLearned,
    NoWorkersWarning,
    OneProcessWarning,
    ParameterError,
    RlsuiteError,
    level_of_the_caller,
)
from rlsuite.experiments.checkpoints import CHECKPOINTS, CellCheckpoint
from rlsuite.experiments.config import Limits, Settings
from rlsuite.experiments.progress import Progress
from rlsuite.experiments.runs import Case, Cell, seeds_of
from rlsuite.experiments.segments import OWN, entry_of, is_possible
from rlsuite.experiments.store import Writer
from rlsuite.experiments.work import MANY, Backend, Outcomes, Work, backend_of, running
from rlsuite.experiments.writing import write_progress
from rlsuite.training.budget import Budget
from rlsuite.training.failures import FailedRun, always, ends_all, in_words
from rlsuite.training.results import Record

SAVING = 10.0
"""Seconds that the runs have for saving themselves when they are stopped."""

LOOK_EVERY = 0.1
"""Seconds between two updates of the progress of the cells that are being learned."""

TELL_EVERY = 5.0
"""Seconds between two notes of the time left, for who looks into the folder."""

UNKNOWN_AFTER = 1.0
"""Seconds after which others help, although no cell has been completed yet."""

LEAST_SECONDS = 6.0
"""Seconds of work that must be left for processes to be started: each takes one to three seconds until it learns."""

TRIED = 5.0
"""Seconds after which it is measured whether others help."""

FASTER = 1.1
"""How many times as fast as one thread all must be together; else the others get no more cells."""

MOST_LOSSES = 5
"""How often the process that learns a cell may be lost."""

MOST_SUSPECTS = 3
"""Cells in a row that lose their processes so often; more are the fault of the backend."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C during an experiment; what was finished is on disk."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"stopped; {done} of {total} cells are done; run it again to continue")


class Batch(NamedTuple):
    """Cells that are sent at once."""

    case: Case
    seeds: list[int]
    backend: Backend


class Crew:
    """Backends that learn the cells of an experiment.

    Parameters
    ----------
    experiment : Settings
        The experiment.
    cells : sequence of Cell
        What is to be learned.
    compiles : callable
        Whether an agent may learn in the compiled loop.
    folder : Path
        Of the experiment.
    writer : Writer
        Writes the cells.
    workers : int
        How many threads or processes.
    fail_fast : bool
        Whether the first failure ends it all.
    made_with : mapping
        The versions in this process.
    """

    def __init__(
        self,
        experiment: Settings,
        cells: Sequence[Cell],
        compiles: Callable[[Case], bool],
        folder: Path,
        writer: Writer,
        workers: int,
        fail_fast: bool,
        made_with: Mapping[str, str],
    ) -> None:
        self.experiment, self.compiles, self.folder, self.writer = experiment, compiles, folder, writer
        self.workers = workers
        self.ends = always if fail_fast else ends_all
        seeds = seeds_of(cells)
        common = experiment.timing, experiment.loop, experiment.regret, folder, secrets.token_hex(8)
        self.limits = Limits.of(experiment.limits)
        more = len(cells) >= MANY, experiment.keep, made_with, self.limits
        self.works = {case: Work(case, *common, *more) for case in seeds}
        self.todo = deque((case, deque(waiting)) for case, waiting in seeds.items())
        self.n_todo = len(cells)
        self.backends: list[Backend] = []
        self._waits = False
        self.sent: dict[Future[Outcomes], Batch] = {}
        self.pace = Pace()
        self.stop = threading.Event()
        self._told = time.monotonic() - TELL_EVERY + 1.0
        self._checkpoints = folder / CHECKPOINTS
        self._lost: Counter[tuple[Case, int]] = Counter()
        self._suspects: list[tuple[Case, int, BaseException]] = []
        self._warned: set[tuple[type[Warning], str]] = set()

    def work(self, backend: str, total: int, progress: bool) -> None:
        """Learn all cells; Ctrl-C, and failures that mean that all others fail, too, stop it.

        Parameters
        ----------
        backend : str
            Where.
        total : int
            How many cells there are, with those that were learned before.
        progress : bool
            Whether to show how far it is.
        """
        if self.limits.memory < math.inf and backend == "threads" and self.workers > 1:
            raise ParameterError(
                "limits.memory with backend='threads': threads share their memory; use backend='processes', or 1 worker"
            )
        own = "threads" if backend == "auto" else backend
        self.backends.append(backend_of(own, 1 if backend == "auto" else self.workers))
        helped = backend != "auto" or self.workers == 1
        with Progress(self.experiment.name, total - self.n_todo, total, progress) as bar:
            try:
                while self.todo or self.sent:
                    self._send()
                    self._collect(bar, LOOK_EVERY)
                    helped = helped or self._get_help(bar)
                    self._look_who_helps()
                    self._look_who_is_there()
                self._convict(bar)
            except KeyboardInterrupt:
                self._end(bar)
                raise Stopped(bar.done, total) from None
            finally:
                self._end(bar)

    # ------------------------------------------------------------------------------------- sending

    def _send(self) -> None:
        """Send cells to all who have room, those of one agent after those of another."""
        for backend in self.backends:
            while self.todo and backend.room > 0:
                case, waiting = self.todo.popleft()
                size = self.pace.size(case, backend.seconds, self.n_todo // (2 * self.workers) + 1)
                seeds = [waiting.popleft() for _ in range(min(len(waiting), size))]
                if waiting:
                    self.todo.append((case, waiting))
                self.n_todo -= len(seeds)
                batch = Batch(case, seeds, backend)
                try:
                    future = backend.submit(self.works[case], seeds, self.stop)
                except ParameterError as error:  # of the scheduler that it was told to use
                    raise LearningError(f"{error}; what was learned is kept: run it again") from error
                except Exception as error:  # whatever an executor raises that cannot take it
                    self._lose(batch, error)
                    return
                self.sent[future] = batch

    def _lose(self, batch: Batch, error: BaseException) -> None:
        """Have cells learned again, one by one, whose process has been lost."""
        case, seeds, backend = batch
        if backend is not self.backends[0]:  # which only helps
            self._do_without(backend, f"{type(error).__name__}: {error}")
        elif not any(sent.backend is backend for sent in self.sent.values()):
            backend.restart()
        for seed in reversed(seeds):
            self._lost[case, seed] += len(seeds) == 1
            if self._lost[case, seed] < MOST_LOSSES:
                self.n_todo += 1
                self.todo.appendleft((case, deque([seed])))
                continue
            self._suspects.append((case, seed, error))
            if len(self._suspects) > MOST_SUSPECTS or not self.pace.seconds:
                raise LearningError(
                    f"backend={backend.kind!r} learns nothing ({type(error).__name__}: {error}); what was learned is "
                    "kept: run it again, or with another backend"
                ) from error

    def _convict(self, bar: Progress) -> None:
        """Note as failures the cells whose processes were lost, as those of others are not."""
        for case, seed, error in self._suspects:
            killed = LearningError(
                f"the process that learned it ended {MOST_LOSSES} times ({type(error).__name__}), as one does that is "
                "killed for its memory"
            )
            self._keep(case, seed, FailedRun.of(killed, None), self.works[case].made_with, bar)
        self._suspects.clear()

    # ------------------------------------------------------------------------------------- collecting

    def _collect(self, bar: Progress, seconds: float) -> None:
        done, _ = wait(self.sent, seconds, FIRST_COMPLETED)
        for future in done:
            batch = self.sent.pop(future)
            batch.backend.sent.discard(future)
            error = None if future.cancelled() else future.exception()
            if error is None and not future.cancelled():
                self._write(batch, future.result(), bar)
            elif batch.backend.kind == "threads":  # nothing but KeyboardInterrupt and the like ends there
                assert error is not None
                raise error
            else:
                self._lose(batch, error or RuntimeError("it was cancelled"))
        self.writer.look()
        if time.monotonic() >= self._told + TELL_EVERY:
            self._told = time.monotonic()
            write_progress(self.writer.aside, bar.seconds_left(sum(self._parts())))
        bar.look([] if done else self._parts())

    def _write(self, batch: Batch, outcomes: Outcomes, bar: Progress) -> None:
        """Write what has been learned; raise an error that ends it all."""
        case = batch.case
        if outcomes.unreadable:
            self._cannot_be_sent(batch, outcomes.unreadable)
            return
        self._convict(bar)
        self.pace.add(case, outcomes, alone=len(self.backends) == 1, helper=batch.backend is not self.backends[0])
        for warned in outcomes.warned:
            if warned not in self._warned:
                self._warned.add(warned)
                warnings.warn(warned[1], warned[0], stacklevel=level_of_the_caller())
        end: tuple[int, FailedRun] | None = None
        for seed, outcome in outcomes.runs:
            if isinstance(outcome, Record):
                outcome = _possible(outcome)
            if isinstance(outcome, FailedRun) and self.ends(outcome):
                end = end or (seed, outcome)
            else:
                self._keep_agent(case, seed, outcomes)
                self._keep(case, seed, outcome, outcomes.versions, bar)
        if end is not None:
            _raise(case, *end)
        left = batch.seeds[len(outcomes.runs) :]  # the run is being stopped
        if left:
            self.n_todo += len(left)
            self.todo.append((case, deque(left)))

    def _keep(
        self, case: Case, seed: int, outcome: Record | FailedRun, made_with: Mapping[str, str], bar: Progress
    ) -> None:
        if isinstance(outcome, FailedRun):
            kept = outcome.named(case.agent.label, case.environment.label, seed)
            bar.fail()
        else:
            kept = outcome if outcome.seed == seed else replace(outcome, seed=seed)
            bar.finish(kept)
        self.writer.add(entry_of(case.pair, case.spec, made_with, kept))
        limited = isinstance(outcome, FailedRun) and isinstance(outcome.error, LimitReached)
        if self._checkpoints.is_dir() and not limited:  # which goes on from there, if it gets more
            self.writer.flush()
            CellCheckpoint(self.folder, case.pair, seed, case.spec, made_with).remove()

    def _keep_agent(self, case: Case, seed: int, outcomes: Outcomes) -> None:
        """Write the file of an agent, before its cell counts as done."""
        if seed in outcomes.agents:
            file = self.folder / Cell(case, seed).agent_file
            file.parent.mkdir(parents=True, exist_ok=True)
            with replacing(file) as unfinished:
                unfinished.write_bytes(outcomes.agents[seed])

    def _cannot_be_sent(self, batch: Batch, why: str) -> None:
        """Learn in this process what others cannot read; an error, if they were asked for by name."""
        if batch.backend is self.backends[0]:
            raise LearningError(
                f"backend={batch.backend.kind!r}: {batch.case.name(batch.seeds[0])} cannot be learned there ({why}); "
                "what was learned is kept: run it again with backend='threads'"
            )
        self._do_without(batch.backend, why)
        self.n_todo += len(batch.seeds)
        self.todo.appendleft((batch.case, deque(batch.seeds)))

    def _parts(self) -> list[float]:
        """How much is done, from 0 to 1, of the cells that threads of this process learn."""
        amount = Budget.of(**self.experiment.timing).amount
        clock = STEPS if self.experiment.steps else EPISODES
        found: list[float] = []
        for agent in list(running.values()):
            try:
                found.append(min(1.0, int(getattr(agent, "memory_").clock[clock]) / amount))  # noqa: B009 - if it has one
            except (NotLearned, AttributeError):
                continue
        return found

    # ------------------------------------------------------------------------------------- help

    def _get_help(self, bar: Progress) -> bool:
        """Get others to help as soon as that saves time; True if nothing more is to be decided."""
        if bar.compiling.now or not self.todo:
            return False
        if self.pace.seconds:
            free = self.pace.learning > self.pace.seconds / 2
        elif self.pace.since_begin() < UNKNOWN_AFTER:
            return False
        else:
            free = self.experiment.loop != "stepwise" and self.compiles(self.todo[0][0])
        free = free and self.limits.memory == math.inf  # threads share their memory
        left = self.pace.left(self.todo, max(self.pace.since_begin(), UNKNOWN_AFTER))
        if left < (0.5 if free else LEAST_SECONDS):
            return False
        self.backends.append(backend_of("threads" if free else "processes", self.workers - 1))
        return True

    def _look_who_helps(self) -> None:
        """Send nothing more to those who do not make it faster."""
        if len(self.backends) > 1 and self.pace.is_tried() and self.pace.speed() < FASTER:
            del self.backends[1:]  # what they learn at present is waited for

    def _look_who_is_there(self) -> None:
        """Start processes of our own again, if none is left; say so, if others have to start them."""
        backend = self.backends[0]
        if not backend.is_deserted():
            return
        if backend.is_own:
            lost = [self.sent.pop(future) for future in backend.sent]
            backend.restart()
            for batch in lost:
                self._lose(batch, RuntimeError("no process was left"))
        elif not self._waits:
            self._waits = True
            message = (
                f"the scheduler has no workers, and {self.n_todo + sum(len(one.seeds) for one in self.sent.values())} "
                "cells wait for one; start some with 'dask worker', or press Ctrl-C: what was learned is kept"
            )
            warnings.warn(message, NoWorkersWarning, stacklevel=level_of_the_caller())

    def _do_without(self, backend: Backend, why: str) -> None:
        if backend in self.backends:
            self.backends.remove(backend)
            message = f"cells are learned in one thread, because they cannot be sent to other processes ({why})"
            warnings.warn(" ".join(message.split()), OneProcessWarning, stacklevel=level_of_the_caller())

    def _end(self, bar: Progress) -> None:
        """Stop what is being learned, and write what has been."""
        self.stop.set()
        until = time.monotonic() + SAVING
        own = {future: batch for future, batch in self.sent.items() if batch.backend.kind == "threads"}
        wait(own, max(0.0, until - time.monotonic()))
        for future, batch in own.items():
            del self.sent[future]
            if future.done() and not future.cancelled() and future.exception() is None:
                for seed, outcome in future.result().runs:
                    if isinstance(outcome, Record):
                        self._keep_agent(batch.case, seed, future.result())
                        self._keep(batch.case, seed, outcome, future.result().versions, bar)
        self.writer.flush()
        for backend in {
            id(one): one for one in (*self.backends, *(batch.backend for batch in self.sent.values()))
        }.values():
            backend.end()
        self.sent.clear()


def _possible(record: Record) -> Record | FailedRun:
    """The record, or a failure if it has numbers that no file may hold."""
    for name in OWN:
        if name != "episode_length" and not is_possible(name, getattr(record, name)):
            return FailedRun.of(LearningError(f"{name} has a number that is not finite"), None)
    return record


def _raise(case: Case, seed: int, failed: FailedRun) -> NoReturn:
    error = failed.error
    if isinstance(error, RlsuiteError):
        raise type(error)(f"{case.name(seed)}: {error}") from error
    where = f" ({failed.where})" if failed.where else ""
    raise LearningError(f"{case.name(seed)}: the environment or the agent raised {in_words(error)}{where}") from error


class Pace:
    """How long cells take."""

    def __init__(self) -> None:
        self.seconds = self.learning = 0.0
        self._began = time.monotonic()
        self._of: dict[Case, float] = {}
        self._in: dict[str, float] = {}
        self._alone: dict[Case, float] = {}
        self._alone_in: dict[str, float] = {}
        self._helped: float | None = None
        self._done = 0.0

    def since_begin(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._began

    def add(self, case: Case, outcomes: Outcomes, alone: bool, helper: bool) -> None:
        """Note how long some cells took, which one thread has learned alone, or with others, or a helper."""
        self.seconds += outcomes.seconds
        self.learning += outcomes.learning
        if not outcomes.runs:
            return
        cost = outcomes.seconds / len(outcomes.runs)
        self._of[case] = self._in[case.environment.label] = cost
        if alone:
            self._alone[case] = self._alone_in[case.environment.label] = cost
        elif helper and self._helped is None:
            self._helped, self._done = time.monotonic(), 0.0
        elif self._helped is not None:
            before = self._alone.get(case, self._alone_in.get(case.environment.label, cost))
            self._done += before * len(outcomes.runs)

    def cost(self, case: Case) -> float | None:
        """Seconds of a cell; None if nothing like it has been learned yet."""
        return self._of.get(case, self._in.get(case.environment.label))

    def size(self, case: Case, seconds: float, most: int) -> int:
        """How many cells take so long; 1 if that is not known."""
        cost = self.cost(case)
        return 1 if cost is None else max(1, min(most, int(seconds / max(cost, 1e-7))))

    def left(self, todo: Iterable[tuple[Case, Sized]], unknown: float) -> float:
        """Seconds that one thread needs for some cells; ``unknown`` for each of which nothing is known."""
        total = 0.0
        for case, seeds in todo:
            cost = self.cost(case)
            total += len(seeds) * (unknown if cost is None else cost)
        return total

    def is_tried(self) -> bool:
        """Whether others have helped for so long that it can be told how much."""
        return self._helped is not None and time.monotonic() - self._helped > TRIED

    def speed(self) -> float:
        """How many times as fast as one thread alone all have been since others help, or since this was asked."""
        assert self._helped is not None
        now = time.monotonic()
        speed = self._done / (now - self._helped)
        self._helped, self._done = now, 0.0
        return speed
