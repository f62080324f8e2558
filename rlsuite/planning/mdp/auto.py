"""Choose the method for the model, and change it on the way: a method goes on from another's values once it is behind.

Small models are solved exactly. For others no property that can be seen beforehand tells which method is the fastest:
what decides is how fast the chains of good policies mix, how far rewards have to travel, and how much fill-in a linear
system has, and all of that depends on policies that are not known yet. So four methods work in turns, a slice at a
time, each on values of its own, and a backup after each slice shows by how much the bounds on V* came together. That is
the rate of the method, and the next slice goes to the one that, at its latest rate, needs the least work to the end.
A method whose bounds have never been half as close as those of the best one goes on from the values of that one. Until
then they do not mix: bounds of policies that get better often move apart for a while, and a sweep of another method in
between would undo what was gained. The values with the closest bounds are kept, for when time is up.

No method is taken to need more than a small multiple of what it has had: so methods that do not bring the bounds
together take turns, and the time that is lost is a small multiple of what the best of them needs. Sweeps in place then
have half as much work as sweeps that follow a policy, which are enough for most models, and half as much as policy
iteration, whose bounds may not show until the last policy how close it is.

Work is counted, not timed: the same model takes the same steps on every machine, and ends with the same bytes.
"""

from abc import ABC, abstractmethod
from math import inf, log
from operator import methodcaller
from typing import TYPE_CHECKING, Unpack

import numpy as np

from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray
from rlsuite.models.transformations import chosen_rows
from rlsuite.planning.blocks import fixed_blocks
from rlsuite.planning.certificate import certified, closer, discounted, interval, largest_change
from rlsuite.planning.krylov import KrylovValue
from rlsuite.planning.limits import Limits, TimeLimits, takes_limits
from rlsuite.planning.linear_system import (
    PER_ENTRY,
    PER_SECOND,
    PER_SYSTEM,
    band_of,
    seconds_to_eliminate,
    solve_fixed_point,
    worth_a_band,
)
from rlsuite.planning.mdp.gauss_seidel import back_and_forth, follow
from rlsuite.planning.mdp.modified_policy_iteration import add_terms
from rlsuite.planning.mdp.policy_evaluation import induced_by_actions
from rlsuite.planning.mdp.policy_iteration import policy_iteration
from rlsuite.planning.mdp.stochastic_shortest_path import stochastic_shortest_path
from rlsuite.planning.mdp.topological import InOrder
from rlsuite.planning.numbering import order_from_rewards, renumbered
from rlsuite.planning.operators import TINY, Lookahead, typical_value
from rlsuite.planning.policy_rows import PolicySteps
from rlsuite.planning.solution import Solution
from rlsuite.planning.value_series import ValueSeries
from rlsuite.planning.vectors import vector
from rlsuite.planning.watch import Watch

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix

EXACT = 128
"""Up to this many states a dense linear system per policy costs next to nothing."""

MOST_ITERATIONS = 100_000

SHORTEST = 8
"""Sweeps of the first slice of a method, after which its rate is known for the first time."""

UNKNOWN = 3.0
"""No method is taken to need more than so many times what it has had, or its shortest slice: its rate may change."""

PROGRESS = log(1.2)
"""By how much the logarithm of the bound falls in a slice that was not in vain."""

OVERTAKEN = 0.5
"""A method goes on from the values of another one that has brought the bounds so much closer."""

LONGEST_ENTRY = 4e-9
"""Seconds that an entry of a sweep takes, at most."""

PER_OPERATION = 0.25
"""An operation of an elimination takes so many times what a sweep takes for one entry."""

FEW = 64
"""Rows that are looked at before a whole matrix is."""

IN_PLACE = 2.0
"""A sweep in place takes so many times what one from a vector into another takes."""

PER_LOOK = 10.0
"""To find the strongly connected components takes so many times what a sweep takes."""

PER_ITERATION = 12.0
"""The same of an iteration of BiCGSTAB: two products, and four sweeps in place for the preconditioner."""

PATIENCE = 4
"""A better order of the states is looked for after so many times the work that this takes."""


@takes_limits()
def auto(mdp: MDP, *, max_iterations: int | None = None, **limits: Unpack[TimeLimits]) -> Solution:
    """Solve an MDP by the method that suits it, or by several in turns.

    With gamma = 1 that is `stochastic_shortest_path`; otherwise up to 128 states `policy_iteration`, which is exact.
    For larger models four methods take turns, the next slice always for the one that will be at the end first, at the
    rate at which it last brought the bounds together: sweeps that follow the greedy policy, as in
    `modified_policy_iteration`; sweeps in place, as in `gauss_seidel`; `policy_iteration`, by elimination or by
    BiCGSTAB; and `topological`, unless most states are in one component. A method that is far behind goes on from the
    values of the best one. If sweeps in place do not get on because the numbers of the states say little about which
    leads to which, the states are numbered anew, by their distance from the rewards.

    Parameters
    ----------
    mdp : MDP
        The model.
    max_iterations : int, optional
        Limit on what the chosen method counts as iterations, or on the slices; by default its own.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``method`` names the method that did most of the work, ``iterations`` is the number of slices.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    ModelError
        If the rewards are so large that values overflow; or if gamma is 1 and the values may be infinite.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> solve(MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5)).method
    'policy_iteration'
    """
    given: Limits = {**limits}
    if max_iterations is not None:
        given["max_iterations"] = max_iterations
    if mdp.gamma == 1.0:
        return stochastic_shortest_path(mdp, **given)
    if mdp.n_states <= EXACT:
        return policy_iteration(mdp, **given)
    watch = Watch("auto", max_iterations=MOST_ITERATIONS if max_iterations is None else max_iterations, **limits)
    return in_turns(discounted(mdp, "auto"), watch)


def in_turns(lookahead: Lookahead, watch: Watch) -> Solution:
    """Give slices to the methods until the bounds on V* are close enough; begin anew if another order is better."""
    with watch:
        value, order = give_turns(lookahead, watch)
        if order is not None:
            numbered, _ = give_turns(Lookahead(renumbered(lookahead.mdp, order)), watch, reorder=False)
            other = np.empty_like(value)
            other[order] = numbered
            value = closer(lookahead, value, other)
    return certified(lookahead, value, watch)


def give_turns(lookahead: Lookahead, watch: Watch, *, reorder: bool = True) -> tuple[FloatArray, IndexArray | None]:
    """Return the best values (S,), and an order of the states that promises more than to go on, if it may `reorder`."""
    now = Progress(lookahead, typical_value(lookahead))
    kept, closest = vector(lookahead.n_states), inf  # bounds may move apart again
    now.back_up()
    evaluate = Evaluate(now, watch)
    methods = (Follow(now, watch, evaluate), Sweep(now, watch), evaluate, Components(now, watch))
    order: IndexArray | None = None
    while watch.goes_on(now.bound):
        watch.measure(now.value, lookahead.largest_value)
        if now.bound < OVERTAKEN * closest:
            np.copyto(kept, now.value)
            closest = now.bound
        if now.bound <= watch.tol:
            break
        if now.settled:
            watch.give_up("the changes are down to rounding error")
            break
        look = 2 * PER_LOOK * (lookahead.rows.indptr[-1] + lookahead.rows.indptr.size)
        if reorder and sum(method.work for method in methods) > PATIENCE * look:
            reorder = False
            if watch.left > look * LONGEST_ENTRY:  # it cannot be stopped on the way
                order = order_from_rewards(lookahead)
            if order is not None:
                break
        min(methods, key=methodcaller("left", now)).turn(now)
        now = min((method.own for method in methods), key=lambda own: own.bound)
    watch.method = max(methods, key=lambda method: method.work).name
    return now.value if now.bound <= closest else kept, order


class Progress:
    """Values V, TV, the greedy policy, and how far apart the bounds on V* are.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    value : ndarray (S,) float64
        Values to begin with, 0 at terminal states.

    Attributes
    ----------
    before, value : ndarray (S,) float64
        V and TV.
    action : ndarray (S,) int32
        The greedy policy for V, -1 at ends.
    bound, shift : float
        Upper minus lower bound on V*; what to add to TV to be in the middle.
    change : float
        max |TV - V|.
    settled : bool
        Whether that is rounding error.
    """

    def __init__(self, lookahead: Lookahead, value: FloatArray) -> None:
        self.lookahead = lookahead
        self.before, self.value = vector(lookahead.n_states), value
        self.action: StateArray = np.full(lookahead.n_states, -1, dtype=np.int32)
        self.bound, self.shift, self.change, self.settled = inf, 0.0, inf, False

    def back_up(self) -> float:
        """Replace V by `value`, and `value` by TV; return by how much the logarithm of the bound fell."""
        lookahead, last = self.lookahead, self.bound
        self.before, self.value = self.value, self.before
        changes = lookahead.back_up(self.before, self.value, self.action)
        rounding = lookahead.rounding(self.before)
        self.change = largest_change(changes)
        self.settled = self.change <= rounding
        bounds = interval(lookahead, changes, rounding)
        self.bound, self.shift = bounds.width, bounds.shift
        return log(last / max(self.bound, TINY)) if last < inf else 0.0

    def take(self, other: "Progress") -> None:
        """Go on from the values of `other`."""
        for name in ("before", "value", "action"):
            np.copyto(getattr(self, name), getattr(other, name))
        self.bound, self.shift, self.change, self.settled = other.bound, other.shift, other.change, other.settled


class Method(ABC):
    """A method that works in slices.

    Attributes
    ----------
    own : Progress
        Its values.
    least_bound : float
        How close its bounds have been.
    unknown : float
        Without a rate, it is taken to need so many times what it has had.
    work : float
        What it has had, in entries of sweeps.
    turns : int
        How many slices.
    rate : float
        By how much the logarithm of the bound fell in the last slice, per unit of work; 0 if it did not.
    """

    name: str
    unknown = UNKNOWN

    def __init__(self, now: Progress, watch: Watch) -> None:
        self.watch, self.lookahead = watch, now.lookahead
        self.own = Progress(now.lookahead, vector(now.lookahead.n_states))
        self.own.take(now)
        self.least_bound = inf
        self.entries = float(self.lookahead.rows.indptr[-1])
        self.per_policy = self.entries / self.lookahead.n_actions
        self.work = self.rate = 0.0
        self.turns = 0

    def overtaken(self, best: Progress) -> bool:
        """Whether the values of `best` are so much better that this method goes on from them."""
        return best.bound < OVERTAKEN * self.least_bound

    def left(self, best: Progress) -> float:
        """Return the work that this method is taken to need to the end."""
        bound = best.bound if self.overtaken(best) else self.own.bound
        unknown = self.unknown * max(self.least(), self.work)
        return min(unknown, log(bound / self.watch.tol) / self.rate) if self.rate > 0.0 else unknown

    def turn(self, best: Progress) -> None:
        """Work for one slice, on the values of `best` if these are much better."""
        self.turns += 1
        if self.overtaken(best):
            self.own.take(best)
            self.least_bound = best.bound
        work, gained = self.slice()
        self.least_bound = min(self.least_bound, self.own.bound)
        self.work += work
        self.rate = max(0.0, gained) / work

    @abstractmethod
    def least(self) -> float:
        """Return the work of the shortest slice."""

    @abstractmethod
    def slice(self) -> tuple[float, float]:
        """Improve the values; return the work, and by how much the logarithm of the bound fell."""


class Follow(Method):
    """Add up the value of the greedy policy, from one vector into another."""

    name = "modified_policy_iteration"
    unknown = UNKNOWN / 2

    def __init__(self, now: Progress, watch: Watch, evaluate: "Evaluate") -> None:
        super().__init__(now, watch)
        self.series = ValueSeries(self.lookahead)
        self.in_vain = 1
        self.evaluate = evaluate

    def least(self) -> float:
        """Return the work of the shortest slice."""
        return SHORTEST * self.per_policy + self.entries

    def slice(self) -> tuple[float, float]:
        """Add some terms."""
        now, bound = self.own, self.least_bound
        another = self.series.begin(now.action, now.before, now.value, now.change)
        most = self.work
        if not another:  # this policy is worth an accurate value, which the other method may have for less
            most = min(most, UNKNOWN * self.evaluate.least())
        deepest = max(SHORTEST, int(most / self.per_policy))
        terms, width = add_terms(self.series, now.value, bound if another else 0.0, self.watch, deepest)
        # as fast as the bounds on the value of the policy come together, those on V* would, were it the best one
        promised = log(bound / max(width, self.series.floor, min(bound, self.watch.tol)))
        gained = now.back_up()
        self.in_vain = 1 if gained > PROGRESS else self.in_vain + 1
        return terms * self.per_policy + self.entries, max(gained, promised / self.in_vain)


class Sweep(Method):
    """Sweep in place, in both directions."""

    name = "gauss_seidel"

    def __init__(self, now: Progress, watch: Watch) -> None:
        super().__init__(now, watch)
        self.rows = PolicySteps(self.lookahead)
        self.blocks = fixed_blocks(self.lookahead.n_states)

    def least(self) -> float:
        """Return the work of the shortest slice."""
        return 3 * IN_PLACE * self.entries

    def slice(self) -> tuple[float, float]:
        """Do some iterations, more in later slices."""
        now, work = self.own, self.entries
        # what is wrong by as much in all states, sweeps in place would spread unevenly
        np.add(now.value, now.shift, out=now.value, where=now.action >= 0)
        for _ in range(1 + self.turns // SHORTEST):
            change = back_and_forth(self.lookahead, self.blocks, now.value, now.before, now.action)
            self.rows.take(now.action)
            sweeps = follow(self.rows, self.blocks, now.value, now.before, change, self.watch)
            work += IN_PLACE * (2 * self.entries + sweeps * self.per_policy)
            if self.watch.hurries:
                break
        return work, now.back_up()


class Evaluate(Method):
    """Evaluate policies one after the other, each greedy for the value of the last one.

    A policy is evaluated by BiCGSTAB, in twice as many iterations each time until that is accurate, or by elimination
    once that takes less.
    """

    name = "policy_iteration"
    unknown = UNKNOWN / 2

    def __init__(self, now: Progress, watch: Watch) -> None:
        super().__init__(now, watch)
        self.rows = PolicySteps(self.lookahead)
        self.iterates: KrylovValue | None = None
        self.followed: FloatArray = vector(self.lookahead.n_states)
        self.longest, self.seconds = SHORTEST, 0.0
        self.ordering = PER_SYSTEM + PER_ENTRY * self.per_policy
        self.banded = False
        if self._may_lie_within_a_band():
            self.rows.take(now.action)
            if band_of(self.rows.matrix, left_out=self.lookahead.terminal) is not None:
                self.look_at(self.rows.matrix, banded=True)

    def look_at(self, chain: "Matrix", *, banded: bool) -> None:
        """Estimate how long it takes to eliminate the unknowns of a policy like this."""
        self.banded, self.seconds = banded, seconds_to_eliminate(chain)
        self.ordering = PER_SYSTEM + (0.0 if banded else PER_ENTRY * self.per_policy)  # to find an order

    def _may_lie_within_a_band(self) -> bool:
        """Whether none of a few rows of the policy reaches far, as some do in most models."""
        lookahead = self.lookahead
        if lookahead.rows.same:
            return False
        some = np.arange(0, lookahead.n_states, 1 + lookahead.n_states // FEW)
        chosen = np.where(self.own.action[some] >= 0, some * lookahead.n_actions + self.own.action[some], -1)
        pointers, entry = chosen_rows(lookahead.indptr, chosen)
        there = lookahead.successor[entry]
        reach = (there - np.repeat(some, np.diff(pointers)))[~lookahead.terminal[there]]
        below, above = max(0, -int(reach.min(initial=0))), int(reach.max(initial=0))
        return worth_a_band(lookahead.n_states, self.per_policy, below, above)

    def iterating(self) -> float:
        """Return the work of as many iterations as are next."""
        return self.longest * (PER_ITERATION + IN_PLACE) * self.per_policy

    def eliminating(self) -> float:
        """Return the work of an elimination; only of ordering the unknowns as long as more is not known."""
        if self.watch.left < self.seconds + self.ordering * LONGEST_ENTRY:  # neither can be stopped on the way
            return inf
        return self.ordering + self.seconds * PER_SECOND * PER_OPERATION

    def least(self) -> float:
        """Return the work of the shortest slice."""
        return min(self.iterating(), self.eliminating()) + self.entries

    def slice(self) -> tuple[float, float]:
        """Evaluate one policy."""
        own, work = self.own, self.least()
        policy = np.where(self.lookahead.terminal, -1, own.action)
        if self.eliminating() <= self.iterating():
            chain, reward = induced_by_actions(self.lookahead, policy.astype(np.int64))
            banded = band_of(chain) is not None
            if self.seconds == 0.0 or banded != self.banded:
                self.look_at(chain, banded=banded)
                return work, 0.0
            own.value = solve_fixed_point(chain, reward)
        else:
            another = self.rows.take(policy.astype(np.int32))
            if another or self.iterates is None:
                self.iterates = KrylovValue(self.rows, own.value)
            value = self.iterates.go_on(self.longest, self.watch)
            changes = self.rows.follow(value, self.followed)
            width = interval(self.lookahead, changes, self.lookahead.rounding(value)).width
            if width > self.watch.tol:
                self.longest *= 2
            if width > self.least_bound:
                return work, 0.0
            own.value = value
        return work, own.back_up()


class Components(Method):
    """Solve one strongly connected component after the other, if none has more than half of the states."""

    name = "topological"

    def __init__(self, now: Progress, watch: Watch) -> None:
        super().__init__(now, watch)
        self.in_order: InOrder | None = None
        self.over = False

    def overtaken(self, best: Progress) -> bool:
        """Never: it does not begin from values."""
        return False

    def left(self, best: Progress) -> float:
        """Return the work that is left, if the other components take as much for each state."""
        unknown = self.unknown * max(self.least(), self.work)
        if self.in_order is None:  # to find them cannot be stopped on the way
            return inf if self.watch.left < self.least() * LONGEST_ENTRY else unknown
        if self.over:
            return inf
        share = self.in_order.share
        return min(unknown, self.work * (1.0 - share) / share) if share > 0.0 else unknown

    def least(self) -> float:
        """Return the work of the shortest slice."""
        return PER_LOOK * self.entries

    def slice(self) -> tuple[float, float]:
        """Find the components, or solve some of them."""
        if self.in_order is None:
            self.in_order = InOrder(self.lookahead, self.watch.tol)
            self.over = 2 * self.in_order.largest > self.lookahead.n_states
            return self.least(), 0.0
        work, most = 0.0, max(self.least(), self.work)
        while not self.over:
            backups = self.in_order.go_on(self.lookahead.n_states)
            work += IN_PLACE * backups * self.entries / self.lookahead.n_states
            self.over = self.in_order.share == 1.0
            if work >= most or self.watch.hurries:
                break
        if self.over:
            np.copyto(self.own.value, self.in_order.value)
            return work + self.entries, self.own.back_up()
        return work, 0.0
