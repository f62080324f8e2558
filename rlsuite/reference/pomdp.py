"""Planning with alpha vectors in a POMDP whose arrays are small and dense: KLC98 section 4, Pineau et al. 2003.

A plan is worth alpha(s) if the hidden state is s, so b . alpha in the belief b. Its first action a and the plans
alpha_z with which it continues after each observation z give

    alpha(s) = R[s, a] + gamma sum_z sum_s' P[s, a, s'] O[a, s', z] alpha_z(s').

P and R are those of `rlsuite.reference.mdp`, and O[a, s', z] = Pr[z | a, s'].

The exact value of t steps is the upper surface of finitely many vectors. Of the n^Z sums of one vector for each
observation most are nowhere the best; linear programs say which of them matter. Incremental pruning forms the sums one
observation at a time, and leaves out at once what does not matter (Cassandra, Littman & Zhang 1997).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlsuite.errors import ModelError
from rlsuite.reference import mdp

if TYPE_CHECKING:
    from rlsuite.models import POMDP
    from rlsuite.models.aliases import FloatArray, IndexArray


def hidden_arrays(pomdp: POMDP) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the arrays P, R and O that the other functions take.

    Parameters
    ----------
    pomdp : POMDP
        A small model in which every action is legal in every state that leads on.

    Returns
    -------
    P : ndarray (S, A, S) float64
        Pr[s', and the episode continues | s, a].
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
    """Return the value of each plan one step earlier, for each action and observation: g_{a,z}. KLC98 section 4.1.

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
    """Return, for each belief, the alpha vector of the best plan continuing with `vectors`. Pineau et al. 2003, (6).

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


def witness(vector: FloatArray, others: FloatArray, tol: float = 1e-9) -> FloatArray | None:
    """Return a belief in which a vector is better than all others by more than `tol`, if there is one.

    The linear program of KLC98 section 4.2: maximise d subject to b . (vector - other) >= d for all others, with b a
    distribution.

    Parameters
    ----------
    vector : ndarray (S,) float64
        An alpha vector.
    others : ndarray (n, S) float64
        Other ones; none at all is allowed.
    tol : float
        How much better is better, in the unit of the reward.

    Returns
    -------
    ndarray (S,) float64, or None

    Examples
    --------
    >>> witness(np.array([2.0, 2.0]), np.array([[3.0, 0.0], [0.0, 3.0]])).round(6).tolist()
    [0.5, 0.5]
    >>> witness(np.array([1.0, 1.0]), np.array([[3.0, 0.0], [0.0, 3.0]])) is None
    True
    """
    from scipy.optimize import linprog

    S = len(vector)
    if not len(others):
        return np.full(S, 1.0 / S)
    # The variables are b and d; `linprog` minimises -d subject to A_ub x <= b_ub: d - b . (vector - other) <= 0.
    program: Any = linprog(
        c=np.append(np.zeros(S), -1.0),
        A_ub=np.column_stack([others - vector, np.ones(len(others))]),
        b_ub=np.zeros(len(others)),
        A_eq=np.append(np.ones(S), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[(0.0, None)] * S + [(None, None)],
    )
    return program.x[:S] if program.x[S] > tol else None


def prune(vectors: FloatArray, tol: float = 1e-9) -> IndexArray:
    """Return the indices of the vectors that are the best in some belief: Lark's algorithm, White 1991.

    Parameters
    ----------
    vectors : ndarray (n, S) float64
        alpha vectors.
    tol : float
        What need not be better than the others by more than this is left out, in the unit of the reward.

    Returns
    -------
    ndarray (m,) int64

    Examples
    --------
    >>> prune(np.array([[3.0, 0.0], [1.0, 1.0], [0.0, 3.0], [2.0, 2.0]])).tolist()
    [3, 0, 2]
    """
    left = list(range(len(vectors)))
    kept: list[int] = []
    while left:
        b = witness(vectors[left[0]], vectors[kept], tol)
        if b is None:
            left.pop(0)
            continue
        # Keep the vector that is best in b; it need not be the one for which b was found. Of several that are equally
        # good in b, the lexicographically largest is also the best near b.
        value = vectors[left] @ b
        tied = [i for i, v in zip(left, value, strict=True) if v >= value.max() - 1e-12 * np.abs(value).max()]
        kept.append(max(tied, key=lambda i: tuple(vectors[i])))
        left.remove(kept[-1])
    return np.array(kept, dtype=np.int64)


def incremental_pruning(
    P: FloatArray,
    R: FloatArray,
    O: FloatArray,
    gamma: float,
    horizon: int,
) -> FloatArray:
    """Return the alpha vectors of all plans for `horizon` steps that are the best in some belief.

    Parameters
    ----------
    P, R, O : ndarray (S, A, S), (S, A) and (A, S, Z) float64
        The model, see `rlsuite.reference.hidden_arrays`.
    gamma : float
        Discount per step.
    horizon : int
        Number of steps.

    Returns
    -------
    ndarray (n, S) float64
        The optimal value of a belief b is ``(vectors @ b).max()``.

    Examples
    --------
    The tiger of KLC98: listen, open left, open right.

    >>> P = np.stack([np.eye(2), np.full((2, 2), 0.5), np.full((2, 2), 0.5)], axis=1)
    >>> R = np.array([[-1.0, -100.0, 10.0], [-1.0, 10.0, -100.0]])
    >>> O = np.stack([np.array([[0.85, 0.15], [0.15, 0.85]]), np.full((2, 2), 0.5), np.full((2, 2), 0.5)])
    >>> vectors = incremental_pruning(P, R, O, 1.0, horizon=3)
    >>> len(vectors), round(float((vectors @ [0.5, 0.5]).max()), 9)
    (7, 2.72)
    """
    vectors = np.zeros((1, len(R)))
    for _ in range(horizon):
        stage: list[FloatArray] = []
        for a, by_observation in enumerate(backprojection(P, O, gamma, vectors)):
            sums = np.zeros((1, len(R)))
            for g in by_observation:
                sums = (sums[:, np.newaxis] + g[prune(g)]).reshape(-1, len(R))
                sums = sums[prune(sums)]
            stage.append(R[:, a] + sums)
        every = np.concatenate(stage)
        vectors = every[prune(every)]
    return vectors
