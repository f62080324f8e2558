"""The fast informed bound: as if the state had been observed one step ago. Hauskrecht 2000, section 4.3."""

from typing import Unpack

import numpy as np

from rlsuite.core.checks import whole_amount
from rlsuite.models import POMDP
from rlsuite.planning.limits import TimeLimits, takes_limits
from rlsuite.planning.pomdp.bounds.initial_bounds import (
    blind_plans,
    both_bounds,
    informed_values,
    reported,
    seen_values,
)
from rlsuite.planning.pomdp.bounds.point_tables import PreparedModel
from rlsuite.planning.pomdp.solution import UpperBoundSolution
from rlsuite.planning.watch import Watch


@takes_limits()
def fast_informed_bound(
    pomdp: POMDP,
    *,
    max_iterations: int = 10_000_000,
    **limits: Unpack[TimeLimits],
) -> UpperBoundSolution:
    """Bound the value of a POMDP from above with one vector per action, better than `qmdp`.

    The vectors are the fixed point of

        Q(s, a) = r(s, a) + gamma sum_z max_a' sum_s' c(s' | s, a) Pr(z | a, s') Q(s', a'),

    found by sweeps that begin with QMDP, so that they are an upper bound at any time.

    Parameters
    ----------
    pomdp : POMDP
        The model; gamma < 1.
    max_iterations : int
        Largest number of sweeps.
    **limits
        When to stop: `tol`, `rtol`, `deadline`, `progress`; see `Limits`. `tol` is the largest distance from the fixed
        point that is allowed.

    Returns
    -------
    UpperBoundSolution
        ``lower_bound`` is that of `blind`. ``iterations`` is the number of sweeps.

    Raises
    ------
    ParameterError
        If gamma is 1, or an argument is out of range.
    ModelError
        If values overflow.

    Warns
    -----
    ConvergenceWarning
        If the vectors may be further than `tol` from the fixed point.

    Examples
    --------
    The value of the tiger problem of KLC98 is 19.371 at the start; if the state were observed one step late, it would
    be 87.179, and 189 if at once:

    >>> import numpy as np
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> listen, door = np.eye(2), np.full((2, 2), 0.5)
    >>> tiger = POMDP.from_arrays(
    ...     [listen, door, door], [[-1, -1], [-100, 10], [10, -100]], [[[0.85, 0.15], [0.15, 0.85]], door, door],
    ...     order="ass", gamma=0.95, start=[0.5, 0.5],
    ... )
    >>> round(solve(tiger, "fast_informed_bound").upper_bound, 3), round(solve(tiger, "qmdp").upper_bound, 3)
    (87.179, 189.0)
    """
    watch = Watch("fast_informed_bound", **limits)
    sweeps = whole_amount("max_iterations", max_iterations)
    with watch:
        model = PreparedModel(pomdp, "fast_informed_bound")
        seen = seen_values(model, watch).q
        found = informed_values(model, seen, watch, tol=watch.tol / 2.0, max_sweeps=sweeps)
        bounds = both_bounds(model, blind_plans(model, watch, tol=watch.tol), found.q)
    vectors, actions = found.q.T.copy(), np.arange(pomdp.n_actions)
    return reported(UpperBoundSolution, model, watch, bounds, vectors, actions, found.distance, found.iterations)
