"""One step back: the values of a set of plans one step earlier, for each action and observation. KLC98 section 4.2.

For a vector w of plans that begin in the next step, action a and observation z,

    g(s) = gamma sum_s' c(s' | s, a) O[a, s', z] w(s')

is what w adds to the value of the state s, where c leaves out transitions that end the episode. A plan that begins
with a and continues with w_z after z has the value r(s, a) + sum_z g_z(s). Every exact method looks for the best of
these plans; the methods differ in the order in which they form the sums.

In plain NumPy: `rlsuite.reference.pomdp.backprojection`.
"""

from typing import Any

import numpy as np

from rlsuite.models import POMDP
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.planning.operators import EPS, Lookahead
from rlsuite.planning.pomdp.solution import first_of_best, values_at


class Projection:
    """The arrays of a model that one step back reads.

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
        the episode has ended, all values are 0.
    step : list of A csr_array (S, S) float64
        gamma c(s' | s, a).
    moves : list of A dicts of int to csr_array (S, S) float64
        gamma c(s' | s, a) O[a, s', z], for each observation z that can follow the action while the episode continues.
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
        self.moves = [_moves(step, pomdp.observation_matrix(a)) for a, step in enumerate(self.step)]

    def of(self, vectors: FloatArray, action: int, observation: int) -> FloatArray:
        """Return g for each of the vectors (n, S), as an (n, S) float64 array."""
        moves = self.moves[action][observation]
        if vectors.min(initial=0.0) > -np.inf:
            return np.ascontiguousarray((moves @ vectors.T).T)
        illegal = vectors == -np.inf
        earlier = np.ascontiguousarray((moves @ np.where(illegal, 0.0, vectors).T).T)
        earlier[(moves @ illegal.T.astype(np.float64)).T > 0.0] = -np.inf
        return earlier

    def entries(self, action: int, observation: int) -> tuple[IndexArray, IndexArray, FloatArray]:
        """Return s, s' and gamma c(s' | s, a) O[a, s', z], where it is not 0, each as an (m,) array."""
        matrix: Any = self.moves[action][observation].tocoo()
        return matrix.row.astype(np.int64), matrix.col.astype(np.int64), matrix.data

    def at_points(self, vectors: FloatArray, beliefs: FloatArray) -> tuple[FloatArray, IndexArray]:
        """Return the best plan for each of some beliefs (k, S) only: its vector (k, S) and its first action (k,)."""
        best = np.full((beliefs.shape[0], vectors.shape[1]), -np.inf)
        actions = np.full(beliefs.shape[0], -1, dtype=np.int64)
        most = np.full(beliefs.shape[0], -np.inf)
        tie = self.rounding(vectors)
        for a in range(self.pomdp.n_actions):
            sums = np.tile(self.reward[a], (beliefs.shape[0], 1))
            for z in self.moves[a]:
                earlier = self.of(vectors, a, z)
                sums += earlier[first_of_best(values_at(earlier, beliefs), tie)]
            value = own_values(sums, beliefs)
            better = value > most + tie
            best[better], actions[better], most[better] = sums[better], a, value[better]
        return best, actions

    def informed(self, vectors: FloatArray) -> FloatArray:
        """Return the fast informed bound one step back: (A, S), above all plans that continue with some of `vectors`.

        After each observation and in each state apart, the best of the vectors counts (Hauskrecht 2000, section 4.3).
        """
        bound = self.reward.copy()
        for a in range(self.pomdp.n_actions):
            for z in self.moves[a]:
                bound[a] += self.of(vectors, a, z).max(axis=0)
        return bound

    def rounding(self, vectors: FloatArray) -> float:
        """Return a bound on the rounding error of each entry of a sum r + sum_z g_z over all observations.

        A term goes through at most S + Z + 3 rounded operations, and the terms add up to at most max |r| + max |w|.
        """
        size = self.lookahead.reward_size + max_abs(vectors)
        return (self.pomdp.n_states + self.pomdp.n_observations + 8) * EPS * size


def _moves(step: Any, seen: Any) -> dict[int, Any]:
    """Return gamma c(s' | s, a) O[a, s', z] for each observation z that can follow an action, as csr_array (S, S)."""
    found: dict[int, Any] = {}
    columns = seen.tocsc()
    # rows of a model sum to 1 only within a tolerance; a contraction by gamma needs normalised rows
    columns.data = columns.data / np.asarray(seen.sum(axis=1)).reshape(-1)[columns.indices]
    for z in range(columns.shape[1]):
        probability = columns[:, [z]].toarray().reshape(-1)
        moves = step.copy()
        moves.data *= probability[moves.indices]
        moves.eliminate_zeros()
        if moves.nnz:
            found[z] = moves
    return found


def own_values(vectors: FloatArray, beliefs: FloatArray) -> FloatArray:
    """Return alpha_k . b_k for each of k vectors and its own belief: (k,) float64."""
    return np.where(beliefs > 0.0, beliefs * np.where(beliefs > 0.0, vectors, 0.0), 0.0).sum(axis=1)


def max_abs(vectors: FloatArray) -> float:
    """Return the largest absolute value of the finite entries."""
    least = float(vectors.min(initial=0.0))
    if least == -np.inf:
        least = float(vectors.min(where=vectors > -np.inf, initial=0.0))
    return max(-least, float(vectors.max(initial=0.0)))
