"""Unfinished cells: the agent and its run, and what has been recorded so far, saved from time to time.

A cell that was stopped or killed continues where it was last saved, and ends with the same bytes. A checkpoint is a
file ``000000012000.npz`` and a folder ``000000012000`` in the form of a finished cell, both named by the steps that
were done; the folder is written last. What differs from the experiment, or cannot be read, is not used.
"""

import dataclasses
import hashlib
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rlsuite.agents import Agent
from rlsuite.agents.storage import save
from rlsuite.core.aliases import Env
from rlsuite.errors import RlsuiteError
from rlsuite.experiments.store import Table, read_cell, read_description, write_cell
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
    path : Path
        Folder of the cell, when it is finished, within that.
    spec, versions : mapping
        What the numbers depend on, and what they are made with; checkpoints of others are not used.
    """

    def __init__(self, folder: Path, path: Path, spec: Table, versions: Mapping[str, str]) -> None:
        self.folder = folder / CHECKPOINTS / hashlib.sha256(str(path).encode()).hexdigest()[:16]
        self.spec, self.versions = spec, versions

    def write(self, agent: Agent, record: Record) -> None:
        """Save an agent, its run, and what has been recorded; nothing if the run cannot be kept.

        Raises
        ------
        FileError
            If it cannot be written.
        """
        name = f"{agent.steps_:015d}"
        saved = self.folder / name
        if saved.is_dir():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if not save(agent, saved.with_suffix(".npz"), compress=False, only_with_run=True):
            return
        write_cell(saved, self.spec, self.versions, record, self.folder / ".unfinished")
        for other in list(self.folder.iterdir()):
            if other.stem != name:
                shutil.rmtree(other) if other.is_dir() else other.unlink()

    def read(self) -> tuple[Agent, Record] | None:
        """The latest one; None if there is none that can be used."""
        for saved in sorted(self.folder.glob("[0-9]*"), reverse=True):
            if not saved.is_dir():
                continue
            try:
                about = read_description(saved)
                if about["spec"] == self.spec and about["versions"] == self.versions:
                    agent: Any = load(saved.with_suffix(".npz"))
                    return agent, read_cell(saved)
            except RlsuiteError:  # damaged: an older one may be whole
                continue
        return None

    def remove(self) -> None:
        """Remove them all, once the cell is finished."""
        shutil.rmtree(self.folder, ignore_errors=True)


def learn_cell(
    agent: Agent,
    env: Env,
    budget: Budget,
    seed: int,
    loop: LoopChoice,
    optima: Optima | None,
    checkpoint: CellCheckpoint,
    stop: threading.Event,
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
    """
    before: Record | None = None
    learner = agent

    def write() -> None:
        record = learner.record_so_far()
        checkpoint.write(learner, record if before is None else joined(before, record))

    keeping = Keeping(write, EVERY, at_ends=False, stop=stop)
    found = checkpoint.read()
    if found is not None:
        learner, before = found
        done = learner.steps_ if budget.unit == "steps" else len(learner.episodes_)
        if done >= budget.amount:
            return before
        if learner.resume(env, dataclasses.replace(budget, done=done), loop, optima, keeping):
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
