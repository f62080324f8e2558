"""Errors that have to leave the code of an environment, whatever it catches.

While an environment is asked for its table, its own `step` draws from a generator of ours. What that finds out must not
be lost in an ``except Exception:`` of the environment. So it raises a `Signal`, which no ``except Exception:`` catches;
and one that was caught all the same is remembered until `called` returns.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

from rlsuite.errors import UnsuitableEnvironment

Result = TypeVar("Result")


class CannotBeFollowed(UnsuitableEnvironment):
    """A step does something with a random number that cannot be followed."""


class Signal(BaseException):
    """Carries an error through the code of an environment, past what catches exceptions there."""

    def __init__(self, error: CannotBeFollowed):
        super().__init__(str(error))
        self.error = error
        _signals.met = self

    def forget(self) -> None:
        """Forget a signal that met no code of an environment."""
        _signals.met = None


class _Signals(threading.local):
    met: Signal | None = None

    def latest(self) -> Signal | None:
        """What was met since it was set to None."""
        return self.met


_signals = _Signals()


def called(function: Callable[[], Result]) -> Result:
    """Call what runs code of an environment; raise the error of a signal, also if the environment has swallowed it.

    Raises
    ------
    CannotBeFollowed
        What the signal carried.
    """
    _signals.met = None
    try:
        result = function()
    except Signal as signal:
        raise signal.error from None
    if (met := _signals.latest()) is not None:
        raise met.error
    return result
