"""The witness algorithm: linear programs find beliefs that prove that a vector is missing. KLC98 section 4.4.

A set of plans for one action is complete if no plan that differs from one of them after a single observation is better
anywhere (KLC98 Theorem 3). So the neighbours of each plan, n - 1 for each observation, are all that has to be checked:
a linear program finds a belief in which one of them is better than the set, a *witness*, or proves that there is none.
At a witness the best plan of all is easily put together, one observation at a time, and joins the set.

In plain NumPy: `rlsuite.reference.pomdp.witness`.
"""

from typing import Unpack

import numpy as np

from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.limits import LimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.exact.exact import solve_exactly
from rlsuite.planning.pomdp.exact.incremental_pruning import in_turns
from rlsuite.planning.pomdp.exact.pruning import UpperSurface, best_vectors, different, that_matter
from rlsuite.planning.pomdp.exact.value_iteration_stages import Sums
from rlsuite.planning.pomdp.solution import AlphaVectorSolution
from rlsuite.planning.watch import Watch


@takes_limits(max_iterations=10_000)
def witness(pomdp: POMDP, *, horizon: int | None = None, **limits: Unpack[LimitsOfBounds]) -> AlphaVectorSolution:
    """Solve a POMDP exactly, by value iteration over alpha vectors with the witness algorithm of KLC98.

    Looks at few plans, and at each of them with one linear program: about Z n m programs for m plans that matter, put
    together from n vectors. `incremental_pruning` finds the same vectors, and is faster as a rule.

    Parameters
    ----------
    pomdp : POMDP
        The model. Where an action is legal in some states only, the plans are found by incremental pruning.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no end, and gamma must be below 1.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (stages, without a horizon), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    AlphaVectorSolution
        As of `incremental_pruning`.

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
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import witness
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> witness(machine, horizon=2).alpha_vectors.tolist()
    [[1.81, 0.0]]
    """
    return solve_exactly("witness", pomdp, _by_witnesses, horizon=horizon, **limits)


def _by_witnesses(sets: list[FloatArray], points: FloatArray, epsilon: float, watch: Watch) -> Sums:
    if any(one.min() == -np.inf for one in sets):
        return in_turns(sets, points, epsilon, watch)
    chosen = [that_matter(one, points, epsilon, watch) for one in sets]
    loss = sum(each.loss for each in chosen)
    parts = [one[each.left] for one, each in zip(sets, chosen, strict=True)]
    every = different(np.concatenate([points, *(each.points for each in chosen)]))
    agenda = _Agenda(parts)
    for number in np.unique(np.stack([best_vectors(part, every) for part in parts], axis=1), axis=0):
        agenda.add(number, every[:0])
    surface = UpperSurface(np.stack([agenda.sums(np.array([plan]))[0] for plan in agenda.order]))
    rise = 0.0
    while agenda.waiting:
        neighbours = agenda.neighbours(agenda.waiting.pop())
        candidates = surface.candidates(agenda.sums(neighbours))
        position = 0
        while True:
            position, belief, rise = surface.first_witness(candidates, position, epsilon, rise, watch)
            if belief is None:
                break
            best = np.concatenate([best_vectors(part, belief[np.newaxis]) for part in parts])
            if tuple(best.tolist()) in agenda.known:  # by rounding: take the neighbour itself
                best = neighbours[position]
            agenda.add(best, belief[np.newaxis])
            surface.add(agenda.sums(best[np.newaxis])[0])
    numbers = np.array(sorted(agenda.order))  # independent of the order in which they were found
    # A plan that is better in some belief differs from a plan of the set after at most Z observations.
    at = np.concatenate([every, *agenda.points])
    return Sums([each.left[numbers[:, z]] for z, each in enumerate(chosen)], at, loss + len(sets) * rise)


class _Agenda:
    """The plans found so far, each as the numbers of the vectors that it is the sum of, and those still to look at."""

    def __init__(self, parts: list[FloatArray]) -> None:
        self.parts = parts
        self.order: list[tuple[int, ...]] = []
        self.known: set[tuple[int, ...]] = set()
        self.looked_at: set[tuple[int, ...]] = set()
        self.waiting: list[IndexArray] = []
        self.points: list[FloatArray] = []

    def add(self, numbers: IndexArray, point: FloatArray) -> None:
        """Add a plan (Z,) to the others, with a belief (1, S) in which it is the best, or none (0, S)."""
        plan = tuple(numbers.tolist())
        self.order.append(plan)
        self.known.add(plan)
        self.waiting.append(numbers)
        self.points.append(point)

    def sums(self, numbers: IndexArray) -> FloatArray:
        """Return the vectors of plans (n, Z): (n, S)."""
        total = self.parts[0][numbers[:, 0]].copy()
        for z, part in enumerate(self.parts[1:], start=1):
            total += part[numbers[:, z]]
        return total

    def neighbours(self, numbers: IndexArray) -> IndexArray:
        """Return the plans that differ from one after a single observation, and were not looked at before."""
        found: list[tuple[int, ...]] = []
        for z, part in enumerate(self.parts):
            own = numbers.tolist()
            for other in range(part.shape[0]):
                own[z] = other
                plan = tuple(own)
                if plan not in self.known and plan not in self.looked_at:
                    found.append(plan)
        self.looked_at.update(found)
        return np.array(found, dtype=np.int64).reshape(-1, len(self.parts))
