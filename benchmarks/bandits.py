"""How fast bandits are learned, beside what rlsuite is measured against: ``python benchmarks/bandits.py``.

2,000 bandits with ten arms are pulled 1,000 times each, by every bandit learner there is:

rlsuite       `rlsuite.train` with two seeds on two threads, and its loop on one thread
NumPy         all bandits at once (`bandits_in_numpy.py`)
by hand       a numba loop for this learner alone, whose results are those of rlsuite to the last bit
a peer        SMPyBandits, in an environment of its own that is made on first use (`peers.py`)

Each side is a process of its own, and they work in turn (see `sides.py`). Prints a table of ratios with their targets;
ends with status 1 if one is missed. Takes about ten minutes, and wants a machine with two idle cores. Ratios are of
wall-clock time, but for the loop by hand: processor time of one thread.

``--only NAME`` measures one learner, may be repeated, and takes the names in `bandits_problem.py`; ``--quick`` plays
fewer bandits and judges nothing; ``--without-peers`` needs no network.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from bandits_problem import CASES, COPIES
from measuring import ROUNDS, Line, Target, print_heading, print_line, rate, speed_up_of_the_machine
from peers import python_of
from sides import Costs, Side, together

THREADS, ONE_THREAD, NUMPY, HAND = "rlsuite on two threads", "rlsuite on one thread", "NumPy", "a loop by hand"
PEERS = {"smpybandits": "smpybandits", "rlberry": "rlberry_bandits"}  # library of a case, and its environment
STANDARD_ERRORS = 4


def commands(name: str, bandits: int, pulls: int, with_peers: bool) -> dict[str, list[object]]:
    """By name of the side: Python, script and arguments."""
    size = (bandits, pulls)
    found: dict[str, list[object]] = {
        THREADS: [sys.executable, "bandits_rlsuite.py", name, *size, 2],
        ONE_THREAD: [sys.executable, "bandits_rlsuite.py", name, *size, 1],
        NUMPY: [sys.executable, "bandits_in_numpy.py", name, *size],
        HAND: [sys.executable, "bandits_by_hand.py", name, *size],
    }
    peer = CASES[name].peer
    if peer is not None and with_peers:
        library, its_name = peer.split()
        found[library] = [python_of(PEERS[library]), f"bandits_in_{library}.py", its_name]
    return found


def measure(name: str, bandits: int, pulls: int, rounds: int, with_peers: bool) -> Iterator[Line]:
    """All lines of one learner."""
    with ExitStack() as stack:
        sides = {
            side: stack.enter_context(Side(side, command))
            for side, command in commands(name, bandits, pulls, with_peers).items()
        }
        if sides[HAND].facts["learned"] != sides[ONE_THREAD].facts["learned"]:
            raise SystemExit(f"{name}: the hand-written loop learned something else, so there is nothing to compare")
        costs = together(list(sides.values()), rounds)
    memory = ", ".join(f"{side} {process.gb:.2f}" for side, process in sides.items())
    yield Line("millions of pulls per second, two threads", 1e-6 / costs.wall(THREADS), "", None, f"GB: {memory}")
    yield times_as_fast(costs, NUMPY, THREADS, Target(">=", 5))
    yield times_as_fast(costs, NUMPY, ONE_THREAD, None)
    yield times_as_fast(costs, NUMPY, HAND, None)
    ours, theirs = costs.processor(ONE_THREAD), costs.processor(HAND)
    detail = f"{ours * 1e9:.1f} ns a pull against {theirs * 1e9:.1f} ns, same arms"
    ratio = costs.ratio(ONE_THREAD, HAND, "processor")
    yield Line("time on one thread, in times of a hand-written loop", ratio, "x", Target("<=", 1.5), detail)
    for peer in sides.keys() & PEERS.keys():
        yield times_as_fast(costs, peer, THREADS, Target(">=", 200))
    yield difference(sides[ONE_THREAD], sides[NUMPY], COPIES * bandits)


def times_as_fast(costs: Costs, as_what: str, side: str, target: Target | None) -> Line:
    """How many times as fast one side is as another."""
    detail = f"{rate(costs.wall(side))} against {rate(costs.wall(as_what))}"
    what = f"times as fast as {as_what}, {side.removeprefix('rlsuite ')}"
    return Line(what, costs.ratio(as_what, side), "x", target, detail)


def difference(ours: Side, numpy: Side, learners: int) -> Line:
    """Whether NumPy has played the same game: by how many standard errors the mean rewards differ."""
    error = math.sqrt(numpy.facts["variance"] * (1 / learners + 1 / ours.facts["learners"]))
    distance = abs(numpy.facts["reward"] - ours.facts["reward"])
    detail = f"reward per pull {ours.facts['reward']:.4f} and {numpy.facts['reward']:.4f}"
    target = Target("<=", STANDARD_ERRORS)
    return Line("difference from what NumPy has learned", distance / error, "SE", target, detail)


def main() -> int:
    """Measure all learners, or those that are asked for; status 1 if a target is missed."""
    parser = argparse.ArgumentParser(description="How fast bandits are learned, side by side.")
    parser.add_argument("--only", action="append", choices=CASES, metavar="NAME", help="this learner; may be repeated")
    parser.add_argument("--quick", action="store_true", help="see that all works; judge nothing")
    parser.add_argument("--without-peers", action="store_true", help="leave SMPyBandits and rlberry out")
    options = parser.parse_args()

    bandits, pulls, rounds = (200, 200, 2) if options.quick else (1_000, 1_000, ROUNDS)
    print(f"A second thread makes this machine {speed_up_of_the_machine():.2f} times as fast")
    missed = []
    for name in options.only or CASES:
        print_heading(CASES[name].label)
        for line in measure(name, bandits, pulls, rounds, not options.without_peers):
            print_line(line._replace(target=None) if options.quick else line)
            if line.target is not None and not line.target.met(line.measured):
                missed.append(f"{CASES[name].label}: {line.what}, {line.measured:.3g} instead of {line.target}")
    if options.quick:
        return 0
    print(f"\n{len(missed) or 'no'} target{'' if len(missed) == 1 else 's'} missed", *missed, sep="\n    ")
    return min(len(missed), 1)


if __name__ == "__main__":
    sys.exit(main())
