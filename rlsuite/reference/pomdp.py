"""Planning with alpha vectors in a POMDP whose arrays are small and dense: KLC98 section 4, Pineau et al. 2003.

A plan is worth alpha(s) if the hidden state is s, so b . alpha in the belief b. Its first action a and the plans
alpha_z with which it goes on after each observation z give

    alpha(s) = R[s, a] + gamma sum_z sum_s' P[s, a, s'] O[a, s', z] alpha_z(s').

P and R are those of `rlsuite.reference.mdp`, and O[a, s', z] = Pr[z | a, s'].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.reference import mdp

if TYPE_CHECKING:
    from rlsuite.models import POMDP
    from rlsuite.models.aliases import FloatArray


def hidden_arrays(pomdp: POMDP) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the arrays P, R and O that the other functions take.

    Parameters
    ----------
    pomdp : POMDP
        A small model in which every action is legal in every state that leads on.

    Returns
    -------
    P : ndarray (S, A, S) float64
        Pr[s', and the episode goes on | s, a].
    R : ndarray (S, A) float64
        Mean reward of one step, 0 in a state in which nothing can be done.
    O : ndarray (A, S, Z) float64
        Pr[z | a, s'].

    Raises
    ------
    ModelError
        If an action is legal in some states only: what may be done in a belief would then depend on its support.

    Examples
    --------
    >>> from rlsuite.models import POMDP
    >>> machine = POMDP.from_arrays([[[0.9, 0.1]], [[0, 1]]], [1, 0], [[0.9, 0.1], [0.4, 0.6]], gamma=0.9)
    >>> [array.shape for array in hidden_arrays(machine)]
    [(2, 1, 2), (2, 1), (1, 2, 2)]
    """
    P, R = mdp.arrays(pomdp.mdp)
    if np.isneginf(R).any():
        s, a = np.argwhere(np.isneginf(R))[0].tolist()
        raise ModelError(
            f"action {a} is illegal in state {s}, and another action is legal there; the reference methods need states "
            "in which all actions are legal, or none. Use method='incremental_pruning', which has no such limit"
        )
    return P, R, pomdp.observation


def backprojection(P: FloatArray, O: FloatArray, gamma: float, vectors: FloatArray) -> FloatArray:
    """Return what each plan is worth one step earlier, for each action and observation: g_{a,z}. KLC98 section 4.1.

    Parameters
    ----------
    P, O : ndarray (S, A, S) float64, ndarray (A, S, Z) float64
        The model, see `hidden_arrays`.
    gamma : float
        Discount per step.
    vectors : ndarray (n, S) float64
        alpha vectors.

    Returns
    -------
    ndarray (A, Z, n, S) float64
        gamma sum_s' P[s, a, s'] O[a, s', z] alpha_i(s').

    Examples
    --------
    >>> backprojection(np.ones((1, 1, 1)), np.array([[[0.25, 0.75]]]), 0.5, np.array([[8.0]])).tolist()
    [[[[1.0]], [[3.0]]]]
    """
    return gamma * np.einsum("sat,atz,it->azis", P, O, vectors)


def point_based_backup(
    P: FloatArray,
    R: FloatArray,
    O: FloatArray,
    gamma: float,
    vectors: FloatArray,
    beliefs: FloatArray,
) -> FloatArray:
    """Return, for each belief, the alpha vector of the best plan that goes on with `vectors`. Pineau et al. 2003, (6).

    Parameters
    ----------
    P, R, O : ndarray (S, A, S), (S, A) and (A, S, Z) float64
        The model, see `hidden_arrays`.
    gamma : float
        Discount per step.
    vectors : ndarray (n, S) float64
        alpha vectors of plans that exist.
    beliefs : ndarray (m, S) float64
        Where to plan.

    Returns
    -------
    ndarray (m, S) float64

    Examples
    --------
    >>> tiger = np.eye(2)[:, None], np.array([[-1.0], [-1.0]]), np.array([[[0.85, 0.15], [0.15, 0.85]]])
    >>> point_based_backup(*tiger, 0.5, np.array([[-100.0, 10.0], [10.0, -100.0]]), np.array([[0.5, 0.5]])).tolist()
    [[-4.25, -4.25]]
    """
    g = backprojection(P, O, gamma, vectors)
    backed_up: list[FloatArray] = []
    for b in beliefs:
        # For each action and observation, choose the plan that is best in this belief ...
        chosen = (g @ b).argmax(axis=2)[:, :, np.newaxis, np.newaxis]
        plans = R.T + np.take_along_axis(g, chosen, axis=2).sum(axis=(1, 2))
        # ... and of the resulting plans, one for each action (A, S), the best one.
        backed_up.append(plans[(plans @ b).argmax()])
    return np.array(backed_up)


def pbvi(
    P: FloatArray,
    R: FloatArray,
    O: FloatArray,
    gamma: float,
    beliefs: FloatArray,
    iterations: int,
) -> FloatArray:
    """Improve one alpha vector for each of some beliefs: point-based value iteration. Pineau et al. 2003, section 3.

    Each vector is worth no more than the optimum, in any belief: it is a plan, after which the least reward is paid for
    ever.

    Parameters
    ----------
    P, R, O : ndarray (S, A, S), (S, A) and (A, S, Z) float64
        The model, see `hidden_arrays`.
    gamma : float
        Discount per step, below 1.
    beliefs : ndarray (m, S) float64
        Where to plan.
    iterations : int
        How many backups of each belief.

    Returns
    -------
    ndarray (m, S) float64
        alpha vectors; the value of a belief b is ``(vectors @ b).max()``, at least.

    Examples
    --------
    >>> tiger = np.eye(2)[:, None], np.array([[-1.0], [-1.0]]), np.array([[[0.85, 0.15], [0.15, 0.85]]])
    >>> pbvi(*tiger, 0.5, np.array([[0.5, 0.5]]), iterations=50).round(6).tolist()
    [[-2.0, -2.0]]
    """
    least = min(R.min(), 0.0) / (1.0 - gamma)  # after the end of an episode, rewards are 0
    vectors = np.full((1, len(R)), least)
    for _ in range(iterations):
        vectors = point_based_backup(P, R, O, gamma, vectors, beliefs)
    return vectors
