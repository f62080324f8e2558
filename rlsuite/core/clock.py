"""Stopping long work early: by a deadline or Ctrl-C, either of which keeps the best result so far."""

import math
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any, Self

from rlsuite.core.checks import positive_number


class OutOfTime(Exception):
    """Raised where unfinished work is of no use, and caught by the caller that has the best result so far."""


_called: ContextVar[float | None] = ContextVar("called", default=None)
"""When somebody began to wait for the next clock, on the scale of `time.perf_counter`; None: when it is made."""


@contextmanager
def waited_for() -> Generator[None]:
    """Count what is done inside for the deadline of the first clock made there, from now on: as to import a method."""
    token = _called.set(time.perf_counter())
    try:
        yield
    finally:
        _called.reset(token)


class Clock:
    """Watches a deadline and Ctrl-C, and shows the progress of a long piece of work.

    Used as a context manager it listens to Ctrl-C (in the main thread): the first one sets `hurries`, so that the best
    answer so far can be returned; a second one raises KeyboardInterrupt as usual. Where one clock runs inside another,
    Ctrl-C is meant for both.

    Parameters
    ----------
    name : str
        What the progress bar is called.
    deadline : float, optional
        Number of seconds after which `hurries` is true; infinitely many are the same as none.
    progress : bool
        Whether to show a bar on stderr.

    Attributes
    ----------
    started : float
        When the work began, on the scale of `time.perf_counter`, in seconds.
    interrupted : bool
        Whether Ctrl-C was pressed.
    reserve : float
        Seconds before the deadline, 0 to begin with, that are kept for what comes after the work that is watched.

    Raises
    ------
    ParameterError
        If `deadline` is not a number, or below 0.

    Examples
    --------
    >>> with Clock("counting", deadline=60.0) as clock:
    ...     clock.tick("one")
    >>> clock.hurries, clock.reason
    (False, '')
    """

    def __init__(self, name: str, *, deadline: object = None, progress: bool = False) -> None:
        self.started = time.perf_counter()
        self._waited_before = self.started - (_called.get() or self.started)
        _called.set(None)
        self.name = name
        seconds = math.inf if deadline is None else positive_number("deadline", deadline, or_zero=True)
        self.deadline = None if math.isinf(seconds) else seconds
        self.progress = progress
        self.interrupted = False
        self.reserve = 0.0
        self._bar: Any = None
        self._previous: Any = None

    @property
    def seconds(self) -> float:
        """Wall-clock time since the beginning."""
        return time.perf_counter() - self.started

    @property
    def waited(self) -> float:
        """The seconds that count for the deadline: those since the beginning, or since the call, see `waited_for`."""
        return time.perf_counter() - self.started + self._waited_before

    @property
    def reason(self) -> str:
        """The reason to stop, or an empty string."""
        if self.interrupted:
            return "interrupted"
        return f"deadline={self.deadline:g} seconds passed" if self.late else ""

    @property
    def hurries(self) -> bool:
        """Whether the work has to stop now."""
        return self.interrupted or self.late

    def check(self) -> None:
        """Raise `OutOfTime` if the work has to stop."""
        if self.hurries:
            raise OutOfTime

    @property
    def left(self) -> float:
        """Seconds until the deadline, less what is kept in reserve, at least 0; infinite if there is none."""
        if self.deadline is None:
            return math.inf
        return max(0.0, self.deadline - self.reserve - self.waited)

    @property
    def late(self) -> bool:
        """Whether the deadline has come, less what is kept in reserve."""
        return self.left == 0.0

    @property
    def shows(self) -> bool:
        """Whether a bar is shown, which needs a text."""
        return self._bar is not None

    def tick(self, text: str, done: int | None = None) -> None:
        """Show the number of iterations on the bar, by default one more, and a text after it."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(1 if done is None else done - self._bar.n)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if callable(self._previous):
                signal.signal(signal.SIGINT, self._hear)
        if self.progress:
            from tqdm import tqdm

            self._bar = tqdm(desc=self.name, unit=" iterations", file=sys.stderr)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if callable(self._previous):
            signal.signal(signal.SIGINT, self._previous)
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _hear(self, signum: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self._interrupt()

    def _interrupt(self) -> None:
        """Stop this work, and the work that it is a part of."""
        self.interrupted = True
        outer = getattr(self._previous, "__self__", None)
        if isinstance(outer, Clock):
            outer._interrupt()
