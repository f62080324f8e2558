"""The value of a policy at the start distribution, prepared once and then computed for many policies.

An agent's frozen policy is evaluated after every few hundred steps of learning, in every seed: tens of thousands of
times on one small model. `PolicyEvaluator` does everything that does not depend on the policy beforehand.

The policy sees observations. For an MDP they are the states. For a POMDP an observation is one of Z symbols, or Z when
nothing was observed yet, as an environment shows it: what the agent does next depends on the pair (hidden state,
observation) and on nothing else, so these pairs, as far as they can be reached from the start, are the nodes of a
Markov chain. As in the environment, an illegal action changes nothing and earns nothing.
"""

import math
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.checks import fraction, whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import MDP, POMDP, validation
from rlsuite.models.aliases import BoolArray, FloatArray
from rlsuite.planning.certificate import contracting, representable
from rlsuite.planning.linear_system import solve_fixed_point
from rlsuite.planning.matrices import averaging
from rlsuite.planning.observation_chain import chain_of_observations, chain_of_states
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.reachability import reachable

DENSE_LIMIT = 160
"""Up to this many nodes the chain is kept as a dense tensor: fewer calls into Python outweigh the zeros."""
DOUBLING_LIMIT = 40
"""Up to this many nodes a few products of matrices are faster than many products with a vector."""


LEAST_END = 1e-7
"""Smaller probabilities of ending are what rounding leaves of a row that sums to 1."""


class PolicyEvaluator:
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
        self.horizon = None if horizon is None else whole_number("horizon", horizon)
        if self.gamma == 1.0 and self.horizon is None:
            raise ParameterError(
                "gamma is 1: the value of a policy that does not end is infinite. Pass horizon=, the number of steps "
                "after which an episode is cut, or gamma < 1"
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
        self._start = chain.start
        self._reward: FloatArray = lookahead.reward.reshape(-1, mdp.n_actions)[chain.state]
        self._undiscounted = chain.matrix
        self._matrix = self.gamma * chain.matrix
        self._tensor: FloatArray | None = None
        if n <= DENSE_LIMIT:
            self._tensor = self._matrix.toarray().reshape(n, mdp.n_actions, n)
            self._identity = np.eye(n)

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
        weights = self._weights(policy)
        reward = (weights * self._reward).sum(axis=1)
        if self._tensor is None:
            return self._sparse_value(weights, reward)
        chain: FloatArray = np.matmul(weights[:, np.newaxis, :], self._tensor)[:, 0, :]
        if self.horizon is None:
            return float(self._start @ cast("FloatArray", np.linalg.solve(self._identity - chain, reward)))
        cut_value = _cut_value_by_doubling if self.n_nodes <= DOUBLING_LIMIT else _cut_value
        return float(self._start @ cut_value(chain, reward, self.horizon))

    def ends(self, policy: ArrayLike) -> float:
        """Return the probability that an episode of `policy` reaches an end, if no time limit cuts it.

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
        chain, start, _ = self._visited(self._weights(policy))
        leaving, ending = _ways_to_the_end(chain)
        if not ending.any():
            return 0.0
        if ending.all():
            return 1.0
        among = chain[ending][:, ending]
        return float(start[ending] @ solve_fixed_point(among, leaving[ending]))

    def total_reward(self, policy: ArrayLike) -> float:
        """Return the expected sum of rewards until the end, undiscounted; NaN if episodes may go on for ever.

        Parameters
        ----------
        policy : array_like (n_observations, A)
            As for a call.
        """
        chain, start, reward = self._visited(self._weights(policy))
        _, ending = _ways_to_the_end(chain)
        return float(start @ solve_fixed_point(chain, reward)) if ending.all() else math.nan

    def _visited(self, weights: FloatArray) -> tuple[Any, FloatArray, FloatArray]:
        """Return the undiscounted chain of the nodes that are visited, their start, and their mean rewards."""
        chain = averaging(weights) @ self._undiscounted
        visited = np.flatnonzero(reachable(chain, self._start > 0.0))
        reward: FloatArray = (weights * self._reward).sum(axis=1)
        return chain[visited][:, visited], self._start[visited], reward[visited]

    def _weights(self, policy: ArrayLike) -> FloatArray:
        """Return the probability of each action in each node: (n_nodes, A)."""
        table = np.asarray(policy, dtype=np.float64)
        if table.shape != (self.n_observations, self.n_actions):
            raise ParameterError(
                f"policy has shape {table.shape}, not ({self.n_observations}, {self.n_actions}): one row per "
                "observation, one column per action"
            )
        weights = table[self._observation]
        # One comparison each; written so that NaN fails too.
        if not (weights.min() >= 0.0 and np.abs(weights.sum(axis=1) - 1.0).max() <= validation.ROW_SUM_TOLERANCE):
            wrong = ~(
                (weights >= 0.0).all(axis=1) & (np.abs(weights.sum(axis=1) - 1.0) <= validation.ROW_SUM_TOLERANCE)
            )
            node = int(np.argmax(wrong))
            raise ParameterError(
                f"policy[{self._observation[node]}] is {weights[node].tolist()}, not a probability distribution"
            )
        return weights

    def _sparse_value(self, weights: FloatArray, reward: FloatArray) -> float:
        chain = averaging(weights) @ self._matrix
        # A greedy policy visits few of the nodes that another one could visit.
        visited = np.flatnonzero(reachable(chain, self._start > 0.0))
        chain, reward, start = chain[visited][:, visited], reward[visited], self._start[visited]
        if self.horizon is None:
            return float(start @ solve_fixed_point(chain, reward))
        return float(start @ _cut_value(chain, reward, self.horizon))


def _ways_to_the_end(chain: Any) -> tuple[FloatArray, BoolArray]:
    """Return the probability that each node ends the episode at once, and whether it can ever be ended from there."""
    leaving: FloatArray = 1.0 - np.asarray(chain.sum(axis=1), dtype=np.float64).ravel()
    leaving[leaving < LEAST_END] = 0.0
    return leaving, reachable(chain.T, leaving > 0.0)


def _cut_value(chain: Any, reward: FloatArray, horizon: int) -> FloatArray:
    """Return the value of `horizon` steps: v_k = reward + chain @ v_(k-1) from v_0 = 0."""
    value = np.zeros_like(reward)
    for _ in range(horizon):
        before, value = value, reward + chain @ value
        if np.array_equal(before, value):  # and so it stays
            break
    return value


def _cut_value_by_doubling(chain: FloatArray, reward: FloatArray, horizon: int) -> FloatArray:
    """Return the same as `_cut_value`: v_2k = v_k + C^k v_k and v_(k+1) = reward + C v_k by the bits of `horizon`."""
    power, value = chain, reward
    for bit in bin(horizon)[3:]:
        value = value + power @ value
        power = power @ power
        if bit == "1":
            value = reward + chain @ value
            power = chain @ power
    return value
