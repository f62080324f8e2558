"""QMDP: act as if the state were observed from the next step on. Littman, Cassandra and Kaelbling 1995."""

from typing import Unpack

import numpy as np

from rlsuite.models import POMDP
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.pomdp.bounds.initial_bounds import blind_plans, both_bounds, reported, seen_values
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.solution import UpperBoundSolution
from rlsuite.planning.watch import Watch


@takes_limits()
def qmdp(pomdp: POMDP, **limits: Unpack[TimeLimits]) -> UpperBoundSolution:
    """Bound the value of a POMDP from above by that of its hidden MDP, and act by it.

    The vector of action a is Q*(., a) of the hidden process, so that max_a sum_s b(s) Q*(s, a) is the value that a
    belief would have if the state were observed after the next step. A policy that acts by it never takes an action
    only for information.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`. `tol` is the largest error of the vectors
        that counts as converged.

    Returns
    -------
    UpperBoundSolution
        ``lower_bound`` is that of `blind`. ``iterations`` is the number of policies of the hidden MDP evaluated.

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
    A coin lies under one of two cups; a guess earns 10 or costs 20. If it were seen after the next step, waiting would
    have the value 9:

    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> wait, guess = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, 1]] * 3
    >>> cups = POMDP.from_arrays(
    ...     [wait, guess, guess], [[0, 0, 0], [10, -20, 0], [-20, 10, 0]], [[1.0]] * 3,
    ...     order="ass", gamma=0.9, start=[0.5, 0.5, 0], terminated=[False, False, True],
    ... )
    >>> plan = solve(cups, "qmdp")
    >>> round(plan.value(cups.start), 6), plan.act(cups.start), plan.act([1, 0, 0]), plan.lower_bound <= 0
    (9.0, 0, 1, True)
    """
    watch = Watch("qmdp", **limits)
    with watch:
        model = PreparedModel(pomdp, "qmdp")
        seen = seen_values(model, watch)
        bounds = both_bounds(model, blind_plans(model, watch, tol=watch.tol), seen.q)
    vectors, actions = seen.q.T.copy(), np.arange(pomdp.n_actions)
    return reported(UpperBoundSolution, model, watch, bounds, vectors, actions, seen.distance, seen.iterations)
