"""Exact planning for a number of steps, and the function through which all exact methods solve."""

import time
from typing import Unpack

import numpy as np

from rlsuite.core.checks import fits_in_memory, whole_amount
from rlsuite.core.clock import OutOfTime
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.certificate import representable, warn_not_converged
from rlsuite.planning.limits import LimitsOfBounds
from rlsuite.planning.pomdp.exact.backprojection import Projection
from rlsuite.planning.pomdp.exact.infinite_horizon import solve_endless, work_of_stage
from rlsuite.planning.pomdp.exact.value_iteration_stages import CrossSum, Stage, next_stage, no_plan
from rlsuite.planning.pomdp.solution import AlphaVectorSolution, BoundsTrace, VectorSet, noted, values_at
from rlsuite.planning.watch import Watch

FINEST = 1e-9
"""Largest loss of a selection, in the unit of the reward: vectors that matter less are rounding errors."""
FEW = 8
"""Beliefs at most that are planned for, beside the start, once the time is over."""
MARGIN = 1.25
"""How much longer a step may take than it did when it was timed."""


def solve_exactly(
    method: str,
    pomdp: POMDP,
    cross_sum: CrossSum,
    *,
    horizon: int | None,
    **limits: Unpack[LimitsOfBounds],
) -> AlphaVectorSolution:
    """Check the arguments, solve, and warn if the bounds are further apart than asked for.

    Parameters
    ----------
    method : str
        Its name.
    pomdp : POMDP
        The model.
    cross_sum : CrossSum
        What the method consists of.
    horizon, **limits
        As every exact method takes them; with a horizon, `max_iterations` does not count.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    ModelError
        If values overflow, or no plan is legal from the start to the end.

    Warns
    -----
    ConvergenceWarning
        If the bounds are too far apart.
    """
    watch = Watch(method, **limits)
    if horizon is None:
        solution = solve_endless(pomdp, cross_sum, watch)
    else:
        watch.max_iterations = None
        horizon = whole_amount("horizon", horizon)
        # the plans of each length are kept, at least one vector each
        fits_in_memory(f"horizon={horizon} with {pomdp.n_states} states", 8 * horizon * pomdp.n_states)
        solution = solve_for(pomdp, horizon, cross_sum, watch)
        assert solution is not None  # as it may do any amount of work
    if not solution.converged:
        warn_not_converged(
            f"{method} stopped after {solution.iterations} iterations with bounds that are {solution.gap:.3g} apart, "
            f"more than {watch.asked}{watch.stopped and f': {watch.stopped}'}"
        )
    return solution


def solve_for(
    pomdp: POMDP, horizon: int, cross_sum: CrossSum, watch: Watch, most_work: float = np.inf
) -> AlphaVectorSolution | None:
    """Solve for a number of steps; None if the stages would take more than `most_work` operations, `work_of_stage`."""
    work = 0.0
    with watch:
        projection = Projection(pomdp)
        weight = float((pomdp.gamma ** np.arange(horizon)).sum())
        representable(projection.lookahead, weight)
        epsilon = min(FINEST, watch.tol / (8.0 * pomdp.n_observations * weight))
        plans = _Plans(projection)
        step = 0.0
        if watch.deadline is not None:
            step = plans.seconds_of_a_cheap_step()
            if horizon * step > watch.left:
                raise ParameterError(
                    f"deadline={watch.deadline:g} seconds are too short for horizon={horizon}: plans for {FEW + 1} "
                    f"beliefs alone take about {horizon * step:.2g} seconds. Pass a longer deadline= or a smaller "
                    "horizon="
                )
        while (left := horizon - plans.steps) and watch.goes_on(np.inf):
            watch.reserve = left * step
            work += work_of_stage(pomdp, len(plans.vectors))
            if work > most_work:
                return None
            try:
                plans.add(next_stage(projection, plans.vectors, plans.points, cross_sum, epsilon, watch))
            except OutOfTime:
                continue
        done = plans.steps
        watch.reserve = 0.0
        while plans.steps < horizon:  # out of time: cheap steps for the rest, which keep both bounds valid
            plans.add_cheaply()
    lower, upper = plans.bounds()
    return noted(
        AlphaVectorSolution,
        watch,
        (lower, upper),
        horizon=horizon,
        iterations=done,
        alpha_vectors=plans.vectors,
        actions=plans.stages[-1].actions,
        pomdp=pomdp,
        trace=BoundsTrace.of([(done, watch.seconds, lower, upper)]),
        stages=tuple(plans.stages),
    )


class _Plans:
    """The plans of each length found so far, and a bound on their loss."""

    def __init__(self, projection: Projection) -> None:
        pomdp = projection.pomdp
        nothing = np.full((1, pomdp.n_observations), -1, dtype=np.int64)
        self.projection, self.gamma = projection, pomdp.gamma
        self.stages = [VectorSet(np.zeros((1, pomdp.n_states)), np.array([-1]), nothing)]
        self.start: FloatArray = pomdp.start[np.newaxis]
        self.points = self.start
        """(p, S), a belief for each plan in which it is best"""
        self.above: FloatArray | None = None
        """(A, S), vectors above all plans, once the exact ones have ended"""
        self._loss = self._rounding = 0.0

    @property
    def steps(self) -> int:
        """Number of steps of the longest plans."""
        return len(self.stages) - 1

    @property
    def vectors(self) -> FloatArray:
        """The longest plans, (n, S)."""
        return self.stages[-1].alpha_vectors

    def seconds_of_a_cheap_step(self) -> float:
        """Return about how long `add_cheaply` takes."""
        vectors, beliefs = np.repeat(self.vectors, FEW + 1, axis=0), np.repeat(self.start, FEW + 1, axis=0)
        least = np.inf
        for _ in range(2):
            begun = time.perf_counter()
            self.projection.at_points(vectors, beliefs)
            self.projection.informed(self.projection.reward)
            least = min(least, time.perf_counter() - begun)
        return MARGIN * least

    def add(self, stage: Stage) -> None:
        """Go one step back with all plans that matter."""
        self._loss = self.gamma * self._loss + stage.loss
        self._rounding = self.gamma * self._rounding + self.projection.rounding(self.vectors)
        self.stages.append(stage.plans)
        self.points = stage.points

    def add_cheaply(self) -> None:
        """Go one step back with the best plans for a few beliefs, and the fast informed bound."""
        above = self.vectors if self.above is None else self.above
        self._loss = self.gamma * self._loss + self.projection.rounding(above)
        self._rounding = self.gamma * self._rounding + self.projection.rounding(self.vectors)
        some = self.points[:: 1 + len(self.points) // FEW]
        found, actions = self.projection.at_points(self.vectors, np.concatenate([self.start, some]))
        legal = actions >= 0
        if not legal.any():
            raise no_plan(self.start[0])
        links = np.full((np.count_nonzero(legal), self.projection.pomdp.n_observations), -1, dtype=np.int64)
        self.stages.append(VectorSet(found[legal], actions[legal], links))
        self.above = self.projection.informed(above)

    def bounds(self) -> tuple[float, float]:
        """Return the bounds at the start belief."""
        lower = float(values_at(self.vectors, self.start).max())
        upper = lower if self.above is None else float(values_at(self.above, self.start).max())
        if lower == -np.inf:
            raise no_plan(self.start[0])
        return lower - self._rounding, upper + self._loss
