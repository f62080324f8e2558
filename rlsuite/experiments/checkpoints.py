"""Unfinished cells: the agent and its run, and what has been recorded so far, saved from time to time.

A cell that was stopped or killed continues where it was last saved, and ends with the same bytes. A checkpoint is a
file ``000000012000.npz`` and a segment ``000000012000.cells`` with the cell so far, both named by the steps that were
done; the segment is written last. What differs from the experiment, or cannot be read, is not used.
"""

import dataclasses
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from rlsuite.agents import Agent
from rlsuite.agents.storage import save
from rlsuite.core.aliases import Env
from rlsuite.core.files import replacing
from rlsuite.core.narrowing import Table
from rlsuite.errors import FileError, RlsuiteError
from rlsuite.experiments.segments import SUFFIX, Pair, Segment, entry_of, write_segment
from rlsuite.registry import load
from rlsuite.training.budget import Budget, LoopChoice
from rlsuite.training.optimum import Optima
from rlsuite.training.results import Record
from rlsuite.training.run_log import Keeping

CHECKPOINTS = ".checkpoints"
"""Folder of the checkpoints, within that of the experiment; it disappears with the last one."""

EVERY = 60.0
"""Seconds between two checkpoints of a cell."""


class CellCheckpoint:
    """The checkpoints of one cell.

    Parameters
    ----------
    folder : Path
        Folder of the experiment.
    pair : (str, str)
        Of the cell.
    seed : int
        Of the cell.
    spec, versions : mapping
        What the numbers depend on, and what they are made with; checkpoints of others are not used.
    """

    def __init__(self, folder: Path, pair: Pair, seed: int, spec: Table, versions: Mapping[str, str]) -> None:
        self.folder = folder / CHECKPOINTS / _name(pair, seed)
        self.pair, self.seed, self.spec, self.versions = pair, seed, spec, versions

    def write(self, agent: Agent, record: Record) -> None:
        """Save an agent, its run, and what has been recorded; nothing if the run cannot be kept.

        Raises
        ------
        FileError
            If it cannot be written.
        """
        saved = self.folder / f"{agent.steps_:015d}{SUFFIX}"
        if saved.is_file():
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not save(agent, saved.with_suffix(".npz"), compress=False, only_with_run=True):
                return
            with replacing(saved) as unfinished:
                write_segment(unfinished, [entry_of(self.pair, self.spec, self.versions, record)])
            for other in list(self.folder.iterdir()):
                if other.stem != saved.stem:
                    other.unlink()
        except OSError as error:
            raise FileError(f"cannot write {saved}: {error.strerror}") from error

    def read(self) -> tuple[Agent, Record] | None:
        """The latest one; None if there is none that can be used."""
        for saved in sorted(self.folder.glob(f"*{SUFFIX}"), reverse=True):
            try:
                segment = Segment.at(saved)
                entry, record = segment.entry(0), segment.outcome(0)
                same = entry.spec == self.spec and entry.seed == self.seed and entry.versions == self.versions
                if same and isinstance(record, Record):
                    agent: Any = load(saved.with_suffix(".npz"))
                    return agent, record
            except (RlsuiteError, FileNotFoundError):  # damaged: an older one may be whole
                continue
        return None

    def remove(self) -> None:
        """Remove them all, once the cell is finished."""
        if self.folder.is_dir():
            shutil.rmtree(self.folder, ignore_errors=True)


def _name(pair: Pair, seed: int) -> str:
    return hashlib.sha256("/".join((*pair, str(seed))).encode()).hexdigest()[:16]


def remove_checkpoints(folder: Path, cells: Iterable[tuple[Pair, int]]) -> None:
    """Remove what is left of the checkpoints of cells that are finished, by a process that was killed just then.

    Parameters
    ----------
    folder : Path
        Folder of the experiment.
    cells : iterable of ((str, str), int)
        The cells: pair and seed.
    """
    with suppress(OSError):
        left = {*os.listdir(folder / CHECKPOINTS)}
        for pair, seed in cells if left else ():
            if (name := _name(pair, seed)) in left:
                shutil.rmtree(folder / CHECKPOINTS / name)


def learn_cell(
    agent: Agent,
    env: Env,
    budget: Budget,
    seed: int,
    loop: LoopChoice,
    optima: Optima | None,
    checkpoint: CellCheckpoint,
    stop: threading.Event,
    look: Callable[[], object],
) -> Record:
    """Learn a cell from its latest checkpoint on, or from the beginning.

    Parameters
    ----------
    agent, env, budget, seed, loop, optima
        The run.
    checkpoint : CellCheckpoint
        Where it is saved.
    stop : Event
        Set by another thread: the run is saved and ends, by `rlsuite.training.signals.Stopped`.
    look : callable
        Called about once a second; what it raises ends the run.
    """
    before: Record | None = None
    learner = agent

    def write() -> None:
        record = learner.record_so_far()
        checkpoint.write(learner, record if before is None else joined(before, record))

    keeping = Keeping(write, EVERY, at_ends=False, stop=stop, look=look)
    found = checkpoint.read()
    if found is not None:
        learner, before = found
        done = learner.steps_ if budget.unit == "steps" else len(learner.episodes_)
        if done < budget.amount and learner.resume(env, dataclasses.replace(budget, done=done), loop, optima, keeping):
            return joined(before, learner.record_)
        learner, before = agent, None
    learner.learn_for(env, budget, seed, loop, optima, keeping)
    return learner.record_


def joined(one: Record, other: Record) -> Record:
    """Two parts of a run as one record."""
    whole = {
        name: np.concatenate([getattr(one, name), getattr(other, name)])
        for name in (
            *("episode_return", "episode_length", "episode_regret", "time", "cumulative_reward", "regret"),
            *("evaluation_time", "evaluation", "evaluation_return", "value_error"),
        )
    }
    seconds = {name: getattr(one, name) + getattr(other, name) for name in ("seconds", "compiling_seconds")}
    return dataclasses.replace(other, **whole, **seconds)
