"""The rows of an `MDP` as matrices, dense arrays, and the layouts of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np

from rlsuite.core.checks import fits_in_memory, whole_number
from rlsuite.errors import ParameterError, unknown
from rlsuite.models import validation
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray, Rows, StateArray
from rlsuite.models.arrays import ROWS_OF, Order
from rlsuite.models.transformations import close, fill_illegal, refuse_illegal
from rlsuite.models.transition_view import Transition

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from rlsuite.models.mdp import MDP


class Arrays(NamedTuple):
    """A model as dense arrays."""

    P: FloatArray
    """Pr[s' | s, a]: (S, A, S) or (A, S, S) float64"""
    R: FloatArray
    """Mean reward given (s, a, s'), of the same shape; 0 where the transition is impossible"""


class Matrices(NamedTuple):
    """A model as one sparse matrix per action."""

    P: tuple[csr_array[np.float64], ...]
    """Pr[s' | s, a]: A sparse (S, S) matrices"""
    R: FloatArray
    """(S, A) float64, the mean reward of each pair"""


class Pairs(NamedTuple):
    """A model as one row per legal pair, ordered by state and action."""

    R: FloatArray
    """(L,) float64, the mean reward of each pair"""
    Q: csr_array[np.float64]
    """Pr[s' | pair]: sparse (L, S)"""
    s_indices: IndexArray
    """(L,) int64, the state of each pair"""
    a_indices: IndexArray
    """(L,) int64, the action of each pair"""


class Conversions:
    """The methods of `MDP` that turn its rows into other arrays."""

    indptr: IndexArray
    next_state: StateArray
    probability: FloatArray
    reward: FloatArray
    terminated: BoolArray
    n_actions: int

    @property
    def n_states(self) -> int:
        """S."""
        return (self.indptr.size - 1) // self.n_actions

    @property
    def reward_per_pair(self) -> bool:
        """Whether `reward` is that of each pair (s, a), 0 for illegal actions, instead of that of each transition."""
        return self.reward.size != self.next_state.size

    @property
    def rows(self) -> Rows:
        """The transitions as a named tuple of arrays, with a reward for each of them whatever `reward` holds."""
        reward = np.repeat(self.reward, np.diff(self.indptr)) if self.reward_per_pair else self.reward
        reward.setflags(write=False)
        return Rows(self.indptr, self.next_state, self.probability, reward, self.terminated)

    def pairs(self) -> IndexArray:
        """Return the number s * A + a of the pair that each transition leaves: (N,) int64."""
        return np.repeat(np.arange(self.n_states * self.n_actions), np.diff(self.indptr))

    def expected_reward(self) -> FloatArray:
        """Return r(s, a), the mean reward of one step: (S, A) float64, 0 for illegal actions. S&B2 (3.5)."""
        paid = self.reward
        mean = paid if self.reward_per_pair else validation.row_sums(self.probability * paid, self.indptr)
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

        Raises
        ------
        ParameterError
            If the arrays need more memory than there is.
        """
        states = self.n_states
        fits_in_memory(f"a dense array of {states} states", 32 * states * self.n_actions * states)
        P = np.zeros((states * self.n_actions, states))
        weighted = np.zeros_like(P)
        pair = self.pairs()
        np.add.at(P, (pair, self.next_state), self.probability)
        np.add.at(weighted, (pair, self.next_state), self.probability * self.rows.reward)
        R = np.divide(weighted, P, out=np.zeros_like(P), where=P > 0.0)
        cube = (states, self.n_actions, states)
        return P.reshape(cube), R.reshape(cube)

    def matrix_of(self, values: FloatArray) -> csr_array[np.float64]:
        """Return the sum of `values` (N,) over the transitions from each pair to each state.

        The result is a sparse (S * A, S) matrix without stored zeros; row s * A + a belongs to the pair (s, a).
        """
        from scipy.sparse import csr_array

        shape = (self.n_states * self.n_actions, self.n_states)
        # A copy, because sum_duplicates works in place and the arrays of the model are read-only. The cast is there
        # because SciPy has no type annotations, and type checkers infer a mixture of the types of the three arrays.
        matrix = cast(
            "csr_array[np.float64]", csr_array((values, self.next_state, self.indptr), shape=shape, copy=True)
        )
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix

    # ---------------------------------------------------------------------------------- layouts of other libraries

    def without_termination(self) -> Self:
        """Return a model with the same values in which no transition terminates.

        What follows the end of an episode is worth 0, and so is a state that is never left and pays nothing. A state
        becomes one, for every action, if nothing can be earned in it: it has no legal action, or all its transitions
        terminate and pay 0. Other terminated transitions lead to one extra state, the last, labelled "end" if states
        have labels. Everything that writes a layout without termination starts with this.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P = {0: {0: [(1.0, 1, 2.0, True)]}, 1: {0: [(1.0, 0, 3.0, False)]}}
        >>> MDP.from_table(P, gamma=0.9).without_termination().next_state.tolist()
        [2, 0, 2]
        """
        return close(cast("Any", self)).mdp

    def with_all_legal(self) -> Self:
        """Return a model with the same optimal values in which every action of a state that leads on is legal.

        An illegal action gets the transitions of the first legal action of its state: a policy that takes it means
        that one. The values of policies that choose at random among all actions do change.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> mdp = MDP.from_successors([[None, 1], [0, 1]], [1, 0], gamma=0.9)
        >>> mdp.with_all_legal().P[0][0]
        [(1.0, 1, 1.0, False)]
        """
        return fill_illegal(cast("Any", self))

    def to_arrays(self, order: Order = "sas") -> Arrays:
        """Return P and R as dense arrays of the same layout, for libraries without termination.

        ``order="ass"`` is the dense layout of MDPtoolbox. Unlike `dense`, the result stands for the model
        `without_termination`, so it may have one state more. Rewards are means.

        Raises
        ------
        ModelError
            If an action is illegal, as the layout has no form for that; see `with_all_legal` and `to_pairs`.
        ParameterError
            If `order` is unknown.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P, R = MDP.from_successors([[1, 0], [None, None]], [[5, 0], [0, 0]], gamma=0.9).to_arrays("ass")
        >>> P.tolist()
        [[[0.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
        >>> R[0].tolist()
        [[0.0, 5.0], [0.0, 0.0]]
        """
        if order not in ROWS_OF:
            raise ParameterError(unknown("order", order, ROWS_OF))
        by_state = Arrays(*self._complete("a dense array").dense())
        if order == "sas":
            return by_state
        return Arrays(*(np.ascontiguousarray(one.transpose(1, 0, 2)) for one in by_state))

    def to_matrices(self) -> Matrices:
        """Return one sparse transition matrix per action, and R[s, a]: the sparse layout of MDPtoolbox.

        Termination and illegal actions are treated as by `to_arrays`. `MDP.from_arrays` reads the result.

        Raises
        ------
        ModelError
            If an action is illegal.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P, R = MDP.from_successors([[1], [None]], [[5], [0]], gamma=0.9).to_matrices()
        >>> P[0].toarray().tolist(), R.tolist()
        ([[0.0, 1.0], [0.0, 1.0]], [[5.0], [0.0]])
        """
        closed = self._complete("a matrix per action")
        by_pair = closed.matrix_of(closed.probability)
        return Matrices(
            tuple(by_pair[a :: closed.n_actions] for a in range(closed.n_actions)), closed.expected_reward()
        )

    def to_pairs(self) -> Pairs:
        """Return one row per legal pair: the layout of QuantEcon's ``DiscreteDP(R, Q, beta, s_indices, a_indices)``.

        The result stands for the model `without_termination`, so it may have one state more. Illegal actions are not
        listed, and rewards are means. `MDP.from_pairs` reads the result.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> pairs = MDP.from_successors([[None, 1], [0, 0]], [5, 0], gamma=0.9).to_pairs()
        >>> pairs.R.tolist(), pairs.s_indices.tolist(), pairs.a_indices.tolist()
        ([5.0, 0.0, 0.0], [0, 1, 1], [1, 0, 1])
        """
        closed = self.without_termination()
        listed = np.flatnonzero(cast("MDP", closed).legal)
        s_indices, a_indices = np.divmod(listed, closed.n_actions)
        reward = closed.expected_reward().reshape(-1)[listed]
        return Pairs(reward, closed.matrix_of(closed.probability)[listed], s_indices, a_indices)

    def to_table(self) -> dict[int, dict[int, list[Transition]]]:
        """Return the transitions in Gymnasium's convention as plain dicts; `P` is a view that copies nothing.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> MDP.from_successors([[1], [None]], [[5], [0]], gamma=0.9).to_table()
        {0: {0: [(1.0, 1, 5.0, True)]}, 1: {0: []}}
        """
        P = cast("MDP", self).P
        return {s: dict(P[s]) for s in P}

    def _complete(self, layout: str) -> Self:
        """Return the model without termination, in which every action must be legal."""
        closed = self.without_termination()
        refuse_illegal(cast("MDP", closed), layout)
        return closed
