"""Value iteration as `rlsuite.reference` has it, on dense arrays, with the certificate that every planner gives."""

from typing import Unpack

import numpy as np

from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.certificate import certified, discounted, width
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.solution import Solution
from rlsuite.planning.watch import Watch
from rlsuite.reference import arrays, lookahead


@takes_limits(max_iterations=1_000_000)
def reference(mdp: MDP, **limits: Unpack[Limits]) -> Solution:
    """Solve a small discounted MDP by plain value iteration: v <- max_a [r + gamma P v], S&B2 (4.10).

    A second opinion that shares nothing with the compiled methods but the certificate, which does not depend on how a
    value was found. `auto` never takes it: it needs S^2 A numbers, and every sweep touches all of them.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (sweeps), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``iterations`` is the number of sweeps.

    Raises
    ------
    ParameterError
        If gamma is 1, an argument is out of range, or the dense arrays need more memory than there is.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import solve
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = solve(mdp, "reference")
    >>> solution.value.tolist(), solution.policy.tolist(), solution.converged
    ([90.0, 100.0, 0.0], [1, 1, -1], True)
    """
    watch = Watch("reference", **limits)
    prepared = discounted(mdp, "reference")
    P, R = arrays(mdp)
    value: FloatArray = np.zeros(mdp.n_states)
    bound = np.inf
    with watch:
        while watch.goes_on(bound):
            before, value = value, lookahead(P, R, mdp.gamma, value).max(axis=1)
            bound = width(prepared, prepared.ahead(value))
            watch.measure(value, prepared.largest_value)
            if np.abs(value - before).max() <= prepared.rounding(value):
                watch.give_up("the changes are down to rounding error")
                break
    return certified(prepared, prepared.ahead(value), watch)
