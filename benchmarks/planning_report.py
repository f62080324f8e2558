"""Tables of measurements of planners, how the time grows with the number of states, and which targets are met."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from planning_models import Case
from planning_runs import NO_MEMORY, TIME_OVER, Run

TARGET_SMALL, TARGET_LARGE, LARGE = 1.0, 3.0, 100_000
TARGET_SWEEP = 2.0
LARGE_SWEEP = 100e6  # bytes; what fits into a cache says nothing about the memory
TARGET_GB = 8.0

COLUMNS = f"{'case':<26}{'S':>11}{'gamma':>7}{'rlsuite':>12}{'best peer':>12}  {'which':<22}{'ratio':>8}"
MORE = f"{'memory':>11}{'leanest':>11}  {'which':<14}{'beyond start':>22}{'error':>10}"


class Verdict(NamedTuple):
    """One target: what it is about, and whether it is met."""

    what: str
    met: bool
    measured: str


class Comparison(NamedTuple):
    """rlsuite beside all its peers on one case."""

    case: Case
    ours: Run
    peers: list[Run]
    limit: int

    @property
    def fastest(self) -> Run | None:
        """The fastest peer that found the answer."""
        return min((run for run in self.peers if run.done), key=lambda run: run.seconds, default=None)

    @property
    def leanest(self) -> Run | None:
        """The peer of least memory, among those that found the answer or, if none did, were still at it at the end."""
        for kind in ([run for run in self.peers if run.done], self.ended):
            if kind:
                return min(kind, key=lambda run: run.gb)
        return None

    @property
    def leanest_beyond_start(self) -> float:
        """Least memory of a peer beyond what its imports take, in GB."""
        return min((run.gb_beyond_start for run in self.peers if run.done), default=math.nan)

    @property
    def ratio(self) -> float:
        """How many times as fast as the fastest peer; a lower bound where all were ended, nan if none could work."""
        if self.ours.failure or not (self.fastest or self.ended):
            return math.nan
        return (self.fastest.seconds if self.fastest else self.limit) / self.ours.seconds

    @property
    def ended(self) -> list[Run]:
        """The peers that were still at it when their time was over."""
        return [run for run in self.peers if run.failure == TIME_OVER]

    def line(self) -> str:
        """The row of the table."""
        least, best, lean = ("" if self.fastest else ">"), self.fastest, self.leanest
        theirs = f"{best.seconds:.4g} s" if best else f"> {self.limit} s" if self.ended else "-"
        ours = "failed" if self.ours.failure else f"{self.ours.seconds:.4g} s"
        beyond = f"{1e3 * self.ours.gb_beyond_start:.0f} / {1e3 * self.leanest_beyond_start:.0f} MB"
        return (
            f"{self.case.model:<26}{self.case.n_states:>11,}{self.case.gamma:>7g}{ours:>12}{theirs:>12}"
            f"  {best.solver if best else 'none in time':<22}{f'{least}{self.ratio:.3g}x':>8}"
            f"{memory(self.ours):>11}{memory(lean) if lean else '-':>11}  {lean.peer if lean else '':<14}"
            f"{beyond:>22}{self.ours.error:>10.1e}"
        )


def memory(run: Run) -> str:
    """Peak memory in words; more would have been needed by one that was ended."""
    return f"{'>' if run.failure else ''}{1e3 * run.gb:,.0f} MB"


def print_peers(comparisons: Iterable[Comparison]) -> None:
    """Print what every solver did on every case."""
    print("\nEvery run: seconds to the answer, peak memory, distance from the answer of rlsuite")
    for comparison in comparisons:
        print(f"{comparison.case.model}, gamma {comparison.case.gamma:g}")
        for run in (comparison.ours, *comparison.peers):
            if run.failure == TIME_OVER:
                what = f"> {comparison.limit} s"
            elif run.failure:
                what = run.failure if run.failure == NO_MEMORY else f"failed: {run.failure}"
            else:
                wrong = "" if run.exact else "  WRONG, does not count"
                what = f"{run.seconds:>10.4g} s {run.error:>10.1e}{wrong}"
            print(f"    {run.solver:<24}{memory(run):>12}  {what}")


def exponent(runs: Sequence[Run]) -> float:
    """Slope of log time over log S, by least squares.

    >>> case = Case("garnet", 10, 0.9)
    >>> runs = [Run("x", case._replace(size=n), 3.0 * n**1.5, 0.1, 0.1, 0.0) for n in (10, 100, 1000)]
    >>> round(exponent(runs), 6)
    1.5
    """
    sizes = [math.log(run.case.n_states) for run in runs]
    return float(np.polyfit(sizes, [math.log(run.seconds) for run in runs], 1)[0])


def print_growth(comparisons: Sequence[Comparison]) -> None:
    """Print how the time grows with the number of states, in each family and for each discount."""
    print("\nGrowth: time proportional to S to the power of ... (least squares on logarithms)")
    for family, gamma in dict.fromkeys((c.case.family, c.case.gamma) for c in comparisons):
        these = [c for c in comparisons if (c.case.family, c.case.gamma) == (family, gamma)]
        ours = [c.ours for c in these if not c.ours.failure]
        theirs = [c.fastest for c in these if c.fastest]
        if len(ours) < 2:
            continue
        name = "garnet" if family == "garnet" else f"grid, {family}"
        sizes = f"S = {ours[0].case.n_states:,} to {ours[-1].case.n_states:,}"
        text = f"{name}, gamma {gamma:g}: rlsuite S^{exponent(ours):.2f} over {sizes}"
        pairs = pairwise(ours)
        text += "; step by step " + ", ".join(f"{exponent(pair):.2f}" for pair in pairs)
        if len(theirs) > 1:
            text += f"; fastest peer S^{exponent(theirs):.2f} up to {theirs[-1].case.n_states:,}"
        print(text)


def print_sweep(model: str, found: dict[str, Any]) -> Verdict | None:
    """Print one sweep beside what the bandwidth of the memory allows; a target if it is large enough to tell."""
    ratio = found["seconds"] / found["allowed_seconds"]
    measured = (
        f"{1e3 * found['seconds']:.3g} ms for {found['bytes'] / 1e6:,.1f} MB at {found['bandwidth'] / 1e9:.3g} GB/s, "
        f"{ratio:.2f} times the {1e3 * found['allowed_seconds']:.3g} ms that the memory allows"
    )
    print(f"{model}: one sweep takes {measured}", flush=True)
    if found["bytes"] < LARGE_SWEEP:
        return None
    what = f"one sweep within {TARGET_SWEEP:g} times of what the bandwidth allows, {model}"
    return Verdict(what, ratio <= TARGET_SWEEP, measured)


def verdicts(comparison: Comparison) -> Iterable[Verdict]:
    """Yield the targets of one case."""
    name = f"{comparison.case.model}, gamma {comparison.case.gamma:g}"
    ours = comparison.ours
    yield Verdict(f"answer within the tolerance, {name}", ours.done, str(ours))
    wanted = TARGET_LARGE if comparison.case.n_states >= LARGE else TARGET_SMALL
    ahead = comparison.ratio > wanted if wanted == TARGET_SMALL else comparison.ratio >= wanted
    if comparison.peers or ours.failure:
        least = "" if comparison.fastest else "at least "
        yield Verdict(f"{wanted:g} times the fastest peer, {name}", ahead, f"{least}{comparison.ratio:.3g} times")
    lean = comparison.leanest
    # one that was ended would have needed more, but who knows how much: less than that is a proof, more says nothing
    if lean is not None and not (lean.failure and ours.gb > lean.gb):
        measured = f"{memory(ours)} against {memory(lean)} of {lean.peer}"
        beyond = comparison.leanest_beyond_start
        if not math.isnan(beyond):
            measured += f"; beyond the start {1e3 * ours.gb_beyond_start:.0f} against {1e3 * beyond:.0f} MB"
        yield Verdict(f"memory of the leanest peer, {name}", ours.done and ours.gb <= lean.gb, measured)


def print_verdicts(found: Sequence[Verdict]) -> int:
    """Print the targets, the missed ones last; return how many are missed."""
    print("\nTargets")
    for verdict in sorted(found, key=lambda verdict: not verdict.met):
        print(f"{'met   ' if verdict.met else 'MISSED'}  {verdict.what}: {verdict.measured}")
    missed = sum(not verdict.met for verdict in found)
    print(f"{len(found) - missed} of {len(found)} targets met")
    return missed
