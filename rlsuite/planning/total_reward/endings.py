"""Where episodes can end, and the errors of models in which they need not.

With gamma = 1 the total reward is finite, and its optimality equation has one solution only, if every state can reach
the end and every policy that avoids the end for ever pays for that: the value of such a policy is minus infinity
(Bertsekas & Tsitsiklis 1991, assumptions 1 and 2). The end is a transition that ends the episode; and as a state from
which nothing can be earned any more has the value 0 whatever happens, *idle* states are as good as an end. If the end
can be avoided for ever for free, step by step, a smaller model takes the place of the model
(`rlsuite.planning.total_reward.free_components`).
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.clock import Clock, OutOfTime
from rlsuite.core.compilation import compiled
from rlsuite.errors import ModelError
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.models.validation import leads_on
from rlsuite.planning.graph import Predecessors, distance_to, edges, predecessors
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.total_reward.end_components import end_components
from rlsuite.planning.total_reward.free_components import Collapsed, collapsed
from rlsuite.planning.total_reward.gain import WAYS_OUT, reject_free_stay


class Endings(NamedTuple):
    """How the episodes of a model end."""

    idle: BoolArray
    """(S,) bool, the states from which nothing can be earned any more"""
    steps: StateArray
    """(S,) int32, after how many steps the end may come next, at the earliest; -1 at idle states"""
    action: StateArray
    """(S,) int32, an action that may bring the end nearer, the likeliest one; -1 where there is nothing to do"""
    collapsed: Collapsed | None = None
    """the smaller model that this is about, if it is not the model itself"""


def endings(lookahead: Lookahead, clock: Clock, *, may_stay: bool = True) -> Endings:
    """Return how episodes end, after checking that every state can reach the end, and that avoiding it costs something.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    clock : Clock
        Looked at now and then.
    may_stay : bool
        Whether staying for ever where it costs nothing is as good as an end. If not, only states without
        actions are idle.

    Raises
    ------
    ModelError
        If a state cannot reach the end, or if the end can be avoided for ever without paying; the message names a
        state.

    Examples
    --------
    >>> from rlsuite.core.clock import Clock
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import Lookahead
    >>> from rlsuite.planning.total_reward.endings import endings
    >>> walk = MDP.from_successors([[0, 1], [0, 2], [None, None]], [-1, -1, 0], gamma=1.0)
    >>> found = endings(Lookahead(walk), Clock("this example"))
    >>> found.steps.tolist(), found.action.tolist()
    ([1, 0, -1], [1, 1, -1])
    """
    mdp = lookahead.mdp
    possible = edges(mdp)
    backwards = predecessors(mdp, possible)
    earning = (lookahead.reward.reshape(mdp.n_states, mdp.n_actions) != 0.0).any(axis=1)
    legal = mdp.indptr[1:] > mdp.indptr[:-1]
    idle: BoolArray = distance_to(backwards, earning) < 0 if may_stay else ~leads_on(mdp.indptr, mdp.n_actions)
    ending = may_end(mdp)
    steps = _steps_to_the_end(mdp, backwards, idle, ending)
    endless = bool((steps < 0).any())
    staying = legal & ~ending & ~np.repeat(idle, mdp.n_actions)
    # A cycle in which every step costs something cannot be used for free, and usually there are no others.
    if endless or (lookahead.reward[staying] >= 0.0).any():
        try:
            components = end_components(mdp, possible, backwards, staying, clock)
            smaller = collapsed(lookahead, possible, backwards, components.staying, clock, may_stay=may_stay)
            if smaller is not None:
                return endings(smaller.lookahead, clock, may_stay=may_stay)._replace(collapsed=smaller)
            if not endless:
                reject_free_stay(lookahead, components, clock)
        except OutOfTime:  # then there is no time for a bound either
            pass
    if endless:
        raise ModelError(
            f"gamma=1, and from state {int(np.argmin(steps))} no end can be reached, and no set of states in which "
            f"staying costs nothing: its total reward is infinite or undefined; {WAYS_OUT}"
        )
    steps[idle] = -1
    return Endings(idle, steps, _directly(mdp, idle, steps, legal))


def soonest_end(mdp: MDP, idle: BoolArray, allowed: BoolArray) -> StateArray:
    """Return actions (S,) int32 that lead to the end, chosen among some of the pairs; -1 where these cannot lead there.

    Parameters
    ----------
    mdp : MDP
        The model.
    idle : ndarray (S,) bool
        States that are as good as an end.
    allowed : ndarray (S * A,) bool
        The legal pairs to choose among.
    """
    backwards = predecessors(mdp, edges(mdp) & np.repeat(allowed, np.diff(mdp.indptr)))
    steps = _steps_to_the_end(mdp, backwards, idle, may_end(mdp) & allowed)
    unable = steps < 0
    steps[idle] = -1
    return _directly(mdp, idle | unable, steps, allowed)


def may_end(mdp: MDP) -> BoolArray:
    """Return the pairs (S * A,) bool after which the episode may be over."""
    ending: BoolArray = np.zeros(mdp.n_states * mdp.n_actions, dtype=np.bool_)
    last = np.flatnonzero(mdp.terminated & (mdp.probability > 0.0))
    ending[np.searchsorted(mdp.indptr, last, side="right") - 1] = True
    return ending


def _steps_to_the_end(mdp: MDP, backwards: Predecessors, idle: BoolArray, ending: BoolArray) -> StateArray:
    return distance_to(backwards, idle | ending.reshape(mdp.n_states, mdp.n_actions).any(axis=1))


def _directly(mdp: MDP, idle: BoolArray, steps: StateArray, allowed: BoolArray) -> StateArray:
    action: StateArray = np.full(mdp.n_states, -1, dtype=np.int32)
    _direct(mdp.n_actions, mdp.indptr, mdp.next_state, mdp.probability, mdp.terminated, idle, steps, allowed, action)
    return action


@compiled(in_place=True)
def _direct(
    n_actions: int,
    indptr: IndexArray,
    next_state: StateArray,
    probability: FloatArray,
    terminated: BoolArray,
    idle: BoolArray,
    steps: StateArray,
    allowed: BoolArray,
    action: StateArray,
) -> None:
    """Fill `action`: what ends the episode, or else brings its end a step nearer, with the largest probability."""
    for s in range(steps.size):
        if idle[s]:
            continue
        likeliest = 0.0
        for a in range(n_actions):
            row = s * n_actions + a
            if not allowed[row]:
                continue
            nearer = 0.0
            for i in range(indptr[row], indptr[row + 1]):
                if terminated[i] or steps[next_state[i]] < steps[s]:
                    nearer += probability[i]
            if nearer > likeliest:
                likeliest = nearer
                action[s] = a
