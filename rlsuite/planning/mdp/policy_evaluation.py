"""The exact value of a given policy, by one linear system. S&B2 (4.3) and (4.4), P94 Theorem 6.1.1.

A policy pi turns the model into a chain with rewards r_pi(s) = sum_a pi(a | s) r(s, a) and continuation probabilities
C_pi(s, s') = sum_a pi(a | s) c(s' | s, a). Its value is the solution of v = r_pi + gamma C_pi v.

In plain NumPy: `rlsuite.reference.mdp.policy_evaluation`.
"""

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_amount
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.policies import policy_weights
from rlsuite.models.transformations import chosen_rows
from rlsuite.planning.certificate import contracting, representable
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.operators import Lookahead, averaging
from rlsuite.planning.reachability import reachable

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix


@says_what_to_write
def evaluate_policy(mdp: MDP, policy: ArrayLike, *, horizon: int | None = None) -> FloatArray:
    """Return the value of following `policy` from each state.

    Parameters
    ----------
    mdp : MDP
        The model.
    policy : array_like (S,) int, or (S, A) float
        One action per state, or the probability of each action. Entries at states without legal actions are ignored.
    horizon : int, optional
        Stop after this many steps; by default the value of going on until the end, or for ever.

    Returns
    -------
    ndarray (S,) float64
        Expected discounted return, in the unit of the reward; 0 at states without legal actions. With gamma = 1 and no
        horizon the policy must come to an end with probability 1, or to a set of states that it never leaves and in
        which it earns nothing, from every state that it can be in; states that it is never in and from which it might
        never end are nan.

    Raises
    ------
    ParameterError
        If `policy` has another shape, is not a distribution in some state, or takes an illegal action; or if gamma is
        1, there is no horizon, and the policy may never end. The message names the state. Or if gamma is within 1e-10
        of 1, but not 1, and nothing ends.
    ModelError
        If the rewards are so large that values overflow.

    Examples
    --------
    The 3 inner states of a walk that ends on both sides, with 1 for the right end (S&B2 Example 6.2, shorter):

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import evaluate_policy
    >>> walk = MDP.from_successors([[None], [{0, 2}], [{1, 3}], [{2, 4}], [None]], [0, 0, 0, 0.5, 0], gamma=1)
    >>> evaluate_policy(walk, [-1, 0, 0, 0, -1]).round(9).tolist()
    [0.0, 0.25, 0.5, 0.75, 0.0]
    """
    lookahead = Lookahead(mdp)
    weights = policy_weights(mdp.legal, policy)
    chain, reward = induced(lookahead, weights)
    if horizon is not None:
        steps = whole_amount("horizon", horizon)
        representable(lookahead, steps)
        value = np.zeros(mdp.n_states)
        for _ in range(steps):
            value = reward + mdp.gamma * cast("FloatArray", chain @ value)
        return value
    value = _value(mdp, lookahead, weights, chain, reward)
    endless = np.isnan(value) & (mdp.start > 0.0)
    if endless.any():
        raise ParameterError(
            f"gamma=1, and from state {int(np.argmax(endless))} this policy may never reach an end: its value may be "
            "infinite. Use gamma < 1, horizon=, or a policy that reaches an end from every state."
        )
    return value


def value_where_it_ends(mdp: MDP, weights: FloatArray) -> FloatArray:
    """Return the value (S,) of a policy (S, A); nan where it may go on for ever, at gamma = 1."""
    lookahead = Lookahead(mdp)
    return _value(mdp, lookahead, weights, *induced(lookahead, weights))


def induced_by_actions(lookahead: Lookahead, policy: IndexArray) -> tuple["Matrix", FloatArray]:
    """Return gamma C_pi and r_pi of a policy (S,) that is known to be legal, -1 at ends; gamma < 1."""
    from scipy.sparse import csr_array

    mdp, acting = lookahead.mdp, policy >= 0
    rows = np.where(acting, np.arange(mdp.n_states) * mdp.n_actions + policy, -1)
    indptr, entry = chosen_rows(mdp.indptr, rows)
    weight = np.where(mdp.terminated[entry], 0.0, mdp.probability[entry])
    chain: Any = csr_array((weight, mdp.next_state[entry], indptr), shape=(mdp.n_states, mdp.n_states))
    chain.sum_duplicates()
    chain.eliminate_zeros()
    return mdp.gamma * chain, np.where(acting, lookahead.reward[rows], 0.0)


def induced(lookahead: Lookahead, weights: FloatArray) -> tuple["Matrix", FloatArray]:
    """Return C_pi, a csr_array (S, S), and r_pi (S,), of the policy with probabilities `weights` (S, A)."""
    average = averaging(weights)
    return average @ lookahead.continuation, average @ lookahead.reward


def _value(mdp: MDP, lookahead: Lookahead, weights: FloatArray, chain: "Matrix", reward: FloatArray) -> FloatArray:
    if mdp.gamma < 1.0:
        contracting(lookahead)
        return solve_fixed_point(mdp.gamma * chain, reward)
    return _total_reward(mdp, weights, chain, reward)


def _total_reward(mdp: MDP, weights: FloatArray, chain: "Matrix", reward: FloatArray) -> FloatArray:
    """Return the undiscounted value, P94 chapter 7; nan where there may be none.

    A policy may stay for ever in a recurrent class without rewards: the value there is 0, as after an end.
    """
    with_end = MarkovChain.from_mdp(mdp, weights)  # the S states, and one more if an episode can end
    trapped = np.zeros(with_end.n_states, dtype=np.bool_)
    for members in with_end.recurrent_classes:
        trapped[members] = with_end.reward[members].any()
    endless = reachable(with_end.transition.T, trapped)[: mdp.n_states]
    moving = np.flatnonzero(with_end.transient[: mdp.n_states] & ~endless)
    value = np.where(endless, np.nan, 0.0)
    value[moving] = solve_fixed_point(chain[moving][:, moving], reward[moving])
    return value
