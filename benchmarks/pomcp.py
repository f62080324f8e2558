"""POMCP beside pomdp_py: ``python benchmarks/pomcp.py [--peer PYTHON]``.

Simulations per second of UCT from the start of the tiger and of RockSample(7, 8), with the same depth, exploration
constant and rollouts of random actions on both sides, one thread each, run in turn (see measuring.py). pomdp_py has its
core compiled with Cython, and asks Python classes for every state, reward and observation. ``--peer`` names a Python
that has it (``pip install pomdp_py==1.3.5.1``); by default this one. Ends with status 1 if a target is missed. Takes
about two minutes.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from measuring import Line, Target, in_turn, print_heading, print_line, rate

from rlsuite.models import POMDP
from rlsuite.planning.pomdp.online.pomcp import MonteCarloSearch, pomcp
from rlsuite_envs.rock_sample import rock_sample
from rlsuite_envs.tiger import tiger

WORKER = Path(__file__).with_name("pomcp_in_pomdp_py.py")
SECONDS = 1.0
AT_LEAST = Target(">=", 20)


class Problem(NamedTuple):
    """What both sides search."""

    name: str
    model: POMDP
    depth: int
    exploration: float


PROBLEMS = (
    Problem("tiger", tiger(), 3, 50.0),
    Problem("tiger", tiger(), 90, 110.0),
    Problem("rocksample", rock_sample(n=7, k=8).model, 30, 5.0),
    Problem("rocksample", rock_sample(n=7, k=8).model, 90, 20.0),
)


def ours(problem: Problem, leaf: str = "random") -> float:
    """Seconds per simulation of rlsuite, whatever else the search costs included."""
    plan = pomcp(problem.model, depth=problem.depth, exploration=problem.exploration, leaf=leaf, simulations=1, seed=1)
    search = cast("MonteCarloSearch", plan.planner.search())
    search.planner.simulations, search.planner.deadline = None, SECONDS
    decision = search.plan(problem.model.start, None, progress=False)
    return decision.seconds / decision.iterations


def theirs(problem: Problem, python: str) -> float:
    """Seconds per simulation of pomdp_py."""
    command = [python, str(WORKER), problem.name, str(problem.depth), str(problem.exploration), str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        raise SystemExit(f"pomdp_py could not be measured with {python}: {lines[-1]}")
    return 1.0 / float(done.stdout.split()[-1])


def lines(python: str) -> Iterator[Line]:
    """The comparisons."""
    for problem in PROBLEMS:
        mine, other, ratio = in_turn(partial(ours, problem), partial(theirs, problem, python), rounds=3)
        detail = f"{rate(mine)} against {rate(other)} simulations a second"
        yield Line(f"{problem.name}, depth {problem.depth}: speed in speeds of pomdp_py", ratio, "x", AT_LEAST, detail)
    for problem in (PROBLEMS[1], PROBLEMS[3]):
        ours(problem, "informed")  # compiles
        mine, other, ratio = in_turn(partial(ours, problem, "informed"), partial(ours, problem))
        detail = f"{rate(mine)} simulations a second"
        yield Line(f"{problem.name}: informed leaves, in speeds of random actions", ratio, "x", None, detail)


def main() -> int:
    """Run all comparisons; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peer", default=sys.executable, help="a Python that has pomdp_py")
    python = parser.parse_args().peer
    for problem in PROBLEMS:
        ours(problem)  # compiles
    print_heading("Monte-Carlo tree search")
    missed = 0
    for line in lines(python):
        print_line(line)
        missed += line.target is not None and not line.target.met(line.measured)
    print(f"\n{missed or 'no'} target{'' if missed == 1 else 's'} missed")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
