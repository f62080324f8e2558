"""The order in which states are swept: what a reward changes, a sweep in place takes along as far as states follow.

A sweep carries a value from s' to s if it comes to s after s'. So along the shortest way from where rewards are to a
state, one sweep gets to where the numbers of the states turn from rising to falling, or back, and each turn costs
another sweep. In a grid whose states are numbered by rows there are few turns; in a maze, or where states are numbered
as they were found, there may be hundreds. In the order of the distance from the rewards there are none.
"""

import numpy as np

from rlsuite.models import MDP
from rlsuite.models.aliases import IndexArray
from rlsuite.models.transformations import chosen_rows
from rlsuite.planning.graph import distance_to, edges, predecessors
from rlsuite.planning.operators import Lookahead, bellman, typical_value

MOST_TURNS = 4.0
"""Turns on the way to a state, in the mean, from which on another order is worth a copy of the model."""

NEAR = 0.01
"""The states whose value changes the most by one backup are where rewards are, up to this share of the range."""


def order_from_rewards(lookahead: Lookahead) -> IndexArray | None:
    """Return the states (S,) int64 by their distance from where rewards are, if sweeps by number would turn too often.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    """
    mdp = lookahead.mdp
    states, counts = np.arange(mdp.n_states), edges(mdp)
    value = typical_value(lookahead)
    change = np.where(lookahead.terminal, -np.inf, bellman(lookahead, value) - value)
    least, greatest = change[~lookahead.terminal].min(initial=np.inf), change.max()
    distance = distance_to(predecessors(mdp, counts), change >= greatest - NEAR * (greatest - least))
    if distance.max() <= MOST_TURNS:
        return None

    # The next state on the way to the rewards: the first successor that is nearer by one step.
    lengths = np.diff(mdp.indptr[:: mdp.n_actions])
    nearer = np.repeat(np.where(distance > 0, distance - 1, mdp.n_states), lengths)
    steps = np.flatnonzero(counts & (distance[mdp.next_state] == nearer))[::-1]
    ahead = states.copy()
    ahead[np.repeat(states, lengths)[steps]] = mdp.next_state[steps]

    rises = ahead < states
    turns = ((rises != rises[ahead]) & (distance[ahead] > 0)).astype(np.int64)
    while (ahead[ahead] != ahead).any():  # turns to twice as far each time
        turns += turns[ahead]
        ahead = ahead[ahead]
    reached = distance >= 0
    if turns[reached].mean() <= MOST_TURNS:
        return None
    return np.argsort(np.where(reached, distance, mdp.n_states), kind="stable")


def renumbered(mdp: MDP, order: IndexArray) -> MDP:
    """Return the model whose state k is ``order[k]`` of the given one, without names.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> mdp = renumbered(MDP.from_successors([[1], [2], [2]], [0, 0, 5], gamma=0.9), np.array([2, 1, 0]))
    >>> mdp.next_state.tolist(), mdp.expected_reward().ravel().tolist()
    ([0, 0, 1], [5.0, 0.0, 0.0])
    """
    position = np.empty_like(order)
    position[order] = np.arange(order.size)
    rows = (order[:, None] * mdp.n_actions + np.arange(mdp.n_actions)).ravel()
    indptr, entry = chosen_rows(mdp.indptr, rows)
    return MDP.from_rows(
        indptr,
        position[mdp.next_state[entry]],
        mdp.probability[entry],
        mdp.reward[rows if mdp.reward_per_pair else entry],
        terminated=mdp.terminated[entry],
        start=mdp.start[order],
        n_actions=mdp.n_actions,
        gamma=mdp.gamma,
    )
