"""Kernels on all cores: the states are divided into blocks, with one call for each block.

What a kernel computes for a state depends on nothing outside its arguments, so neither the number of threads nor their
order can change a result.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from rlsuite.core import threads
from rlsuite.models.aliases import FloatArray, IndexArray

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

TRANSITIONS_PER_THREAD = 1 << 17
"""Least number of transitions in a block: about the work that outweighs handing it to a thread."""

STATES_PER_THREAD = 1 << 14
"""Least number of states in a block of a sweep in place, which converges the slower the more blocks there are."""


LONGEST = 1 << 13
"""BLAS adds up rows of a table of up to so many entries on one thread; OpenBLAS does up to 10,000."""

ENTRIES_PER_THREAD = 1 << 19
"""A part of a dense table has about so many entries."""


def on_blocks(
    kernel: Callable[Concatenate[int, int, Arguments], Result],
    blocks: list[tuple[int, int]],
    *arguments: Arguments.args,
    **named: Arguments.kwargs,
) -> list[Result]:
    """Return ``kernel(begin, end, *arguments)`` of each block, run at the same time.

    Parameters
    ----------
    kernel : callable
        A compiled kernel that writes nothing outside the states of its block.
    blocks : list of (int, int)
        As `cut` or `fixed_blocks` return them.
    *arguments, **named
        What else the kernel takes.
    """
    return threads.at_the_same_time([partial(kernel, begin, end, *arguments, **named) for begin, end in blocks])


def cut(indptr: IndexArray, n_actions: int, *, of_policy: bool = False) -> list[tuple[int, int]]:
    """Return blocks for kernels whose result does not depend on where states are cut: up to eight per core.

    They have about as many transitions each, as states may have few or many.

    Parameters
    ----------
    indptr : ndarray (S * A + 1,) int64
        Where the transitions of each pair of state and action begin.
    n_actions : int
        A
    of_policy : bool
        Whether kernels look at one action of each state, and not at all.
    """
    cores, last = threads.n_threads(), int(indptr[-1])
    number = last // (n_actions if of_policy else 1) // TRANSITIONS_PER_THREAD
    if number > cores:
        number = cores * min(8, number // cores)
    if cores == 1 or number < 2:
        return [(0, (indptr.size - 1) // n_actions)]
    begins = indptr[::n_actions]  # of the states, and the end
    inner = np.searchsorted(begins, last * np.arange(1, number) // number)
    return list(pairwise(np.unique([0, *inner, begins.size - 1]).tolist()))


def fixed_blocks(n_states: int) -> list[tuple[int, int]]:
    """Return blocks for sweeps in place, whose result does depend on the cuts: the same on every machine.

    At most 8, because changes cross the border of a block only once in a sweep; and 1, 2, 4 or 8, because most machines
    have such a number of cores, which then finish at the same time.
    """
    useful = min(8, 2 * n_states // (3 * STATES_PER_THREAD))
    number = 1 << max(0, useful.bit_length() - 1)
    return list(pairwise(n_states * k // number for k in range(number + 1)))


def multiply(table: FloatArray, x: FloatArray, out: FloatArray) -> None:
    """Fill ``table @ x`` into `out`, on all cores: BLAS adds up each row by itself, always in the same order.

    Rows are cut, because it cuts longer ones by the number of its threads.
    """
    at_once = max(1, ENTRIES_PER_THREAD // table.shape[1])
    parts = [slice(begin, begin + at_once) for begin in range(0, table.shape[0], at_once)]
    threads.at_the_same_time([partial(np.vecdot, table[part, :LONGEST], x[:LONGEST], out=out[part]) for part in parts])
    for begin in range(LONGEST, x.size, LONGEST):
        more = slice(begin, begin + LONGEST)
        threads.at_the_same_time([partial(_add, table[part, more], x[more], out[part]) for part in parts])


def _add(table: FloatArray, x: FloatArray, out: FloatArray) -> None:
    out += np.vecdot(table, x)
