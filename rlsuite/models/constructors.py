"""The constructors of an `MDP` except from rows and files, as class methods that it inherits.

Each one passes its arguments to the module that reads that form, gets rows back, and ends in `MDP.from_rows`, which
validates them. The signatures stand together here; the forms are explained in their modules.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_amount
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ModelError, ParameterError, UnsuitableEnvironment
from rlsuite.models import validation
from rlsuite.models.aliases import Rows, SparseLike
from rlsuite.models.arrays import Order, Tables, rewards_of, rows_from_arrays, rows_from_pairs
from rlsuite.models.experience import Experience, rows_from_experience
from rlsuite.models.functions import (
    Explored,
    Reward,
    RewardFunction,
    Successors,
    Terminal,
    Transitions,
    explore,
    labels_of,
    opposite,
    rows_from_successors,
)
from rlsuite.models.gymnasium_table import (
    discount_of,
    name_of,
    read_table,
    rows_from_bare_table,
    title_of,
)
from rlsuite.models.mdp_fields import MdpFields, with_layout, with_name

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from rlsuite.core.aliases import Env
    from rlsuite.rendering import GridLayout


def _layout(env: Env, model: MdpFields) -> GridLayout | None:
    """Where the states lie on a grid; None if they do not, or are not one on each square."""
    from rlsuite.rendering import GridLayout

    with suppress(UnsuitableEnvironment, ParameterError):
        layout = GridLayout.from_env(env)
        if layout.states.max() < layout.n_states == model.n_states:
            return layout
    return None


class Constructors(MdpFields):
    """The constructors of an `MDP` from other things than rows."""

    @classmethod
    def _of(cls, rows: Rows, n_actions: int, gamma: float, **more: Any) -> Self:
        return cls.from_rows(*rows[:4], terminated=rows.terminated, n_actions=n_actions, gamma=gamma, **more)

    @classmethod
    @says_what_to_write
    def from_arrays(
        cls,
        P: Tables,
        R: Tables | SparseLike | None = None,
        *,
        gamma: float,
        costs: Tables | SparseLike | None = None,
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
        costs : array_like, optional
            What to minimise, in place of `R` and in the same forms: rewards are these with the opposite sign. Plus
            infinity stands for an illegal action.
        order : {"sas", "ass"}, optional
            Which index of `P` and `R` is the action: the middle one or the first. By default the shapes say it. If
            S = A they cannot: then it is needed, unless both orders are the same model.
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
        is read as it is, but a dense array (A, S, S) with S = A: pass ``order="ass"`` and, of rewards (S, A),
        ``R.T``. Where transitions are A sparse matrices or an object array, rewards (S, S) with S = A are R[s, a].

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P = [[[0.5, 0.5], [1, 0]], [[0, 1], [0, 1]]]
        >>> MDP.from_arrays(P, [[5, 10], [-1, -1]], gamma=0.95, order="sas").expected_reward().tolist()
        [[5.0, 10.0], [-1.0, -1.0]]
        """
        given = rows_from_arrays(P, rewards_of(R, costs), order=order, terminated=terminated, legal=legal)
        try:
            model = cls._of(
                given.rows,
                given.n_actions,
                gamma,
                start=validation.start_distribution(start, given.can_start),
                reward_std=reward_std,
                bernoulli=bernoulli,
                state_labels=state_labels,
                action_labels=action_labels,
            )
        except ModelError as error:
            raise given.fault_of_p() or error from None
        return model if costs is None else model.replace(costs=True)

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
        return cls._of(
            rows,
            actions,
            gamma,
            start=validation.start_distribution(start, can_start),
            state_labels=state_labels,
            action_labels=action_labels,
        )

    @classmethod
    @says_what_to_write
    def from_successors(
        cls,
        successors: Sequence[Sequence[Successors]],
        reward: Reward,
        *,
        gamma: float,
        start: ArrayLike | None = None,
        terminated: ArrayLike | None = None,
        reward_std: ArrayLike | None = None,
        bernoulli: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
        action_labels: Sequence[str] | None = None,
    ) -> Self:
        """Build a model from a table of successors, in which the type of an entry gives the kind of the transition.

        Parameters
        ----------
        successors : sequence of S sequences of A entries
            Where each action of each state leads: a state (deterministic), a set or list of states that are equally
            likely (non-deterministic), ``{state: probability}`` (stochastic), or None (illegal).
        reward : array_like (S,), (S, A) or (S, A, S), or callable
            Reward, or a function ``reward(s, a, s')``.
        gamma : float
            Discount factor in [0, 1].
        start : int or array_like (S,), optional
            One state or a distribution; by default uniform over the states that have a legal action and are not
            terminal.
        terminated : array_like (S,) bool, optional
            Terminal states; by default those without legal actions.
        reward_std, bernoulli, state_labels, action_labels
            As in `from_rows`.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> mdp = MDP.from_successors([[{1, 2}], [2], [None]], [0, 5, 0], gamma=0.9)
        >>> mdp.kind, mdp.P[0][0]
        ('nondeterministic', [(0.5, 1, 0.0, False), (0.5, 2, 0.0, True)])
        """
        rows, n_actions, can_start = rows_from_successors(successors, reward, terminated=terminated)
        return cls._of(
            rows,
            n_actions,
            gamma,
            start=validation.start_distribution(start, can_start),
            reward_std=reward_std,
            bernoulli=bernoulli,
            state_labels=state_labels,
            action_labels=action_labels,
        )

    @classmethod
    @says_what_to_write
    def from_function(
        cls,
        transitions: Transitions,
        start: object,
        *,
        gamma: float,
        actions: int | Sequence[Hashable],
        reward: RewardFunction | None = None,
        cost: RewardFunction | None = None,
        terminal: Terminal | None = None,
        max_states: int = 1_000_000,
    ) -> Self:
        """Build a model from a Python function, by exploring the states that can be reached.

        Parameters
        ----------
        transitions : callable
            ``transitions(state, action)``. States are hashable objects of your choice. It returns None (the action is
            illegal), a state, a set of equally likely states, ``{state: probability}``, or a list of
            ``(probability, state, reward, terminated)``.
        start : hashable, set or mapping
            The first state, a set of equally likely ones, or ``{state: probability}``.
        gamma : float
            Discount factor in [0, 1].
        actions : int or sequence of hashables
            A number of actions 0, 1, ..., or the actions themselves, as passed to `transitions`.
        reward : callable, optional
            ``reward(state, action, next_state)``; needed unless `transitions` lists rewards.
        cost : callable, optional
            ``cost(state, action, next_state)``: what to minimise, in place of `reward`.
        terminal : callable, optional
            ``terminal(state)``: whether entering the state ends the episode.
        max_states : int
            Give up beyond this number of states.

        Returns
        -------
        MDP
            State labels are the states (their `repr` unless they are strings), in the order in which they were
            found; `index_of` leads from a label to the index.

        Examples
        --------
        A walk on the integers that ends at 3; steps to the left of 0 are illegal. With ``cost=lambda s, a, s2: 1`` it
        is the same, and a solution shows how many steps it costs:

        >>> from rlsuite.models import MDP
        >>> def walk(position, step):
        ...     return position + step if position + step >= 0 else None
        >>> mdp = MDP.from_function(
        ...     walk, 0, actions=[-1, 1], gamma=1.0, reward=lambda s, a, s2: -1, terminal=lambda s: s == 3
        ... )
        >>> mdp.state_labels, mdp.action_labels, mdp.P[mdp.index_of("2")][1]
        (('0', '1', '2', '3'), ('-1', '1'), [(1.0, 3, -1.0, True)])
        """
        limit = whole_amount("max_states", max_states)
        if reward is not None and cost is not None:
            raise ParameterError("give reward= or cost=, not both")
        paid = reward if cost is None else opposite(cost)
        found = explore(transitions, start, actions=actions, reward=paid, terminal=terminal, max_states=limit)
        model = cls.from_explored(found, gamma, numbered=not isinstance(actions, Sequence))
        return model if cost is None else model.replace(costs=True)

    @classmethod
    def from_explored(cls, found: Explored, gamma: float, numbered: bool) -> Self:
        """Return the model of what was found by `explore`; numbered actions have no names."""
        return cls._of(
            found.rows,
            len(found.actions),
            gamma,
            start=found.start,
            state_labels=labels_of(found.states),
            action_labels=None if numbered else labels_of(found.actions),
        )

    @classmethod
    @says_what_to_write
    def from_env(cls, env: str | EnvSpec | Env, *, gamma: float | None = None, **kwargs: object) -> Self:
        """Read the model of an environment: its ``model`` if it is one of ours, else Gymnasium's ``P``.

        Wrappers are looked through, so what they change is not part of the model.

        Parameters
        ----------
        env : str, EnvSpec or gymnasium.Env
            An id, ``"module:Id"``, ``"file.py:Class"`` or an environment; see `rlsuite.environments.finding.find_env`.
        gamma : float, optional
            Discount factor in [0, 1]; by default that of the environment's own model. Gymnasium's have none.
        **kwargs
            Passed to the environment when it is made.

        Raises
        ------
        UnsuitableEnvironment
            If the environment has no transition table, or is partially observable.
        ModelError
            If its table is malformed.
        EnvironmentNotFound, ParameterError
            If there is no such environment, or it does not take the keywords.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> MDP.from_env("FrozenLake-v1", gamma=0.99, is_slippery=False)
        MDP(n_states=16, n_actions=4, n_transitions=64, gamma=0.99, kind='deterministic')
        """
        from rlsuite.environments.finding import opened

        with opened(env, **kwargs) as found:
            model, gamma = getattr(found.unwrapped, "model", None), discount_of(found, gamma)
            if isinstance(model, Constructors):
                made = model.replace(gamma=gamma)
                if not isinstance(made, cls):
                    made = cls(**{one.name: getattr(made, one.name) for one in fields(made)})
            elif hasattr(model, "update_belief"):  # a POMDP, which is made from the class that reads this table
                raise UnsuitableEnvironment(
                    f"{name_of(found)} is partially observable: read it with POMDP.from_env; its .mdp is the model of "
                    "the hidden states"
                )
            else:
                rows, n_actions, start = read_table(found)
                made = cls._of(rows, n_actions, gamma, start=start)
            return with_name(with_layout(made, _layout(found, made)), title_of(found))

    @classmethod
    @says_what_to_write
    def from_table(
        cls,
        P: object,
        *,
        gamma: float,
        start: ArrayLike | None = None,
        state_labels: Sequence[str] | None = None,
        action_labels: Sequence[str] | None = None,
    ) -> Self:
        """Build a model from a bare table in Gymnasium's convention, as `to_table` returns it.

        Parameters
        ----------
        P : mapping or sequence
            ``P[s][a]`` is a list of ``(probability, next_state, reward, terminated)`` for s in 0..S-1 and a in
            0..A-1; the list of an illegal action is empty. Lists are kept as they are.
        gamma : float
            Discount factor in [0, 1].
        start : int or array_like (S,), optional
            One state or a distribution; by default uniform over the states that have a legal action.
        state_labels, action_labels
            As in `from_rows`.

        Raises
        ------
        ModelError
            If the table is malformed; the message names the entry.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> P = {0: {0: [(0.5, 0, -1, False), (0.5, 1, 0, True)]}, 1: {0: []}}
        >>> MDP.from_table(P, gamma=1.0, start=0).legal.tolist()
        [[True], [False]]
        """
        rows, n_actions = rows_from_bare_table(P)
        return cls._of(
            rows,
            n_actions,
            gamma,
            start=start,
            state_labels=state_labels,
            action_labels=action_labels,
        )

    @classmethod
    @says_what_to_write
    def from_experience(
        cls,
        transitions: Experience,
        *,
        n_states: int,
        n_actions: int,
        gamma: float,
        prior: float = 0.0,
        successors: ArrayLike | None = None,
        start: ArrayLike | None = None,
    ) -> Self:
        """Estimate a model from experienced transitions.

        Parameters
        ----------
        transitions : array_like (n, 5), or sequence of tuples
            (state, action, reward, next state, terminated).
        n_states, n_actions : int
            S and A.
        gamma : float
            Discount factor in [0, 1].
        prior : float
            Concentration c of the Dirichlet prior: every possible successor counts as if it had been seen c times
            more. With 0 the probabilities are relative frequencies, and pairs that were never tried are illegal
            actions; with c > 0 such a pair leads anywhere possible with equal probability, for a reward of 0.
        successors : array_like (S, A, S) bool, optional
            The successors that are possible; by default all states are, so that a prior makes the model dense.
        start : int or array_like (S,), optional
            As in `from_rows`.

        Raises
        ------
        ModelError
            If a transition is malformed, or, without a prior, if a state was entered and never left.

        Examples
        --------
        >>> from rlsuite.models import MDP
        >>> seen = [(0, 0, -1.0, 0, False), (0, 0, 9.0, 1, True), (0, 0, 9.0, 1, True)]
        >>> MDP.from_experience(seen, n_states=2, n_actions=1, gamma=0.9).P[0][0]
        [(0.3333333333333333, 0, -1.0, False), (0.6666666666666666, 1, 9.0, True)]
        >>> MDP.from_experience(seen, n_states=2, n_actions=1, gamma=0.9, prior=1.0).dense()[0].tolist()
        [[[0.4, 0.6]], [[0.5, 0.5]]]
        """
        rows = rows_from_experience(
            transitions, n_states=n_states, n_actions=n_actions, prior=prior, successors=successors
        )
        return cls._of(rows, n_actions, gamma, start=start)
