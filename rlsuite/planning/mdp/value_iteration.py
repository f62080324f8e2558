"""Value iteration: apply the Bellman operator until it no longer matters. S&B2 section 4.4, P94 section 6.3."""

import time

import numpy as np

from rlsuite.checks import whole_number
from rlsuite.models import MDP
from rlsuite.planning.certificate import certified, discounted, error_bound, tolerance
from rlsuite.planning.operators import best
from rlsuite.planning.solution import Solution


def value_iteration(mdp: MDP, *, tol: float = 1e-6, max_iterations: int = 1_000_000) -> Solution:
    """Solve a discounted MDP by sweeps over all states, V <- TV from V = 0.

    Stops when the certified error (`rlsuite.planning.certificate`) is at most `tol`; a small change between two sweeps
    is not enough. Stops too when the change has sunk below the rounding error of a sweep: then no
    further sweep can help. About log(1 / tol) / log(1 / gamma) sweeps of cost O(N) each.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    tol : float
        Largest error of the value that is allowed, in the unit of the reward.
    max_iterations : int
        Largest number of sweeps.

    Returns
    -------
    Solution
        ``iterations`` is the number of sweeps.

    Raises
    ------
    ParameterError
        If gamma is 1, `tol` is not positive, or `max_iterations` is not a positive whole number.
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
    started = time.perf_counter()
    tol = tolerance(tol)
    max_iterations = whole_number("max_iterations", max_iterations)
    lookahead = discounted(mdp, "value_iteration")
    value = np.zeros(mdp.n_states)
    iterations = 1  # the sweep that makes the certificate
    while iterations < max_iterations:
        backed_up = best(lookahead.q(value))
        residual = float(np.abs(backed_up - value).max())
        if residual <= lookahead.rounding(value) or error_bound(lookahead, value, residual) <= tol:
            break
        value = backed_up
        iterations += 1
    return certified(lookahead, value, method="value_iteration", iterations=iterations, started=started, tol=tol)
