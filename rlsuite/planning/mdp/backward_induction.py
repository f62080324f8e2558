"""Backward induction: the exact optimum over a finite number of steps. P94 section 4.5."""

from typing import Unpack

import numpy as np

from rlsuite.core.checks import fits_in_memory, whole_amount
from rlsuite.models import MDP
from rlsuite.planning.certificate import finished, representable
from rlsuite.planning.limits import Tolerances, takes_limits
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.solution import FiniteHorizonSolution
from rlsuite.planning.watch import DeadlineTooShort, Watch


@takes_limits()
def backward_induction(
    mdp: MDP, *, horizon: int, deadline: float | None = None, **tolerances: Unpack[Tolerances]
) -> FiniteHorizonSolution:
    """Solve an MDP for a given number of steps, from the last decision back to the first.

    With V_0 = 0 after the last step and k steps to go, V_k = T V_(k-1) (P94 section 4.3). Any gamma in [0, 1] will do.
    The result is exact up to rounding: an error e in V_(k-1) becomes at most beta e plus the rounding error of one
    backup, and that sum is the error bound.

    Parameters
    ----------
    mdp : MDP
        The model.
    horizon : int
        H, the number of steps, at least 1.
    deadline : float, optional
        Seconds after which to give up: of a plan for fewer steps nothing follows for the first of them.
    **tolerances
        What counts as converged: `tol`, `rtol`; see `Limits`.

    Returns
    -------
    FiniteHorizonSolution
        ``value``, ``q`` and ``policy`` are those of the first step, ``values`` and ``policies`` those of every step;
        ``iterations`` is H. Memory O(H S).

    Raises
    ------
    ParameterError
        If `horizon` is not a positive whole number, or needs more memory than there is, or more time than the deadline
        leaves; or if `tol` is not positive.
    ModelError
        If the rewards are so large that values overflow.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.

    Examples
    --------
    Twice 1, or once 5 and the game is over; the last chance to take the 5 is the last step:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import backward_induction
    >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=1.0, action_labels=["stay", "take"])
    >>> solution = backward_induction(mdp, horizon=3)
    >>> solution.values[:, 0].tolist(), solution.policies[:, 0].tolist()
    ([7.0, 6.0, 5.0, 0.0], [0, 0, 1])
    """
    watch = Watch("backward_induction", deadline=deadline, **tolerances)
    horizon = whole_amount("horizon", horizon)
    fits_in_memory(f"horizon={horizon} with {mdp.n_states} states", 16 * (horizon + 1) * mdp.n_states)
    lookahead = Lookahead(mdp)
    # Row sums may exceed 1 by rounding, so values may grow by this factor, as in the error bound below.
    growth = max(1.0, lookahead.modulus) ** horizon
    representable(lookahead, horizon * growth)
    values = np.zeros((horizon + 1, mdp.n_states))
    policies = np.empty((horizon, mdp.n_states), dtype=np.int64)
    bound = 0.0
    for t in reversed(range(horizon)):
        if watch.hurries:
            done = f"{watch.iterations} of these steps were computed. Pass a longer deadline= or a smaller horizon="
            raise DeadlineTooShort(watch.deadline or 0.0, f"horizon={horizon}: {done}")
        ahead = lookahead.ahead(values[t + 1])
        rounding = lookahead.rounding(ahead)
        lookahead.back_up_greedily(ahead, 2.0 * rounding, values[t], policies[t])
        bound = (lookahead.modulus * bound + rounding) * (1.0 + 4.0 * EPS)
        watch.iterations += 1
        watch.record(bound)
    watch.measure(values[0])
    return finished(
        FiniteHorizonSolution,
        watch,
        bound,
        value=values[0].copy(),
        policy=policies[0].copy(),
        lookahead=lookahead,
        values=values,
        policies=policies,
    )
