"""A watch that stands still while code is compiled, so that a deadline means the same on the first day and later."""

import sys
import time
from types import TracebackType
from typing import Any, Self

import numba.core.event

from rlsuite.planning.watch import Watch

_events: Any = numba.core.event  # carries no types
_EVENT = "numba:compile"


class CompilingWatch(Watch):
    """The clock and the counter of one run of a method that may have to be compiled first.

    Compiling is done once, on first use, and what it takes has nothing to do with the model. So that time counts
    neither for the deadline nor in `seconds`, and a progress bar says what is going on.

    Parameters and errors are those of `rlsuite.planning.watch.Watch`.

    Attributes
    ----------
    compiling : float
        Seconds spent on compiling so far, while the watch was entered.
    says : bool
        Whether it says on stderr that something is compiled; as `progress`, unless it is set to something else.

    Examples
    --------
    >>> with CompilingWatch("this example", tol=1.0) as watch:
    ...     pass
    >>> watch.compiling
    0.0
    """

    def __init__(self, method: str, **limits: Any) -> None:
        super().__init__(method, **limits)
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
        """Say that something is being compiled, above the progress bar."""
        if self.says:
            from tqdm import tqdm

            tqdm.write(f"{self.method}: compiling, once; later runs find it in numba's cache", file=sys.stderr)

    def stand_still(self, seconds: float) -> None:
        """Leave some seconds out of account."""
        self.compiling += seconds
        self.started += seconds


class _Listener(numba.core.event.Listener):
    """Tells a watch when numba compiles; compiling one function may start that of another."""

    def __init__(self, watch: CompilingWatch) -> None:
        self._watch = watch
        self._depth = 0
        self._begun = 0.0

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._begun = time.perf_counter()
            if self._watch.compiling == 0.0:
                self._watch.say()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._watch.stand_still(time.perf_counter() - self._begun)
