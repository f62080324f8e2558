"""Enumeration: form all sums of one vector per observation, then keep those that matter. Monahan 1982; Sondik 1971."""

import math
from typing import Unpack

import numpy as np

from rlsuite.core.checks import whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.limits import LimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.exact.exact import solve_exactly
from rlsuite.planning.pomdp.exact.pruning import distinct, rounding_of, that_matter
from rlsuite.planning.pomdp.exact.value_iteration_stages import Sums
from rlsuite.planning.pomdp.solution import AlphaVectorSolution
from rlsuite.planning.watch import Watch

MOST_NUMBERS = 1 << 28
"""Entries that all plans of one action in one stage may have: 2 GiB."""


@takes_limits(max_iterations=10_000)
def enumeration(
    pomdp: POMDP,
    *,
    horizon: int | None = None,
    max_vectors: int = 1_000_000,
    **limits: Unpack[LimitsOfBounds],
) -> AlphaVectorSolution:
    """Solve a POMDP exactly, by value iteration over alpha vectors that enumerates all plans of each stage.

    The oldest of the exact methods and the easiest to see through: n vectors, an action and Z observations make n^Z
    plans, all of which are formed, before one linear program for each decides whether it matters. A second opinion for
    small models; `incremental_pruning` finds the same vectors, and is faster.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no end, and gamma must be below 1.
    max_vectors : int
        How many plans there may be for one action in one stage.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (stages, without a horizon), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    AlphaVectorSolution
        As of `incremental_pruning`.

    Raises
    ------
    ParameterError
        If there are more plans than `max_vectors` or they would fill the memory, gamma is 1 without a horizon, the
        deadline is too short for the horizon, or an argument is out of range.
    ModelError
        If values overflow; or if every plan comes to a belief in which no action is legal in every state of its
        support.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`.

    Examples
    --------
    A coin lies under one of two cups; a look costs 1 and shows it with certainty, a guess earns 10 or costs 20:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import enumeration
    >>> look, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [look, guess, guess], [[-1, -1, 0], [10, -20, 0], [-20, 10, 0]], [[1, 0], [0, 1], [0.5, 0.5]],
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = enumeration(cups, horizon=2)
    >>> plan.value([0.5, 0.5, 0]), plan.act([0.5, 0.5, 0]), plan.act([1, 0, 0])
    (8.0, 0, 1)
    """
    most = whole_number("max_vectors", max_vectors)

    def all_of_them(sets: list[FloatArray], points: FloatArray, epsilon: float, watch: Watch) -> Sums:
        different = [distinct(np.ascontiguousarray(one.T), rounding_of(one), watch) for one in sets]
        sizes = [first.size for first, _ in different]
        number = math.prod(sizes)
        product = f"{' * '.join(map(str, sizes[:8]))}{' * ...' if len(sizes) > 8 else ''} = {number} plans"
        if number > most:
            raise ParameterError(
                f"{product} for one action in one stage are more than max_vectors={most}; "
                "method='incremental_pruning' forms fewer"
            )
        if number * sets[0].shape[1] > MOST_NUMBERS:
            raise ParameterError(
                f"{product} for one action in one stage, over {sets[0].shape[1]} states, take "
                f"{number * sets[0].shape[1] / 2**27:.1f} GiB; method='incremental_pruning' takes less"
            )
        sums = np.zeros((1, sets[0].shape[1]))
        for one, (first, _) in zip(sets, different, strict=True):
            watch.check()
            sums = (sums[:, np.newaxis] + one[first]).reshape(-1, one.shape[1])
        best = that_matter(sums, points, epsilon, watch)
        numbers = np.unravel_index(best.left, sizes)
        loss = best.loss + sum(lost for _, lost in different)
        return Sums([first[n] for (first, _), n in zip(different, numbers, strict=True)], best.points, loss)

    return solve_exactly("enumeration", pomdp, all_of_them, horizon=horizon, **limits)
