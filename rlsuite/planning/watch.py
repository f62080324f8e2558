"""When a method stops: a tolerance, a limit, a deadline or Ctrl-C, and a record of how the error bound fell."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from rlsuite.core.checks import finite_number, positive_number, whole_amount
from rlsuite.core.compiling_clock import CompilingClock
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import FloatArray, IndexArray

RELATIVE, LARGEST_RELATIVE = 1e-3, 1e-9
"""By default, `rtol` is RELATIVE times `tol`, at most LARGEST_RELATIVE: tol=1e3 means 1e3 for values of 1e6, too."""

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


class DeadlineTooShort(ParameterError):
    """No result is available after that many seconds; `remark` says what they are too short for, and what to do."""

    def __init__(self, deadline: float, remark: str) -> None:
        super().__init__(f"deadline={deadline:g} seconds are too short for {remark}")
        self.remark = remark


@contextmanager
def shares_the_deadline_of(watch: "Watch") -> Generator[None]:
    """Run a method that does part of the work within the deadline of the whole, which its errors then name."""
    try:
        yield
    except DeadlineTooShort as error:
        raise DeadlineTooShort(watch.deadline or 0.0, error.remark) from error


class Watch(CompilingClock):
    """The clock and the counter of one run of a method.

    Iterative methods go round in ``while watch.goes_on(error_bound):``. Used as a context manager it listens to Ctrl-C,
    as a `Clock` does: the first one ends the loop, so that the best answer so far can be returned. It
    stands still while numba compiles; with `progress` it says that something is compiled. What was compiled earlier has
    to be loaded in each process: that counts for the deadline, and not in the seconds of a result.

    Parameters
    ----------
    method : str
        Name of the method.
    tol : float
        Stop when the error bound is at most this,
    rtol : float, optional
        or at most this many times `size`; by default a thousandth of `tol`, at most 1e-9.
    gap : float, optional
        Used instead of `tol` if it is given.
    max_iterations : int, optional
        Stop after this many iterations.
    deadline : float, optional
        Stop after this many seconds.
    progress : bool
        Show iterations and error bound on stderr.

    Attributes
    ----------
    absolute, relative : float
        The two tolerances that were asked for.
    size : float
        How large the value is, as far as that is known: 0 to begin with.
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
        rtol: object = None,
        gap: object = None,
        max_iterations: object = None,
        deadline: object = None,
        progress: bool = False,
    ) -> None:
        super().__init__(method, deadline=deadline, progress=progress)
        self._named = "tol" if gap is None else "gap"
        self.absolute = positive_number(self._named, tol if gap is None else gap)
        default = min(RELATIVE * self.absolute, LARGEST_RELATIVE)
        self.relative = default if rtol is None else _not_negative(rtol)
        self.size = 0.0
        self._rtol_given = rtol is not None
        self.max_iterations = None if max_iterations is None else whole_amount("max_iterations", max_iterations)
        self.iterations = 0
        self.stopped = ""
        self._record: list[tuple[int, float, float]] = []
        self._latest: tuple[int, float, float] | None = None
        self._noted, self._every = 0, 1

    @property
    def tol(self) -> float:
        """The error bound that is small enough: max(tol, rtol * size)."""
        return max(self.absolute, self.relative * self.size) if self.size > 0.0 else self.absolute

    @property
    def asked(self) -> str:
        """The requested tolerance, in words."""
        relative = self._rtol_given and self.tol > self.absolute
        return f"rtol={self.relative:g} of {self.size:.3g}" if relative else f"{self._named}={self.absolute:g}"

    def measure(self, value: FloatArray, most: float = np.inf) -> None:
        """Take the size of a value (S,) into account, if it may matter: no entry is larger than `most`."""
        if self.relative * most > self.absolute and value.size:
            self.size = float(max(value.max(), -value.min()))

    def between(self, lower: float, upper: float) -> None:
        """Take the size of a value between two bounds into account: the least that it can be."""
        apart = lower <= 0.0 <= upper or not np.isfinite([lower, upper]).all()
        self.size = 0.0 if apart else min(abs(lower), abs(upper))

    @property
    def method(self) -> str:
        """Name of the method, also shown on the progress bar."""
        return self.name

    @method.setter
    def method(self, method: str) -> None:
        self.name = method

    @property
    def trace(self) -> Trace:
        """How the error bound fell."""
        kept = self._record if self._latest is None else [*self._record, self._latest]
        table = np.array(kept, dtype=np.float64).reshape(-1, 3)
        return Trace(table[:, 0].astype(np.int64), table[:, 1].copy(), table[:, 2].copy())

    def record(self, error_bound: float) -> None:
        """Record an error bound."""
        # A run may take a billion iterations: a full record loses every second entry, and then takes every second one.
        if len(self._record) == MOST_RECORDS:
            del self._record[1::2]
            self._every *= 2
        self._latest = (self.iterations, self.seconds, error_bound)
        if self._noted % self._every == 0:
            self._record.append(self._latest)
            self._latest = None
        self._noted += 1
        if self.shows:
            self.tick(f"error bound {error_bound:.3g}, wanted {self.tol:g}", self.iterations)

    def goes_on(self, error_bound: float) -> bool:
        """Record an error bound, and return whether to do one more iteration; if so, count it."""
        self.record(error_bound)
        if error_bound <= self.tol and error_bound < np.inf:  # before the first bound, even tol=inf asks for one
            return False
        if self.max_iterations is not None and self.iterations >= self.max_iterations and not self.interrupted:
            self.stopped = f"max_iterations={self.max_iterations} reached"
        else:
            self.stopped = self.reason or self.stopped
        if self.stopped:
            return False
        self.iterations += 1
        return True

    def give_up(self, reason: str) -> None:
        """Record why the loop ends although the tolerance is not met."""
        self.stopped = reason


def _not_negative(rtol: object) -> float:
    """Return a relative tolerance, or raise `ParameterError` if it is negative."""
    number = finite_number("rtol", rtol)
    if number < 0.0:
        raise ParameterError(f"rtol={rtol!r} is negative; pass 0 to use tol= alone")
    return number
