"""The long run: what a policy earns per step, and where policies can stay for ever. P94 chapter 8.

Gain and bias of a chain with rewards (P94 section 8.2): with P* the limit of the averages of P^n, the gain g = P* r is
the mean reward per step in the long run, and the bias h = sum_t P^t (r - g) (in the sense of averages, if the chain is
periodic) what a start in s earns in total beyond that. They are the only solution of

    g = P g,    h = r - g + P h,    P* h = 0            (P94 (8.2.9), (8.2.10), and Theorem 8.2.6).

In each recurrent class one state is named its reference, and N are all the states that are none. From a state of N
the chain comes to a reference with probability 1, so I - P_NN is invertible, and each quantity is a sum up to that
time: x = (I - P_NN)^-1 y is what is collected on the way at y per step. So

* the gain of a class is reward over length of a cycle, from its reference back to it (renewal and reward);
* the gain elsewhere is the mean gain of the references that may be reached first;
* the bias, up to a constant for each class, is the sum of r - g up to the reference;
* the constant follows from P* h = 0, where P* h is again the mean over a cycle.

Classes and transient states share one factorisation. References are states that are visited often: the expected
length of a cycle is 1 / pi(reference), and a state that is hardly ever visited again would be the worst choice.

The end components of a model decide whether the optimal gain can differ from state to state. The recurrent classes of
every stationary policy lie in end components, and each end component is the recurrent class of some policy (de Alfaro
1997, section 3.3). The end of an episode is one more state here, from which nothing leads away: an end component of its
own.

A model with a single maximal end component is *weakly communicating* (P94 section 8.3.1): nothing leads away from it,
and everything outside it is transient under every policy. Then the optimal gain is the same in every state. With
several of them it need not be.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rlsuite.core.clock import Clock
from rlsuite.core.keywords import says_what_to_write
from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.validation import row_sums
from rlsuite.planning.graph import edges, predecessors
from rlsuite.planning.linear_system import fixed_point_solver, solve_fixed_point
from rlsuite.planning.operators import EPS
from rlsuite.planning.total_reward.end_components import end_components

if TYPE_CHECKING:
    from rlsuite.planning.operators import Matrix

STOPPING = 1e-6
"""The chain begins anywhere and stops with this probability in each step: where it is then, it is often."""


class LongRun(NamedTuple):
    """Gain and bias of a chain with n states."""

    gain: FloatArray
    """(n,) float64, reward per step"""
    bias: FloatArray
    """(n,) float64, in the unit of the reward; its mean under the stationary law of each recurrent class is 0"""
    steps: FloatArray
    """(n,) float64, the expected number of steps to the first reference; 0 at references"""


@says_what_to_write
def gain_and_bias(chain: MarkovChain) -> LongRun:
    """Return the gain and the bias of a chain.

    Parameters
    ----------
    chain : MarkovChain
        n states with the mean reward of leaving each. There may be several recurrent classes, and periods.

    Examples
    --------
    Two states in turn, one of which pays 1; and a third, from which each may be the first:

    >>> from rlsuite.models import MarkovChain
    >>> from rlsuite.planning import gain_and_bias
    >>> found = gain_and_bias(MarkovChain([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0]], reward=[1, 0, 4]))
    >>> found.gain.tolist(), found.bias.tolist()
    ([0.5, 0.5, 0.5], [0.25, -0.25, 3.5])
    """
    transition = chain.transition
    reward = chain.reward
    classes = chain.recurrent_classes
    references = _visited_often(transition, classes)
    elsewhere: IndexArray = np.setdiff1d(np.arange(chain.n_states), references)
    solve = fixed_point_solver(transition[elsewhere][:, elsewhere])
    cycle_out = transition[references][:, elsewhere]
    arrival = transition[elsewhere][:, references]

    earned, length = solve(np.column_stack([reward[elsewhere], np.ones(elsewhere.size)])).T
    cycle_length = 1.0 + cycle_out @ length
    class_gain: FloatArray = (reward[references] + cycle_out @ earned) / cycle_length
    # Differences from the least gain, so that equal gains stay exactly equal.
    least = class_gain.min()
    gain = np.empty(chain.n_states)
    gain[elsewhere] = least + solve(arrival @ (class_gain - least))
    for k, members in enumerate(classes):
        gain[members] = class_gain[k]

    excess = solve(reward[elsewhere] - gain[elsewhere])
    mean_excess = (cycle_out @ solve(excess)) / cycle_length
    bias = np.empty(chain.n_states)
    bias[elsewhere] = excess - solve(arrival @ mean_excess)
    bias[references] = 0.0 - mean_excess
    steps = np.zeros(chain.n_states)
    steps[elsewhere] = length
    return LongRun(gain, bias, steps)


def _visited_often(transition: "Matrix", classes: tuple[IndexArray, ...]) -> IndexArray:
    """Return a state of each class that is likely after the chain has run for a long random time."""
    states: int = transition.shape[0]
    backwards = (1.0 - STOPPING) * transition.T.tocsr()
    law = solve_fixed_point(backwards, np.full(states, STOPPING / states))
    return np.array([members[np.argmax(law[members])] for members in classes], dtype=np.int64)


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
    >>> from rlsuite.planning.long_run import long_run_structure
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


class CompletedModel:
    """S states, the end as state number S if there is one, and transitions whose rows sum to 1.

    The end is never left and earns nothing. States without legal actions lead there too. The rows of a model may sum to
    1 only roughly, and in the long run the error would grow: they are divided by their sums.

    Parameters
    ----------
    mdp : MDP
        The model.
    ends : bool
        Whether to add the end; needed if an episode can end or a state has no legal action.

    Attributes
    ----------
    n : int
        Number of states, with the end.
    transition : csr_array (S * A, n) float64
        The law of the next state for each pair; the row of an illegal action is empty.
    reward : ndarray (S * A,) float64
        Mean reward of one step.
    legal : ndarray (S * A,) bool
        Which actions there are.
    """

    def __init__(self, mdp: MDP, ends: bool) -> None:
        from scipy.sparse import csr_array

        self.n_states, self.n_actions, self.ends = mdp.n_states, mdp.n_actions, ends
        self.n = mdp.n_states + ends
        self.legal: BoolArray = mdp.legal.reshape(-1)
        ending = mdp.terminated & (mdp.probability > 0.0)
        successor = np.where(ending, np.int32(mdp.n_states), mdp.next_state)
        matrix: Any = csr_array((mdp.probability, successor, mdp.indptr), shape=(self.legal.size, self.n), copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        total = np.where(self.legal, matrix.sum(axis=1), 1.0)
        lengths = np.diff(matrix.indptr)
        matrix.data /= np.repeat(total, lengths)
        self.transition: Any = matrix
        self.reward: FloatArray = mdp.expected_reward().reshape(-1) / total
        self._terms = int(np.diff(mdp.indptr).max())
        self._reward_size = float(np.abs(mdp.reward).max(initial=0.0))

    def ahead(self, x: FloatArray) -> FloatArray:
        """Return the mean of x (n,) after one step: (S, A) float64, minus infinity for illegal actions."""
        mean: FloatArray = self.transition @ x
        return np.where(self.legal, mean, -np.inf).reshape(self.n_states, self.n_actions)

    def surplus(self, gain: FloatArray, bias: FloatArray) -> FloatArray:
        """Return r - g + P h - h: (S, A) float64, minus infinity for illegal actions; `gain` and `bias` are (n,)."""
        reward = self.reward.reshape(self.n_states, self.n_actions)
        states = self.n_states
        return reward - gain[:states, np.newaxis] + self.ahead(bias) - bias[:states, np.newaxis]

    def rounding(self, *vectors: FloatArray) -> float:
        """Return a bound on the rounding error in `ahead` of any of the vectors, or in their `surplus`.

        With n the length of the longest row, a normalised probability has a relative error of (n + 1) u to first order
        and the mean with it one of 2 n u, u = EPS / 2; the reward has one of (2 n + 1) u, and a surplus three more
        operations. (n + 8) EPS of the sum of the largest magnitudes is more than that.
        """
        magnitude = self._reward_size + sum(float(np.abs(x).max()) for x in vectors)
        return (self._terms + 8) * EPS * magnitude

    def chain(self, policy: IndexArray) -> MarkovChain:
        """Return the chain of n states under a policy (S,), -1 where no action is legal."""
        from scipy.sparse import coo_array

        acting = np.flatnonzero(policy >= 0)
        rows = acting * self.n_actions + policy[acting]
        moves = self.transition[rows].tocoo()
        still: IndexArray = np.setdiff1d(np.arange(self.n), acting)
        source = np.concatenate([acting[moves.row], still])
        target = np.concatenate([moves.col, np.full(still.size, self.n_states)])
        weight = np.concatenate([moves.data, np.ones(still.size)])
        reward = np.zeros(self.n)
        reward[acting] = self.reward[rows]
        return MarkovChain(coo_array((weight, (source, target)), shape=(self.n, self.n)), reward)
