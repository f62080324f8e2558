"""Running an experiment: finished cells are kept, and the others are distributed over threads."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import queue
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

import gymnasium
from tqdm import tqdm

from rlsuite.agents import Agent
from rlsuite.agents.schedules import EPISODES, STEPS
from rlsuite.core.checks import worker_number
from rlsuite.core.compiling_clock import Compiling
from rlsuite.core.keywords import as_taken_by
from rlsuite.environments.facts import action_space_of
from rlsuite.environments.finding import find_env
from rlsuite.environments.observation_view import encoding
from rlsuite.errors import FailedRunsWarning, LearningError, NotLearned, RlsuiteError, level_of_the_caller
from rlsuite.experiments.checkpoints import CHECKPOINTS, CellCheckpoint, learn_cell
from rlsuite.experiments.config import Settings
from rlsuite.experiments.runs import Cell, Shard, cells_of
from rlsuite.experiments.store import forget_failure, write_cell, write_failure
from rlsuite.experiments.writing import failed_before, finished, versions, write_description, writing
from rlsuite.training.budget import Budget
from rlsuite.training.failures import FailedRun, Failure, always, ends_all, failure_table, in_words
from rlsuite.training.optimum import Optima
from rlsuite.training.results import Record, Results
from rlsuite.training.signals import Stopped as Ended
from rlsuite.training.train import own_options

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env


class Progress:
    """Steps (or episodes) of all cells, cells done, mean return, speed, and the time left.

    Parameters
    ----------
    name : str
        What to call the experiment.
    amount : int
        Length of one cell in ``unit``.
    unit : {"steps", "episodes"}
        Unit of time.
    done, total : int
        Cells that are finished, and all cells.
    visible : bool
        Whether to show anything; without a terminal the bar stays hidden in any case.
    """

    def __init__(self, name: str, amount: int, unit: str, done: int, total: int, visible: bool) -> None:
        self.name = name
        self.amount = amount
        self.clock = STEPS if unit == "steps" else EPISODES
        self.done = done
        self.total = total
        self.visible = visible
        self.episodes = self.failed = 0
        self.latest = math.nan
        self.compiling = Compiling(self._say)
        self.bar: Any = tqdm(
            total=amount * total,
            initial=amount * done,
            unit=unit[:-1],
            unit_scale=True,
            desc=name,
            disable=None if visible else True,
        )

    def __enter__(self) -> Self:
        self.compiling.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.compiling.__exit__(kind, error, trace)
        self.bar.close()

    def finish(self, record: Record) -> None:
        """Count a finished cell."""
        self.done += 1
        self.episodes += record.episode_return.size
        if record.episode_return.size:
            self.latest = float(record.episode_return[-math.ceil(record.episode_return.size / 10) :].mean())

    def fail(self) -> None:
        """Count a cell that failed."""
        self.done += 1
        self.failed += 1

    def look(self, running: Iterable[Agent]) -> None:
        """Show the progress, including that of the cells that are being learned."""
        self.bar.set_description("compiling" if self.compiling.now else self.name, refresh=False)
        clocks = [clock for clock in map(_clock, running) if clock is not None]
        position = self.done * self.amount + sum(int(clock[self.clock]) for clock in clocks)
        figures = {
            "cells": f"{self.done}/{self.total}" + (f", {self.failed} failed" if self.failed else ""),
            "episodes": str(self.episodes + sum(int(clock[EPISODES]) for clock in clocks)),
            "mean return": "-" if math.isnan(self.latest) else f"{self.latest:.4g}",
        }
        self.bar.set_postfix(figures, refresh=False)
        self.bar.update(max(0, position - self.bar.n))

    def _say(self) -> None:
        if self.visible:
            tqdm.write("compiling the learning loops, once; later runs find them in numba's cache", file=sys.stderr)


def _clock(agent: Agent) -> Any:
    """[steps, episodes] learned so far, if the agent keeps count; read while another thread writes it."""
    try:
        return getattr(getattr(agent, "memory_", None), "clock", None)
    except NotLearned:
        return None


class Originals:
    """One environment for each id and keywords among some cells.

    Parameters
    ----------
    cells : sequence of Cell
        The cells.

    Raises
    ------
    EnvironmentNotFound, UnsuitableEnvironment, ParameterError
        If an environment cannot be made, or has spaces that an agent of its cells cannot work with.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._made: dict[str, Env] = {}
        for cell in cells:
            if _key(cell) not in self._made:
                self._made[_key(cell)] = find_env(cell.env_id, **cell.keywords)
            env = self._made[_key(cell)]
            action_space_of(env)
            agent = cast(object, dataclasses.replace(cell.agent.agent))
            if isinstance(agent, Agent):
                agent.bind_environment(env)

    def size(self, cell: Cell) -> str:
        """A description of the observations and actions of the environment of a cell."""
        env = self._made[_key(cell)]
        space = env.observation_space
        if isinstance(space, gymnasium.spaces.Discrete):
            observations = f"{space.n} observations"
        else:
            observations = f"observations of {encoding(space).low.size} numbers"
        return f"{observations}, {action_space_of(env).n} actions"

    def copy(self, cell: Cell) -> Env:
        """An environment for a run of this cell; copying is cheaper than building a model again."""
        try:
            return copy.deepcopy(self._made[_key(cell)])
        except (
            TypeError,
            ValueError,
            RuntimeError,
        ):  # a window, a file or a thread cannot be copied
            return find_env(cell.env_id, **cell.keywords)


def _key(cell: Cell) -> str:
    return json.dumps([cell.env_id, cell.keywords], sort_keys=True)


WORKER = "rlsuite worker"
"""Prefix of the names of threads that learn."""

SAVING = 10.0
"""Seconds that the runs have for saving themselves when they are stopped."""

LOOK_EVERY = 0.1
"""Seconds between two updates of the progress of the cells that are being learned."""


class Stopped(KeyboardInterrupt):
    """Ctrl-C during an experiment; what was finished is on disk."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"stopped; {done} of {total} cells are done; run it again to continue")


def run(
    experiment: Settings,
    folder: Path,
    *,
    workers: int,
    retry: bool,
    fail_fast: bool,
    progress: bool,
    shard: Shard | None = None,
) -> dict[str, list[Results]]:
    """Learn what ``folder`` does not hold yet; `Experiment.run` documents it."""
    worker_number(workers)
    cells = cells_of(experiment)
    if shard is not None:
        cells = shard.cells(cells)
    with writing(folder, shard) as aside:
        records = finished(cells, folder)
        failures = {} if retry else failed_before(cells, folder)
        missing = [cell for cell in cells if cell.path not in records and cell.path not in failures]
        for cell in missing:
            forget_failure(folder / cell.path)
        originals = Originals(missing)
        write_description(experiment, folder, aside)
        if missing:
            workers_ = _Workers(experiment, originals, folder, aside, records, fail_fast)
            workers_.work(missing, workers, progress)
            failures |= workers_.failures
        with suppress(OSError):
            (folder / CHECKPOINTS).rmdir()  # if nothing is left in it
    if failures:
        known = [failures[cell.path] for cell in cells if cell.path in failures]
        message = f"{failure_table(known)}\nThe others are kept; retry=True (--retry) learns these again"
        warnings.warn(message, FailedRunsWarning, stacklevel=level_of_the_caller())
    found: dict[str, list[Results]] = {}
    for environment in experiment.environments:
        for agent in experiment.agents:
            own = [cell for cell in cells if cell.environment is environment and cell.agent is agent]
            kept = [records[cell.path] for cell in own if cell.path in records]
            failed = tuple(failures[cell.path] for cell in own if cell.path in failures)
            if kept:
                found.setdefault(environment.label, []).append(
                    Results(agent.label, environment.label, kept, failed, agent.agent.gamma, agent.setting)
                )
    return found


class _Workers:
    """Threads that take cells from a queue, learn them and write their results, while the caller waits."""

    def __init__(
        self,
        experiment: Settings,
        originals: Originals,
        folder: Path,
        aside: Path,
        records: dict[Path, Record],
        fail_fast: bool,
    ) -> None:
        self.experiment = experiment
        self.ends = always if fail_fast else ends_all
        self.originals = originals
        self.folder = folder
        self.aside = aside
        self.records = records
        self.versions = versions()
        self.optima = Optima() if experiment.regret else None
        self.todo: queue.SimpleQueue[Cell] = queue.SimpleQueue()
        self.outcomes: queue.SimpleQueue[tuple[Cell, Record | FailedRun | BaseException]] = queue.SimpleQueue()
        self.failures: dict[Path, Failure] = {}
        self.running: dict[int, Agent] = {}
        self.threads: list[threading.Thread] = []
        self.stop = threading.Event()
        self.write_lock = threading.Lock()  # held to write a cell; no thread writes once the run has stopped

    def work(self, cells: Sequence[Cell], workers: int, progress: bool) -> None:
        """Learn all cells; Ctrl-C, and failures that mean that all others fail, too, stop it."""
        for cell in cells:
            self.todo.put(cell)
        budget = Budget.of(self.experiment.steps, self.experiment.episodes, None)
        done = len(self.records)
        total = done + len(cells)
        with Progress(self.experiment.name, budget.amount, budget.unit, done, total, progress) as bar:
            # daemon threads: Ctrl-C must not wait for the cells that are being learned
            for number in range(min(workers, len(cells))):
                name = f"{WORKER} {number}"
                thread = threading.Thread(target=self._worker, args=(number,), name=name, daemon=True)
                self.threads.append(thread)
                thread.start()
            try:
                while bar.done < total:
                    self._collect(bar)
            except KeyboardInterrupt:
                self._stop()
                new = sum((self.folder / cell.path).is_dir() for cell in cells)
                raise Stopped(done + new, total) from None
            finally:
                self._stop()

    def _stop(self) -> None:
        with self.write_lock:
            self.stop.set()
        until = time.monotonic() + SAVING
        for thread in self.threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _collect(self, bar: Progress) -> None:
        try:
            cell, outcome = self.outcomes.get(timeout=LOOK_EVERY)
        except queue.Empty:
            bar.look(list(self.running.values()))
            return
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, FailedRun):
            if self.ends(outcome):
                self._raise(cell, outcome)
            self.failures[cell.path] = outcome.named(cell.agent.label, cell.environment.label, cell.seed)
            self._checkpoint(cell).remove()
            write_failure(self.folder / cell.path, cell.spec, self.failures[cell.path], self.aside)
            bar.fail()
        else:
            self.records[cell.path] = outcome
            bar.finish(outcome)
        bar.look(list(self.running.values()))

    def _raise(self, cell: Cell, failed: FailedRun) -> NoReturn:
        error = failed.error
        if isinstance(error, RlsuiteError):
            raise type(error)(f"{cell.name}: {error}") from error
        where = f" ({failed.where})" if failed.where else ""
        raise LearningError(f"{cell.name}: the environment or the agent raised {in_words(error)}{where}") from error

    def _worker(self, number: int) -> None:
        while not self.stop.is_set():
            try:
                cell = self.todo.get_nowait()
            except queue.Empty:
                return
            try:
                outcome = self._learn(cell, number)
                with self.write_lock:
                    if self.stop.is_set():
                        return
                    write_cell(self.folder / cell.path, cell.spec, self.versions, outcome, self.aside)
                    self._checkpoint(cell).remove()
            except Ended:  # by `_stop`; the run has been saved
                return
            except Exception as error:  # any error of the environment or the agent
                steps: int | None = getattr(self.running.pop(number), "steps_", None)
                failed = FailedRun.of(error, None if steps is None else steps + 1)
                self.outcomes.put((cell, failed))
                if self.ends(failed):
                    return
                continue
            except BaseException as error:  # `_collect` raises it again in the caller's thread
                self.outcomes.put((cell, error))
                return
            self.running.pop(number, None)
            self.outcomes.put((cell, outcome))

    def _learn(self, cell: Cell, number: int) -> Record:
        experiment = self.experiment
        agent = dataclasses.replace(cell.agent.agent)
        self.running[number] = agent
        env = self.originals.copy(cell)
        try:
            if type(agent).learn is not Agent.learn:
                options = {**experiment.timing, **own_options(agent, experiment.loop, None, self.optima)}
                agent.learn(env, **as_taken_by(agent.learn, options), seed=cell.seed)
                return agent.record_
            budget, checkpoint = Budget.of(**experiment.timing), self._checkpoint(cell)
            loop, optima = experiment.loop, self.optima
            return learn_cell(agent, env, budget, cell.seed, loop, optima, checkpoint, self.stop)
        finally:
            env.close()

    def _checkpoint(self, cell: Cell) -> CellCheckpoint:
        return CellCheckpoint(self.folder, cell.path, cell.spec, self.versions)
