"""Choose the method for the model: exact stages while they are cheap, and a search whose bounds converge."""

from dataclasses import replace
from math import inf
from typing import Unpack

from rlsuite.core.checks import whole_amount
from rlsuite.errors import ParameterError
from rlsuite.models import POMDP
from rlsuite.planning.limits import TimeLimitsOfBounds, takes_limits
from rlsuite.planning.pomdp.exact.exact import solve_for
from rlsuite.planning.pomdp.exact.incremental_pruning import in_turns, incremental_pruning
from rlsuite.planning.pomdp.exact.infinite_horizon import solve_endless, work_of_stage
from rlsuite.planning.pomdp.point_based.finite_horizon_search import MOST_TRANSITIONS, Layers
from rlsuite.planning.pomdp.point_based.goal_hsvi import goal_hsvi
from rlsuite.planning.pomdp.point_based.sarsop import PointSearch, warn_if_open
from rlsuite.planning.pomdp.solution import AlphaVectorSolution
from rlsuite.planning.watch import Watch

FIRST_WORK = 5e7
"""Operations of the search after which the exact method has its first turn: about a tenth of a second."""

CHEAP = 2e8
"""Operations of the exact method that come before any search, with a horizon."""

PATIENCE = 5.0
"""Seconds that each turn of the exact method has at least, without a deadline."""

FIRST_TRIALS = 16

LESS = 0.25
"""After a turn that has brought nothing the exact method may do this share of its work."""


@takes_limits()
def auto(
    pomdp: POMDP,
    *,
    horizon: int | None = None,
    max_iterations: int | None = None,
    **limits: Unpack[TimeLimitsOfBounds],
) -> AlphaVectorSolution:
    """Solve a POMDP by the method that suits it.

    For a number of steps that is `incremental_pruning`, which finds the exact plan for every belief, unless its vectors
    become too many: then it is `finite_horizon_search`, and without an end `sarsop`. These look only at beliefs that
    are reached from the start, and go as far as models of many thousand states; for gamma = 1 there is `goal_hsvi`,
    which does the same until the end of an episode. Where their bounds do not come together
    soon, as in small models with gamma close to 1, `incremental_pruning` has turns of as much work, and the better
    bound of either counts.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    horizon : int, optional
        H, the number of steps to plan for; any gamma will do. By default there is no limit; then for gamma = 1 it must
        cost something to put off the end, see `goal_hsvi`.
    max_iterations : int, optional
        Limit on what the chosen method counts as iterations; by default its own.
    **limits
        When to stop: `tol` or `gap`, `rtol`, `deadline`, `progress`; see `Limits`.

    Returns
    -------
    AlphaVectorSolution
        ``method`` names the method that found the plan.

    Raises
    ------
    ParameterError
        If the deadline is too short for the horizon, or an argument is out of range.
    ModelError
        If values overflow; if every plan comes to a belief in which no action is legal in every state of its support;
        or if gamma is 1 without a horizon, and the end may not be reached, or be put off without a loss.

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
    most_trials = -1 if max_iterations is None else whole_amount("max_iterations", max_iterations)
    if horizon is not None:
        horizon = whole_amount("horizon", horizon)
        if horizon == 0 or horizon * pomdp.mdp.n_transitions > MOST_TRANSITIONS:  # too much for the search
            return incremental_pruning(pomdp, horizon=horizon, **limits)
    elif pomdp.gamma == 1.0:
        return goal_hsvi(pomdp, max_iterations=max_iterations, **limits)
    return _by_turns(pomdp, horizon, most_trials, limits)


def _by_turns(pomdp: POMDP, horizon: int | None, most_trials: int, limits: TimeLimitsOfBounds) -> AlphaVectorSolution:
    """Search from the start, and solve exactly with as much work each time that of the search has doubled.

    With a horizon the exact method comes first: if its plan is cheap, it is the best for every belief.

    The search goes on where it was, the exact method begins anew. Work is counted, and slices of the search end with a
    trial: the same model takes the same steps on every machine, as long as no deadline ends them, and no stage of the
    exact method takes much longer than its work says.
    """
    watch = Watch("sarsop" if horizon is None else "finite_horizon_search", **limits)
    exact: AlphaVectorSolution | None = None
    work, trials, share, above = FIRST_WORK, FIRST_TRIALS, 1.0, inf
    layers: Layers | None = None
    with watch:
        if horizon is not None:
            exact = _exactly(pomdp, horizon, watch, 1.0, CHEAP, limits)
            if exact is not None and (exact.converged or watch.interrupted):
                return warn_if_open(exact, watch, f"{exact.iterations} iterations")
            above = inf if exact is None else exact.upper_bound
            layers = Layers(pomdp, horizon)
        planner = PointSearch(pomdp if layers is None else layers.model, watch)
        slack = 0.0 if layers is None else layers.slack
        while planner.goes_on():
            if planner.search.trials == most_trials:
                watch.give_up(f"max_iterations={most_trials} reached")
                break
            if planner.search.trials < trials:
                planner.trials(trials if most_trials < 0 else min(trials, most_trials))
                continue
            trials *= 2
            if planner.work < work:
                continue
            work *= 2.0
            if (found := _exactly(pomdp, horizon, watch, share, share * planner.work, limits)) is None:
                continue
            exact, above = found, min(above, found.upper_bound)
            own = planner.lower_bound - slack, planner.upper_bound + slack
            lower, upper = max(own[0], exact.lower_bound), min(above, own[1])
            watch.between(lower, upper)
            if upper - lower <= watch.tol:
                break
            if own == (lower, upper):
                share *= LESS
    searched = planner.solution()
    best: AlphaVectorSolution = searched if layers is None else layers.plan(searched, watch)
    if exact is not None:
        above = min(above, best.upper_bound)
        best = max(exact, best, key=lambda plan: plan.lower_bound)
        upper = max(above, best.lower_bound)
        best = replace(best, upper_bound=upper, converged=upper - best.lower_bound <= watch.tol, seconds=watch.seconds)
    return warn_if_open(best, watch, f"{planner.search.trials} trials")


def _exactly(
    pomdp: POMDP, horizon: int | None, watch: Watch, share: float, work: float, limits: TimeLimitsOfBounds
) -> AlphaVectorSolution | None:
    """Solve exactly with some `work` operations, in half of the time that is left; None if a stage takes more.

    A stage may take far longer than `work_of_stage` says, so that it has no more than a `share` of the time so far.
    """
    if work_of_stage(pomdp, pomdp.n_actions) > work:
        return None
    given: TimeLimitsOfBounds = {**limits}
    asked = watch.left < inf
    given["deadline"] = max(0.5 * watch.left, 1e-3) if asked else max(PATIENCE, share * watch.seconds)
    own = Watch("incremental_pruning", **given)
    try:
        return (
            solve_endless(pomdp, in_turns, own, work)
            if horizon is None
            else solve_for(pomdp, horizon, in_turns, own, work)
        )
    except ParameterError:
        if asked:
            raise
        return None  # the horizon is too long for this time, which nobody asked for
