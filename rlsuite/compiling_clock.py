"""A clock that stands still while code is compiled, so that a deadline means the same on the first day and later."""

import sys
import time
from types import TracebackType
from typing import Any, Self

import numba.core.event

from rlsuite.clock import Clock

_events: Any = numba.core.event  # carries no types
_EVENT = "numba:compile"


class CompilingClock(Clock):
    """The clock of work that may have to be compiled first.

    Compiling is done once, on first use, and what it takes has nothing to do with the data. So that time counts neither
    for the deadline nor in `seconds`, and whoever asked for progress is told what is going on.

    Parameters
    ----------
    name : str
        As for `rlsuite.clock.Clock`.
    **limits
        Its other parameters; or, where this class comes before a subclass of `Clock`, those of that one.

    Attributes
    ----------
    compiling : float
        Seconds spent on compiling so far, while the clock was entered.
    says : bool
        Whether it says on stderr that something is compiled; as `progress`, unless it is set to something else.

    Examples
    --------
    >>> with CompilingClock("this example") as clock:
    ...     pass
    >>> clock.compiling
    0.0
    """

    def __init__(self, name: str, **limits: Any) -> None:
        super().__init__(name, **limits)
        self.compiling = 0.0
        self.says = self.progress
        self._listener = _Listener(self)

    def __enter__(self) -> Self:
        super().__enter__()
        _events.register(_EVENT, self._listener)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _events.unregister(_EVENT, self._listener)
        super().__exit__(kind, error, traceback)

    def say(self) -> None:
        """Say that something is being compiled, above the bar."""
        if self.says:
            from tqdm import tqdm

            tqdm.write(f"{self.name}: compiling, once; later runs find it in numba's cache", file=sys.stderr)

    def stand_still(self, seconds: float) -> None:
        """Leave some seconds out of account."""
        self.compiling += seconds
        self.started += seconds


class _Listener(numba.core.event.Listener):
    """Tells a clock when numba compiles; compiling one function may start that of another."""

    def __init__(self, clock: CompilingClock) -> None:
        self._clock = clock
        self._depth = 0
        self._begun = 0.0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._begun = time.perf_counter()
            if self._clock.compiling == 0.0:
                self._clock.say()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._clock.stand_still(time.perf_counter() - self._begun)
