"""Point-based value iteration: backups at a set of beliefs, which grows by the successors farthest from the set.

Pineau, Gordon and Thrun 2003.

In plain NumPy: `rlsuite.reference.pomdp.pbvi` and `rlsuite.reference.pomdp.point_based_backup`.
"""

from typing import Unpack

import numpy as np
from scipy.spatial.distance import cdist

from rlsuite.core.checks import whole_number
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.limits import TimeLimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.point_based.sarsop import PointSearch, warn_if_open
from rlsuite.planning.pomdp.point_based.search import Search, dense, followers
from rlsuite.planning.pomdp.solution import PointBasedSolution
from rlsuite.planning.watch import Watch

MIN_GAIN = 0.01
"""A set grows when updating it no longer narrows the gap at the start by this share,"""
ROUNDS = 10
"""or when it was updated so often."""
BLOCK = 1 << 22
"""Differences of probabilities computed at a time."""


@takes_limits()
def pbvi(pomdp: POMDP, *, max_beliefs: int = 10_000, **limits: Unpack[TimeLimitsOfBounds]) -> PointBasedSolution:
    """Solve a POMDP by backups at a growing set of beliefs.

    The set begins as the start belief. All of it is updated, last come first, as long as that helps; then each belief
    adds one: of those that can follow it, the one that is furthest, in L1 distance, from the set. A set that cannot
    grow any more is updated until that changes nothing. Upper bounds are kept beside the vectors, as in `sarsop`, and
    actions that they rule out are not looked at.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    max_beliefs : int
        Largest size of the set.
    **limits
        When to stop: `tol` or `gap`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    PointBasedSolution
        ``iterations`` is the number of times that the set was updated.

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
    >>> plan = solve(cups, "pbvi")
    >>> round(plan.lower_bound, 6), round(plan.upper_bound, 6), plan.act([0, 1, 0])
    (8.0, 8.0, 2)
    """
    watch = Watch("pbvi", **limits)
    most = whole_number("max_beliefs", max_beliefs)
    rounds = 0
    with watch:
        planner = PointSearch(pomdp, watch)
        search = planner.search
        points: IndexArray = np.zeros(1, dtype=np.int64)
        while planner.goes_on():
            gap = search.upper - search.lower
            for _ in range(ROUNDS):
                while not planner.update(points[::-1]) and not watch.hurries and not search.full:
                    pass
                rounds += 1
                before, gap = gap, search.upper - search.lower
                if gap > (1.0 - MIN_GAIN) * before or not planner.goes_on():
                    break
            points = np.concatenate([points, _furthest(search, points, watch)])[:most]
    return warn_if_open(planner.solution(rounds), watch, f"{rounds} rounds over {points.size} beliefs")


def _furthest(search: Search, points: IndexArray, watch: Watch) -> IndexArray:
    """Return, for each belief of the set, the successor that is farthest from the set, if it is a new one.

    Once time is up, distances are 0, and such followers are left out.
    """
    regions = search.pools.beliefs.region
    parents, children = followers(search, points)
    distance: FloatArray = np.zeros(children.size)
    for k in np.unique(regions[children]):
        inside = np.flatnonzero(regions[children] == k)
        held = points[regions[points] == k]
        if held.size == 0:
            distance[inside] = 2.0
            continue
        candidates, back = np.unique(children[inside], return_inverse=True)
        known, apart = dense(search, held), np.zeros(candidates.size)
        some = max(1, BLOCK // known.size)
        for begin in range(0, candidates.size, some):
            if watch.hurries:
                break
            block = dense(search, candidates[begin : begin + some])
            apart[begin : begin + some] = cdist(block, known, "cityblock").min(axis=1)
        distance[inside] = apart[back]
    chosen: list[int] = []
    taken = set(points.tolist())
    order = np.lexsort((-distance, parents))
    begins = np.flatnonzero(np.diff(parents[order], prepend=-1))
    for first in order[begins].tolist():
        child = int(children[first])
        if distance[first] > 0.0 and child not in taken:
            taken.add(child)
            chosen.append(child)
    return np.array(chosen, dtype=np.int64)
