"""A message on the terminal when numba begins to compile: only the first run of a command waits for it."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numba.core.event
from tqdm import tqdm

_events: Any = numba.core.event  # has no type annotations


class _Announcement(numba.core.event.Listener):
    """Prints the message once."""

    def __init__(self) -> None:
        self.printed = False

    def on_start(self, event: Any) -> None:
        if not self.printed:
            self.printed = True
            tqdm.write("compiling, once; later runs find it in numba's cache", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        """Print nothing."""


@contextmanager
def compiling_message() -> Generator[None]:
    """Print a message on stderr, if it is a terminal, when something is compiled in the body."""
    if not sys.stderr.isatty():
        yield
        return
    listener = _Announcement()
    _events.register("numba:compile", listener)
    try:
        yield
    finally:
        _events.unregister("numba:compile", listener)
