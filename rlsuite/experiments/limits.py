"""Limits of a cell: how long it may learn, and how much memory it may take; one that runs past them has failed.

A run looks at its limits once a second or so, between two steps. What learns in one piece, such as a search or a fit of
scikit-learn, does not look, and a ``step`` that never returns is not interrupted.
"""

import math
import os
import re
import sys
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple, Self

from rlsuite import errors
from rlsuite.core.checks import positive_number
from rlsuite.core.narrowing import is_mapping
from rlsuite.errors import LimitReached, ParameterError

_UNITS = {
    "B": 1,
    **{f"{letter}B": 1_000**power for power, letter in enumerate("kMGT", 1)},
    **{f"{letter}iB": 1_024**power for power, letter in enumerate("KMGT", 1)},
}


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
            if key not in cls._fields:
                raise ParameterError(f"limits: {errors.unknown('key', key, cls._fields)}")
        seconds = positive_number("limits.seconds", table["seconds"]) if "seconds" in table else math.inf
        memory = _bytes(table["memory"]) if "memory" in table else math.inf
        if memory < math.inf and sys.platform == "win32":
            raise ParameterError("limits.memory: Windows does not tell; leave it out")
        return cls(seconds, memory)

    def begin(self) -> Callable[[], None]:
        """Begin a cell; return what raises LimitReached once it is past its limits."""
        began, before = monotonic(), memory_of_process()

        def look() -> None:
            grown = memory_of_process() - before
            if monotonic() - began > self.seconds:
                said = f"it had not ended after {self.seconds:g} s"
            elif grown > self.memory:
                said = f"it had taken {_in_words(grown)} of memory, more than {_in_words(self.memory)}"
            else:
                return
            raise LimitReached(f"{said}; raise limits=, or leave it out")

        return look


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
