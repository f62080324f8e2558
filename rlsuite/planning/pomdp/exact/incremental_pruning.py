"""Incremental pruning: the sums are formed one observation at a time, and reduced after each. Cassandra et al. 1997.

In plain NumPy: `rlsuite.reference.pomdp.incremental_pruning`.
"""

import heapq
from typing import NamedTuple, Unpack

import numpy as np

from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.limits import LimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.exact.exact import solve_exactly
from rlsuite.planning.pomdp.exact.pruning import different, sums_that_matter, that_matter
from rlsuite.planning.pomdp.exact.value_iteration_stages import Sums
from rlsuite.planning.pomdp.solution import AlphaVectorSolution
from rlsuite.planning.watch import Watch


@takes_limits(max_iterations=10_000)
def incremental_pruning(
    pomdp: POMDP, *, horizon: int | None = None, **limits: Unpack[LimitsOfBounds]
) -> AlphaVectorSolution:
    """Solve a POMDP exactly, by value iteration over alpha vectors with incremental pruning.

    The fastest of the three exact methods, which find the same vectors: `witness`, `enumeration`, and this one. The
    sums of one vector per observation (`exact.backprojection`) are formed two sets at a time, the smallest
    first, and vectors that are not the best in any belief are removed before the next set joins (Cassandra, Littman &
    Zhang 1997, "Incremental pruning"). Small linear programs decide it, see
    `rlsuite.planning.pomdp.exact.pruning_kernels`.

    Parameters
    ----------
    pomdp : POMDP
        The model. About ten states are the usual size for any method: the number of vectors is what counts, and
        it may multiply with every step.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no end, and gamma must be below 1.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (stages, without a horizon), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    AlphaVectorSolution
        ``iterations`` is the number of stages. With a horizon its `stages` hold the vectors of every number of steps to
        go; without one its `successors` are the policy graph. Both bounds allow for rounding. After a stop before its
        time, by a limit or by Ctrl-C, the best answer so far: vectors that can be relied on, and a wider gap.

    Raises
    ------
    ParameterError
        If gamma is 1 without a horizon, the deadline is too short for the horizon, or an argument is out of range.
    ModelError
        If values overflow; or if every plan comes to a belief in which no action is legal in every state of its
        support.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`.

    Examples
    --------
    The tiger of KLC98 behind one of two doors: listen (-1, right 17 times out of 20), or open one (10 or -100).

    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import incremental_pruning
    >>> stay, again = np.eye(2), np.full((2, 2), 0.5)
    >>> tiger = POMDP.from_arrays(
    ...     [stay, again, again], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], again, again],
    ...     order="ass", gamma=0.95, start=[0.5, 0.5],
    ... )
    >>> plan = incremental_pruning(tiger)
    >>> round(plan.lower_bound, 6), plan.n_vectors, plan.converged
    (19.371368, 9, True)
    >>> plan.act([0.5, 0.5]), plan.act([0.03, 0.97]), plan.act([0.97, 0.03])
    (0, 1, 2)
    """
    return solve_exactly("incremental_pruning", pomdp, in_turns, horizon=horizon, **limits)


class _Partial(NamedTuple):
    """The sums over some of the observations; the first two entries put small sets first."""

    size: int
    observation: int
    vectors: FloatArray
    numbers: dict[int, IndexArray]
    """of each observation, which vector was taken"""


def in_turns(sets: list[FloatArray], points: FloatArray, epsilon: float, watch: Watch) -> Sums:
    """Find the sums that matter, see `rlsuite.planning.pomdp.exact.value_iteration_stages.CrossSum`."""
    parts: list[_Partial] = []
    loss = 0.0
    for z, vectors in enumerate(sets):
        best = that_matter(vectors, points, epsilon, watch)
        parts.append(_Partial(best.left.size, z, vectors[best.left], {z: best.left}))
        points = different(np.concatenate([points, best.points]))
        loss += best.loss
    heapq.heapify(parts)
    while len(parts) > 1:
        one, other = heapq.heappop(parts), heapq.heappop(parts)
        best = sums_that_matter(one.vectors, other.vectors, points, epsilon, watch)
        numbers = {z: selected[best.left] for z, selected in one.numbers.items()}
        numbers |= {z: selected[best.right] for z, selected in other.numbers.items()}
        sums = one.vectors[best.left] + other.vectors[best.right]
        heapq.heappush(parts, _Partial(best.left.size, one.observation, sums, numbers))
        points = different(np.concatenate([points, best.points]))
        loss += best.loss
    return Sums([parts[0].numbers[z] for z in range(len(sets))], points, loss)
