"""Vectors that kernels read at random positions, on large pages of memory where the system has them.

In a model with a million states every successor is on another page, and looking up where the page is takes as long as
the arithmetic. Large pages are so few that the processor caches their addresses: sweeps are up to twice as fast. NumPy
asks for them too, but only gets them for memory that has not been used before.
"""

import mmap
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)

LARGE_PAGE = 1 << 21
"""Bytes of a large page on the usual machines."""


def vector(size: int, dtype: type[Number] = np.float64) -> NDArray[Number]:
    """Return a new array (size,) of unknown content.

    Parameters
    ----------
    size : int
        Number of entries.
    dtype : type
        NumPy's type of the entries.

    Examples
    --------
    >>> from rlsuite.planning.vectors import vector
    >>> value = vector(1_000_000)
    >>> value[:] = 1.0
    >>> value.shape, float(value.sum())
    ((1000000,), 1000000.0)
    """
    n_bytes = np.dtype(dtype).itemsize * size
    if n_bytes < 2 * LARGE_PAGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.empty(size, dtype=dtype)
    memory = mmap.mmap(-1, -(-n_bytes // LARGE_PAGE) * LARGE_PAGE)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:  # a system without huge pages
        return np.empty(size, dtype=dtype)
    return np.frombuffer(memory, dtype=dtype, count=size)
