"""An alarm for code of an environment that may never return."""

import signal
import sysconfig
from collections.abc import Callable, Generator
from contextlib import contextmanager
from os import sep
from pathlib import Path
from types import FrameType
from typing import NoReturn

LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
"""Folders of code that is not the user's."""
_OURS = str(Path(__file__).parent.parent) + sep


@contextmanager
def alarm(seconds: float, late: Callable[[str], BaseException]) -> Generator[None]:
    """Raise an error in the block if it takes too long; it does nothing outside of the main thread, or on Windows.

    Parameters
    ----------
    seconds : float
        How long it may take.
    late : callable
        Makes the error from a description of the function, file and line that the program had reached.

    Examples
    --------
    >>> import time
    >>> with alarm(0.01, TimeoutError):
    ...     time.sleep(100.0)
    Traceback (most recent call last):
    TimeoutError: in <module>(), <doctest rlsuite.environments.alarm.alarm[1]>:2
    """

    def ring(number: int, frame: FrameType | None) -> NoReturn:
        raise late(_where(frame))

    try:
        set_timer = signal.setitimer
        former = signal.signal(signal.SIGALRM, ring)
    except (AttributeError, ValueError):  # there is no such timer
        yield
        return
    set_timer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        set_timer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)


def _where(frame: FrameType | None) -> str:
    """In which line of the environment, or of what it calls, the program is."""
    called: list[FrameType] = []
    while frame is not None and not (called and frame.f_code.co_filename.startswith(_OURS)):
        if not frame.f_code.co_filename.startswith(_OURS):
            called.append(frame)
        frame = frame.f_back
    if not called:
        return "in rlsuite itself"
    at = next((one for one in called if not one.f_code.co_filename.startswith(LIBRARIES)), called[-1])
    return f"in {at.f_code.co_qualname}(), {at.f_code.co_filename}:{at.f_lineno}"
