"""The value of a policy at the start distribution, prepared once and then computed for many policies.

An agent's frozen policy is evaluated after every few hundred steps of learning, in every seed: tens of thousands of
times on one small model. `PolicyEvaluator` does everything that does not depend on the policy beforehand.

The policy sees observations. For an MDP they are the states. For a POMDP an observation is one of Z symbols, or Z when
nothing was observed yet, as an environment shows it: what the agent does next depends on the pair (hidden state,
observation) and on nothing else, so these pairs, as far as they can be reached from the start, are the nodes of a
Markov chain. As in the environment, an illegal action changes nothing and earns nothing.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from rlsuite.core.arithmetic import weighted_sum
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import fraction, whole_amount
from rlsuite.core.keywords import SaysWhatToWrite
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP, validation
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.planning.certificate import contracting, representable
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.policy_chain import (
    LEAST_END,
    PolicyChain,
    policy_chain,
    value_by_elimination,
    value_of_steps,
    ways_to_the_end,
)
from rlsuite.planning.reachability import reachable

DENSE_LIMIT = 160
"""Up to this many nodes a linear system is solved as a dense one: that is faster in spite of the zeros."""

SHORT_EPISODE = 64
"""So many sweeps are tried before a linear system is set up."""


class PolicyEvaluator(SaysWhatToWrite):
    """Expected return of policies over observations, from the start distribution of one model.

    Parameters
    ----------
    model : MDP or POMDP
        The model.
    gamma : float, optional
        Discount factor; by default the model's.
    horizon : int, optional
        Cut every episode after this many steps, as a time limit does. Needed with gamma = 1.

    Attributes
    ----------
    n_observations : int
        S for an MDP; Z + 1 for a POMDP, where the last one means that nothing was observed yet.
    n_actions : int
        A.
    n_nodes : int
        Number of (state, observation) pairs that can be reached.
    gamma : float
        The discount factor in use.
    horizon : int or None
        The time limit in use.

    Raises
    ------
    ParameterError
        If gamma is 1 (or within 1e-10 of it while nothing ends) and there is no horizon, or an argument is out of
        range.
    ModelError
        If the rewards are so large that values overflow.

    Examples
    --------
    >>> from rlsuite.models import MDP
    >>> from rlsuite.planning import PolicyEvaluator
    >>> mdp = MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5)
    >>> evaluate = PolicyEvaluator(mdp)
    >>> evaluate([[1, 0], [0, 0]]), evaluate([[0, 1], [0, 0]])
    (2.0, 5.0)
    >>> PolicyEvaluator(mdp, gamma=1.0, horizon=10)([[1, 0], [0, 0]])
    10.0
    """

    def __init__(self, model: MDP | POMDP, gamma: float | None = None, *, horizon: int | None = None) -> None:
        mdp = model.mdp if isinstance(model, POMDP) else model
        self.gamma = mdp.gamma if gamma is None else fraction("gamma", gamma)
        self.horizon = None if horizon is None else whole_amount("horizon", horizon)
        if self.gamma == 1.0 and self.horizon is None:
            raise ParameterError(
                "gamma is 1: the value of a policy whose episodes do not end may be infinite. Pass gamma < 1, or "
                "horizon=, the number of steps after which an episode is cut off"
            )
        lookahead = Lookahead(mdp if self.gamma == mdp.gamma else mdp.replace(gamma=self.gamma))
        if self.horizon is None:
            contracting(lookahead)
        else:
            representable(lookahead, self.horizon)
        chain = chain_of_observations(model, lookahead) if isinstance(model, POMDP) else chain_of_states(lookahead)
        n = chain.state.size
        self.n_observations = chain.n_observations
        self.n_actions = mdp.n_actions
        self.n_nodes = n
        self._observation = chain.observation
        matrix, reward = chain.matrix, lookahead.reward.reshape(-1, mdp.n_actions)[chain.state]
        self._rows = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data, chain.start, reward

    def __call__(self, policy: ArrayLike) -> float:
        """Return the expected discounted return of `policy` from the start.

        Parameters
        ----------
        policy : array_like (n_observations, A)
            Probability of each action after each observation. Rows of observations that cannot occur are ignored.

        Returns
        -------
        float
            In the unit of the reward. With a horizon, the return of an episode that is cut there.

        Raises
        ------
        ParameterError
            If `policy` has another shape or a row is not a probability distribution.
        """
        return self._value(self._visited(policy))

    def value_and_total(self, policy: ArrayLike, limit: int | None = None) -> tuple[float, float]:
        """Return the results of a call and of `total_reward`, in less time than the two take.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> from rlsuite.planning import PolicyEvaluator
        >>> evaluate = PolicyEvaluator(MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5))
        >>> evaluate.value_and_total([[1, 0], [0, 0]], limit=10)
        (2.0, 10.0)
        """
        visited = self._visited(policy)
        return self._value(visited), self._total(visited, limit)

    def ends(self, policy: ArrayLike) -> float:
        """Return the probability that an episode of `policy` reaches an end, without a time limit.

        Parameters
        ----------
        policy : array_like (n_observations, A)
            As for a call.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> from rlsuite.planning import PolicyEvaluator
        >>> evaluate = PolicyEvaluator(MDP.from_successors([[0, 1], [None, None]], [[1, 5], [0, 0]], gamma=0.5))
        >>> evaluate.ends([[1, 0], [0, 0]]), evaluate.ends([[0.9, 0.1], [0, 0]])
        (0.0, 1.0)
        """
        chain = self._visited(_likely(np.array(policy, dtype=np.float64)))
        leaving, ending = ways_to_the_end(chain.pointer, chain.column, chain.probability)
        if not ending.any():
            return 0.0
        if ending.all():
            return 1.0
        among = _matrix(chain)[ending][:, ending]
        return weighted_sum(chain.start[ending], solve_fixed_point(among, leaving[ending]))

    def total_reward(self, policy: ArrayLike, limit: int | None = None) -> float:
        """Return the expected sum of rewards, undiscounted, of an episode; NaN if it may never end.

        Parameters
        ----------
        policy : array_like (n_observations, A)
            As for a call.
        limit : int, optional
            Number of steps after which an episode is cut; by default it continues to the end.
        """
        return self._total(self._visited(policy), limit)

    def _visited(self, policy: ArrayLike) -> PolicyChain:
        """Return the chain of the nodes that a policy visits: a greedy one visits few of all that can be reached."""
        table = np.array(policy, dtype=np.float64, order="C")
        if table.shape != (self.n_observations, self.n_actions):
            raise ParameterError(
                f"policy has shape {table.shape}, not ({self.n_observations}, {self.n_actions}): one row per "
                "observation, one column per action"
            )
        found = policy_chain(table, self._observation, *self._rows, validation.ROW_SUM_TOLERANCE)
        if found[0] >= 0:
            row = self._observation[found[0]]
            raise ParameterError(f"policy[{row}] is {table[row].tolist()}, not a probability distribution")
        return PolicyChain(*found[1:])

    def _value(self, chain: PolicyChain) -> float:
        discounted = chain._replace(probability=self.gamma * chain.probability)
        value = _solved(discounted) if self.horizon is None else _cut(discounted, self.horizon)[0]
        return weighted_sum(chain.start, value)

    def _total(self, chain: PolicyChain, limit: int | None) -> float:
        if limit is not None:
            return weighted_sum(chain.start, _cut(chain, limit)[0])
        _, ending = ways_to_the_end(chain.pointer, chain.column, chain.probability)
        return weighted_sum(chain.start, _solved(chain)) if ending.all() else math.nan


def _cut(chain: PolicyChain, steps: int) -> tuple[FloatArray, bool]:
    """Call `value_of_steps` with the fields of a chain."""
    return value_of_steps(chain.pointer, chain.column, chain.probability, chain.reward, steps)


def _solved(chain: PolicyChain) -> FloatArray:
    """Return the v with v = reward + C v."""
    m = chain.reward.size
    if chain.column.size <= m:  # one successor each: without a cycle, the episode ends soon
        value, is_all = _cut(chain, SHORT_EPISODE)
        if is_all:
            return value
    if m > DENSE_LIMIT:
        return solve_fixed_point(_matrix(chain), chain.reward)
    return value_by_elimination(chain.pointer, chain.column, chain.probability, chain.reward)


def _matrix(chain: PolicyChain) -> Any:
    from scipy.sparse import csr_array

    m = chain.reward.size
    return csr_array((chain.probability, chain.column, chain.pointer), shape=(m, m))


def _likely(policy: FloatArray) -> FloatArray:
    """The policy without actions that are taken less often than `LEAST_END`: an end that needs them is not reached."""
    never = (policy > 0.0) & (policy < LEAST_END)
    likely = np.where(never, 0.0, policy)
    rows = never.any(axis=-1)
    likely[rows] /= likely[rows].sum(axis=-1, keepdims=True)
    return likely


class ObservationChain(NamedTuple):
    """The n pairs (state, observation) that can occur, and how actions lead from one to the other.

    As in the environment, an illegal action changes nothing: it leads back to the pair in which it was taken.
    """

    n_observations: int
    """S for an MDP, Z + 1 for a POMDP"""
    state: IndexArray
    """(n,) int64, hidden state of each pair"""
    observation: IndexArray
    """(n,) int64, what the agent sees in it"""
    start: FloatArray
    """(n,) float64, distribution of the first pair"""
    matrix: Any
    """csr_array (n * A, n) float64, probability of the next pair with the episode going on; row i * A + a"""


def chain_of_states(lookahead: Lookahead) -> ObservationChain:
    """Return the chain of an agent that observes the state.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.
    """
    mdp = lookahead.mdp
    state = _visitable(lookahead)
    number = np.zeros(mdp.n_states, dtype=np.int64)
    number[state] = np.arange(state.size)
    edges = lookahead.continuation[_rows(state, mdp.n_actions)].tocoo()
    return ObservationChain(
        n_observations=mdp.n_states,
        state=state,
        observation=state,
        start=mdp.start[state],
        matrix=_stepping(mdp, state, edges.row, number[edges.col], edges.data),
    )


def chain_of_observations(pomdp: POMDP, lookahead: Lookahead) -> ObservationChain:
    """Return the chain of an agent that sees one of Z observations, or Z before the first one.

    Parameters
    ----------
    pomdp : POMDP
        The model.
    lookahead : Lookahead
        Its hidden part, prepared.
    """
    from scipy.sparse import csr_array

    mdp = lookahead.mdp
    actions, states, symbols = pomdp.observation.shape
    emission: Any = csr_array(pomdp.observation.reshape(actions * states, symbols))
    visitable = _visitable(lookahead)
    edges = lookahead.continuation[_rows(visitable, actions)].tocoo()

    # Every edge (s, a) -> s' becomes one edge per observation that can follow a in s'.
    shown = (edges.row % actions) * states + edges.col
    counts = np.diff(emission.indptr)[shown]
    edge = np.repeat(np.arange(edges.row.size), counts)
    position = emission.indptr[shown][edge] + np.arange(edge.size) - np.repeat(np.cumsum(counts) - counts, counts)
    row = edges.row[edge]
    probability = edges.data[edge] * emission.data[position]
    code = edges.col[edge].astype(np.int64) * (symbols + 1) + emission.indices[position]

    first = np.flatnonzero(mdp.start) * (symbols + 1) + symbols
    codes = np.unique(np.concatenate([code, first]))
    state, observation = codes // (symbols + 1), codes % (symbols + 1)
    start = np.zeros(codes.size)
    start[np.searchsorted(codes, first)] = mdp.start[mdp.start > 0.0]

    # Edges depend on the hidden state only, so each pair of state and observation has the edges of its state.
    number = np.zeros(states, dtype=np.int64)
    number[visitable] = np.arange(visitable.size)
    shape = (visitable.size * actions, codes.size)
    by_state = _sparse(probability, row, np.searchsorted(codes, code), shape)
    taken_over = by_state[_rows(number[state], actions)].tocoo()
    return ObservationChain(
        n_observations=symbols + 1,
        state=state,
        observation=observation,
        start=start,
        matrix=_stepping(mdp, state, taken_over.row, taken_over.col, taken_over.data),
    )


def _visitable(lookahead: Lookahead) -> IndexArray:
    """Return the states that some policy can visit, in ascending order."""
    mdp = lookahead.mdp
    edges: Any = lookahead.continuation.tocoo()
    shape = (mdp.n_states, mdp.n_states)
    graph = _sparse(np.ones(edges.row.size), edges.row // mdp.n_actions, edges.col, shape)
    return np.flatnonzero(reachable(graph, mdp.start > 0.0))


def _rows(state: IndexArray, actions: int) -> IndexArray:
    """Return the rows of all pairs (s, a) of these states in a matrix over pairs."""
    return (state[:, np.newaxis] * actions + np.arange(actions)).reshape(-1)


def _stepping(mdp: MDP, state: IndexArray, row: Any, column: Any, probability: Any) -> Any:
    illegal = np.flatnonzero(~mdp.legal[state])
    n = state.size
    return _sparse(
        np.concatenate([probability, np.ones(illegal.size)]),
        np.concatenate([row, illegal]),
        np.concatenate([column, illegal // mdp.n_actions]),
        (n * mdp.n_actions, n),
    )


def _sparse(data: Any, row: Any, column: Any, shape: tuple[int, int]) -> Any:
    """Return the csr_array with these entries; duplicates are added up."""
    from scipy.sparse import coo_array

    return coo_array((data, (row, column)), shape=shape).tocsr()
