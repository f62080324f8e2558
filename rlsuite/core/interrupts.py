"""Ctrl-C that waits: for work that must not be left half done, such as imports and compiling."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uninterrupted() -> Generator[None]:
    """Hold Ctrl-C back until the block is left; a second one does not wait. Only the main thread is ever interrupted.

    A module whose import is interrupted may stay behind in a state in which every later import of it fails, and numba
    loses its place when it is interrupted while it compiles.
    """
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield
        return
    come: list[int] = []

    def wait(number: int, frame: object) -> None:
        come.append(number)
        if len(come) > 1:
            signal.signal(signal.SIGINT, former)
            signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, wait)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
        if len(come) == 1:
            signal.raise_signal(signal.SIGINT)
