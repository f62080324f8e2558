"""Point-based and exact planning for POMDPs, beside SARSOP and pomdp-solve: ``python benchmarks/pomdp.py``.

The classic problem files are taken from a folder ``shared/pomdp`` beside the checkout, and left out if it is not there;
RockSample and Tag are built by rlsuite_envs. Neither program can be installed with pip, so figures that were measured
with them are written down below: SARSOP is in C++, on one core, with reading the file; pomdp-solve is in C, with
incremental pruning.

Every (problem, deadline) is a run of its own, and its bounds at the start belief have to be at least as good as those
of SARSOP after the same time. How late it came back is measured too. Exact solutions have to be faster than those of
pomdp-solve. Compiling is not timed there: everything has been run once before. What it costs is measured apart: each
method is run in a process of its own that finds nothing compiled. ``--quick`` takes the deadline of 1 second alone. All
of it takes about a quarter of an hour on an idle machine; status 1 if a target is missed.
"""

import argparse
import contextlib
import inspect
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from measuring import Line, Target, print_heading, print_line
from memory import peak

from rlsuite.errors import ConvergenceWarning, ParameterError
from rlsuite.models import POMDP
from rlsuite.planning import methods, solve
from rlsuite.planning.pomdp.exact.incremental_pruning import incremental_pruning
from rlsuite.planning.pomdp.point_based.sarsop import sarsop
from rlsuite_envs.rock_sample import rock_sample
from rlsuite_envs.tag import tag
from rlsuite_envs.tiger import tiger

FILES = Path(__file__).parents[2] / "shared" / "pomdp"


def shared(name: str) -> POMDP | None:
    """Return the model of a file, None if it is not there."""
    path = FILES / f"{name}.pomdp"
    return POMDP.read(path) if path.exists() else None


class Bracketed(NamedTuple):
    """A problem, and the bounds of SARSOP after some seconds."""

    name: str
    build: Callable[[], POMDP | None]
    bounds: dict[int, tuple[float, float]]
    """lower and upper bound by seconds; infinite where nothing is known"""


UNKNOWN = (-math.inf, math.inf)

BRACKETED = (
    Bracketed(
        "tiger-grid",
        partial(shared, "tiger-grid"),
        {1: (1.654, 2.563), 10: (2.153, 2.542), 60: (2.254, 2.532)},
    ),
    Bracketed(
        "hallway",
        partial(shared, "hallway"),
        {1: (0.905, 1.223), 10: (0.974, 1.219), 60: (0.994, 1.206)},
    ),
    Bracketed(
        "tag-avoid",
        partial(shared, "tag-avoid"),
        {1: (-6.523, -0.872), 10: (-6.328, -1.397), 60: (-6.201, -1.910)},
    ),
    Bracketed("Tag", lambda: tag().model, {1: UNKNOWN, 10: UNKNOWN, 60: UNKNOWN}),
    Bracketed("RockSample(5, 7)", lambda: rock_sample(n=5, k=7).model, {1: UNKNOWN, 10: (23.88, 27.82)}),
    Bracketed(
        "RockSample(7, 8)",
        lambda: rock_sample(n=7, k=8).model,
        {1: UNKNOWN, 10: (19.08, 25.86), 60: (20.39, 25.34)},
    ),
)


class Timed(NamedTuple):
    """A problem, how it is solved, and the seconds of the peer."""

    name: str
    build: Callable[[], POMDP | None]
    solve: Callable[[POMDP], object]
    seconds: float


def to_one_part_in_a_thousand(pomdp: POMDP) -> object:
    """Close the gap to 0.1 % of the value."""
    return sarsop(pomdp, gap=0.0179)


CLOSED = (Timed("RockSample(4, 4) to 0.1 %", lambda: rock_sample(n=4, k=4).model, to_one_part_in_a_thousand, 0.21),)

EXACT = (
    Timed("tiger, horizon 50", tiger, partial(incremental_pruning, horizon=50), 1.55),
    Timed("tiger, no end", tiger, partial(incremental_pruning, tol=1e-9), 2.5),
    Timed("cheese, no end", partial(shared, "cheese.95"), partial(incremental_pruning, tol=1e-9), 1.0),
    Timed("4x3, horizon 8", partial(shared, "4x3.95"), partial(incremental_pruning, horizon=8), 0.53),
    Timed("network, horizon 10", partial(shared, "network"), partial(incremental_pruning, horizon=10), 0.23),
    Timed("shuttle, horizon 10", partial(shared, "shuttle.95"), partial(incremental_pruning, horizon=10), 24.0),
)

NEAR_ONE = 0.99999
"""A discount factor at which a deadline is kept, too."""


def bracketed(problem: Bracketed, deadlines: tuple[int, ...]) -> Iterator[Line]:
    """Measure the bounds of one problem, each deadline anew."""
    model = problem.build()
    if model is None:
        print(f"{problem.name}: no file in {FILES}", flush=True)
        return
    for deadline in deadlines:
        if deadline not in problem.bounds:
            continue
        low, high = problem.bounds[deadline]
        started = time.perf_counter()
        plan = sarsop(model, deadline=float(deadline))
        took = time.perf_counter() - started
        effort = f"{plan.iterations} trials, {plan.n_vectors} vectors"
        what = f"{problem.name}, {deadline} s"
        yield Line(f"{what}: lower bound", plan.lower_bound, "", Target(">=", low), effort)
        yield Line(f"{what}: upper bound", plan.upper_bound, "", Target("<=", high))
        if not plan.converged:
            yield Line(f"{what}: seconds", took, "s", Target("<=", 1.05 * deadline + 0.2))


def late(problem: Bracketed, deadline: float) -> Iterator[Line]:
    """Measure how long a run takes that cannot come to its end, at a discount factor near 1."""
    model = problem.build()
    if model is not None:
        started = time.perf_counter()
        sarsop(model.replace(gamma=NEAR_ONE), deadline=deadline)
        took = time.perf_counter() - started
        what = f"{problem.name}, gamma {NEAR_ONE}, deadline {deadline:g} s: seconds"
        yield Line(what, took, "s", Target("<=", 1.05 * deadline + 0.2))


def latest(problem: Bracketed, deadline: float, **horizon: int) -> Iterator[Line]:
    """Measure the method that comes back last, of all that can solve the problem, and take a deadline (and horizon)."""
    model = problem.build()
    if model is None:
        return
    took: dict[str, float] = {}
    for name, method in methods(model).items():
        options = {"deadline": deadline, "seed": 1, **horizon}
        taken = inspect.signature(method).parameters
        if not {"deadline", *horizon} <= taken.keys():
            continue
        options = {option: value for option, value in options.items() if option in taken}
        with contextlib.suppress(ParameterError):  # too large for this method, which says so at once
            solve(tiger().replace(gamma=0.5), name, **options)  # compiles
            started = time.perf_counter()
            solve(model, name, **options)
            took[name] = time.perf_counter() - started
    last = max(took, key=took.__getitem__)
    what = "".join(f", {name} {value}" for name, value in horizon.items())
    title = f"{problem.name}{what}, deadline {deadline:g} s: seconds of {last}"
    yield Line(title, took[last], "s", Target("<=", 1.05 * deadline + 0.2), f"the last of {len(took)}")


def timed(problem: Timed) -> Iterator[Line]:
    """Measure one solution, as the best of three."""
    model = problem.build()
    if model is None:
        print(f"{problem.name}: no file in {FILES}", flush=True)
        return
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 20.0:
        started = time.perf_counter()
        problem.solve(model)
        seconds.append(time.perf_counter() - started)
    yield Line(problem.name, min(seconds), "s", Target("<=", problem.seconds))


COLD = """
from rlsuite.planning import solve
from rlsuite_envs.tiger import tiger
solve(tiger(), "{method}", {options})
"""
FROM_COLD = {
    "sarsop": "tol=1e-3",
    "pbvi": "tol=1e-3",
    "perseus": "tol=1e-3, n_beliefs=100",
    "incremental_pruning": "horizon=5",
    "witness": "tol=1e-3",
    "fast_informed_bound": "",
    "aems2": "max_iterations=100",
    "pomcp": "simulations=1000, seed=1",
}
"""Methods, and options with which the work itself is next to nothing."""


def cold(method: str, options: str) -> Line:
    """Measure a whole process that has to compile everything first."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", COLD.format(method=method, options=options)],
            env={**os.environ, "NUMBA_CACHE_DIR": folder},
            check=True,
        )
        took = time.perf_counter() - started
    return Line(f"{method}: seconds of a process", took, "s", Target("<=", 10.0))


def lines(quick: bool) -> Iterator[Line | str]:
    """Measure everything; texts are headings."""
    deadlines = (1,) if quick else (1, 10, 60)
    yield "Bounds at the start after a time, beside those of SARSOP"
    for problem in BRACKETED:
        yield from bracketed(problem, deadlines)
    for closed in CLOSED:
        yield from timed(closed)
    yield "Deadlines near a discount factor of 1"
    for problem in BRACKETED:
        yield from late(problem, 1.0)
    yield "Deadlines of all methods"
    for problem in BRACKETED:
        yield from latest(problem, 1.0)
        yield from latest(problem, 2.0, horizon=50)
    yield "Exact solutions, beside those of pomdp-solve"
    for exact in EXACT:
        yield from timed(exact)
    yield "From cold: everything is compiled"
    for method, options in FROM_COLD.items():
        yield cold(method, options)


def main() -> int:
    """Print the tables; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="Planning for POMDPs, beside SARSOP and pomdp-solve.")
    parser.add_argument("--quick", action="store_true", help="one second per problem")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    small = tiger().replace(gamma=0.5)
    sarsop(small)
    incremental_pruning(small, horizon=2)
    incremental_pruning(small)
    missed = 0
    for line in lines(options.quick):
        if isinstance(line, str):
            print_heading(line)
            continue
        print_line(line)
        missed += line.target is not None and not line.target.met(line.measured)
    print(f"\npeak memory {peak():.2f} GB; {missed} targets missed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
