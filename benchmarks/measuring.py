"""Side-by-side measurements: what two ways of doing one thing cost, and the table of their ratios.

The two are run in turn, several times, and the median of the *ratios* is reported: a neighbour who slows the machine
down slows both halves of a pair, and the odd pair that it hits in the middle does not move a median.
"""

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numba
import numpy as np

ROUNDS = 5

Clock = Callable[[], float]


class Target(NamedTuple):
    """What a ratio has to be: at least, or at most."""

    relation: str  # ">=" or "<="
    bound: float

    def met(self, value: float) -> bool:
        """Whether a measured value fulfils it."""
        return value >= self.bound if self.relation == ">=" else value <= self.bound

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}"


class Line(NamedTuple):
    """One line of the table."""

    what: str
    measured: float
    unit: str
    target: Target | None = None
    detail: str = ""


def seconds(work: Callable[[], object], clock: Clock = time.thread_time) -> float:
    """Seconds that a piece of work takes on ``clock``.

    ``thread_time`` counts the processor time of this thread and is right for work on one thread, whatever else uses the
    machine; work on several threads needs ``perf_counter``, and an idle machine.
    """
    start = clock()
    work()
    return clock() - start


def in_turn(one: Callable[[], float], other: Callable[[], float], rounds: int = ROUNDS) -> tuple[float, float, float]:
    """Measure two costs in turn; return the median of each, and the median of ``other / one``."""
    pairs = [(one(), other()) for _ in range(rounds)]
    return (
        statistics.median(first for first, _ in pairs),
        statistics.median(second for _, second in pairs),
        statistics.median(second / first for first, second in pairs),
    )


@numba.njit(nogil=True)
def _spin(n: int) -> float:
    total = 0.0
    for i in range(n):
        total += np.sin(i)
    return total


def speed_up_of_the_machine(n: int = 5_000_000) -> float:
    """How much faster two threads are than one at something that needs no memory: 2, if both cores are free.

    What a shared machine really has to give changes from second to second, and a virtual one does not tell.
    """
    _spin(1)  # compiles
    with ThreadPoolExecutor(2) as pool:
        alone = seconds(lambda: _spin(n), time.perf_counter)
        both = seconds(lambda: list(pool.map(_spin, (n, n))), time.perf_counter)
    return 2 * alone / both


def rate(cost: float) -> str:
    """Steps per second, from seconds per step.

    >>> rate(4e-8)
    '25 M/s'
    """
    per_second = 1.0 / cost
    return f"{per_second / 1e6:.3g} M/s" if per_second >= 1e6 else f"{per_second / 1e3:.3g} k/s"


def print_heading(text: str) -> None:
    """Begin a group of lines."""
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def print_line(line: Line) -> None:
    """Print a line as soon as it is known."""
    verdict = ""
    if line.target is not None:
        verdict = f"{line.target!s:>8} {'met' if line.target.met(line.measured) else 'MISSED'}"
    print(f"{line.what:<72}{line.measured:>7.3g} {line.unit:<3}{verdict:<16} {line.detail}".rstrip(), flush=True)
