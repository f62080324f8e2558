"""Results as a table with one number in each row: what it measures, of which run, and when."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rlsuite.core.frames import DataFrame, frame_of
from rlsuite.training.results import Record, Results

CURVES = ("cumulative_reward", "regret")
EVALUATIONS = {"evaluation": "value", "evaluation_return": "return", "value_error": "value_error"}
EPISODES = ("episode_return", "episode_length", "episode_regret")


class Number(NamedTuple):
    """A row of a table."""

    environment: str
    agent: str
    seed: int
    measure: str
    """``cumulative_reward``, ``regret``, ``value``, ``return``, ``value_error``, ``episode_return`` ..."""
    time: int
    """In steps, or in episodes if that is how the length of the runs was given."""
    number: float


class ExperimentResults(dict[str, list[Results]]):
    """Label of an environment -> results of each agent in it, as an experiment keeps them: a dict that is a table, too.

    Examples
    --------
    >>> import rlsuite as rl
    >>> runs = rl.train(rl.Sarsa(gamma=0.9), "FrozenLake-v1", steps=200, seeds=2, record_every=100)
    >>> for row in list(ExperimentResults(lake=[runs]).numbers())[0][:2]:
    ...     print(*row)
    lake Sarsa 0 cumulative_reward 100 1.0
    lake Sarsa 0 cumulative_reward 200 1.0
    """

    def numbers(self) -> Iterator[list[Number]]:
        """The rows of the table, those of one run after those of another."""
        for environment, runs in self.items():
            for run in runs:
                for record in run.records:
                    yield [
                        Number(environment, run.agent, record.seed, measure, time, number)
                        for measure, times, found in series(record)
                        for time, number in zip(times.tolist(), found.tolist(), strict=True)
                    ]

    def to_frame(self) -> DataFrame:
        """The table as a pandas DataFrame, a column for each field of `Number`; ``rlsuite report --export`` writes it.

        Group it by everything but the seed, ``frame.groupby(["environment", "agent", "measure", "time"])``.

        Raises
        ------
        MissingPackage
            If pandas is not installed.
        """
        rows = [row for run in self.numbers() for row in run]
        return frame_of({name: [row[index] for row in rows] for index, name in enumerate(Number._fields)})


def series(record: Record) -> Iterator[tuple[str, Any, Any]]:
    """What was measured in a run: a name, times (n,) and numbers (n,)."""
    for name in CURVES:
        found = getattr(record, name)
        yield name, record.time[: found.size], found
    for name, measure in EVALUATIONS.items():
        found = getattr(record, name)
        yield measure, record.evaluation_time[: found.size], found
    n = record.episode_return.size
    ends = np.cumsum(record.episode_length) if record.unit == "steps" else np.arange(1, n + 1)
    for name in EPISODES:
        found = getattr(record, name)
        yield name, ends[: found.size], found
