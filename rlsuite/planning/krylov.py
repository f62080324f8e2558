"""The value of a policy in a large model, by a Krylov method: BiCGSTAB, with symmetric Gauss-Seidel as preconditioner.

A direct solver fills in: in a model without structure its factors are dense. A Krylov method needs no more than
products with the matrix; what rounding leaves is swept away afterwards.
"""

from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, bicgstab

from rlsuite.core.clock import Clock, OutOfTime
from rlsuite.models.aliases import FloatArray, PointerArray, SuccessorArray
from rlsuite.planning.chain_kernels import follow_in_place
from rlsuite.planning.operators import EPS
from rlsuite.planning.policy_rows import PolicySteps

Chain = tuple[PointerArray, SuccessorArray, FloatArray]

RELATIVE = 1e-13
"""Residual, relative to the rewards, at which the Krylov method stops; double precision leaves little below."""

LONGEST = 2_000
MOST_SWEEPS = 1_000
PATIENCE = 10
"""Sweeps without a smaller change than ever before after which there will be none."""


def krylov_value(rows: PolicySteps, initial: FloatArray, clock: Clock) -> FloatArray:
    """Solve v = r_pi + gamma C_pi v, as accurately as double precision or the limits of the method allow.

    If time is up, return the latest iterate.

    Parameters
    ----------
    rows : PolicySteps
        The policy; closed states have an empty row. Its weights contain gamma, which is below 1.
    initial : ndarray (S,) float64
        The first iterate: the value of the previous policy, for example.
    clock : Clock
        Checked in each iteration.

    Returns
    -------
    ndarray (S,) float64
        No accuracy is guaranteed: the planner certifies the value that it computes from this one.
    """
    n = initial.size
    chain = (rows.indptr, rows.successor, rows.weight)
    matrix = csr_array((rows.weight, rows.successor.view(np.int32), rows.indptr.view(np.int64)), shape=(n, n))

    def residual(value: FloatArray) -> FloatArray:
        return value - cast("FloatArray", matrix @ value)

    def swept(change: FloatArray) -> FloatArray:
        """Approximate the solution for the right-hand side `change`: one sweep forwards from 0, one backwards."""
        value: FloatArray = np.zeros(n)
        for forward in (True, False):
            _sweep(chain, change, value, forward)
        value[empty] = change[empty]
        return value

    empty = rows.indptr[1:] == rows.indptr[:-1]
    reward = np.where(empty, 0.0, rows.reward)
    operator: Any = LinearOperator((n, n), matvec=residual, dtype=np.float64)
    preconditioner: Any = LinearOperator((n, n), matvec=swept, dtype=np.float64)
    latest = initial.copy()

    def look(value: FloatArray) -> None:
        """Keep the latest iterate."""
        np.copyto(latest, value)
        clock.check()

    solve: Any = bicgstab
    try:
        limits = {"rtol": RELATIVE, "atol": 0.0, "maxiter": LONGEST}
        solved, _ = solve(operator, reward, x0=initial, M=preconditioner, callback=look, **limits)
    except OutOfTime:
        solved = latest
    value = cast("FloatArray", solved) if np.isfinite(solved).all() else initial.copy()
    value[empty] = 0.0
    return _polished(chain, reward, value, clock)


def _polished(chain: Chain, reward: FloatArray, value: FloatArray, clock: Clock) -> FloatArray:
    """Sweep in both directions until the changes no longer fall, or are as small as rounding allows."""
    smallest, best_sweep = np.inf, 0
    for sweep in range(MOST_SWEEPS):
        if clock.hurries:
            break
        change = _sweep(chain, reward, value, sweep % 2 == 0)
        if change < smallest:
            smallest, best_sweep = change, sweep
        if change <= 2.0 * EPS * float(np.abs(value).max()) or sweep - best_sweep >= PATIENCE:
            break
    return value


def _sweep(chain: Chain, reward: FloatArray, value: FloatArray, forward: bool) -> float:
    indptr, successor, weight = chain
    least, greatest = follow_in_place(0, value.size, forward, indptr, successor, weight, reward, value, value)
    return max(0.0, -least, greatest)
