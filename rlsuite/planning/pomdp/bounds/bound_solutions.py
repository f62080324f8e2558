"""Solutions of the methods that only bound a value."""

from typing import TypeVar

import numpy as np

from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.certificate import warn_not_converged
from rlsuite.planning.pomdp.bounds.initial_bounds import Blind
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.exact.value_iteration_stages import no_plan
from rlsuite.planning.pomdp.vectors import AlphaVectorSolution, BoundsTrace, worth
from rlsuite.planning.watch import Watch

Kind = TypeVar("Kind", bound=AlphaVectorSolution)


def at_start(model: PreparedModel, vectors: FloatArray) -> float:
    """Return max_i alpha_i . b at the start belief, of vectors (n, S)."""
    return float(worth(vectors, model.pomdp.start[np.newaxis]).max())


def both_bounds(model: PreparedModel, blind: Blind, q: FloatArray) -> tuple[float, float]:
    """Return the bounds at the start belief by blind plans and by upper bounds (S, A) on the actions.

    Raises
    ------
    ModelError
        If not even the upper bound is finite.
    """
    lower, upper = at_start(model, blind.vectors), at_start(model, q.T)
    if upper == -np.inf:
        raise no_plan(model.pomdp.start)
    rounding = model.rounding(max(abs(upper), abs(lower) if lower > -np.inf else 0.0))
    return lower - rounding, max(upper, lower) + rounding


def reported(
    kind: type[Kind],
    model: PreparedModel,
    watch: Watch,
    bounds: tuple[float, float],
    vectors: FloatArray,
    actions: IndexArray,
    distance: float,
    iterations: int,
) -> Kind:
    """Return a solution; `distance` is how far its vectors can be from what the method is defined to compute.

    Warns
    -----
    ConvergenceWarning
        If that is more than the tolerance.
    """
    watch.measure(vectors[np.isfinite(vectors)])
    converged = distance <= watch.tol
    if not converged:
        warn_not_converged(
            f"{watch.method} stopped when its vectors were accurate to {distance:.3g}, not {watch.asked}"
        )
    return kind(
        lower_bound=bounds[0],
        upper_bound=bounds[1],
        converged=converged,
        horizon=None,
        iterations=iterations,
        seconds=watch.seconds,
        method=watch.method,
        alpha_vectors=vectors,
        actions=actions,
        pomdp=model.pomdp,
        trace=BoundsTrace.of([(iterations, watch.seconds, *bounds)]),
    )
