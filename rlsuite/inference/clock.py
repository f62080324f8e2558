"""When a climb ends before it is done: a deadline or Ctrl-C, either of which keeps the best model so far."""

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

from rlsuite.checks import positive_number


class Clock:
    """Watches a deadline and Ctrl-C, and shows how a long piece of work goes.

    Used as a context manager it listens to Ctrl-C (in the main thread): the first one sets `hurries`, a second one
    raises KeyboardInterrupt as usual.

    Parameters
    ----------
    name : str
        What the progress bar is called.
    deadline : float, optional
        Number of seconds after which `hurries` is true.
    progress : bool
        Whether to show a bar on stderr.

    Raises
    ------
    ParameterError
        If `deadline` is not a positive number.

    Examples
    --------
    >>> with Clock("counting", deadline=60.0) as clock:
    ...     clock.tick("one")
    >>> clock.hurries, clock.reason
    (False, '')
    """

    def __init__(self, name: str, *, deadline: object = None, progress: bool = False) -> None:
        self.name = name
        self.deadline = None if deadline is None else positive_number("deadline", deadline)
        self.started = time.perf_counter()
        self._interrupted = False
        self._progress = progress
        self._bar: Any = None
        self._previous: Any = None

    @property
    def seconds(self) -> float:
        """Wall-clock time since the beginning."""
        return time.perf_counter() - self.started

    @property
    def reason(self) -> str:
        """Why the work has to end, or an empty string."""
        if self._interrupted:
            return "interrupted"
        if self.deadline is not None and self.seconds >= self.deadline:
            return f"deadline={self.deadline:g} seconds passed"
        return ""

    @property
    def hurries(self) -> bool:
        """Whether the work has to end."""
        return bool(self.reason)

    def tick(self, text: str) -> None:
        """Count one iteration on the bar, with a text behind it."""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if callable(self._previous):
                signal.signal(signal.SIGINT, self._interrupt)
        if self._progress:
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

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
