"""How often a policy takes each action in each state: the variables of the dual linear program. P94 section 6.9.1.

Let mu(s) be the probability to begin in s. The expected discounted number x(s) of times that the policy acts in s obeys

    x(s') = mu(s') + gamma sum_s x(s) C_pi(s, s'),

the transpose of the system of `evaluate_policy`, and action a is taken x(s) pi(a | s) times there. The value of the
policy is the sum over all pairs of that number times r(s, a).
"""

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.errors import ParameterError
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.models.policies import policy_weights
from rlsuite.planning.certificate import contracting
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.mdp.evaluation import induced
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.reachability import reachable


def occupancy(mdp: MDP, policy: ArrayLike) -> FloatArray:
    """Return the expected discounted number of times that each action is taken in each state, from the start.

    Parameters
    ----------
    mdp : MDP
        The model; episodes begin as ``mdp.start`` says.
    policy : array_like (S,) int, or (S, A) float
        One action per state, or the probability of each action. Entries at states without legal actions are ignored.

    Returns
    -------
    ndarray (S, A) float64
        In steps. The sum of all entries is the expected discounted length of an episode, 1 / (1 - gamma) if nothing
        ends; the sum of its products with the mean rewards is the expected return. With gamma = 1, the expected number
        of visits until the episode ends.

    Raises
    ------
    ParameterError
        If `policy` has another shape, is not a distribution in some state, or takes an illegal action; or if gamma is 1
        and the policy may go on for ever, even if it earns nothing by that. The message names the state. Also if gamma
        is within 1e-10 of 1, but not 1, and nothing ends.

    Examples
    --------
    Each step ends the episode with probability 1/4, so it takes 4 steps on average:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import occupancy
    >>> mdp = MDP.from_rows([0, 2, 2], [0, 1], [0.75, 0.25], [-1, -1], n_actions=1, gamma=1.0)
    >>> occupancy(mdp, [0, -1]).tolist()
    [[4.0], [0.0]]
    """
    lookahead = Lookahead(mdp)
    weights = policy_weights(mdp.legal, policy)
    chain, _ = induced(lookahead, weights)
    visits = np.zeros(mdp.n_states)
    if mdp.gamma == 1.0:
        visited = np.flatnonzero(_visited_and_left(mdp, weights))
        visits[visited] = solve_fixed_point(chain[visited][:, visited].T.tocsr(), mdp.start[visited])
    else:
        contracting(lookahead)
        visits = solve_fixed_point((mdp.gamma * chain).T.tocsr(), mdp.start)
    return visits[:, np.newaxis] * weights


def _visited_and_left(mdp: MDP, weights: FloatArray) -> BoolArray:
    """Return which states (S,) the policy can visit, after checking that all of them are transient."""
    with_end = MarkovChain.from_mdp(mdp, weights)  # the S states, and one more if an episode can end
    begun = np.zeros(with_end.n_states, dtype=np.bool_)
    begun[: mdp.n_states] = mdp.start > 0.0
    visited = reachable(with_end.transition, begun)[: mdp.n_states]
    endless = visited & ~with_end.transient[: mdp.n_states]
    if endless.any():
        raise ParameterError(
            f"gamma=1, and from state {int(np.argmax(endless))} this policy never reaches an end: it acts there "
            "infinitely often. Use gamma < 1, or a policy that reaches an end from every state."
        )
    return visited
