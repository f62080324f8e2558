"""One step back: what a set of plans is worth one step earlier, for each action and observation. KLC98 section 4.2.

For a vector w of plans that begin in the next step, action a and observation z,

    g(s) = gamma sum_s' c(s' | s, a) O[a, s', z] w(s')

is what w adds to the value of the state s, where c leaves out transitions that end the episode. A plan that begins
with a and goes on with w_z after z is worth r(s, a) + sum_z g_z(s). The best of all such plans is what every exact
method looks for; they differ in how they go through the sums.
"""

from typing import Any

import numpy as np

from rlsuite.models import POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.pomdp.vectors import worth


class Projection:
    """What one step back needs of a model, prepared.

    Parameters
    ----------
    pomdp : POMDP
        The model.

    Attributes
    ----------
    lookahead : Lookahead
        The hidden MDP, prepared.
    reward : ndarray (A, S) float64
        r(s, a); minus infinity where a is illegal and another action is not. In a state without any legal action, where
        the episode has ended, everything is worth 0.
    possible : list of A lists of int
        The observations that can follow each action while the episode goes on.
    step : list of A csr_array (S, S) float64
        gamma c(s' | s, a).
    seen : ndarray (A, S, Z) float64
        O[a, s', z].
    """

    def __init__(self, pomdp: POMDP) -> None:
        self.pomdp = pomdp
        self.lookahead = Lookahead(pomdp.mdp)
        actions, states = pomdp.n_actions, pomdp.n_states
        legal: BoolArray = pomdp.mdp.legal
        reward = self.lookahead.reward.reshape(states, actions)
        self.reward: FloatArray = np.ascontiguousarray(np.where(legal, reward, -np.inf).T)
        self.reward[:, ~legal.any(axis=1)] = 0.0
        self.step: list[Any] = [self.lookahead.continuation[a::actions] * pomdp.gamma for a in range(actions)]
        self.seen: FloatArray = pomdp.observation
        entered: list[BoolArray] = [np.asarray(step.sum(axis=0)).reshape(-1) > 0.0 for step in self.step]
        self.possible: list[list[int]] = [
            np.flatnonzero((self.seen[a][entered[a]] > 0.0).any(axis=0)).tolist() for a in range(actions)
        ]

    def of(self, vectors: FloatArray, action: int, observation: int) -> FloatArray:
        """Return g for each of the vectors (n, S), as an (n, S) float64 array."""
        step, seen = self.step[action], self.seen[action][:, observation, np.newaxis]
        illegal = vectors == -np.inf
        if not illegal.any():
            return np.ascontiguousarray((step @ (seen * vectors.T)).T)
        earlier = np.ascontiguousarray((step @ (seen * np.where(illegal, 0.0, vectors).T)).T)
        earlier[((step > 0.0) @ ((seen > 0.0) & illegal.T)).T > 0] = -np.inf
        return earlier

    def q(self, value: FloatArray) -> FloatArray:
        """Return r(s, a) + gamma sum_s' c(s' | s, a) V(s') for a value (S,) of the hidden states: (A, S)."""
        ahead: list[FloatArray] = [step @ value for step in self.step]
        return self.reward + np.stack(ahead)

    def entries(self, action: int, observation: int) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return s, s' and gamma c(s' | s, a) O[a, s', z], where it is not 0, each as an (m,) array."""
        matrix: Any = self.step[action].tocoo()
        weight = matrix.data * self.seen[action][matrix.col, observation]
        some = weight > 0.0
        return matrix.row[some].astype(np.int64), matrix.col[some].astype(np.int64), weight[some]

    def at_points(self, vectors: FloatArray, beliefs: FloatArray) -> tuple[FloatArray, IndexArray]:
        """Return the best plan for each of some beliefs (k, S) only: its vector (k, S) and its first action (k,)."""
        best = np.full((beliefs.shape[0], vectors.shape[1]), -np.inf)
        actions = np.full(beliefs.shape[0], -1, dtype=np.int64)
        most = np.full(beliefs.shape[0], -np.inf)
        for a in range(self.pomdp.n_actions):
            sums = np.tile(self.reward[a], (beliefs.shape[0], 1))
            for z in self.possible[a]:
                earlier = self.of(vectors, a, z)
                sums += earlier[np.argmax(worth(earlier, beliefs), axis=1)]
            value = own_worth(sums, beliefs)
            better = value > most
            best[better], actions[better], most[better] = sums[better], a, value[better]
        return best, actions

    def informed(self, vectors: FloatArray) -> FloatArray:
        """Return the fast informed bound one step back: (A, S), above all plans that go on with some of `vectors`.

        After each observation and in each state apart, the best of the vectors counts (Hauskrecht 2000, section 4.3).
        """
        bound = self.reward.copy()
        for a in range(self.pomdp.n_actions):
            for z in self.possible[a]:
                bound[a] += self.of(vectors, a, z).max(axis=0)
        return bound

    def rounding(self, vectors: FloatArray) -> float:
        """Return a bound on the rounding error of each entry of a sum r + sum_z g_z over all observations.

        A term goes through at most S + Z + 3 rounded operations, and the terms add up to at most max |r| + max |w|.
        """
        size = self.lookahead.reward_size + largest(vectors)
        return (self.pomdp.n_states + self.pomdp.n_observations + 8) * EPS * size


def own_worth(vectors: FloatArray, beliefs: FloatArray) -> FloatArray:
    """Return alpha_k . b_k for each of k vectors and its own belief: (k,) float64."""
    return np.where(beliefs > 0.0, beliefs * np.where(beliefs > 0.0, vectors, 0.0), 0.0).sum(axis=1)


def largest(vectors: FloatArray) -> float:
    """Return the largest absolute value of the finite entries."""
    return float(np.abs(vectors, where=vectors > -np.inf, out=np.zeros_like(vectors)).max(initial=0.0))
