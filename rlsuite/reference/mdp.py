"""Planning in an MDP whose arrays are small and dense: S&B2 chapter 4, P94 chapter 6.

The continuation probabilities are P[s, a, s'] = Pr[s', and the episode continues | s, a]. So a row sums to less than 1
where an episode may end, and no list of terminal states is needed: what follows the end is worth 0. The rewards are
R[s, a] = r(s, a), the mean reward of one step (S&B2 (3.5)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rlsuite.models import MDP
    from rlsuite.models.aliases import FloatArray, IndexArray


def arrays(mdp: MDP) -> tuple[FloatArray, FloatArray]:
    """Return the arrays P and R that the other functions take.

    Parameters
    ----------
    mdp : MDP
        A small model.

    Returns
    -------
    P : ndarray (S, A, S) float64
        Pr[s', and the episode continues | s, a].
    R : ndarray (S, A) float64
        Mean reward of one step: minus infinity where the action is illegal, so that no maximum chooses it; and 0 for
        every action of a state that has no legal one, whose value is therefore 0.

    Raises
    ------
    ParameterError
        If the arrays need more memory than there is.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> P, R = arrays(MDP.from_successors([[None, 1], [0, 2], [None, None]], [[0, 0], [0, 100], [0, 0]], gamma=0.9))
    >>> P[1].tolist(), R.tolist()
    ([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [[-inf, 0.0], [0.0, 100.0], [0.0, 0.0]])
    """
    S, A = mdp.n_states, mdp.n_actions
    ended = np.zeros((S * A, S))
    np.add.at(ended, (mdp.pairs()[mdp.terminated], mdp.next_state[mdp.terminated]), mdp.probability[mdp.terminated])
    R = np.where(mdp.legal | ~mdp.legal.any(axis=1, keepdims=True), mdp.expected_reward(), -np.inf)
    return mdp.dense()[0] - ended.reshape(S, A, S), R


def lookahead(P: FloatArray, R: FloatArray, gamma: float, v: FloatArray) -> FloatArray:
    """Return q(s, a) = r(s, a) + gamma sum_s' P[s, a, s'] v(s'): one step, and v from then on. S&B2 (4.6).

    Parameters
    ----------
    P, R : ndarray (S, A, S) float64, ndarray (S, A) float64
        The model, see `arrays`.
    gamma : float
        Discount per step.
    v : ndarray (S,) float64
        Value of each state.

    Returns
    -------
    ndarray (S, A) float64

    Examples
    --------
    >>> lookahead(np.array([[[0.5, 0.5]], [[0.0, 1.0]]]), np.array([[1.0], [0.0]]), 0.5, np.array([4.0, 8.0])).tolist()
    [[4.0], [4.0]]
    """
    return R + gamma * P @ v


def value_iteration(P: FloatArray, R: FloatArray, gamma: float, tol: float = 1e-6) -> tuple[FloatArray, IndexArray]:
    """Find the optimal values: v(s) <- max_a q(s, a), for all states at once. S&B2 (4.10), P94 section 6.3.

    Parameters
    ----------
    P, R : ndarray (S, A, S) float64, ndarray (S, A) float64
        The model, see `arrays`.
    gamma : float
        Discount per step, below 1.
    tol : float
        Largest error of a value, in the unit of the reward; well above the rounding error of the values.

    Returns
    -------
    value : ndarray (S,) float64
    policy : ndarray (S,) int64
        A greedy action of each state.

    Examples
    --------
    P94 section 3.1: 5 and a coin, or 10 and on to a state that pays -1 for ever.

    >>> P = np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
    >>> R = np.array([[5.0, 10.0], [-1.0, -np.inf]])
    >>> value, policy = value_iteration(P, R, gamma=0.95)
    >>> value.round(4).tolist(), policy.tolist()
    ([-8.5714, -20.0], [0, 0])
    """
    v = np.zeros(len(R))
    while True:
        before, v = v, lookahead(P, R, gamma, v).max(axis=1)
        # The operator contracts: ||v* - v|| <= gamma / (1 - gamma) ||v - before||, P94 Theorem 6.3.1.
        if gamma * np.abs(v - before).max() <= (1.0 - gamma) * tol:
            return v, lookahead(P, R, gamma, v).argmax(axis=1)


def policy_evaluation(P: FloatArray, R: FloatArray, gamma: float, policy: FloatArray) -> FloatArray:
    """Solve v = r + gamma P v for the rewards r and the transitions P of a policy. S&B2 (4.4), P94 Theorem 6.1.1.

    Parameters
    ----------
    P, R : ndarray (S, A, S) float64, ndarray (S, A) float64
        The model, see `arrays`.
    gamma : float
        Discount per step; 1 will do if every episode ends.
    policy : ndarray (S, A) float64
        Probability of each action in each state; ``np.eye(A)[actions]`` for one that does not choose at random.

    Returns
    -------
    ndarray (S,) float64

    Examples
    --------
    A walk of three states that ends on both sides, and pays 1 on the right (S&B2 Example 6.2, made shorter):

    >>> P = np.zeros((3, 2, 3))
    >>> P[[1, 2], 0, [0, 1]] = P[[0, 1], 1, [1, 2]] = 1.0
    >>> R = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    >>> policy_evaluation(P, R, 1.0, np.full((3, 2), 0.5)).round(12).tolist()
    [0.25, 0.5, 0.75]
    """
    # The reward of an illegal action is minus infinity, and 0 times that is NaN.
    r: FloatArray = (policy * np.where(policy > 0.0, R, 0.0)).sum(axis=1)
    moves: FloatArray = (policy[:, :, np.newaxis] * P).sum(axis=1)
    return np.linalg.solve(np.eye(len(R)) - gamma * moves, r).astype(np.float64)


def iterative_policy_evaluation(
    P: FloatArray, R: FloatArray, gamma: float, policy: FloatArray, sweeps: int
) -> FloatArray:
    """Evaluate a policy by sweeps over all states at once, from v = 0: v <- r + gamma P v. S&B2 (4.5).

    Parameters
    ----------
    P, R : ndarray (S, A, S) float64, ndarray (S, A) float64
        The model, see `arrays`.
    gamma : float
        Discount per step.
    policy : ndarray (S, A) float64
        Probability of each action in each state.
    sweeps : int
        How many.

    Returns
    -------
    ndarray (S,) float64

    Examples
    --------
    >>> P, R = np.array([[[1.0]]]), np.array([[1.0]])
    >>> iterative_policy_evaluation(P, R, 0.5, np.array([[1.0]]), sweeps=3).tolist()
    [1.75]
    """
    v = np.zeros(len(R))
    for _ in range(sweeps):
        q = lookahead(P, R, gamma, v)
        v = (policy * np.where(policy > 0.0, q, 0.0)).sum(axis=1)
    return v


def policy_iteration(P: FloatArray, R: FloatArray, gamma: float) -> tuple[FloatArray, IndexArray]:
    """Evaluate a policy, act greedily on its value, repeat until nothing is better. S&B2 (4.9), P94 section 6.4.

    Parameters
    ----------
    P, R : ndarray (S, A, S) float64, ndarray (S, A) float64
        The model, see `arrays`.
    gamma : float
        Discount per step, below 1.

    Returns
    -------
    value : ndarray (S,) float64
    policy : ndarray (S,) int64

    Examples
    --------
    >>> P = np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
    >>> value, policy = policy_iteration(P, np.array([[5.0, 10.0], [-1.0, -np.inf]]), gamma=0.95)
    >>> value.round(4).tolist(), policy.tolist()
    ([-8.5714, -20.0], [0, 0])
    """
    n_states, n_actions = R.shape
    policy: IndexArray = R.argmax(axis=1)
    while True:
        v = policy_evaluation(P, R, gamma, np.eye(n_actions)[policy])
        q = lookahead(P, R, gamma, v)
        # Change an action only for one that is better by more than rounding; otherwise two equal ones could alternate.
        better = q.max(axis=1) > q[np.arange(n_states), policy] + 1e-10 * np.abs(v).max()
        if not better.any():
            return v, policy
        policy = np.where(better, q.argmax(axis=1), policy)
