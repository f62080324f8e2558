"""End components in which every step is free, each collapsed into one state.

Let F be a *free* component: an end component (`rlsuite.planning.total_reward.end_components`) whose pairs all pay 0 on
average. A policy may stay in F for ever, with the value 0, the limit of the expected sums of rewards (P94 section 7.1).
From each of its states a policy can reach each other one with probability 1 at no cost. So all its states have the same
optimal value: that of the best pair (s, a) that does not belong to F, or 0 if all of these have less. The policy that
goes to s from everywhere in F, and takes a there, has this value.

So each maximal free component can become one state. Its actions are the pairs of its states that do not belong to the
component, and one that ends the episode for 0. This model has the same optimal values (de Alfaro 1999). It has no free
component: together with the collapsed ones, that would have been a larger component before. So every policy that avoids
the end for ever pays for that, as the methods need (`rlsuite.planning.total_reward.endings`). The only other case is a
policy that earns for ever, or whose gains and losses balance; then total rewards are infinite or have no limit, with or
without free components.

The smaller model keeps the numbers of states and actions. It keeps those states of a free component that have a pair
outside of it, in ascending order, as a chain that is entered at its first state. In each of them a free step to the
next state replaces the first pair that stays; in the last one, the end replaces it. The other pairs that stay are
removed.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.clock import Clock
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, StateArray
from rlsuite.planning.graph import Predecessors, distance_to, edges, predecessors
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.total_reward.end_components import EndComponents, end_components


class Collapsed(NamedTuple):
    """A model without its free components."""

    lookahead: Lookahead
    """The smaller model, prepared; rounding errors are bounded as in the whole model"""
    whole: MDP
    """The model as it was"""
    components: EndComponents
    """Its free components"""
    entry: StateArray
    """(S,) int32, the state of the smaller model that stands for each state"""
    chain: IndexArray
    """(n,) int64, the states of all chains, chain by chain"""
    onwards: IndexArray
    """(n,) int64, the action by which each of them leads to the next one, or to the end"""

    def spread(self, value: FloatArray, policy: IndexArray) -> tuple[FloatArray, IndexArray]:
        """Return a value and a policy of the smaller model, both (S,), as those of the whole model.

        In a component that is to be left, the policy goes to the state of the best way out, with probability 1: each
        action may bring it nearer, the likeliest one, and cannot leave. In the others it stays.
        """
        inside = self.components.of_state >= 0
        of_chain = self.components.of_state[self.chain]
        leaves = np.flatnonzero(policy[self.chain] != self.onwards)
        _, first = np.unique(of_chain[leaves], return_index=True)
        exits = self.chain[leaves[first]]
        out: BoolArray = np.zeros(inside.size, dtype=np.bool_)
        out[exits] = True
        staying = self.components.staying
        lengths = np.diff(self.whole.indptr)
        taken = edges(self.whole) & np.repeat(staying, lengths)
        distance = distance_to(predecessors(self.whole, taken), out)
        row = np.repeat(np.arange(staying.size), lengths)
        nearer = taken & (distance[self.whole.next_state] < distance[row // self.whole.n_actions])
        likelihood = np.bincount(row[nearer], self.whole.probability[nearer], minlength=staying.size)
        # 1 is added so that the first pair that stays is taken in components that are not to be left.
        rank = np.where(staying, 1.0 + likelihood, 0.0).reshape(-1, self.whole.n_actions)
        return value[self.entry], np.where(inside & ~out, rank.argmax(axis=1), policy)


def collapsed(
    lookahead: Lookahead,
    possible: BoolArray,
    backwards: Predecessors,
    staying: BoolArray,
    clock: Clock,
    *,
    may_stay: bool = True,
) -> Collapsed | None:
    """Return the model without its free components, or None if it has none.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    possible, backwards
        Its edges and its graph, as for `end_components`.
    staying : ndarray (S * A,) bool
        Pairs among which all that are to be collapsed are: those of end components. From all their states something
        can be earned.
    clock : Clock
        Looked at now and then.
    may_stay : bool
        Whether a policy may stay in a free component for ever. If not, the last state of a chain does not lead to the
        end; then every free component must have a way out.

    Raises
    ------
    OutOfTime
        If the clock says so.

    Examples
    --------
    Back and forth between two states for nothing; the end costs 1 from the first, and brings 5 from the second:

    >>> from rlsuite.core.clock import Clock
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import Lookahead
    >>> from rlsuite.planning.graph import edges, predecessors
    >>> from rlsuite.planning.total_reward.free_components import collapsed
    >>> mdp = MDP.from_successors([[1, 2], [0, 2], [None, None]], [[0, -1], [0, 5], [0, 0]], gamma=1.0)
    >>> possible, staying = edges(mdp), (mdp.legal & [True, False]).reshape(-1)
    >>> found = collapsed(Lookahead(mdp), possible, predecessors(mdp, possible), staying, Clock("this example"))
    >>> found.entry.tolist(), found.lookahead.mdp.P[0][0], found.lookahead.mdp.P[1][0]
    ([0, 0, 2], [(1.0, 1, 0.0, False)], [(1.0, 1, 0.0, True)])
    """
    free = staying & (lookahead.reward == 0.0)
    if not free.any():
        return None
    components = end_components(lookahead.mdp, possible, backwards, free, clock)
    if not components.staying.any():
        return None
    mdp, of_state = lookahead.mdp, components.of_state
    gone = components.staying.reshape(mdp.n_states, mdp.n_actions)
    chain: IndexArray = np.flatnonzero((mdp.legal & ~gone).any(axis=1) & (of_state >= 0))
    chain = chain[np.argsort(of_state[chain], kind="stable")]
    begins = np.append(True, of_state[chain[1:]] != of_state[chain[:-1]])
    first: StateArray = np.full(mdp.n_states, -1, dtype=np.int32)
    first[of_state[chain[begins]]] = chain[begins]
    entry = np.where(of_state >= 0, first[of_state], np.arange(mdp.n_states, dtype=np.int32))
    onwards: IndexArray = gone[chain].argmax(axis=1)
    smaller = _with_chains(lookahead, components.staying, entry, chain, begins, onwards, may_stay=may_stay)
    return Collapsed(smaller, mdp, components, entry, chain, onwards)


def _with_chains(
    lookahead: Lookahead,
    gone: BoolArray,
    entry: StateArray,
    chain: IndexArray,
    begins: BoolArray,
    onwards: IndexArray,
    *,
    may_stay: bool,
) -> Lookahead:
    """Return the model with the chains in place of the removed pairs."""
    mdp = lookahead.mdp
    lengths = np.diff(mdp.indptr)
    kept = ~np.repeat(gone, lengths)
    lengths[gone] = 0
    last = np.append(begins[1:], True)
    onto = np.where(last, chain, np.append(chain[1:], -1))
    steps = chain * mdp.n_actions + onwards
    if not may_stay:
        onto, steps, last = onto[~last], steps[~last], last[~last]
    lengths[steps] = 1
    indptr = np.append(0, np.cumsum(lengths))
    added: BoolArray = np.zeros(int(indptr[-1]), dtype=np.bool_)
    added[indptr[steps]] = True
    # The last state of a chain leads to the end: a terminal transition, stored with the state itself as successor.
    next_state: StateArray = np.empty(added.size, dtype=np.int32)
    next_state[~added] = np.where(mdp.terminated[kept], mdp.next_state[kept], entry[mdp.next_state[kept]])
    probability: FloatArray = np.ones(added.size)
    probability[~added] = mdp.probability[kept]
    terminated: BoolArray = np.zeros(added.size, dtype=np.bool_)
    terminated[~added] = mdp.terminated[kept]
    # In the order of the rows, as the transitions are.
    order = np.argsort(steps)
    next_state[added] = onto[order]
    terminated[added] = last[order]
    # Pairs that stay pay 0, and so do the steps of the chains: the mean rewards need no change.
    smaller = Lookahead(
        mdp.replace(
            indptr=indptr,
            next_state=next_state,
            probability=probability,
            terminated=terminated,
            reward=lookahead.reward.reshape(-1, mdp.n_actions),
            start=np.bincount(entry, mdp.start, minlength=mdp.n_states),
            reward_std=None,
            bernoulli=None,
        )
    )
    # The bounds must hold for the removed pairs, too.
    smaller.longest_row, smaller.modulus = lookahead.longest_row, lookahead.modulus
    smaller.reward, smaller.reward_size = lookahead.reward, lookahead.reward_size
    return smaller
