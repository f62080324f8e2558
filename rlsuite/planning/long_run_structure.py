"""The end components of a model, which decide whether the optimal gain can differ from state to state.

The recurrent classes of every stationary policy lie in end components, and each end component is the recurrent class of
some policy (de Alfaro 1997, section 3.3). The end of an episode is one more state here, from which nothing leads away:
an end component of its own.

A model with a single maximal end component is *weakly communicating* (P94 section 8.3.1): nothing leads away from it,
and everything outside it is transient under every policy. Then the optimal gain is the same in every state. With
several of them it need not be.
"""

from typing import NamedTuple

import numpy as np

from rlsuite.core.clock import Clock
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray, IndexArray
from rlsuite.models.validation import row_sums
from rlsuite.planning.graph import edges, predecessors
from rlsuite.planning.total_reward.end_components import end_components


class LongRunStructure(NamedTuple):
    """The maximal end components of a model with S states and A actions, the end of an episode being one of them."""

    number: int
    """How many there are"""
    of_state: IndexArray
    """(S + 1,) int64: the component of each state and of the end, from 0 on, -1 for none"""
    stays: BoolArray
    """(S * A,) bool: the pairs that lead from a component only into itself"""
    ends: bool
    """Whether an episode can end, or there is a state without legal actions, which is equivalent"""

    @property
    def weakly_communicating(self) -> bool:
        """Whether there is a single component."""
        return self.number == 1


def long_run_structure(mdp: MDP, clock: Clock | None = None) -> LongRunStructure:
    """Return the maximal end components.

    Parameters
    ----------
    mdp : MDP
        The model. Transitions of probability 0 count for nothing, those that terminate lead to the end.
    clock : Clock, optional
        Looked at now and then.

    Raises
    ------
    OutOfTime
        If the clock says so.

    Examples
    --------
    One may stay or go on, and what comes next is the end:

    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning.long_run_structure import long_run_structure
    >>> found = long_run_structure(MDP.from_successors([[0, 1], [2, None], [None, None]], [0, 0, 0], gamma=1.0))
    >>> found.number, found.of_state.tolist(), found.stays.tolist()
    (2, [0, -1, 1, 1], [True, False, False, False, False, False])
    """
    possible = edges(mdp)
    allowed = mdp.legal.reshape(-1) & ~_may_end(mdp)
    found = end_components(mdp, possible, predecessors(mdp, possible), allowed, clock or Clock("long_run_structure"))
    dead = ~mdp.legal.any(axis=1)
    ends = episodes_end(mdp)
    inside = found.of_state >= 0
    of_state = np.full(mdp.n_states + 1, -1, dtype=np.int64)
    names, numbers = np.unique(found.of_state[inside], return_inverse=True)
    of_state[:-1][inside] = numbers.reshape(-1)
    if ends:
        of_state[:-1][dead] = of_state[-1] = names.size
    return LongRunStructure(names.size + ends, of_state, found.staying, ends)


def episodes_end(mdp: MDP) -> bool:
    """Return whether an episode can end, or there is a state without legal actions, which counts as an end."""
    return bool(_may_end(mdp).any() or not mdp.legal.any(axis=1).all())


def _may_end(mdp: MDP) -> BoolArray:
    """Return the pairs (S * A,) after which the episode may be over."""
    if not mdp.terminated.any():
        return np.zeros(mdp.n_states * mdp.n_actions, dtype=np.bool_)
    return row_sums(mdp.probability * mdp.terminated, mdp.indptr) > 0.0
