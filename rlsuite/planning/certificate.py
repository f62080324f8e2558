"""From a vector of values to a solution that says how wrong it can be.

For any V the Bellman operator T, a contraction with modulus beta and fixed point V*, gives (P94 section 6.3, from the
triangle inequality)

    ||TV - V*|| <= beta / (1 - beta) ||TV - V||.

The arithmetic is not exact: instead of QV we have q with |q - QV| <= delta everywhere (`Lookahead.rounding`). With
value = max_a q and residual = ||value - V||, the difference between TV and V is at most residual + delta, so that

    ||value - V*|| <= delta + beta / (1 - beta) (residual + delta) = (beta residual + delta) / (1 - beta),

and the same bound holds for ||q - Q*||, since Q* = QV* and ||V - V*|| <= (residual + delta) / (1 - beta).

The bound asks nothing of how V was found. That makes every method trustworthy, or openly not converged.
"""

import inspect
import time
import warnings
from numbers import Real

import numpy as np

from rlsuite.errors import ConvergenceWarning, ModelError, ParameterError
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray
from rlsuite.planning.operators import EPS, Lookahead, best, greedy
from rlsuite.planning.solution import Solution

LARGEST_VALUE = 1e300
LEAST_MARGIN = 1e-10
"""How far below 1 the modulus must lie; double precision gives a relative error of about 1e-16 / (1 - beta)."""


def error_bound(lookahead: Lookahead, value: FloatArray, residual: float) -> float:
    """Return the bound (beta residual + delta) / (1 - beta) above.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    value : ndarray (S,) float64
        V, the vector that was backed up.
    residual : float
        The largest distance between V and the computed TV.

    """
    beta = lookahead.modulus
    # The factor covers the rounding of this line and of the residual.
    return (beta * residual + lookahead.rounding(value)) / (1.0 - beta) * (1.0 + 16.0 * EPS)


def certified(
    lookahead: Lookahead, value: FloatArray, *, method: str, iterations: int, started: float, tol: float
) -> Solution:
    """Back `value` up once more and return the result with its error bound.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    value : ndarray (S,) float64
        What the method found.
    method, iterations
        As in `Solution`.
    started : float
        Reading of ``time.perf_counter`` when the method began, in seconds.
    tol : float
        The error that the user allows.

    Warns
    -----
    ConvergenceWarning
        If the error bound exceeds `tol`.
    """
    q = lookahead.q(value)
    backed_up = best(q)
    bound = error_bound(lookahead, value, float(np.abs(backed_up - value).max()))
    solution = Solution(
        value=backed_up,
        q=q,
        policy=greedy(q, tolerance=2.0 * lookahead.rounding(value)),
        converged=bound <= tol,
        error_bound=bound,
        iterations=iterations,
        seconds=time.perf_counter() - started,
        method=method,
    )
    warn_unless_converged(solution, tol)
    return solution


def warn_unless_converged(solution: Solution, tol: float) -> None:
    """Issue a `ConvergenceWarning` if the error bound of `solution` exceeds `tol`."""
    if not solution.converged:
        warn_not_converged(
            f"{solution.method} stopped after {solution.iterations} iterations with an error bound of "
            f"{solution.error_bound:.3g}, more than tol={tol:g}"
        )


def warn_not_converged(message: str) -> None:
    """Issue a `ConvergenceWarning` that points at the line outside rlsuite which asked for the result."""
    level = 2
    frame = inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("rlsuite."):
        frame = frame.f_back
        level += 1
    warnings.warn(message, ConvergenceWarning, stacklevel=level - 1)


def discounted(mdp: MDP, method: str) -> Lookahead:
    """Return the model prepared, after checking that its values are finite and can be computed.

    Raises
    ------
    ParameterError
        If gamma is 1, or so close to 1 that nothing can be certified.
    ModelError
        If the rewards are so large that values overflow.
    """
    if mdp.gamma == 1.0:
        raise ParameterError(
            f"{method} needs gamma < 1, and gamma is 1: without discounting, values may be infinite. "
            "Pass gamma=0.99 (say), or solve for a finite horizon: method='backward_induction' with horizon=."
        )
    lookahead = Lookahead(mdp)
    contracting(lookahead)
    return lookahead


def contracting(lookahead: Lookahead) -> None:
    """Raise `ParameterError` if the Bellman operator hardly contracts, `ModelError` if its values overflow."""
    margin = 1.0 - lookahead.modulus
    if margin < LEAST_MARGIN:
        raise ParameterError(
            f"gamma={lookahead.mdp.gamma!r} is too close to 1 for double precision: gamma times the largest row sum of "
            f"the transitions that go on is {lookahead.modulus!r}, which leaves less than {LEAST_MARGIN:g}"
        )
    representable(lookahead, 1.0 / margin)


def representable(lookahead: Lookahead, steps: float) -> None:
    """Raise `ModelError` if `steps` times the largest reward is beyond double precision."""
    if not lookahead.reward_size * steps <= LARGEST_VALUE:
        raise ModelError(
            f"rewards up to {lookahead.reward_size:g} over {steps:g} steps make values that overflow; "
            "scale the rewards down"
        )


def tolerance(tol: object) -> float:
    """Return `tol`, or raise `ParameterError` if it is not a positive number (infinity is one)."""
    if isinstance(tol, bool) or not isinstance(tol, Real) or not float(tol) > 0.0:
        raise ParameterError(f"tol={tol!r} is not a positive number")
    return float(tol)
