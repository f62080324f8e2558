"""Point-based planning with a lower and an upper bound at any time: trials visit beliefs where they are far apart.

SARSOP (Kurniawati, Hsu and Lee 2008) and HSVI2 (Smith and Simmons 2005) as one search, which is described in
`rlsuite.planning.pomdp.point_based.search_kernel`.

In plain NumPy: `rlsuite.reference.pomdp.point_based_backup`.
"""

from typing import TypeVar, Unpack

import numpy as np

from rlsuite.core.checks import positive_number, whole_amount
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.certificate import warn_not_converged
from rlsuite.planning.limits import TimeLimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.bounds.initial_bounds import Blind, at_start, blind_plans, informed_values, seen_values
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel, tables
from rlsuite.planning.pomdp.exact.pruning import winning
from rlsuite.planning.pomdp.exact.value_iteration_stages import no_plan
from rlsuite.planning.pomdp.point_based.search import Search, kept_vectors
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, BoundsTrace, PointBasedSolution, noted
from rlsuite.planning.watch import Watch

P = TypeVar("P", bound=AlphaVectorSolution)

PIECE = 0.02
"""Seconds that a piece of work is meant to take."""

FIRST_WORK = 20_000
"""Operations of the first piece."""

MAX_IDLE = 200
"""Pieces of work after which a search that finds nothing new is at its end."""

LARGEST_ANSWER = 1 << 30
"""Bytes of the largest set of vectors that is returned."""

ANSWER_SHARE = 0.02
"""Part of the time that making the solution may take."""

BYTES_PER_SECOND = 1e9
"""Bytes of a solution that are made per second, about."""

SHARE = 0.15
"""Part of the time left that each of the first bounds may take; that of the hidden MDP twice as much."""

INFORMED_SWEEPS = 2_000
INFORMED_TOL = 1e-6
BLIND_TOL = 1e-5
"""The first bounds are computed to this fraction of the largest value."""


@takes_limits()
def sarsop(
    pomdp: POMDP,
    *,
    max_iterations: int | None = None,
    max_gb: float = 4.0,
    **limits: Unpack[TimeLimitsOfBounds],
) -> PointBasedSolution:
    """Solve a POMDP from its start belief, with a lower and an upper bound that converge.

    A trial goes down from the start belief, by the action whose upper bound is the largest and the observation that
    leaves most to be known, and updates the bounds of all its beliefs on the way back. Beliefs are kept once however
    they are reached, vectors and beliefs are stored for possible states only, and where the states fall into parts such
    that the support of each belief lies in one of them, such as the places of a robot that knows where it is, each part
    has vectors of its own.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    max_iterations : int, optional
        Largest number of trials.
    max_gb : float
        Stop when the search takes more than this many GB of memory.
    **limits
        When to stop: `tol` or `gap`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    PointBasedSolution
        ``iterations`` is the number of trials. After a stop before its time, by a limit or by Ctrl-C, the best answer
        so far with its true bounds. The vectors hold in all beliefs, but are good in those that are reached from the
        start.

    Raises
    ------
    ParameterError
        If gamma is 1, or an argument is out of range.
    ModelError
        If no action is legal in every state of the support of some belief, or values overflow.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than asked for.

    Examples
    --------
    A coin lies under one of two cups; a look costs 1 and shows it with certainty, a guess earns 10 or costs 20:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = solve(cups, "sarsop", gap=1e-3)
    >>> round(plan.lower_bound, 3), round(plan.upper_bound, 3), plan.act([0.5, 0.5, 0]), plan.act([0, 1, 0])
    (8.0, 8.0, 0, 2)
    """
    watch = Watch("sarsop", **limits)
    last = -1 if max_iterations is None else whole_amount("max_iterations", max_iterations)
    with watch:
        planner = PointSearch(pomdp, watch, max_gb=positive_number("max_gb", max_gb))
        planner.search_on(last)
    return warn_if_open(planner.solution(), watch, f"{planner.search.trials} trials")


class PointSearch:
    """A search, its clock, and its bounds at the start belief.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    watch : Watch
        The clock of the method.
    max_gb : float
        Largest memory in GB.

    Attributes
    ----------
    search : Search
        The search.
    lower_bound, upper_bound : float
        Bounds on the value at the start belief, rounding included.
    work : int
        Operations done.
    """

    def __init__(self, pomdp: POMDP, watch: Watch, *, max_gb: float = 4.0) -> None:
        self.pomdp, self.watch = pomdp, watch
        self.model, seen = self.hidden()
        self.size = float(np.abs(seen[seen > -np.inf]).max())
        informed = informed_values(
            self.model,
            seen,
            watch,
            tol=INFORMED_TOL * self.size,
            share=SHARE,
            max_sweeps=INFORMED_SWEEPS,
        )
        self._informed = at_start(self.model, informed.q.T)
        if self._informed == -np.inf:
            raise no_plan(pomdp.start)
        self.blind = self.plans()
        finite = self.blind.vectors[self.blind.vectors > -np.inf]
        self.size = max(self.size, float(np.abs(finite).max(initial=0.0)))
        self.rounding = self.model.rounding(self.size)
        self.search = Search(
            tables(self.model, informed.q),
            self.blind.vectors,
            self.blind.actions,
            pomdp.start,
            wanted_gap=max(watch.tol - 4.0 * self.rounding, 4.0 * self.rounding),
            max_bytes=int(max_gb * 1e9),
        )
        self.search.trial(0, -1)  # loads the compiled search, so that the time for this does not count for its speed
        self.work = self.search.work
        self._rate = FIRST_WORK / PIECE
        self._records: list[tuple[int, float, float, float]] = []
        self._before = (0.0, 0.0, 0, 0)
        self._still = 0
        self._finished = False

    def hidden(self) -> tuple[PreparedModel, FloatArray]:
        """Return the model, and upper bounds (S, A) on the values of the actions, as if states were observed."""
        model = PreparedModel(self.pomdp, self.watch.method)
        return model, seen_values(model, self.watch, share=2.0 * SHARE).q

    def plans(self) -> Blind:
        """Return the plans to begin with."""
        return blind_plans(self.model, self.watch, tol=BLIND_TOL * self.size, share=SHARE)

    @property
    def lower_bound(self) -> float:
        """The lower bound."""
        return self.search.lower - self.rounding

    @property
    def upper_bound(self) -> float:
        """The upper bound; beliefs treated as equal may differ in their values, in every step."""
        merged = float(self.search.pools.control[0].merged)
        apart = merged * self.size * self.model.steps
        return max(min(self.search.upper + apart, self._informed) + self.rounding, self.lower_bound)

    def goes_on(self) -> bool:
        """Record the bounds, and return whether to do one more piece of work."""
        watch = self.watch
        lower, upper = self.lower_bound, self.upper_bound
        if not self._records or self._records[-1][2:] != (lower, upper):
            self._records.append((self.search.trials, watch.seconds, lower, upper))
        now = (lower, upper, self.search.n_beliefs, self.search.n_vectors)
        self._still = self._still + 1 if now == self._before else 0
        self._before = now
        watch.between(lower, upper)
        if not watch.goes_on(upper - lower):
            return False
        if watch.deadline is not None and (self.search.late or self._answer_seconds() >= watch.left):
            watch.give_up(f"deadline={watch.deadline:g} seconds passed")
        if self.search.full:
            watch.give_up("the memory that the search may take (max_gb=) is used up")
        elif self._still > MAX_IDLE or (self._finished and not self._want_less()):
            watch.give_up("the bounds no longer change")
        return not watch.stopped

    def search_on(self, last_trial: int = -1) -> None:
        """Do trials until the bounds are close enough, a limit is reached, or so many trials have been done."""
        while self.goes_on():
            if self.search.trials == last_trial:
                self.watch.give_up(f"max_iterations={last_trial} reached")
                break
            self.trials(last_trial)

    def _want_less(self) -> bool:
        """Ask the search for a smaller gap, if beliefs that were treated as equal account for the present one."""
        now = self.search.pools.control[0]
        now.wanted_gap /= 2.0
        self._finished = False
        return now.wanted_gap > 2.0 * self.rounding

    def trials(self, last_trial: int = -1) -> None:
        """Do trials for a while, up to the given number of them in all."""
        before = self.watch.seconds
        self._finished = self.search.trial(self._work(), last_trial) and self.search.trials != last_trial
        self._pace(before)

    def update(self, nodes: IndexArray) -> bool:
        """Update beliefs for a while; return whether the last of them is done."""
        before = self.watch.seconds
        done = self.search.update(nodes, self._work())
        self._pace(before)
        return done

    def _work(self) -> int:
        if self.watch.deadline is not None:
            self.search.seconds_left = max(0.0, self.watch.left - self._answer_seconds())
        return 1 + int(self._rate * min(PIECE, self.search.seconds_left))

    def _pace(self, before: float) -> None:
        """Estimate the time of an operation from the last piece of work."""
        seconds = self.watch.seconds - before
        work = self.search.work
        self.work += work
        if work > FIRST_WORK // 10:
            self._rate = min(work / max(seconds, 1e-5), 4.0 * self._rate)

    def _answer_bytes(self) -> int:
        """Return the size of the largest set of vectors that there is time and memory to return."""
        if self.watch.deadline is None:
            return LARGEST_ANSWER
        return int(min(LARGEST_ANSWER, (0.05 + ANSWER_SHARE * self.watch.deadline) * BYTES_PER_SECOND))

    def _answer_watch(self) -> Watch:
        """Return the clock of what is done once the search has ended."""
        deadline = self.watch.deadline
        return Watch(self.watch.method, tol=1.0, deadline=None if deadline is None else 0.01 + ANSWER_SHARE * deadline)

    def _answer_seconds(self) -> float:
        """Return about how long it takes to return the answer."""
        size = 8 * self.pomdp.n_states * min(self.search.n_vectors, self.search.n_beliefs)
        return min(size, self._answer_bytes()) / BYTES_PER_SECOND

    def solution(self, iterations: int | None = None) -> PointBasedSolution:
        """Return what was found, and the number of iterations, by default that of the trials."""
        lower, upper = self.lower_bound, self.upper_bound
        self._records.append((self.search.trials, self.watch.seconds, lower, upper))
        vectors, actions = kept_vectors(self.search, self.blind, self._answer_bytes())
        kept = winning(vectors, self.pomdp.start, self._answer_watch())
        return noted(
            PointBasedSolution,
            self.watch,
            (lower, upper),
            iterations=self.search.trials if iterations is None else iterations,
            alpha_vectors=vectors if kept.size == len(vectors) else vectors[kept],
            actions=actions[kept],
            pomdp=self.pomdp,
            trace=BoundsTrace.of(self._records),
        )


def warn_if_open(solution: P, watch: Watch, effort: str) -> P:
    """Return a solution, and issue a `ConvergenceWarning` if its bounds are too far apart."""
    if not solution.converged:
        warn_not_converged(
            f"{watch.method} stopped after {effort} with bounds that are {solution.gap:.3g} apart, more than "
            f"{watch.asked}{watch.stopped and f': {watch.stopped}'}"
        )
    return solution
