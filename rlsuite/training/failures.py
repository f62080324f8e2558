"""Runs that had to stop: what failed, where, and after how many steps. A failure is a result like any other."""

import pickle
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from rlsuite import errors

MOST_LISTED = 20
"""Failures that a table lists."""

_OWN = str(Path(__file__).parents[1])


class Failure(NamedTuple):
    """One run that had to stop.

    Examples
    --------
    >>> Failure("QLearning", "Maze", 7, 1_200, "ZeroDivisionError: division by zero", "maze.py, line 12").seed
    7
    """

    agent: str
    """Label of the agent."""
    environment: str
    """Label or id of the environment."""
    seed: int
    step: int | None
    """Steps of the run until then; None if they were not counted."""
    error: str
    """Class and message of the error."""
    where: str
    """File and line in which it was raised; of the code outside of rlsuite, if there was some."""


class FailedRun(NamedTuple):
    """A run that ended in an error, which can be raised again; it can be sent to another process."""

    error: Exception
    step: int | None
    where: str

    @classmethod
    def of(cls, error: Exception, step: int | None) -> Self:
        """Record an error that has been raised."""
        return cls(sendable(error), step, where_raised(error))

    def named(self, agent: str, environment: str, seed: int) -> Failure:
        """Say whose run it was."""
        return Failure(agent, environment, seed, self.step, in_words(self.error), self.where)


def in_words(error: BaseException) -> str:
    """Class and message of an error; of errors of ours the message, which says all.

    >>> in_words(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    text = " ".join(str(error).split())
    return text if isinstance(error, errors.RlsuiteError) else f"{type(error).__name__}: {text}".rstrip(": ")


def where_raised(error: BaseException) -> str:
    """File and line in which an error was raised: the last ones outside of rlsuite; empty if there are none."""
    frames = traceback.extract_tb(error.__traceback__)
    others = [frame for frame in frames if not frame.filename.startswith(_OWN)]
    # what called rlsuite is at the beginning: only frames below its own count
    began = next((i for i, frame in enumerate(frames) if frame.filename.startswith(_OWN)), 0)
    below = [frame for frame in others if frame in frames[began:]]
    return f"{below[-1].filename}, line {below[-1].lineno}" if below else ""


def sendable(error: Exception) -> Exception:
    """The error, or one of ours that says the same, if it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class raises
        return errors.LearningError(f"the environment or the agent raised {type(error).__name__}: {error}")
    return error


def failure_table(failures: Sequence[Failure]) -> str:
    """The failures as text, one block each.

    >>> print(failure_table([Failure("Sarsa", "Maze", 7, 1_200, "KeyError: 3", "maze.py, line 12")]))
    1 run failed:
      Sarsa in Maze, seed 7, step 1,200: KeyError: 3
        maze.py, line 12
    """
    lines = [f"{len(failures)} run{'s' if len(failures) > 1 else ''} failed:"]
    for one in failures[:MOST_LISTED]:
        step = "" if one.step is None else f", step {one.step:,}"
        lines.append(f"  {one.agent} in {one.environment}, seed {one.seed}{step}: {one.error}")
        lines += [f"    {one.where}"] if one.where else []
    if len(failures) > MOST_LISTED:
        lines.append(f"  and {len(failures) - MOST_LISTED:,} more")
    return "\n".join(lines)


def ends_all(failed: FailedRun) -> bool:
    """Whether a failure means that all other runs fail, too: the arguments, or the environment, do not fit."""
    return isinstance(failed.error, errors.RlsuiteError) and not isinstance(failed.error, errors.LearningError)


def always(failed: FailedRun) -> bool:
    """Whether any failure ends all runs: yes."""
    return True
