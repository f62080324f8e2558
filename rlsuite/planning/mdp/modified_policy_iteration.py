"""Modified policy iteration: sweeps over all actions, and between them many that evaluate the greedy policy.

P94 section 6.5, Puterman & Shin 1978.
"""

from typing import Unpack

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, StateArray
from rlsuite.planning.certificate import bounded, certified, discounted, interval, largest_change
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.operators import Lookahead, starting_value
from rlsuite.planning.solution import Solution
from rlsuite.planning.value_series import AT_ONCE, ValueSeries
from rlsuite.planning.vectors import vector
from rlsuite.planning.watch import Watch

DEPTH = 0.1
"""A policy is followed until the bounds on its own value have come together to this share of those on V*.

Deeper evaluates policies that will be left anyway, less deep pays for more sweeps over all actions; between 0.03 and
0.3 the time hardly changes.
"""

SHORTEST = 8
"""A new policy is followed in at least so many sweeps, and in no more than cost as much as all work before.

The first policies are seldom good; that way they cost no more than a small multiple of what the last ones need.
"""

DEEPEST = 1_000
"""A policy is followed in at most this many sweeps: beside them one more over all actions costs nothing."""

END = 0.25
"""The same, in tolerances, for a policy that was the best one twice."""

STALLED = 0.5
"""Sweeps that follow a policy end where the last ones left more than this share of the distance of the bounds, once
rounding in single precision alone may keep them so far apart. The next sweep over all actions is in double precision.
"""


@takes_limits(max_iterations=100_000)
def modified_policy_iteration(
    mdp: MDP | Lookahead,
    *,
    initial: ArrayLike | None = None,
    **limits: Unpack[Limits],
) -> Solution:
    """Solve a discounted MDP by few sweeps over all actions and many that evaluate one policy.

    Each iteration backs up once, V <- TV, and then follows the greedy policy, V <- T_pi V, which is A times cheaper,
    for as long as that pays: until the changes have become equal in all states, up to a tenth of their first spread;
    or, as the first policies are seldom good, for as long as all work before.
    A change that is equal in all states does not widen the bounds (`rlsuite.planning.certificate`). All
    sweeps are from one vector into another (Jacobi): best where the chain of every policy mixes fast. Where rewards are
    many steps away, `gauss_seidel` is faster.

    Parameters
    ----------
    mdp : MDP or Lookahead
        The model, or the model prepared; gamma < 1.
    initial : array_like (S,), optional
        A guess of the value to begin with; by default 0.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (sweeps over all actions), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``iterations`` is the number of sweeps over all actions. After a stop before its time, by a limit or by Ctrl-C,
        the best answer so far with its true error bound.

    Raises
    ------
    ParameterError
        If gamma is 1, or an argument is out of range.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import modified_policy_iteration
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = modified_policy_iteration(mdp)
    >>> solution.value.tolist(), solution.policy.tolist(), solution.converged
    ([90.0, 100.0, 0.0], [1, 1, -1], True)
    """
    watch = Watch("modified_policy_iteration", **limits)
    lookahead = discounted(mdp, "modified_policy_iteration")
    return follow_policies(lookahead, starting_value(lookahead, initial), ValueSeries(lookahead), watch)


def follow_policies(lookahead: Lookahead, value: FloatArray, series: ValueSeries, watch: Watch) -> Solution:
    """Run the method from `value` (S,), 0 at terminal states, which it overwrites; `series` evaluates the policies."""
    backed_up = vector(lookahead.n_states)
    action: StateArray = np.empty(lookahead.n_states, dtype=np.int32)
    bound, settled, work = np.inf, False, 0  # the work in sweeps that follow a policy
    with watch:
        while watch.goes_on(bound):
            if settled:
                solution = bounded(lookahead, value, watch)
                if solution.converged:
                    return solution
            changes = lookahead.back_up(value, backed_up, action)
            rounding = lookahead.rounding(value)
            bound = interval(lookahead, changes, rounding).width
            value, backed_up = backed_up, value
            watch.measure(value, lookahead.largest_value)
            if bound <= watch.tol:
                break
            if largest_change(changes) <= rounding:
                watch.give_up("the changes are down to rounding error")
                break
            another = series.begin(action, backed_up, value, largest_change(changes))
            deepest = min(DEEPEST, max(SHORTEST, work)) if another else DEEPEST
            terms, _ = add_terms(series, value, bound if another else 0.0, watch, deepest)
            work += terms + lookahead.n_actions
            settled = not another
    return certified(lookahead, value, watch)


def add_terms(
    series: ValueSeries, value: FloatArray, bound: float, watch: Watch, deepest: int = DEEPEST
) -> tuple[int, float]:
    """Follow the policy with which `series` has begun; return the number of sweeps, and how far apart its bounds are.

    `bound` is how far apart the bounds on V* are; 0 for a policy that was the best one before, too, which is likely to
    be optimal: it is evaluated to the full accuracy.
    """
    enough, terms, width = max(END * watch.tol, DEPTH * bound), 0, np.inf
    while terms < deepest:
        some = min(max(1, terms), AT_ONCE, deepest - terms)  # few at first: a policy may need no more
        before, width, terms = width, series.add_terms(some), terms + some
        if width <= enough or series.exhausted or watch.hurries:
            break
        if width > STALLED * before and width <= series.floor:
            break
    series.settle(value)
    return terms, width
