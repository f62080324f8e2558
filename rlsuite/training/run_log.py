"""What a run records while it lasts, and how it is saved meanwhile."""

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rlsuite import errors
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.training.engines import CHUNK, Advance
from rlsuite.training.results import TimeUnit


@dataclass
class Keeping:
    """How a run is kept while it lasts.

    Parameters
    ----------
    write : callable
        Writes the run to its file.
    every : float
        Minimum number of seconds between two saves.
    at_ends : bool
        Whether to write the beginning and the end of the run, too, so that a file that cannot be written is noticed
        at once. What cannot be written later is a warning: the run continues.
    stop : Event
        Set by another thread: the run is written, and ends, as soon as a step is complete.
    look : callable
        Called about once a second; what it raises ends the run.
    """

    write: Callable[[], object]
    every: float
    at_ends: bool = True
    stop: threading.Event = field(default_factory=threading.Event)
    look: Callable[[], object] = bool
    _saved: bool = False
    _tried: float = 0.0  # when, of time.monotonic
    _rate: float = 1.0  # steps a second

    def begin(self) -> None:
        """Begin a run."""
        if self.at_ends:
            self.write()
            self._saved = True
        self._tried = time.monotonic()

    def save(self) -> None:
        """Write the run; a full disk does not end it."""
        self._tried = time.monotonic()
        try:
            self.write()
            self._saved = True
        except errors.FileError as error:
            known = "the file holds an earlier part of it" if self._saved else "nothing of it has been saved yet"
            message = f"{error}. The run continues; {known}"
            warnings.warn(message, errors.CheckpointWarning, stacklevel=errors.level_of_the_caller())

    def steps_at_once(self) -> int:
        """How many steps may be taken before the next look at the clock."""
        return min(CHUNK, max(1, int(self._rate * min(self.every / 4, 1.0))))

    def record(self, steps: int, seconds: float) -> None:
        """Record how long some steps took, and write the run if it is time."""
        self._rate = steps / max(seconds, 1e-6)
        self.look()
        if time.monotonic() - self._tried >= self.every:
            self.save()


@dataclass
class RunLog:
    """What one call of `learn` records."""

    unit: TimeUnit
    finished: list[FloatArray] = field(default_factory=lambda: [np.empty((0, 3))])  # (n, 3): return, regret, length
    times: IndexArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # times of what follows
    sums: list[FloatArray] = field(default_factory=lambda: [])  # (n, 2): reward and regret in all, at the first times
    record_times: IndexArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # those with sums
    evaluations: list[tuple[int, float, float, float]] = field(default_factory=lambda: [])  # time, value, total, error
    follows: bool = False
    ends: float | None = None
    exact: bool = False  # the evaluations
    seconds: float = 0.0  # of learning alone
    reached: int = 0  # how many times were reached
    verified: tuple[int, int, int, int] = (0, 0, 0, 0)  # how much of the above is known to be right

    def add(self, outcome: Advance) -> None:
        """Add what one call of `advance` has recorded."""
        if outcome.back:
            finished, sums, evaluations, self.reached = self.verified
            del self.finished[1 + finished :], self.sums[sums:], self.evaluations[evaluations:]
        self.finished.append(outcome.finished)
        self.sums.append(outcome.recorded)
        self.reached += len(outcome.recorded)
        if outcome.verified:
            self.verified = len(self.finished) - 1, len(self.sums), len(self.evaluations), self.reached

    def summary(self) -> dict[str, str]:
        """The figures on the progress bar."""
        latest = np.concatenate([chunk[-100:, 0] for chunk in self.finished[-100:]])[-100:]
        episodes = sum(len(chunk) for chunk in self.finished)
        mean = f"{latest.mean():.4g}" if latest.size else "-"
        return {"episodes": str(episodes), "mean return": mean}
