"""Watches that stand still while something is compiled, once; loading it in the next process counts for deadlines."""

import os
import subprocess
import sys
import time

import numba
import pytest

from rlsuite.core.compilation import has_machine_code
from rlsuite.errors import ParameterError
from rlsuite.planning.watch import Watch


@pytest.fixture(autouse=True, scope="module")
def told_by_numba():
    """What numba does is told from its import on by rlsuite."""
    assert has_machine_code()


def test_a_watch_stands_still_while_something_is_compiled(capsys):
    started = time.perf_counter()
    with Watch("this test", tol=1.0, deadline=60.0, progress=True) as watch:
        numba.njit(lambda x: x + 1)(1)
        assert watch.compiling > 0.0
        assert watch.seconds <= time.perf_counter() - started - watch.compiling + 1e-3
    assert "this test: compiling, once" in capsys.readouterr().err
    before = watch.compiling
    numba.njit(lambda x: x + 2)(1)
    assert watch.compiling == before


def test_a_watch_says_nothing_unasked(capsys):
    with Watch("this test", tol=1.0) as watch:
        numba.njit(lambda x: x + 3)(1)
    assert watch.compiling > 0.0
    assert capsys.readouterr().err == ""
    with pytest.raises(ParameterError, match="deadline=-1 is not a positive number or 0"):
        Watch("this test", tol=1.0, deadline=-1)


COLD = """
import numba  # from here on, nothing is interpreted
import numpy as np
from rlsuite.models import POMDP
from rlsuite.planning import solve

listen, door = np.eye(2), np.full((2, 2), 0.5)
tiger = POMDP.from_arrays(
    [listen, door, door], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], door, door],
    order="ass", gamma=0.95, start=[0.5, 0.5],
)
for _ in range(2):
    plan = solve(tiger, "blind", deadline=1.0, progress=True)
    print(plan.converged, round(plan.lower_bound, 6), round(plan.upper_bound, 6), plan.seconds < 1.0)
"""


@pytest.mark.slow
def test_a_deadline_does_not_count_what_is_compiled(tmp_path):
    """Compiling takes longer than the deadline, which would leave the upper bound, from policy iteration, far off."""
    run = subprocess.run(
        [sys.executable, "-c", COLD],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert run.stdout.splitlines() == ["True -20.0 189.0 True"] * 2
    assert run.stderr.count("blind: compiling, once; later runs find it in numba's cache") == 1
