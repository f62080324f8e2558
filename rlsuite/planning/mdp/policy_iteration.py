"""Policy iteration: evaluate a policy exactly, act greedily on its value, repeat. S&B2 section 4.3, P94 section 6.4."""

import time

import numpy as np

from rlsuite.checks import whole_number
from rlsuite.models import MDP
from rlsuite.models.aliases import IndexArray
from rlsuite.planning.certificate import certified, discounted, tolerance
from rlsuite.planning.mdp.evaluation import evaluate_actions
from rlsuite.planning.operators import Lookahead, best, greedy
from rlsuite.planning.solution import Solution


def policy_iteration(mdp: MDP, *, tol: float = 1e-6, max_iterations: int = 1_000) -> Solution:
    """Solve a discounted MDP by Howard's policy iteration.

    Begins with the greedy policy of the first sweeps of value iteration, as many as change it. Each policy is evaluated
    by one linear system, then every state changes to its best action if that is better by more than rounding. The last
    policy is optimal, up to rounding, which the certificate then bounds; `tol` only decides what counts as converged.
    In exact arithmetic the values rise from policy to policy, so a sum that does not rise is rounding at work and ends
    the search too.

    Parameters
    ----------
    mdp : MDP
        The model; gamma < 1.
    tol : float
        Largest error of the value that is allowed, in the unit of the reward.
    max_iterations : int
        Largest number of policies to evaluate.

    Returns
    -------
    Solution
        ``iterations`` is the number of policies evaluated.

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
    >>> from rlsuite.planning import policy_iteration
    >>> mdp = MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9)
    >>> solution = policy_iteration(mdp)
    >>> solution.value.tolist(), solution.policy.tolist(), solution.iterations
    ([90.0, 100.0, 0.0], [1, 1, -1], 1)
    """
    started = time.perf_counter()
    tol = tolerance(tol)
    max_iterations = whole_number("max_iterations", max_iterations)
    lookahead = discounted(mdp, "policy_iteration")
    states = np.arange(mdp.n_states)
    policy = _first_policy(lookahead)
    value = evaluate_actions(lookahead, policy)
    iterations = 1
    while iterations < max_iterations:
        q = lookahead.q(value)
        better = best(q) > q[states, policy] + 2.0 * lookahead.rounding(value)
        better &= policy >= 0
        if not better.any():
            break
        improved = np.where(better, greedy(q), policy)
        improved_value = evaluate_actions(lookahead, improved)
        iterations += 1
        if not improved_value.sum() > value.sum():
            break
        policy, value = improved, improved_value
    return certified(lookahead, value, method="policy_iteration", iterations=iterations, started=started, tol=tol)


def _first_policy(lookahead: Lookahead) -> IndexArray:
    """Sweep until the greedy policy stays the same.

    Far from the rewards an improvement step changes nothing but the states next to those that know better, and it costs
    a linear system; a sweep carries the news as far, and costs next to nothing. Never more than S sweeps, by which
    the news has reached every state.
    """
    states = lookahead.mdp.n_states
    value = np.zeros(states)
    policy = np.full(states, -1, dtype=np.int64)
    for _ in range(states):
        q = lookahead.q(value)
        improved = greedy(q)
        if (improved == policy).all():
            break
        policy, value = improved, best(q)
    return policy
