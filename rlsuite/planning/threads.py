"""Kernels on all cores: the states are cut into blocks, and each block is a call of its own.

Compiled kernels release Python's lock, so plain threads are enough. What a kernel computes for a state depends on
nothing outside its arguments, so neither the number of threads nor their order can change a result.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

Result = TypeVar("Result")

WORTH_A_THREAD = 1 << 14
"""Least number of states in a block: about the work that outweighs handing it to a thread."""

_pool: ThreadPoolExecutor | None = None


def n_threads() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_blocks(kernel: Callable[..., Result], blocks: list[tuple[int, int]], *arguments: Any) -> list[Result]:
    """Return ``kernel(begin, end, *arguments)`` of each block, run at the same time.

    Parameters
    ----------
    kernel : callable
        A compiled kernel that writes nothing outside the states of its block.
    blocks : list of (int, int)
        As `cut` or `fixed_blocks` return them.
    *arguments
        What else the kernel takes.
    """
    if len(blocks) == 1:
        return [kernel(*blocks[0], *arguments)]
    results: list[Any] = [None] * len(blocks)
    waiting = deque(enumerate(blocks))

    def work() -> None:
        while waiting:
            try:
                number, block = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            results[number] = kernel(*block, *arguments)

    # This thread works too; whoever is done takes the next block.
    helpers = [_threads().submit(work) for _ in range(min(n_threads(), len(blocks)) - 1)]
    work()
    for helper in helpers:
        helper.result()
    return results


def cut(n_states: int) -> list[tuple[int, int]]:
    """Return blocks for kernels whose result does not depend on where states are cut: up to four per core."""
    threads = n_threads()
    number = n_states // WORTH_A_THREAD
    if number > threads:
        number = threads * min(8, number // threads)
    return _blocks(n_states, number if threads > 1 else 1)


def fixed_blocks(n_states: int) -> list[tuple[int, int]]:
    """Return blocks for sweeps in place, whose result does depend on the cuts: the same on every machine.

    At most 8, because news cross the border of a block only once in a sweep; and 1, 2, 4 or 8, because the cores of a
    machine, whose number is such a one as a rule, are then done at the same time.
    """
    worth = min(8, 2 * n_states // (3 * WORTH_A_THREAD))
    return _blocks(n_states, 1 << max(0, worth.bit_length() - 1))


def _blocks(n_states: int, number: int) -> list[tuple[int, int]]:
    number = max(1, number)
    cuts = [n_states * k // number for k in range(number + 1)]
    return list(pairwise(cuts))


def _threads() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max(1, n_threads() - 1), thread_name_prefix="rlsuite-planning")
    return _pool


def _forget() -> None:
    """Threads do not survive a fork: the child makes its own."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
