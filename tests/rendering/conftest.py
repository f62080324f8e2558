import numpy as np
import pytest

from rlsuite.rendering import GridLayout


@pytest.fixture
def grid_goal():
    """The grid goal problem of the lecture notes, Fig. 9.6: S3 S4 G over S0 S1 S2."""
    cells = [(1, 0), (1, 1), (1, 2), (0, 0), (0, 1), (0, 2)]
    return GridLayout(2, 3, cells, marks={(1, 0): "S", (0, 2): "G"}, arrows=[(0, -1), (0, 1), (-1, 0), (1, 0)])


@pytest.fixture
def grid_goal_q():
    """Its optimal action values at gamma = 0.9; -inf marks illegal moves."""
    no = -np.inf
    return np.array(
        [
            [no, 81, 81, no],
            [72.9, 90, 90, no],
            [81, no, 100, no],
            [no, 90, no, 72.9],
            [81, 100, no, 81],
            [no, no, no, no],
        ]
    )
