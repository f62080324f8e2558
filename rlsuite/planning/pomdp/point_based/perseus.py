"""Perseus: backups at random beliefs of a fixed set, until the value of none is lower than before.

Spaan and Vlassis 2005.

In plain NumPy: `rlsuite.reference.pomdp.point_based_backup`.
"""

from typing import Unpack

import numpy as np

from rlsuite.core.checks import generator, whole_amount, whole_number
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.limits import TimeLimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.point_based.sarsop import PointSearch, warn_if_open
from rlsuite.planning.pomdp.point_based.search import BeliefSet, random_walk
from rlsuite.planning.pomdp.solution import PointBasedSolution
from rlsuite.planning.watch import Watch

MAX_IDLE = 30
"""Rounds after which the search ends if the bounds do not get better, but by"""
MIN_GAIN = 1e-10
"""this fraction of the largest value."""


@takes_limits()
def perseus(
    pomdp: POMDP,
    *,
    n_beliefs: int = 1_000,
    max_iterations: int = 10_000,
    seed: int | np.random.Generator = 0,
    **limits: Unpack[TimeLimitsOfBounds],
) -> PointBasedSolution:
    """Solve a POMDP by randomised backups at the beliefs of a random walk.

    In a round beliefs are drawn from those whose value has not risen yet, and updated, until there is none left: one
    vector often serves many beliefs. Upper bounds are kept beside the vectors, as in `sarsop`, but only at the
    beliefs of the set, so they may stay wide. The search ends when nothing gets better.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    n_beliefs : int
        Size of the set, the start belief included. The actions of the walk are drawn uniformly; if it comes to fewer
        beliefs, those that can follow them are added.
    max_iterations : int
        Largest number of rounds.
    seed : int or Generator
        Source of all randomness.
    **limits
        When to stop: `tol` or `gap`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    PointBasedSolution
        ``iterations`` is the number of rounds.

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
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = solve(cups, "perseus")
    >>> round(plan.lower_bound, 6), round(plan.upper_bound, 6), plan.act([0, 1, 0])
    (8.0, 8.0, 2)
    """
    watch = Watch("perseus", **limits)
    most, wanted = whole_amount("max_iterations", max_iterations), whole_number("n_beliefs", n_beliefs)
    rng = generator(seed)
    rounds = still = 0
    with watch:
        planner = PointSearch(pomdp, watch)
        points = BeliefSet(planner.search, random_walk(planner.search, wanted, rng, watch))
        before = points.values(np.zeros_like(planner.search.pools.vectors.used))
        while planner.goes_on():
            if rounds == most:
                watch.give_up(f"max_iterations={most} reached")
                break
            if still == MAX_IDLE:
                watch.give_up("the bounds no longer get better")
                break
            upper = planner.search.upper
            value = _round(planner, points, before, rng)
            rounds += 1
            better = max(float((value - before).max()), upper - planner.search.upper) > MIN_GAIN * planner.size
            still = 0 if better else still + 1
            before = value
    return warn_if_open(planner.solution(rounds), watch, f"{rounds} rounds over {points.nodes.size} beliefs")


def _round(planner: PointSearch, points: BeliefSet, before: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Update beliefs until none is worse than before, and return the values of all."""
    watch, search = planner.watch, planner.search
    value, left = before.copy(), np.arange(before.size)
    while left.size and not watch.hurries and not search.full:
        drawn = int(left[rng.integers(0, left.size)])
        counts = search.pools.vectors.used.copy()
        while not planner.update(points.nodes[drawn : drawn + 1]) and not watch.hurries:
            pass
        np.maximum(value, points.values(counts), out=value)
        left = left[(value[left] <= before[left]) & (left != drawn)]
    return value
