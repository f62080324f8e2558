"""Clocks that tell compiling and loading from working, so that times mean the same in the first run and later."""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Protocol, Self

from rlsuite.core.clock import Clock


class Listener(Protocol):
    """Is called when work of one kind begins and ends; it may begin again before it ends."""

    def on_start(self) -> None:
        """Work begins."""
        ...

    def on_end(self) -> None:
        """Work ends."""
        ...


compiling: list[Listener] = []
"""What is called when numba compiles a function. `rlsuite.core.machine_code` tells these, and the following."""
getting_ready: list[Listener] = []
"""What is called when numba is imported, compiles, or loads what was compiled before."""


@contextmanager
def preparing() -> Generator[None]:
    """Tell the listeners of `getting_ready` that what is done inside makes ready."""
    told = [*getting_ready]
    for listener in told:
        listener.on_start()
    try:
        yield
    finally:
        for listener in told:
            listener.on_end()


class _Total:
    """Adds up the seconds of one kind of work; one function may begin on another, and so may a thread."""

    def __init__(self, told_by: list[Listener]) -> None:
        told_by.append(self)
        self._lock = threading.Lock()
        self._depth = 0
        self._begun = 0.0
        self._finished = 0.0

    @property
    def seconds(self) -> float:
        """The seconds since the start of the process."""
        with self._lock:
            return self._finished + (time.perf_counter() - self._begun if self._depth else 0.0)

    def on_start(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._begun = time.perf_counter()
            self._depth += 1

    def on_end(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._finished += time.perf_counter() - self._begun


_compilation, _preparation = _Total(compiling), _Total(getting_ready)


class CompilingClock(Clock):
    """The clock of work that may have to be compiled first.

    Compiling is done once, on first use, and loading what was compiled earlier once in each process; what either takes
    has nothing to do with the data. So neither counts in `seconds`, from the making of the clock on. A deadline says
    how long somebody waits: loading counts for it. Compiling does not, as no result would be left of the first run; a
    progress bar says when something is compiled.

    Parameters
    ----------
    name : str
        As for `rlsuite.core.clock.Clock`.
    **limits
        Its other parameters; or, where this class comes before a subclass of `Clock`, those of that one.

    Attributes
    ----------
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
        self.says = self.progress
        self._prepared_before, self._compiled_before = _preparation.seconds, _compilation.seconds
        self._compiling: float | None = None
        self._listener = Compiling(self.say)

    @property
    def compiling(self) -> float:
        """Seconds spent on compiling and loading since the clock was made, until its `with` statement was left."""
        if self._compiling is not None:
            return self._compiling
        return _preparation.seconds - self._prepared_before

    @property
    def seconds(self) -> float:
        """Wall-clock time since the beginning, without what was spent on compiling and loading."""
        return super().seconds - self.compiling

    @property
    def waited(self) -> float:
        """The seconds that count for the deadline: those since the beginning, without what was spent on compiling."""
        return super().waited - (_compilation.seconds - self._compiled_before)

    def __enter__(self) -> Self:
        super().__enter__()
        self._listener.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listener.__exit__(kind, error, traceback)
        self._compiling = self.compiling
        super().__exit__(kind, error, traceback)

    def say(self) -> None:
        """Say that something is being compiled, above the bar."""
        if self.says:
            from tqdm import tqdm

            tqdm.write(f"{self.name}: compiling, once; later runs find it in numba's cache", file=sys.stderr)


class CompilingTime:
    """How long numba compiles in this thread; used as a context manager.

    Parameters
    ----------
    loading : bool
        Whether the time counts, too, in which numba is imported, and loads what was compiled before.

    Attributes
    ----------
    seconds : float
        Wall-clock time of it, while the manager was entered.

    Examples
    --------
    >>> with CompilingTime() as compiling:
    ...     pass
    >>> compiling.seconds
    0.0
    """

    def __init__(self, *, loading: bool = False) -> None:
        self.seconds = 0.0
        self._told_by = getting_ready if loading else compiling
        self._thread = threading.get_ident()
        self._depth = 0
        self._begun = 0.0

    def __enter__(self) -> Self:
        self._told_by.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._told_by.remove(self)

    def on_start(self) -> None:
        """Compiling one function may start that of another."""
        if threading.get_ident() == self._thread:
            if self._depth == 0:
                self._begun = time.perf_counter()
            self._depth += 1

    def on_end(self) -> None:
        """The function is compiled."""
        if threading.get_ident() == self._thread:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._begun


class Compiling:
    """Whether numba is compiling, and a call when it begins to; used as a context manager.

    Parameters
    ----------
    say : callable
        Called when the first function begins to be compiled.

    Examples
    --------
    >>> with Compiling(lambda: print("compiling")) as compiling:
    ...     compiling.now
    False
    """

    def __init__(self, say: Callable[[], None]) -> None:
        self._say = say
        self._said = False
        self._depth = 0

    @property
    def now(self) -> bool:
        """Whether a function is being compiled at this moment, in any thread."""
        return self._depth > 0

    def __enter__(self) -> Self:
        compiling.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        compiling.remove(self)

    def on_start(self) -> None:
        """Compiling one function may start that of another."""
        self._depth += 1
        if not self._said:
            self._said = True
            self._say()

    def on_end(self) -> None:
        """The function is compiled."""
        self._depth -= 1
