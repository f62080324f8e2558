"""Signals that end a run wait until a step is complete, so that the run can be kept, and then do what they do."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

ENDING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)  # Windows has no SIGHUP
)


class Stopped(BaseException):
    """A signal ends the run, and no step is incomplete; raised within `EndingSignals`, which does what it says.

    Parameters
    ----------
    error : BaseException, optional
        What the handler of the signal has raised; None if the signal ends the process.
    """

    def __init__(self, error: BaseException | None = None):
        super().__init__()
        self.error = error


class EndingSignals:
    """Hold back Ctrl-C, SIGTERM and SIGHUP in the main thread until a step is complete; used as a context manager.

    Then the program's own handler is called: that of Ctrl-C raises KeyboardInterrupt. What it raises comes as `Stopped`
    first, and out of the manager as it was. If it returns, the run continues. A signal without a handler ends the
    process when the manager is left. A second signal, while the first is held back, does not wait.

    Parameters
    ----------
    also_default : bool
        Whether signals without a handler are held back, too.
    """

    def __init__(self, also_default: bool) -> None:
        self.also_default = also_default
        self.come: list[int] = []
        """What is held back."""
        self.in_step = False
        """Whether a step may be incomplete; set by the loop."""
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for one in ENDING:
                handler = signal.getsignal(one)
                if callable(handler) or (handler is signal.SIG_DFL and self.also_default):
                    self._former[one] = handler
                    signal.signal(one, self._record)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._restore()
        if isinstance(error, Stopped) and error.error is not None:
            raise error.error from None
        if self.come:
            signal.raise_signal(self.come[0])

    def check(self) -> None:
        """Let what has come do what it does; called when no step is incomplete."""
        if not self.come:
            return
        handler = self._former.get(self.come[0])
        if not callable(handler):
            raise Stopped
        number = self.come.pop()
        try:
            handler(number, None)
        except BaseException as error:  # raised again by __exit__, once the run is kept
            raise Stopped(error) from None

    def _record(self, number: int, frame: FrameType | None) -> None:
        if self.come:
            self.come.clear()
            self._restore()
            signal.raise_signal(number)
            return
        self.come.append(number)
        if not self.in_step:
            self.check()

    def _restore(self) -> None:
        for one, handler in self._former.items():
            signal.signal(one, handler)
        self._former.clear()
