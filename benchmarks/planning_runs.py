"""Measurements in processes of their own: started, waited for, and put into words when they fail."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from memory import from_rusage
from planning_models import Case
from planning_solvers import OURS
from planning_worker import SOLVING

WORKER = Path(__file__).with_name("planning_worker.py")
TIME_OVER = "time over"  # while it solved: this says something about its speed
NEVER_BEGAN = "time over before it began to solve"  # and this nothing
NO_MEMORY = "out of memory"


class Run(NamedTuple):
    """What became of one solver on one case."""

    solver: str
    case: Case
    seconds: float  # nan unless it came to an end
    gb: float  # peak memory of the whole process; up to its end, if it was ended
    gb_beyond_start: float  # the same beyond what it took when everything was imported and compiled; nan if ended
    error: float  # ours: bound by a computation of the benchmark's own; theirs: distance from ours
    failure: str = ""  # TIME_OVER, NEVER_BEGAN, NO_MEMORY, or the message
    exact: bool = True  # whether the value is as near to the optimum as was asked
    detail: dict[str, Any] | None = None

    @property
    def peer(self) -> str:
        """Name of the package."""
        return self.solver.split()[0]

    @property
    def done(self) -> bool:
        """Whether it came to an end, and to the right one."""
        return not self.failure and self.exact

    def __str__(self) -> str:
        if self.failure:
            return self.failure
        return f"{self.seconds:.4g} s" + ("" if self.exact else f", wrong by {self.error:.2g}")


def start(*arguments: object) -> tuple[dict[str, Any] | None, str, float]:
    """Run the worker; return what it reports or why it does not, and its peak memory in GB."""
    with tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(
            [sys.executable, str(WORKER), *map(str, arguments)], stdout=subprocess.PIPE, stderr=complaints, text=True
        )
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        complaints.seek(0)
        said = complaints.read().strip()
    gb = from_rusage(usage)
    if process.returncode == 0:
        return json.loads(printed.strip().splitlines()[-1]), "", gb
    if process.returncode == -signal.SIGALRM:
        return None, TIME_OVER if SOLVING in printed.splitlines() else NEVER_BEGAN, gb
    if process.returncode == -signal.SIGKILL or "MemoryError" in said or "bad_alloc" in said:
        return None, NO_MEMORY, gb
    last = said.splitlines()[-1] if said else f"ended with status {process.returncode}"
    return None, last, gb


def must(*arguments: object) -> dict[str, Any]:
    """Run the worker on something that has to succeed."""
    found, failure, _ = start(*arguments)
    if found is None:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {failure}")
    return found


def solve(solver: str, case: Case, folder: Path, tol: float, limit: int, ours: Run | None) -> Run:
    """Measure one solver on one case whose arrays are in ``folder``; others are compared with our answer there."""
    found, failure, gb = start("solve", solver, folder, case.gamma, tol, limit, case.family)
    nan = float("nan")
    if found is None:
        return Run(solver, case, nan, gb, nan, nan, failure)
    beyond = found["gb"] - found["gb_baseline"]
    if solver == OURS:
        error = max(found["claimed"], found["residual_bound"])
        return Run(solver, case, found["seconds"], found["gb"], beyond, error, "", error <= tol, found)
    if ours is None or ours.failure:  # nothing to compare with: its own residual has to tell
        error, allowed = found["residual_bound"], tol
    else:
        error = float(np.abs(np.load(folder / "theirs.npy") - np.load(folder / "ours.npy")).max())
        allowed = tol + ours.error
    return Run(solver, case, found["seconds"], found["gb"], beyond, error, "", error <= allowed, found)
