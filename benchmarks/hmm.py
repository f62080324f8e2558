"""Hidden Markov models beside hmmlearn and deeptime: likelihood, smoothing, best path, 20 iterations of Baum-Welch.

    pip install --group bench
    python benchmarks/hmm.py [--quick] [--states 2 8]

One long sequence, and many short ones, for 2 to 128 hidden states. The libraries take turns in one process, and the
median of the ratios is reported. All times are wall-clock: rlsuite uses all cores, the others use one, and the column
"one core" shows what is left of the ratio if only the processor time counts. Before anything is timed, the answers are
compared. Exit status 1 if a target is missed.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from hmm_peers import ITERATIONS, SIDES, Problem, problem
from measuring import Target, print_heading

from rlsuite.inference import path_log_probability

LONG = {2: 1_000_000, 8: 1_000_000, 32: 200_000, 128: 20_000}
"""Length of the long sequence, by the number of hidden states; the short ones are as many as make the same."""

SHORT = 100
ROUNDS = 3
WORK = {"likelihood": 1, "smoothing": 1, "viterbi": 1, "learning": ITERATIONS}
"""Passes over the observations that each piece of work stands for."""

NEVER_SLOWER = Target(">=", 1.0)
IN_THE_MEDIAN = Target(">=", 5.0)


class Cost(NamedTuple):
    """Nanoseconds for each observation and pass."""

    wall: float
    processor: float


class Row(NamedTuple):
    """One line of the table."""

    what: str
    costs: dict[str, Cost]
    ratios: dict[str, float]
    on_one_core: dict[str, float]


def cost(work: Callable[[], object], steps: int) -> Cost:
    """Measure one run."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Cost(1e9 * (time.perf_counter() - wall) / steps, 1e9 * (time.process_time() - processor) / steps)


def compare(what: str, sides: list[Any], work: str, steps: int) -> Row:
    """Let all sides do a piece of work in turn, several times."""
    found = {side.name: [] for side in sides}
    for _ in range(ROUNDS):
        for side in sides:
            found[side.name].append(cost(getattr(side, work), steps))
    ours, *peers = found
    median = {name: Cost(*map(statistics.median, zip(*costs, strict=True))) for name, costs in found.items()}
    pairs = {name: list(zip(found[name], found[ours], strict=True)) for name in peers}
    ratios = {name: statistics.median(theirs.wall / mine.wall for theirs, mine in pairs[name]) for name in peers}
    single = {
        name: statistics.median(theirs.processor / mine.processor for theirs, mine in pairs[name]) for name in peers
    }
    return Row(what, median, ratios, single)


def check(sides: list[Any], given: Problem) -> None:
    """Stop unless all sides give the same answers; this also compiles."""
    ours, *peers = sides
    path = ours.viterbi()
    best = path_log_probability(ours.model, given.z, path, given.lengths).sum()
    for peer in peers:
        difference = {
            "log-likelihood": abs(peer.likelihood() / ours.likelihood() - 1.0),
            "posteriors": float(np.abs(peer.smoothing() - ours.smoothing()).max()),
        }
        their_path = path_log_probability(ours.model, given.z, peer.viterbi(), given.lengths).sum()
        difference["probability of the best path"] = abs(their_path / best - 1.0)
        for what, size in difference.items():
            if not size < 1e-8:
                raise SystemExit(f"rlsuite and {peer.name} do not agree on the {what}: they differ by {size:.1e}")


def agree_on_learning(sides: list[Any]) -> None:
    """Stop unless all sides reach the same log-likelihood."""
    reached = {side.name: side.learning() for side in sides}
    if not np.ptp(list(reached.values())) < 1e-6 * abs(reached["rlsuite"]):
        raise SystemExit(f"learning has not led to the same log-likelihoods: {reached}")


def rows(n_states: int, quick: bool) -> Iterator[Row]:
    """Lines of the table for a number of hidden states."""
    length = LONG[n_states] // (10 if quick else 1)
    for name, size, sequences in (("one long", length, 1), ("many short", SHORT, length // SHORT)):
        given = problem(n_states, 2 * n_states, size, sequences, seed=n_states)
        sides = [side(given) for side in SIDES]
        some = first(given, 20 * SHORT)
        check([side(some) for side in SIDES], some)
        agree_on_learning([side(some) for side in SIDES])
        for work, passes in WORK.items():
            what = f"K = {n_states:>3}  {name:<11} T = {size:>9,} x {sequences:>6,}  {work}"
            yield compare(what, sides, work, len(given.z) * passes)


def first(given: Problem, steps: int) -> Problem:
    """Return the first observations of a problem."""
    size = min(given.lengths[0], steps)
    number = min(len(given.lengths), steps // size)
    return given._replace(z=given.z[: size * number], lengths=[size] * number)


def print_row(row: Row) -> None:
    """Print a line as soon as it is known."""
    ours, *peers = row.costs
    text = f"{row.what:<62}{row.costs[ours].wall:>9,.1f}"
    for name in peers:
        text += f"{row.costs[name].wall:>11,.1f}{row.ratios[name]:>7.1f}x{row.on_one_core[name]:>7.1f}x"
    missed = [name for name, ratio in row.ratios.items() if not NEVER_SLOWER.met(ratio)]
    print(f"{text}{'  MISSED: slower than ' + ', '.join(missed) if missed else ''}", flush=True)


def main() -> int:
    """Print the table and the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the observations")
    parser.add_argument("--states", type=int, nargs="+", choices=LONG, default=list(LONG))
    asked = parser.parse_args()
    print_heading("Nanoseconds for each observation and pass; how many times as fast as each library, and on one core")
    peers = "".join(f"{side.name:>11}{'ratio':>8}{'1 core':>8}" for side in SIDES[1:])
    print(f"{'':<62}{'rlsuite':>9}{peers}")
    found: list[Row] = []
    for n_states in asked.states:
        for row in rows(n_states, asked.quick):
            print_row(row)
            found.append(row)
    slower = sum(not NEVER_SLOWER.met(ratio) for row in found for ratio in row.ratios.values())
    median = statistics.median(row.ratios["hmmlearn"] for row in found)
    met = IN_THE_MEDIAN.met(median)
    print(f"\n{slower or 'no'} of {2 * len(found)} ratios below 1; target: none {'met' if not slower else 'MISSED'}")
    print(f"median ratio to hmmlearn {median:.1f}; target {IN_THE_MEDIAN} {'met' if met else 'MISSED'}")
    return int(bool(slower) or not met)


if __name__ == "__main__":
    sys.exit(main())
