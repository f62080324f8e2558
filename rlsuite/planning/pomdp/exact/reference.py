"""Incremental pruning as `rlsuite.reference` has it: linear programs by HiGHS decide which vectors matter.

What HiGHS calls optimal is so up to its tolerances. So what was left out is held against what was kept once more: if
w <= sum_i lambda_i u_i + d in every state, for a distribution lambda, then in no belief is w better than the best of
the u_i by more than d. Any lambda proves it; a second linear program finds a good one.
"""

from typing import Any, Unpack

import numpy as np
from scipy.optimize import linprog

from rlsuite.models import POMDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.limits import TolerancesOfBounds, takes_limits
from rlsuite.planning.operators import EPS
from rlsuite.planning.pomdp.exact.exact import solve_exactly
from rlsuite.planning.pomdp.exact.value_iteration_stages import Sums
from rlsuite.planning.pomdp.solution import AlphaVectorSolution
from rlsuite.planning.watch import Watch
from rlsuite.reference import hidden_arrays, prune


@takes_limits()
def reference(pomdp: POMDP, *, horizon: int, **tolerances: Unpack[TolerancesOfBounds]) -> AlphaVectorSolution:
    """Solve a small POMDP for a few steps by incremental pruning with SciPy's linear programs.

    A second opinion on `incremental_pruning`, whose linear programs are our own. `auto` never takes it: it is slower by
    a factor of hundreds.

    Parameters
    ----------
    pomdp : POMDP
        A model of a few states in which every action is legal in every state that leads on.
    horizon : int
        H, the number of steps to plan for; any gamma will do.
    **tolerances
        What counts as converged: `tol`, `rtol`; see `Limits`.

    Returns
    -------
    AlphaVectorSolution
        As `incremental_pruning` returns it.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    ModelError
        If values overflow, or an action is legal in some states only.

    Warns
    -----
    ConvergenceWarning
        If the bounds are further apart than `tol`.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> from rlsuite.planning import solve
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9, start=0)
    >>> plan = solve(machine, "reference", horizon=2)
    >>> round(plan.lower_bound, 9), round(plan.upper_bound, 9), plan.converged
    (1.81, 1.81, True)
    """
    hidden_arrays(pomdp)  # raises an error for a model that the plain algorithm cannot solve
    return solve_exactly("reference", pomdp, _plain_sums, horizon=horizon, **tolerances)


def _plain_sums(sets: list[FloatArray], points: FloatArray, epsilon: float, watch: Watch) -> Sums:
    """Find the sums that matter, see `value_iteration_stages.CrossSum`: one observation after the other."""
    sums, numbers, loss = np.zeros((1, sets[0].shape[1])), list[IndexArray](), 0.0
    for vectors in sets:
        retained = prune(vectors, epsilon)
        loss += _lost(vectors, retained)
        one, other = np.divmod(np.arange(len(sums) * len(retained)), len(retained))
        sums, numbers = (
            sums[one] + vectors[retained[other]],
            [*(chosen[one] for chosen in numbers), retained[other]],
        )
        retained = prune(sums, epsilon)
        loss += _lost(sums, retained)
        sums, numbers = sums[retained], [chosen[retained] for chosen in numbers]
        watch.check()
    return Sums(numbers, points, loss)


def _lost(vectors: FloatArray, retained: IndexArray) -> float:
    """Return the largest amount, in any belief, by which a vector that was left out can exceed all that were kept."""
    S, m = vectors.shape[1], len(retained)
    most = 0.0
    for w in np.delete(vectors, retained, axis=0):
        # The variables are lambda and d: the least d with w(s) - sum_i lambda_i u_i(s) <= d in every state.
        program: Any = linprog(
            c=np.append(np.zeros(m), 1.0),
            A_ub=np.column_stack([-vectors[retained].T, -np.ones(S)]),
            b_ub=-w,
            A_eq=np.append(np.ones(m), 0.0)[np.newaxis],
            b_eq=[1.0],
            bounds=[(0.0, None)] * m + [(None, None)],
        )
        share = np.maximum(program.x[:m], 0.0)
        most = max(most, float((w - share / share.sum() @ vectors[retained]).max()))
    return most + (m + 4) * EPS * float(np.abs(vectors).max())
