"""When to stop: a tolerance, a limit, a deadline or Ctrl-C, and a record of how the error bound fell."""

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from rlsuite.checks import positive_number, whole_number
from rlsuite.models.aliases import FloatArray, IndexArray

MOST_RECORDS = 1 << 16
"""Entries of a trace beyond which it becomes coarser."""


class Trace(NamedTuple):
    """How the error bound fell while a method worked: n entries, one for each time it was computed.

    Of very many only every second, fourth, eighth ... is kept, and the last.
    """

    iterations: IndexArray
    """(n,) int64, iterations done until then"""
    seconds: FloatArray
    """(n,) float64, wall-clock time until then"""
    error_bound: FloatArray
    """(n,) float64, infinite where nothing was certified yet"""


class Watch:
    """The clock and the counter of one run of a method.

    Iterative methods go round in ``while watch.goes_on(error_bound):``. Used as a context manager it listens to Ctrl-C
    (in the main thread): the first one ends the loop, so that the best answer so far can be returned; a second one
    raises KeyboardInterrupt as usual.

    Parameters
    ----------
    method : str
        Name of the method.
    tol : float
        Stop when the error bound is at most this.
    max_iterations : int, optional
        Stop after so many iterations.
    deadline : float, optional
        Stop after this many seconds.
    progress : bool
        Show iterations and error bound on stderr.

    Attributes
    ----------
    iterations : int
        Iterations begun so far.
    stopped : str
        Why the loop ended before the tolerance was met; empty if it did not.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    Examples
    --------
    >>> from rlsuite.planning.watch import Watch
    >>> error = 8.0
    >>> with Watch("halving", tol=1.0, max_iterations=2) as watch:
    ...     while watch.goes_on(error):
    ...         error /= 2
    >>> error, watch.iterations, watch.stopped
    (2.0, 2, 'max_iterations=2 reached')
    """

    def __init__(
        self,
        method: str,
        *,
        tol: object,
        max_iterations: object = None,
        deadline: object = None,
        progress: bool = False,
    ) -> None:
        self.started = time.perf_counter()
        self.method = method
        self.tol = positive_number("tol", tol)
        self.max_iterations = None if max_iterations is None else whole_number("max_iterations", max_iterations)
        self.deadline = None if deadline is None else positive_number("deadline", deadline)
        self.progress = progress
        self.iterations = 0
        self.stopped = ""
        self._interrupted = False
        self._record: list[tuple[int, float, float]] = []
        self._latest: tuple[int, float, float] | None = None
        self._noted, self._every = 0, 1
        self._bar: Any = None
        self._previous: Any = None

    @property
    def seconds(self) -> float:
        """Wall-clock time since the beginning."""
        return time.perf_counter() - self.started

    @property
    def trace(self) -> Trace:
        """How the error bound fell."""
        kept = self._record if self._latest is None else [*self._record, self._latest]
        table = np.array(kept, dtype=np.float64).reshape(-1, 3)
        return Trace(table[:, 0].astype(np.int64), table[:, 1].copy(), table[:, 2].copy())

    def note(self, error_bound: float) -> None:
        """Record an error bound."""
        # A run may take a billion iterations: of many records every second is dropped, and every second one is kept.
        if len(self._record) == MOST_RECORDS:
            del self._record[1::2]
            self._every *= 2
        self._latest = (self.iterations, self.seconds, error_bound)
        if self._noted % self._every == 0:
            self._record.append(self._latest)
            self._latest = None
        self._noted += 1
        if self._bar is not None:
            self._bar.set_postfix_str(f"error bound {error_bound:.3g}, wanted {self.tol:g}", refresh=False)
            self._bar.update(self.iterations - self._bar.n)

    def goes_on(self, error_bound: float) -> bool:
        """Record an error bound, and return whether one more iteration is to be done; if so, count it."""
        self.note(error_bound)
        if error_bound <= self.tol and error_bound < np.inf:  # before the first bound, even tol=inf asks for one
            return False
        if self._interrupted:
            self.stopped = "interrupted"
        elif self.max_iterations is not None and self.iterations >= self.max_iterations:
            self.stopped = f"max_iterations={self.max_iterations} reached"
        elif self.hurries:
            self.stopped = f"deadline={self.deadline:g} seconds passed"
        if self.stopped:
            return False
        self.iterations += 1
        return True

    @property
    def hurries(self) -> bool:
        """Whether an inner loop should end at once: Ctrl-C, or the deadline has passed."""
        return self._interrupted or (self.deadline is not None and self.seconds >= self.deadline)

    def give_up(self, reason: str) -> None:
        """Say why the loop ends although the tolerance is not met."""
        self.stopped = reason

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if callable(self._previous):
                signal.signal(signal.SIGINT, self._interrupt)
        if self.progress:
            from tqdm import tqdm

            self._bar = tqdm(desc=self.method, unit=" iterations", file=sys.stderr)
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
