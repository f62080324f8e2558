"""Value iteration: apply the Bellman operator until values hardly change. S&B2 section 4.4, P94 section 6.3.

In plain NumPy: `rlsuite.reference.mdp.value_iteration`.
"""

from typing import Unpack

import numpy as np

from rlsuite.models import MDP
from rlsuite.models.aliases import StateArray
from rlsuite.planning.certificate import certified, discounted, interval, largest_change
from rlsuite.planning.limits import Limits, takes_limits
from rlsuite.planning.operators import starting_value
from rlsuite.planning.solution import Solution
from rlsuite.planning.vectors import vector
from rlsuite.planning.watch import Watch


@takes_limits(max_iterations=1_000_000)
def value_iteration(mdp: MDP, **limits: Unpack[Limits]) -> Solution:
    """Solve a discounted MDP by sweeps over all states, V <- TV from V = 0.

    After each sweep the bounds of MacQueen and Porteus (`rlsuite.planning.certificate`) bound the error of TV, shifted
    to the middle of its interval; the sweeps end when that is at most `tol`, not when little changes. Where the chain
    of every policy mixes fast, that takes far fewer sweeps than the log(1 / tol) / log(1 / gamma) of theory, and never
    more. Sweeps also end when the changes have sunk below rounding: then no further sweep can help.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    **limits
        When to stop: `tol`, `rtol`, `max_iterations` (sweeps), `deadline`, `progress`; see `Limits`.

    Returns
    -------
    Solution
        ``iterations`` is the number of sweeps. After a stop before its time, by a limit or by Ctrl-C, the best answer
        so far with its true error bound.

    Raises
    ------
    ParameterError
        If gamma is 1, or an argument is out of range.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import value_iteration
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = value_iteration(mdp)
    >>> solution.value.tolist(), solution.policy.tolist(), solution.iterations
    ([90.0, 100.0, 0.0], [1, 1, -1], 3)
    """
    watch = Watch("value_iteration", **limits)
    lookahead = discounted(mdp, "value_iteration")
    value, backed_up = starting_value(lookahead, None), vector(mdp.n_states)
    action: StateArray = np.empty(mdp.n_states, dtype=np.int32)
    bound = np.inf
    with watch:
        while watch.goes_on(bound):
            changes = lookahead.back_up(value, backed_up, action)
            rounding = lookahead.rounding(value)
            bound = interval(lookahead, changes, rounding).width
            value, backed_up = backed_up, value
            watch.measure(value, lookahead.largest_value)
            if bound > watch.tol and largest_change(changes) <= 2.0 * rounding:
                watch.give_up("the changes are down to rounding error")
                break
    return certified(lookahead, value, watch)
