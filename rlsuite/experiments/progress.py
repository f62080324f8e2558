"""One progress bar over all cells of an experiment, updated from the agents' counts while they learn."""

import math
import sys
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import numba.core.event
from tqdm import tqdm

from rlsuite.agents import Agent
from rlsuite.agents.schedules import EPISODES, STEPS
from rlsuite.errors import NotLearned
from rlsuite.training.results import Record

_events: Any = numba.core.event  # has no type annotations


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
        self.episodes = 0
        self.latest = math.nan
        self.compiling = _Compiling()
        self.announced = False
        self.bar: Any = tqdm(
            total=amount * total,
            initial=amount * done,
            unit=unit[:-1],
            unit_scale=True,
            desc=name,
            disable=None if visible else True,
        )

    def __enter__(self) -> Self:
        _events.register("numba:compile", self.compiling)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _events.unregister("numba:compile", self.compiling)
        self.bar.close()

    def finish(self, record: Record) -> None:
        """Count a finished cell."""
        self.done += 1
        self.episodes += record.episode_return.size
        if record.episode_return.size:
            self.latest = float(record.episode_return[-math.ceil(record.episode_return.size / 10) :].mean())

    def look(self, running: Iterable[Agent]) -> None:
        """Show the progress, including that of the cells that are being learned."""
        if self.compiling.depth and self.visible and not self.announced:
            self.announced = True
            tqdm.write("compiling the learning loops, once; later runs find them in numba's cache", file=sys.stderr)
        self.bar.set_description("compiling" if self.compiling.depth else self.name, refresh=False)
        clocks = [clock for clock in map(_clock, running) if clock is not None]
        position = self.done * self.amount + sum(int(clock[self.clock]) for clock in clocks)
        figures = {
            "cells": f"{self.done}/{self.total}",
            "episodes": str(self.episodes + sum(int(clock[EPISODES]) for clock in clocks)),
            "mean return": "-" if math.isnan(self.latest) else f"{self.latest:.4g}",
        }
        self.bar.set_postfix(figures, refresh=False)
        self.bar.update(max(0, position - self.bar.n))


class _Compiling(numba.core.event.Listener):
    """Whether numba is compiling right now."""

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, event: Any) -> None:
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1


def _clock(agent: Agent) -> Any:
    """[steps, episodes] learned so far, if the agent keeps count; read while another thread writes it."""
    try:
        return getattr(agent.memory_, "clock", None)
    except NotLearned:
        return None
