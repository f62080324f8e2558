"""How long a run is, how often it is recorded, and how much of it may go into a table of its environment."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np

from rlsuite import errors
from rlsuite.core.checks import whole_amount
from rlsuite.models.aliases import IndexArray
from rlsuite.training.results import TimeUnit

LoopChoice = Literal["auto", "compiled", "stepwise"]
LOOPS: tuple[LoopChoice, ...] = ("auto", "compiled", "stepwise")

PATIENCE = 120.0
"""Seconds in which an environment that has no table is asked for one, if that is asked for."""


class Schedule(NamedTuple):
    """When a run is recorded and evaluated."""

    times: IndexArray
    """All times, ascending."""
    recorded: IndexArray
    """Those that are in the records; the others are of evaluations alone."""
    ends: IndexArray
    """How many of all times have passed when the run is evaluated, or ends."""

    def ahead(self, reached: int) -> int:
        """How many times have passed at the next evaluation, after so many."""
        return int(self.ends[np.searchsorted(self.ends, reached, side="right")])


@dataclass(frozen=True)
class Budget:
    """How long to learn, and how often to record and evaluate.

    Parameters
    ----------
    amount : int
        Length of the run in units of time, at least 1.
    unit : {"steps", "episodes"}
        The unit of all three numbers.
    record_every : int
        Time between two records of cumulative reward and regret.
    evaluate_every : int or None
        Time between two evaluations of the greedy policy; None for no evaluation.
    tabulate : bool or None
        Whether to ask the environment for a table that it does not have; None for ``loop="compiled"`` alone.
    done : int
        How much of it a continued run has done before.
    """

    amount: int
    unit: TimeUnit
    record_every: int
    evaluate_every: int | None
    tabulate: bool | None = None
    done: int = 0

    @classmethod
    def of(
        cls,
        steps: int | None = None,
        episodes: int | None = None,
        evaluate_every: int | None = None,
        record_every: int | None = None,
        tabulate: bool | None = None,
    ) -> Self:
        """Check the arguments of `learn` and `train`; by default there are about 200 records."""
        if (steps is None) == (episodes is None):
            raise errors.ParameterError(f"give either steps= or episodes=, got {steps=} and {episodes=}")
        unit: TimeUnit = "steps" if episodes is None else "episodes"
        amount = whole_amount(unit, steps if episodes is None else episodes)
        if evaluate_every is not None:
            evaluate_every = whole_amount("evaluate_every", evaluate_every)
        if record_every is not None:
            record_every = whole_amount("record_every", record_every)
        if tabulate not in (None, True, False) or type(tabulate) is int:
            raise errors.ParameterError(
                f"{tabulate=} is not one of True (build a table by probing step, or fail), False (never), and None "
                "(only with loop='compiled')"
            )
        return cls(amount, unit, record_every or math.ceil(amount / 200), evaluate_every, tabulate)

    def first_loop(self, loop: LoopChoice) -> LoopChoice:
        """Return the loop to begin with: the compiled one if there has to be a table, because it fails without.

        Raises
        ------
        ParameterError
            If the table would not be used.
        """
        if self.tabulate and loop == "stepwise":
            raise errors.ParameterError("tabulate=True makes a table for the compiled loop: leave out loop='stepwise'")
        return "compiled" if self.tabulate else loop

    def patience(self, loop: LoopChoice) -> float:
        """Return how many seconds may be spent on asking the environment for its table; 0 if that is not wanted."""
        return PATIENCE if self.tabulate or (self.tabulate is None and loop == "compiled") else 0.0

    def schedule(self, start: int = 0) -> Schedule:
        """Return when a run that begins at this time is recorded and evaluated."""
        times = recorded = start + np.array(self.times(self.record_every))
        stops = recorded[-1:]
        if self.evaluate_every is not None:
            stops = start + np.array(self.times(self.evaluate_every))
            times = np.union1d(recorded, stops)
        return Schedule(times, recorded, np.searchsorted(times, stops, side="right"))

    def times(self, every: int) -> list[int]:
        """Multiples of ``every`` up to the end, and the end itself; counted from what has been done."""
        return [time - self.done for time in (*range(every, self.amount, every), self.amount) if time > self.done]
