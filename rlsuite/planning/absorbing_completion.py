"""A model in which the end of an episode is a state like any other, for average-reward methods."""

from typing import Any, cast

import numpy as np
from scipy.sparse import coo_array, csr_array

from rlsuite.models import MDP, MarkovChain
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.operators import EPS


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
        self.n_states, self.n_actions, self.ends = mdp.n_states, mdp.n_actions, ends
        self.n = mdp.n_states + ends
        self.legal: BoolArray = mdp.legal.reshape(-1)
        ending = mdp.terminated & (mdp.probability > 0.0)
        successor = np.where(ending, np.int32(mdp.n_states), mdp.next_state)
        matrix: Any = csr_array((mdp.probability, successor, mdp.indptr), shape=(self.legal.size, self.n), copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        total = np.where(self.legal, cast("FloatArray", matrix.sum(axis=1)), 1.0)
        lengths = np.diff(matrix.indptr)
        matrix.data /= np.repeat(total, lengths)
        self.transition: Any = matrix
        self.reward: FloatArray = mdp.expected_reward().reshape(-1) / total
        self._terms = int(np.diff(mdp.indptr).max())
        self._reward_size = float(np.abs(mdp.reward).max(initial=0.0))

    def ahead(self, x: FloatArray) -> FloatArray:
        """Return the mean of x (n,) after one step: (S, A) float64, minus infinity for illegal actions."""
        mean = cast("FloatArray", self.transition @ x)
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
