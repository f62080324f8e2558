"""The constructors of an `MDP` from arrays in the layouts of other libraries, as class methods that it inherits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from numpy.typing import ArrayLike

from rlsuite.core.keywords import says_what_to_write
from rlsuite.models import validation
from rlsuite.models.aliases import SparseLike
from rlsuite.models.arrays import Order, Tables, rows_from_arrays
from rlsuite.models.from_rows import FromRows
from rlsuite.models.pairs import rows_from_pairs


class ArrayConstructors(FromRows):
    """The constructors of an `MDP` from matrices."""

    @classmethod
    @says_what_to_write
    def from_arrays(
        cls,
        P: Tables,
        R: Tables | SparseLike,
        *,
        gamma: float,
        order: Order | None = None,
        start: ArrayLike | None = None,
        terminated: Tables | None = None,
        legal: ArrayLike | None = None,
        reward_std: ArrayLike | None = None,
        bernoulli: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
        action_labels: Sequence[str] | None = None,
    ) -> Self:
        """Build a model from transition and reward matrices.

        Parameters
        ----------
        P : array_like (S, A, S) or (A, S, S); or sequence of A sparse (S, S) matrices, or object array of A matrices
            Pr[s' | s, a]. The first form is ``order="sas"``, the second ``order="ass"``.
        R : array_like (S,), (S, A) or (S, A, S), also sparse (S, A); or A matrices (S, S) as for P
            Reward for leaving s, for a in s, or for going from s by a to s'; with ``order="ass"`` the shapes are
            (S,), (A, S) and (A, S, S). Where R[s, a] is minus infinity, as in QuantEcon's product form, the action
            is illegal.
        gamma : float
            Discount factor in [0, 1].
        order : {"sas", "ass"}, optional
            Which index of `P` and `R` is the action: the middle one or the first. By default the shapes say it. **If
            S = A they cannot**: then `P` is taken to be P[s, a, s'], so pass ``order="ass"`` for P[a, s, s'].
        start : int or array_like (S,), optional
            One state or a distribution; by default uniform over the states that have a legal action and are not
            terminal.
        terminated : array_like (S,) bool, or bool of the shape of P, optional
            Terminal states (whatever enters them ends the episode), or one flag per transition. By default the
            transitions into states without legal actions terminate.
        legal : array_like (S, A) bool, optional
            Mask of legal actions; the rows of the others are ignored. By default all actions are legal, except in
            terminal states whose rows are all zero.
        reward_std, bernoulli, state_labels, action_labels
            As in `from_rows`.

        Notes
        -----
        MDPtoolbox keeps transitions as (A, S, S), or as A matrices, and rewards as (S, A) or as A matrices. All of that
        is read as it is, but for a dense array (A, S, S) with S = A: pass ``order="ass"`` and, of rewards (S, A),
        ``R.T``. Where transitions are A sparse matrices or an object array, rewards (S, S) with S = A are R[s, a].

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P = [[[0.5, 0.5], [1, 0]], [[0, 1], [0, 1]]]
        >>> MDP.from_arrays(P, [[5, 10], [-1, -1]], gamma=0.95).expected_reward().tolist()
        [[5.0, 10.0], [-1.0, -1.0]]
        """
        rows, n_actions, can_start = rows_from_arrays(P, R, order=order, terminated=terminated, legal=legal)
        return cls.from_rows(
            rows.indptr,
            rows.next_state,
            rows.probability,
            rows.reward,
            terminated=rows.terminated,
            n_actions=n_actions,
            gamma=gamma,
            start=validation.start_distribution(start, can_start),
            reward_std=reward_std,
            bernoulli=bernoulli,
            state_labels=state_labels,
            action_labels=action_labels,
        )

    @classmethod
    @says_what_to_write
    def from_pairs(
        cls,
        R: ArrayLike,
        Q: ArrayLike | SparseLike,
        s_indices: ArrayLike,
        a_indices: ArrayLike,
        *,
        gamma: float,
        n_actions: int | None = None,
        start: ArrayLike | None = None,
        terminated: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
        action_labels: Sequence[str] | None = None,
    ) -> Self:
        """Build a model from one row per legal pair, the layout of QuantEcon's ``DiscreteDP``.

        Its product form, R[s, a] with minus infinity for illegal actions and Q[s, a, s'], is read by
        ``MDP.from_arrays(Q, R)``.

        Parameters
        ----------
        R : array_like (L,)
            Reward of each pair; minus infinity marks an illegal one.
        Q : array_like (L, S) or scipy.sparse matrix (L, S)
            Pr[s' | pair]. Stored entries of a sparse matrix are kept as they are.
        s_indices, a_indices : array_like (L,) int
            State and action of each pair, in any order; no pair twice.
        gamma : float
            Discount factor in [0, 1].
        n_actions : int, optional
            A; by default one more than the largest action listed.
        start : int or array_like (S,), optional
            One state or a distribution; by default uniform over the states that have a legal action and are not
            terminal.
        terminated : array_like (S,) bool, optional
            Terminal states: whatever enters them ends the episode. By default those without legal actions.
        state_labels, action_labels
            As in `from_rows`.

        Raises
        ------
        ModelError
            If the arrays do not fit together, a pair is listed twice or its row is not a distribution; the message
            names the pair.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> Q = [[0.5, 0.5], [0, 1], [0, 1]]
        >>> mdp = MDP.from_pairs([5, 10, -1], Q, [0, 0, 1], [0, 1, 0], gamma=0.95)
        >>> mdp.legal.tolist(), mdp.expected_reward().tolist()
        ([[True, True], [True, False]], [[5.0, 10.0], [-1.0, 0.0]])
        """
        rows, actions, can_start = rows_from_pairs(
            R, Q, s_indices, a_indices, n_actions=n_actions, terminated=terminated
        )
        return cls.from_rows(
            rows.indptr,
            rows.next_state,
            rows.probability,
            rows.reward,
            terminated=rows.terminated,
            n_actions=actions,
            gamma=gamma,
            start=validation.start_distribution(start, can_start),
            state_labels=state_labels,
            action_labels=action_labels,
        )
