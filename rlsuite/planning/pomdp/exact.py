"""Exact planning for a number of steps, and the door that all exact methods share."""

import numpy as np

from rlsuite.checks import whole_number
from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.certificate import representable, warn_not_converged
from rlsuite.planning.pomdp.endless import solve_endless
from rlsuite.planning.pomdp.projection import Projection
from rlsuite.planning.pomdp.pruning import OutOfTime
from rlsuite.planning.pomdp.stages import CrossSum, next_stage, no_plan
from rlsuite.planning.pomdp.vectors import AlphaVectorSolution, BoundsTrace, VectorSet, worth
from rlsuite.planning.watch import Watch

FINEST = 1e-9
"""What a selection may lose at most, in the unit of the reward: vectors that matter less than that are rounding."""


def solve_exactly(
    method: str,
    pomdp: POMDP,
    cross_sum: CrossSum,
    *,
    horizon: int | None,
    tol: float,
    max_iterations: int,
    deadline: float | None,
    progress: bool,
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
    horizon, tol, max_iterations, deadline, progress
        As every exact method takes them.

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
    limit = None if horizon is not None else max_iterations
    watch = Watch(method, tol=tol, max_iterations=limit, deadline=deadline, progress=progress)
    if horizon is None:
        solution = solve_endless(pomdp, cross_sum, watch)
    else:
        solution = _solve_for(pomdp, whole_number("horizon", horizon), cross_sum, watch)
    if not solution.converged:
        warn_not_converged(
            f"{method} stopped after {solution.iterations} iterations with bounds that are {solution.gap:.3g} apart, "
            f"more than tol={watch.tol:g}{watch.stopped and f': {watch.stopped}'}"
        )
    return solution


def _solve_for(pomdp: POMDP, horizon: int, cross_sum: CrossSum, watch: Watch) -> AlphaVectorSolution:
    projection = Projection(pomdp)
    gamma, start = pomdp.gamma, pomdp.start
    weight = float((gamma ** np.arange(horizon)).sum())
    representable(projection.lookahead, weight)
    epsilon = min(FINEST, watch.tol / (8.0 * pomdp.n_observations * weight))
    nothing = np.full((1, pomdp.n_observations), -1, dtype=np.int64)
    stages = [VectorSet(np.zeros((1, pomdp.n_states)), np.array([-1]), nothing)]
    points: FloatArray = start[np.newaxis]
    loss = rounding = 0.0
    with watch:
        while len(stages) <= horizon and watch.goes_on(np.inf):
            vectors = stages[-1].alpha_vectors
            try:
                stage = next_stage(projection, vectors, points, cross_sum, epsilon, watch)
            except OutOfTime:
                continue
            loss = gamma * loss + stage.loss
            rounding = gamma * rounding + projection.rounding(vectors)
            stages.append(stage.plans)
            points = stage.points
    done = len(stages) - 1
    above = stages[-1].alpha_vectors
    for _ in range(done, horizon):  # out of time: the rest by cheap steps, which keep both bounds sound
        vectors = stages[-1].alpha_vectors
        rounding = gamma * rounding + projection.rounding(vectors)
        loss = gamma * loss + projection.rounding(above)
        found, actions = projection.at_points(vectors, np.concatenate([start[np.newaxis], points]))
        legal = actions >= 0
        if not legal.any():
            raise no_plan(start)
        links = np.full((np.count_nonzero(legal), pomdp.n_observations), -1, dtype=np.int64)
        stages.append(VectorSet(found[legal], actions[legal], links))
        above = projection.informed(above)
    last = stages[-1]
    lower = float(worth(last.alpha_vectors, start[np.newaxis]).max())
    upper = float(worth(above, start[np.newaxis]).max())
    if lower == -np.inf:
        raise no_plan(start)
    lower, upper = lower - rounding, upper + loss
    return AlphaVectorSolution(
        lower_bound=lower,
        upper_bound=upper,
        converged=upper - lower <= watch.tol,
        horizon=horizon,
        iterations=done,
        seconds=watch.seconds,
        method=watch.method,
        alpha_vectors=last.alpha_vectors,
        actions=last.actions,
        pomdp=pomdp,
        trace=BoundsTrace.of([(done, watch.seconds, lower, upper)]),
        stages=tuple(stages),
    )
