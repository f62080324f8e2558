"""Vectors on large pages are vectors like all others."""

import numpy as np
import pytest

from rlsuite.planning.vectors import LARGE_PAGE, vector


@pytest.mark.parametrize("size", [0, 5, LARGE_PAGE // 4, LARGE_PAGE + 1])
def test_they_hold_what_is_written_to_them(size):
    numbers = vector(size, np.int32)
    assert numbers.shape == (size,)
    assert numbers.dtype == np.int32
    assert numbers.flags.writeable
    numbers[:] = np.arange(size)
    assert numbers.sum(dtype=np.int64) == size * (size - 1) // 2
