"""How often a policy visits each state, and what each state costs it against the optimum.

The value of a policy falls short of the optimum by what it loses in each state, times how often it is there (Kakade &
Langford 2002, lemma 6.1): ``V*(start) - V(start) = sum_s d(s) sum_a pi(a|s) [V*(s) - Q*(s, a)]``.
"""

from typing import Any

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.operators import continuation_matrix
from rlsuite.planning.policy_chain import ways_to_the_end
from rlsuite.planning.reachability import reachable


def expected_visits(mdp: MDP, policy: ArrayLike, *, gamma: float, horizon: int | None = None) -> FloatArray:
    """Expected number of visits (S,) to each state in an episode of a policy, each discounted by its time; not to ends.

    Parameters
    ----------
    mdp : MDP
        The model; an illegal action changes nothing, as in an environment.
    policy : array_like (S, A)
        Probabilities of the actions in each state.
    gamma : float
        Discount, in [0, 1]; with 1, visits are counted (S&B2 eq. 9.2), and there is a horizon, or all episodes end.
    horizon : int, optional
        Steps after which an episode is cut off.

    Examples
    --------
    >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5)
    >>> expected_visits(mdp, [[0.5, 0.5], [1, 0]], gamma=1.0)
    array([2., 0.])
    >>> expected_visits(mdp, [[1, 0], [1, 0]], gamma=1.0, horizon=3)
    array([3., 0.])
    """
    chain = _chain(mdp, np.asarray(policy, dtype=np.float64)).T.tocsr()
    if horizon is None:
        return solve_fixed_point(gamma * chain, mdp.start)
    here, total = mdp.start.copy(), np.zeros(mdp.n_states)
    for _ in range(horizon):
        total += here
        here = gamma * (chain @ here)
        if not here.any():
            break
    return total


def surely_ends(mdp: MDP, policy: ArrayLike) -> bool:
    """Whether all episodes of a policy, probabilities (S, A), end sooner or later."""
    chain = _chain(mdp, np.asarray(policy, dtype=np.float64))
    visited = reachable(chain, mdp.start > 0.0)
    among = chain[visited][:, visited]
    _, ending = ways_to_the_end(among.indptr.astype(np.int64), among.indices.astype(np.int64), among.data)
    return bool(ending.all())


def decision_states(mdp: MDP) -> IndexArray:
    """The states, ascending, in which some policy has to act: those that can be reached, without the ends."""
    edges = _chain(mdp, np.ones((mdp.n_states, mdp.n_actions)))
    return np.flatnonzero(reachable(edges, mdp.start > 0.0) & mdp.legal.any(axis=1))


def _chain(mdp: MDP, policy: FloatArray) -> Any:
    """The probabilities (S, S) that the policy leads from one state to the next, with the episode going on."""
    from scipy.sparse import coo_array

    edges: Any = continuation_matrix(mdp).tocoo()
    weight = policy.reshape(-1)
    illegal = np.flatnonzero(~mdp.legal & mdp.legal.any(axis=1, keepdims=True))  # elsewhere an episode is over
    row = np.concatenate([edges.row // mdp.n_actions, illegal // mdp.n_actions])
    column = np.concatenate([edges.col, illegal // mdp.n_actions])
    data = np.concatenate([weight[edges.row] * edges.data, weight[illegal]])
    kept = data > 0.0
    return coo_array((data[kept], (row[kept], column[kept])), shape=(mdp.n_states, mdp.n_states)).tocsr()
