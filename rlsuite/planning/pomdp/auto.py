"""Choose the method for the model: exact with a horizon, else bounds that converge."""

from typing import Unpack

from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.planning.limits import LimitsOfBounds, TimeLimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.exact.incremental_pruning import incremental_pruning
from rlsuite.planning.pomdp.point_based.sarsop import sarsop
from rlsuite.planning.pomdp.solution import AlphaVectorSolution


@takes_limits()
def auto(
    pomdp: POMDP,
    *,
    horizon: int | None = None,
    max_iterations: int | None = None,
    **limits: Unpack[TimeLimitsOfBounds],
) -> AlphaVectorSolution:
    """Solve a POMDP by the method that suits it.

    For a number of steps that is `incremental_pruning`, which finds the exact plan for every belief. Without an end it
    is `sarsop`, which looks only at beliefs that are reached from the start, and goes as far as models of many
    thousand states.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no end, and gamma must be below 1.
    max_iterations : int, optional
        Limit on what the chosen method counts as iterations; by default its own.
    **limits
        When to stop: `tol` or `gap`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    AlphaVectorSolution
        ``method`` names the method that was chosen.

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
        If the bounds are further apart than asked for.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> solve(machine, horizon=2).method, solve(machine).method
    ('incremental_pruning', 'sarsop')
    """
    given: LimitsOfBounds = {**limits}
    if max_iterations is not None:
        given["max_iterations"] = max_iterations
    if horizon is not None:
        return incremental_pruning(pomdp, horizon=horizon, **given)
    if pomdp.gamma == 1.0:
        raise ParameterError(
            "gamma is 1: without discounting, values of a POMDP may be infinite; pass horizon=10 (say), or gamma=0.99"
        )
    return sarsop(pomdp, **given)
