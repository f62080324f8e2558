"""What the rows of an `MDP` give as matrices and dense arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from rlsuite.checks import whole_number
from rlsuite.errors import ParameterError
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray, IndexArray, StateArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class WaysOut:
    """The methods of `MDP` that turn its rows into other arrays."""

    indptr: IndexArray
    next_state: StateArray
    probability: FloatArray
    reward: FloatArray
    n_actions: int

    @property
    def n_states(self) -> int:
        """S."""
        return (self.indptr.size - 1) // self.n_actions

    def pairs(self) -> IndexArray:
        """Return the number s * A + a of the pair that each transition leaves: (N,) int64."""
        return np.repeat(np.arange(self.n_states * self.n_actions), np.diff(self.indptr))

    def expected_reward(self) -> FloatArray:
        """Return r(s, a), the mean reward of one step: (S, A) float64, 0 for illegal actions. S&B2 (3.5)."""
        mean = validation.row_sums(self.probability * self.reward, self.indptr)
        return mean.reshape(self.n_states, self.n_actions)

    def transition_matrix(self, action: int) -> csr_array[np.float64]:
        """Return Pr[s' | s, action] as a sparse (S, S) matrix; the rows of states where it is illegal are empty.

        Terminated transitions are part of it.
        """
        if whole_number("action", action, at_least=0) >= self.n_actions:
            raise ParameterError(f"action={action} is not an action; the actions are 0..{self.n_actions - 1}")
        return self.matrix_of(self.probability)[action :: self.n_actions]

    def dense(self) -> tuple[FloatArray, FloatArray]:
        """Return P[s, a, s'] and R[s, a, s'], both (S, A, S) float64.

        R is the mean reward given (s, a, s'), 0 where the transition is impossible. Rows of illegal actions are 0.
        Which transitions terminate is not part of the pair.
        """
        states = self.n_states
        P = np.zeros((states * self.n_actions, states))
        weighted = np.zeros_like(P)
        pair = self.pairs()
        np.add.at(P, (pair, self.next_state), self.probability)
        np.add.at(weighted, (pair, self.next_state), self.probability * self.reward)
        R = np.divide(weighted, P, out=np.zeros_like(P), where=P > 0.0)
        cube = (states, self.n_actions, states)
        return P.reshape(cube), R.reshape(cube)

    def matrix_of(self, values: FloatArray) -> csr_array[np.float64]:
        """Return the sum of `values` (N,) over the transitions from each pair to each state.

        The result is a sparse (S * A, S) matrix without stored zeros; row s * A + a belongs to the pair (s, a).
        """
        from scipy.sparse import csr_array

        shape = (self.n_states * self.n_actions, self.n_states)
        # A copy, because sum_duplicates works in place and the arrays of the model are read-only. SciPy, which has no
        # types of its own, is taken to mix those of the three arrays: hence the cast.
        matrix = cast(
            "csr_array[np.float64]", csr_array((values, self.next_state, self.indptr), shape=shape, copy=True)
        )
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix
