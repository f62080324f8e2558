"""One measurement in a process of its own; `benchmarks/planning.py` starts it, and reads the last line it prints.

``make FAMILY SIZE FOLDER``              write a problem to files
``sweep FOLDER GAMMA``                   one sweep over all pairs, and what the memory would allow
``own SIDE GAMMA TOL LIMIT``             build and solve a grid of rlsuite_envs
``solve SOLVER FOLDER GAMMA TOL LIMIT FAMILY``
                                         solve it, and solve it again while that takes little time

A process that solves for longer than LIMIT seconds is ended by the alarm that it set itself; so is one that prepares
for longer than WARM_UP or BUILDING. Which it was is told by SOLVING, printed when all is prepared.
"""

import gc
import json
import os
import resource
import signal
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from memory import peak
from planning_models import Rows, build, distance_to_fixed_point

WARM_UP = 60  # seconds to compile and to solve a tiny problem, which is not timed
BUILDING = 600  # seconds to build a solver's own model, which is not timed either
SOLVING = "solving"
SHARE_OF_MEMORY = 0.6  # more than that, and a process is out of memory: the machine is not to begin swapping
REPEATS = 7
SECONDS_TO_REPEAT = 1.5
SMALL = {"garnet": 300, "sides": 17, "thirds": 17}  # just too large for methods that suit only tiny problems
STREAM = 64_000_000  # numbers that are added up to measure the bandwidth: 512 MB, far more than any cache holds


def make(family: str, size: str, folder: str) -> dict[str, Any]:
    """Write a problem to files."""
    rows = build(family, int(size))
    rows.write(Path(folder))
    return {"states": rows.n_states, "transitions": rows.next_state.size}


def solve(solver: str, folder: str, gamma: str, tol: str, limit: str, family: str = "sides") -> dict[str, Any]:
    """Solve a small relative of a problem, which compiles, then the problem for the record."""
    from planning_solvers import OURS, SOLVERS

    prepare = SOLVERS[solver]
    problem = (float(gamma), float(tol))
    alarm(WARM_UP)
    prepare(build(family, SMALL[family]), *problem)()
    baseline = peak()

    alarm(BUILDING)
    start = time.perf_counter()
    run = prepare(Rows.read(Path(folder)), *problem)
    built = time.perf_counter() - start
    print(SOLVING, flush=True)
    alarm(limit)
    times = []
    while True:
        gc.collect()
        start = time.perf_counter()
        answer = run()
        times.append(time.perf_counter() - start)
        signal.alarm(0)
        if len(times) == 1:
            highest = peak()  # before anything is done that only the measurement needs
        if len(times) == REPEATS or sum(times) > SECONDS_TO_REPEAT or built > 5 * SECONDS_TO_REPEAT:
            break
        del run
        run = prepare(Rows.read(Path(folder)), *problem)
        alarm(limit)
    del run
    gc.collect()
    np.save(Path(folder) / ("ours" if solver == OURS else "theirs"), answer.value)
    return {
        "seconds": statistics.median(times),
        "repeats": len(times),
        "build_seconds": built,
        "gb_baseline": baseline,
        "gb": highest,
        "claimed": answer.claimed,
        "iterations": answer.iterations,
        "method": answer.method,
        "residual_bound": distance_to_fixed_point(Rows.read(Path(folder)), answer.value, float(gamma)),
    }


def sweep(folder: str, gamma: str) -> dict[str, Any]:
    """Compare the time of one sweep with the time that its bytes take to come from memory."""
    from planning_solvers import model

    rows = Rows.read(Path(folder))
    mdp = model(rows, float(gamma))
    bandwidth = measure_bandwidth()
    seconds = sweep_seconds(mdp)
    bandwidth = max(bandwidth, measure_bandwidth())
    # Successor and weight of every transition; reward and row pointer of every pair; values read once and written once.
    moved = 12 * mdp.n_transitions + 16 * rows.reward.size + 16 * rows.n_states
    return {"seconds": seconds, "bytes": moved, "bandwidth": bandwidth, "allowed_seconds": moved / bandwidth}


def sweep_seconds(mdp: Any, rounds: int = 9) -> float:
    """Return the seconds of one sweep of the Bellman operator over all pairs of the model."""
    from rlsuite.planning import Lookahead
    from rlsuite.planning.blocks import on_blocks
    from rlsuite.planning.kernels import backup
    from rlsuite.planning.vectors import vector

    lookahead = Lookahead(mdp)
    value, backed_up = vector(mdp.n_states), vector(mdp.n_states)
    value[:] = np.random.default_rng(0).random(mdp.n_states)
    action = np.empty(mdp.n_states, dtype=np.int32)
    arguments = (lookahead.rows, value, backed_up, action)
    return median_seconds(lambda: on_blocks(backup, lookahead.blocks, *arguments), rounds)


def measure_bandwidth(rounds: int = 7) -> float:
    """Return the bytes per second that all cores together read from memory, in compiled loops that do little else."""
    from concurrent.futures import ThreadPoolExecutor

    import numba

    @numba.njit(nogil=True, fastmath=True)  # lets the compiler add several numbers at once
    def total(values: Any) -> float:
        found = 0.0
        for i in range(values.size):
            found += values[i]
        return found

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parts = np.array_split(np.ones(STREAM), cores)
    total(parts[0])  # compiles
    with ThreadPoolExecutor(cores) as pool:
        taken = median_seconds(lambda: list(pool.map(total, parts)), rounds)
    return 8 * STREAM / taken


def own(side: str, gamma: str, tol: str, limit: str) -> dict[str, Any]:
    """Build a grid by `rlsuite_envs`, as a user would, and solve it."""
    import rlsuite as rl
    from rlsuite_envs.gridworld import grid_world

    def grid(size: int) -> Any:
        return grid_world(size=size, slip=0.2, step_cost=1, gamma=float(gamma)).model

    rl.solve(grid(4), tol=float(tol))
    alarm(BUILDING)
    start = time.perf_counter()
    mdp = grid(int(side))
    built = time.perf_counter()
    gb_built = peak()
    alarm(limit)
    solution = rl.solve(mdp, tol=float(tol))
    return {
        "seconds": time.perf_counter() - built,
        "build_seconds": built - start,
        "gb_built": gb_built,
        "gb": peak(),
        "claimed": solution.error_bound,
        "states": mdp.n_states,
        "transitions": mdp.n_transitions,
    }


def median_seconds(work: Callable[[], object], rounds: int) -> float:
    """Median of several times, after one that is not counted."""
    work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def alarm(limit: str | int) -> None:
    """End this process in so many seconds, whatever it does then, unless told otherwise before."""
    signal.alarm(int(limit))


def limit_memory() -> None:
    """Let allocations fail before the machine runs out of memory."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_DATA, (int(SHARE_OF_MEMORY * whole),) * 2)


if __name__ == "__main__":
    limit_memory()
    command, *arguments = sys.argv[1:]
    print(json.dumps({"make": make, "solve": solve, "sweep": sweep, "own": own}[command](*arguments)))
