"""The best of the plans that ignore observations: one action for ever. Hauskrecht 2000, section 4.8."""

from typing import Unpack

from rlsuite.models import POMDP
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.pomdp.bounds.initial_bounds import blind_plans, both_bounds, reported, seen_values
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.solution import AlphaVectorSolution
from rlsuite.planning.watch import Watch


@takes_limits()
def blind(pomdp: POMDP, **limits: Unpack[TimeLimits]) -> AlphaVectorSolution:
    """Bound the value of a POMDP from below by plans that take one action for ever.

    The vector of action a solves alpha(s) = r(s, a) + gamma sum_s' c(s' | s, a) alpha(s'). Their maximum is a lower
    bound on the optimum in every belief, and where point-based planning begins. An action that is illegal somewhere has
    such a plan only where it never leads there; there is then a second vector for each action, that of the plans that
    take it once and do the worst that is possible from then on.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`. `tol` is the largest error of the vectors
        that counts as converged.

    Returns
    -------
    AlphaVectorSolution
        ``upper_bound`` is that of `qmdp`. ``converged`` says whether the vectors are known to the tolerance, and
        not whether the two bounds are close. ``iterations`` is the number of vectors.

    Raises
    ------
    ParameterError
        If gamma is 1, or an argument is out of range.
    ModelError
        If values overflow.

    Warns
    -----
    ConvergenceWarning
        If the vectors are not known to the tolerance.

    Examples
    --------
    A machine that is fine or broken; it can be run, for 1 if it is fine, or repaired, for -2:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> run, repair = [[0.9, 0.1], [0, 1]], [[1, 0], [1, 0]]
    >>> machine = POMDP.from_arrays(
    ...     [run, repair], [[1, 0], [-2, -2]], [[0.9, 0.1], [0.4, 0.6]], order="ass", gamma=0.9, start=0
    ... )
    >>> plan = solve(machine, "blind")
    >>> [round(plan.value(belief), 3) for belief in ([1, 0], [0.5, 0.5])], plan.act([1, 0])
    ([5.263, 2.632], 0)
    """
    watch = Watch("blind", **limits)
    with watch:
        model = PreparedModel(pomdp, "blind")
        found = blind_plans(model, watch, tol=watch.tol / 4.0)
        bounds = both_bounds(model, found, seen_values(model, watch).q)
    return reported(
        AlphaVectorSolution, model, watch, bounds, found.vectors, found.actions, found.distance, len(found.vectors)
    )
