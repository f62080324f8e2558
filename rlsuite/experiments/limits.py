"""Limits of a cell: how long it may learn, and how much memory it may take; one that runs past them has failed.

A thread looks at the cell some times a second, and has an exception raised in it. Python raises it between two of its
own instructions, in whatever code the cell is, also in an environment that never returns from ``step``; but not within
one call of compiled code, such as a fit of scikit-learn, before that returns, and not while it imports or compiles.
"""

import ctypes
import math
import os
import re
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final, NamedTuple, Self, TypeVar

from rlsuite import errors
from rlsuite.core.checks import positive_number
from rlsuite.core.narrowing import is_mapping
from rlsuite.errors import LimitReached, ParameterError

Result = TypeVar("Result")

LIMITS: Final = ("seconds", "memory")

LOOK_EVERY = 0.1
"""Seconds between two looks."""

_UNITS = {
    "B": 1,
    **{f"{letter}B": 1_000**power for power, letter in enumerate("kMGT", 1)},
    **{f"{letter}iB": 1_024**power for power, letter in enumerate("KMGT", 1)},
}


_LOADS = re.compile(r"<frozen importlib|.*[\\/](numba|llvmlite)[\\/]")
"""Names of files whose code imports or compiles."""


class Limits(NamedTuple):
    """How much a cell may take."""

    seconds: float = math.inf
    """Of a clock on the wall, compilation included, since it began or went on from where it was saved."""
    memory: float = math.inf
    """Bytes by which its process may grow meanwhile."""

    @classmethod
    def of(cls, table: object) -> Self:
        """Read ``{"seconds": 60, "memory": "2 GB"}``.

        Raises
        ------
        ParameterError
            If there is another key, or an impossible value.

        Examples
        --------
        >>> Limits.of({"seconds": 60, "memory": "2 GB"})
        Limits(seconds=60.0, memory=2000000000)
        """
        if not is_mapping(table):
            raise ParameterError(f"limits must be a table, such as {{ seconds = 60, memory = '2 GB' }}, not {table!r}")
        for key in table:
            if key not in LIMITS:
                raise ParameterError(f"limits: {errors.unknown('key', key, LIMITS)}")
        seconds = positive_number("limits.seconds", table["seconds"]) if "seconds" in table else math.inf
        memory = _bytes(table["memory"]) if "memory" in table else math.inf
        if memory < math.inf and sys.platform == "win32":
            raise ParameterError("limits.memory: Windows does not tell; leave it out")
        return cls(seconds, memory)

    @property
    def are_set(self) -> bool:
        """Whether there is any."""
        return min(self) < math.inf


def _bytes(value: object) -> int:
    found = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
    units = {unit.casefold(): size for unit, size in _UNITS.items()}
    try:
        if found is not None:
            size = float(found[1]) * units[found[2].casefold()]
        else:
            size = positive_number("limits.memory", value)
        if not 1.0 <= size < math.inf:
            raise ValueError
    except (ValueError, KeyError) as error:
        raise ParameterError(
            f"limits.memory={value!r} must be a number of bytes, or a text with a unit: '500 MB', '2 GB'"
        ) from error
    return int(size)


class _Interrupted(BaseException):
    """Raised in a thread by another; no Exception, so that a stranger's ``except Exception`` does not end it."""


def within(limits: Limits, call: Callable[[], Result]) -> Result:
    """Call a function that is interrupted when it runs past its limits.

    Raises
    ------
    LimitReached
        If it does; the traceback is that of the place where it was then.
    """
    if not limits.are_set:
        return call()
    cell, ended, changing = threading.get_ident(), threading.Event(), threading.Lock()
    began, before = monotonic(), memory_of_process()
    reached: list[str] = []

    def watch() -> None:
        while not ended.wait(LOOK_EVERY):
            grown = memory_of_process() - before
            if monotonic() - began > limits.seconds:
                said = f"it had not ended after {limits.seconds:g} s"
            elif grown > limits.memory:
                said = f"it had taken {_in_words(grown)} of memory, more than {_in_words(limits.memory)}"
            else:
                continue
            with changing:
                if _is_loading(cell):
                    continue
                if not ended.is_set():
                    reached.append(f"{said}; raise limits=, or leave it out")
                    _raise_in(cell, _Interrupted)
            return  # it is raised once at most, so that nothing can be raised after the call

    try:
        threading.Thread(target=watch, name="rlsuite limits", daemon=True).start()
        try:
            return call()
        finally:
            with changing:
                ended.set()
            for _ in range(10):  # the interpreter looks here for what is on its way, so that nothing comes later
                pass
    except _Interrupted as interrupted:
        raise LimitReached(reached[0]).with_traceback(interrupted.__traceback__) from None


def _is_loading(thread: int) -> bool:
    """Whether a thread imports a module, or compiles: what is interrupted there cannot be used any more."""
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage] - it is documented
    while frame is not None:
        if _LOADS.match(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Have an exception raised in a thread.

    It is not taken back: after that, Python 3.11 looks for exceptions at every step, and hangs where steps are traced.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def memory_of_process() -> int:
    """Bytes of memory that this process occupies now; where that is not told, the most it has occupied."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1_024 * most


def _in_words(size: float) -> str:
    """Bytes with a unit.

    >>> _in_words(2_000_000_000), _in_words(1_500)
    ('2 GB', '1.5 kB')
    """
    unit = max((unit for unit in ("B", "kB", "MB", "GB", "TB") if _UNITS[unit] <= max(size, 1)), key=_UNITS.__getitem__)
    return f"{size / _UNITS[unit]:.3g} {unit}"
