"""How fast rlsuite plans, beside the other planners for Python: ``python benchmarks/planning.py``.

Measures, in one run, seconds to the certified answer and peak memory on Garnet problems and slippery grids (see
planning_models.py), against quantecon, mdpsolver and pymdptoolbox in every configuration that could be their fastest
(planning_solvers.py); ``pip install --group bench`` brings them. Prints tables, the growth with the number of states,
one sweep beside the bandwidth of the memory, and which targets are met; ends with status 1 if one is missed.

Rules. Every (solver, case) has a process of its own, so that peak memory means that case; all read the same arrays.
Each is told gamma and the tolerance 1e-6 and timed by itself, with nothing else running here, as the median of up to 7
solutions where one takes little time. Compiling is not timed: every solver has first solved a small problem of the same
kind. Nor is the building of a solver's own model; its memory counts. An answer counts only if it is right: ours is
checked by its residual, computed here, and theirs against ours. A peer is ended when it has taken 6 times as long to
solve as we did, and a minute; building has a limit of its own, and a peer that reaches that one gives no ratio. A
configuration that gives a wrong answer, is ended, is out of memory, or 5 times slower than the best of the same package
is not tried on larger problems of the same kind; nor, where there are 100,000 states or more, is one that was 3 times
slower than the fastest peer. If none is left, the last that was the fastest is tried all the same. Peaks of memory are
those of whole processes, and, as "beyond start", less what the process took after its imports and its first solution.

``--kinds`` compares our default with our other methods and quantecon on more than thirty kinds of problems instead
(planning_kinds.py), in some five minutes. ``--quick`` takes small problems and one configuration of each package: about
a minute. All of it takes an hour or two, spent waiting for peers, and wants an idle machine with 24 GB; ``--family``
and ``--up-to`` choose problems.
"""

import argparse
import json
import math
import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import planning_by_kind
from planning_models import Case
from planning_report import (
    COLUMNS,
    MORE,
    TARGET_GB,
    Comparison,
    Verdict,
    print_growth,
    print_peers,
    print_sweep,
    print_verdicts,
    verdicts,
)
from planning_runs import Run, must, solve, start
from planning_solvers import OURS, PEERS, QUICK, SOLVERS

TOL = 1e-6
GAMMAS = (0.99, 0.999)
SIZES = {
    "garnet": (1_000, 10_000, 100_000, 1_000_000),
    "sides": (32, 100, 316, 1_000, 3_162),
    "thirds": (32, 100, 316, 1_000),
}
QUICK_SIZES = {"garnet": (1_000, 10_000), "sides": (32,)}
LARGEST_GRID = 3_162
GIVE_UP = 5.0  # a configuration so many times slower than its package's best is not tried on larger problems
LARGE = 100_000  # states, from which on
GIVE_UP_LARGE = 3.0  # neither is one so many times slower than the fastest peer: no start-up can be to blame
OUR_LIMIT = 600  # seconds
PATIENCE = 6  # a peer that takes so many times as long as we do, and longer than the limit, is ended


def say(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


def worth_trying(runs: Iterable[Run]) -> set[str]:
    """Return the solvers to try on the next larger problem, after these on the last one."""
    runs = list(runs)
    fastest = min((run.seconds for run in runs if run.done), default=0.0)
    kept: set[str] = set()
    for _, same in groupby(sorted(runs, key=lambda run: run.peer), key=lambda run: run.peer):
        done = [run for run in same if run.done]
        best = min((run.seconds for run in done), default=0.0)
        kept.update(
            run.solver
            for run in done
            if run.seconds <= max(GIVE_UP * best, best + 0.05)
            and (run.case.n_states < LARGE or run.seconds <= GIVE_UP_LARGE * fastest)
        )
    return kept


def compare(case: Case, folder: Path, peers: Iterable[str], limit: int) -> Comparison:
    """Measure rlsuite and peers on one case."""

    def measured(solver: str, limit: int, ours: Run | None = None) -> Run:
        run = solve(solver, case, folder, TOL, limit, ours)
        say(f"    {solver:<24}{run}")
        return run

    ours = measured(OURS, OUR_LIMIT)
    patience = max(limit, math.ceil(PATIENCE * ours.seconds)) if ours.done else limit
    return Comparison(case, ours, [measured(peer, patience, ours) for peer in peers], patience)


def family_table(
    family: str, sizes: Iterable[int], solvers: Iterable[str], limit: int
) -> Iterator[Comparison | Verdict]:
    """Measure all sizes of a family, print the table as it grows, and one sweep over its largest member."""
    title = "Garnet problems" if family == "garnet" else f"Slippery grids, {family}"
    print(f"\n{title}\n{COLUMNS}{MORE}", flush=True)
    trying = {gamma: [solver for solver in solvers if solver != OURS] for gamma in GAMMAS}
    last_fastest: dict[float, list[str]] = {gamma: [] for gamma in GAMMAS}
    for size in sizes:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            must("make", family, size, folder)
            for gamma in GAMMAS:
                case = Case(family, size, gamma)
                say(f"{case.model}, gamma {gamma:g}")
                comparison = compare(case, folder, trying[gamma], limit)
                keep = worth_trying(comparison.peers)
                if comparison.fastest:
                    last_fastest[gamma] = [comparison.fastest.solver]
                trying[gamma] = [solver for solver in trying[gamma] if solver in keep] or last_fastest[gamma]
                print(comparison.line(), flush=True)
                yield comparison
            if size == max(sizes):
                verdict = print_sweep(case.model, must("sweep", folder, GAMMAS[0]))
                if verdict is not None:
                    yield verdict


def own_grid(side: int, limit: int) -> Verdict:
    """Build and solve the largest grid as a user of rlsuite_envs would."""
    say(f"grid_world(size={side}) of rlsuite_envs")
    found, failure, gb = start("own", side, GAMMAS[0], TOL, limit)
    what = f"grid_world(size={side}), gamma {GAMMAS[0]:g}, in under {TARGET_GB:g} GB"
    if found is None:
        return Verdict(what, False, f"{failure}, having taken {gb:.2f} GB")
    measured = (
        f"{found['gb']:.2f} GB at its peak, {found['gb_built']:.2f} GB when built; {found['states']:,} states solved "
        f"in {found['seconds']:.3g} s to {found['claimed']:.1e}, built in {found['build_seconds']:.3g} s"
    )
    print(f"\n{what}: {measured}", flush=True)
    return Verdict(what, found["gb"] < TARGET_GB and found["claimed"] <= TOL, measured)


def main() -> int:
    """Run everything; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="How fast rlsuite plans, beside the other planners for Python.")
    parser.add_argument("--quick", action="store_true", help="small problems, one configuration of each package")
    parser.add_argument("--family", choices=SIZES, action="append", help="only this family; may be repeated")
    parser.add_argument("--up-to", type=int, metavar="S", help="only problems of at most so many states")
    parser.add_argument("--limit", type=int, help="seconds that any peer is given (default 60, quick 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the results")
    parser.add_argument("--kinds", action="store_true", help="problems of many kinds instead, beside our other methods")
    options = parser.parse_args()
    if options.kinds:
        return planning_by_kind.main(options.limit or 10)
    limit = options.limit or (5 if options.quick else 60)
    solvers = QUICK if options.quick else tuple(SOLVERS)
    sizes = {
        family: [size for size in some if not options.up_to or Case(family, size, 0.0).n_states <= options.up_to]
        for family, some in (QUICK_SIZES if options.quick else SIZES).items()
        if not options.family or family in options.family
    }

    packages = ", ".join(f"{name} {version(name)}" for name in (OURS, *PEERS, "numpy", "numba"))
    print(f"{packages}; Python {platform.python_version()}; {os.cpu_count()} cores; tolerance {TOL:g}")
    comparisons: list[Comparison] = []
    found: list[Verdict] = []
    for family, some in sizes.items():
        if not some:
            continue
        for part in family_table(family, some, solvers, limit):
            if isinstance(part, Verdict):
                found.append(part)
            else:
                comparisons.append(part)
                found.extend(verdicts(part))
    if LARGEST_GRID in sizes.get("sides", ()):
        found.append(own_grid(LARGEST_GRID, OUR_LIMIT))
    print_peers(comparisons)
    print_growth(comparisons)
    missed = print_verdicts(found)
    if options.json:
        runs = [run for comparison in comparisons for run in (comparison.ours, *comparison.peers)]
        kept = {
            "packages": packages,
            "limit": limit,
            "runs": [run._asdict() | {"case": run.case._asdict()} for run in runs],
            "targets": [verdict._asdict() for verdict in found],
        }
        options.json.write_text(json.dumps(kept, indent=1) + "\n")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
