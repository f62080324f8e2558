"""How far an experiment is: a bar in a terminal, otherwise a line a minute."""

import math
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

from rlsuite.core.compiling_clock import Compiling
from rlsuite.training.results import Record

LINE_EVERY = 60.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """Cells that are done, the mean return of the latest, and the time left.

    Parameters
    ----------
    name : str
        What to call the experiment.
    done, total : int
        Cells that are finished, and all cells.
    visible : bool
        Whether to show anything.
    """

    def __init__(self, name: str, done: int, total: int, visible: bool) -> None:
        self.name = name
        self.first = self.done = done
        self.total = total
        self.visible = visible
        self.failed = 0
        self.latest = math.nan
        self.compiling = Compiling(self._say)
        self.terminal = sys.stderr.isatty()
        self._began = self._said = time.monotonic()
        shown = "{desc}: {percentage:3.0f}%|{bar}| {postfix} [{elapsed}<{remaining}]"
        self.bar: Any = tqdm(
            total=total, initial=done, desc=name, bar_format=shown, disable=not (visible and self.terminal)
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
        if record.episode_return.size:
            self.latest = float(record.episode_return[-math.ceil(record.episode_return.size / 10) :].mean())

    def fail(self) -> None:
        """Count a cell that failed."""
        self.done += 1
        self.failed += 1

    def seconds_left(self, parts: float = 0.0) -> float | None:
        """Seconds until all is done, if it goes on as until now; None if that is not known yet."""
        learned = self.done - self.first + parts
        if learned <= 0.0:
            return None
        return (time.monotonic() - self._began) * (self.total - self.done - parts) / learned

    def look(self, parts: Sequence[float] = ()) -> None:
        """Show the progress, including what is done of each cell that is being learned, from 0 to 1."""
        if not self.visible:
            return
        if self.terminal:
            self.bar.set_description("compiling" if self.compiling.now else self.name, refresh=False)
            failed = f", {self.failed:,} failed" if self.failed else ""
            returned = "" if math.isnan(self.latest) else f", mean return {self.latest:.4g}"
            self.bar.set_postfix_str(f"{self.done:,} of {self.total:,} cells{failed}{returned}", refresh=False)
            self.bar.update(max(0.0, self.done + sum(parts) - self.bar.n))
        elif time.monotonic() - self._said >= LINE_EVERY:
            self._said = time.monotonic()
            print(f"{self.name}: {self.line(sum(parts))}", file=sys.stderr, flush=True)

    def line(self, parts: float = 0.0) -> str:
        """The counts and the time left, as a phrase."""
        failed = f", {self.failed:,} failed" if self.failed else ""
        left = self.seconds_left(parts)
        return f"{self.done:,} of {self.total:,} cells{failed}" + ("" if left is None else f", {duration(left)} left")

    def _say(self) -> None:
        if self.visible:
            tqdm.write("compiling the learning loops, once; later runs find them in numba's cache", file=sys.stderr)


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(4.2), duration(90), duration(7_000), duration(200_000)
    ('4 s', '1.5 min', '1.9 h', '2.3 days')
    """
    for unit, length, most in (("s", 1, 60), ("min", 60, 60), ("h", 3_600, 36)):
        if seconds < most * length:
            return f"{seconds / length:.0f} s" if length == 1 else f"{seconds / length:.1f} {unit}"
    return f"{seconds / 86_400:.1f} days"
