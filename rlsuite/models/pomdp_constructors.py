"""The constructors of a `POMDP` except from files, as class methods that it inherits."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import whole_amount
from rlsuite.core.keywords import says_what_to_write
from rlsuite.errors import ParameterError, UnsuitableEnvironment
from rlsuite.models import validation
from rlsuite.models.aliases import FloatArray, SparseLike
from rlsuite.models.arrays import Order, Tables, is_sparse, listed_by_action, open_order, rewards_of
from rlsuite.models.functions import (
    ObservedReward,
    ObserveFunction,
    RewardFunction,
    Terminal,
    Transitions,
    explore,
    fold_function,
    labels_of,
    observed,
)
from rlsuite.models.gymnasium_table import discount_of, name_of, title_of
from rlsuite.models.mdp import MDP
from rlsuite.models.mdp_fields import with_name
from rlsuite.models.observation_model import ObservationRows, Observations
from rlsuite.models.pomdp_fields import PomdpFields

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from rlsuite.core.aliases import Env


class PomdpConstructors(PomdpFields):
    """The constructors of a `POMDP` from arrays, functions or environments."""

    @classmethod
    @says_what_to_write
    def from_arrays(
        cls,
        P: Tables,
        R: Tables | SparseLike | None = None,
        O: Observations | SparseLike | None = None,  # noqa: E741 - the field's own name
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
        observation_labels: Sequence[str] | None = None,
    ) -> Self:
        """Build a model from matrices.

        Parameters
        ----------
        R : array_like
            As in `MDP.from_arrays`; or (S, A, S, Z), with ``order="ass"`` (A, S, S, Z): the reward for going from s by
            a to s' and observing z there. It is folded into the mean reward of the transition, see the class.
        O : array_like (A, S, Z) or (S, Z), or A sparse (S, Z) matrices, or one, or ObservationRows
            Pr(z | a, s'), whatever the order of `P`; a single (S, Z) table if the action does not matter. Always
            needed.
        costs : array_like, optional
            What to minimise, in place of `R` and in the same forms: ``from_arrays(P, O=O, costs=C, gamma=0.9)``.
        observation_labels : sequence of str, optional
            Z distinct names.
        P, gamma, order, start, terminated, legal, reward_std, bernoulli, state_labels, action_labels
            As in `MDP.from_arrays`.

        Raises
        ------
        ModelError
            If the arrays do not define a decision problem; the message names the offender.

        Examples
        --------
        A door is open or shut; looking at it is wrong once in ten times, and observing it open pays a reward:

        >>> from rlsuite.models import POMDP
        >>> paid = [[[[1, 0], [1, 0]]], [[[1, 0], [1, 0]]]]
        >>> door = POMDP.from_arrays([[[1, 0]], [[0, 1]]], paid, [[0.9, 0.1], [0.1, 0.9]], gamma=0.9)
        >>> door.mdp.expected_reward().tolist()
        [[0.9], [0.1]]
        """
        if O is None:
            raise ParameterError("observations O are needed: write from_arrays(P, R, O, gamma=0.9)")
        paid, weights = _without_observation(rewards_of(R, costs))
        mdp = MDP.from_arrays(
            P,
            paid,
            gamma=gamma,
            order=order,
            start=start,
            terminated=terminated,
            legal=legal,
            reward_std=reward_std if weights is None else None,
            bernoulli=bernoulli if weights is None else None,
            state_labels=state_labels,
            action_labels=action_labels,
        )
        mdp = mdp if costs is None else mdp.replace(costs=True)
        model = cls(mdp, _for_each_action(O, mdp.n_actions), observation_labels)
        if weights is None:
            return model
        return model.replace(reward=_folded(weights, model, order), reward_std=reward_std, bernoulli=bernoulli)

    @classmethod
    @says_what_to_write
    def from_function(
        cls,
        transitions: Transitions,
        observe: ObserveFunction,
        start: object,
        *,
        gamma: float,
        actions: int | Sequence[Hashable],
        observations: Sequence[Hashable] | None = None,
        reward: RewardFunction | None = None,
        observed_reward: ObservedReward | None = None,
        terminal: Terminal | None = None,
        max_states: int = 1_000_000,
    ) -> Self:
        """Build a model from Python functions, by exploring the states that can be reached.

        Parameters
        ----------
        transitions, start, gamma, actions, reward, terminal, max_states
            As in `MDP.from_function`.
        observe : callable
            ``observe(action, next_state)``: what is seen of the new state. It returns an observation (a hashable object
            of your choice: it is seen for certain), a set of equally likely ones, or ``{observation: probability}``.
            It is asked only about states that the action leads to; in others, the first observation is made.
        observations : sequence of hashables, optional
            All observations, which numbers them; by default those that are found, in the order in which they are.
        observed_reward : callable, optional
            ``observed_reward(state, action, next_state, observation)`` instead of `reward`; it is folded into the mean
            reward of the transition, see the class.

        Returns
        -------
        POMDP
            Labels of states and observations are these objects themselves if they are strings, else their `repr`.

        Raises
        ------
        ModelError
            If a return value is malformed; the state and the action are named.
        ParameterError
            If both rewards are given.

        Examples
        --------
        A coin under one of two cups. A look shows it with probability 0.8, a guess ends the game:

        >>> from rlsuite.models import POMDP
        >>> def lift(cup, action):
        ...     return [(1.0, cup, -1.0, False)] if action == "look" else [(1.0, cup, 10.0 * (action == cup), True)]
        >>> def see(action, cup):
        ...     return {cup: 0.8, "left" if cup == "right" else "right": 0.2} if action == "look" else "nothing"
        >>> cups = POMDP.from_function(
        ...     lift, see, {"left": 0.5, "right": 0.5}, actions=["look", "left", "right"], gamma=1.0
        ... )
        >>> cups.observation_labels, cups.update_belief([0.5, 0.5], 0, observation=1).tolist()
        (('left', 'right', 'nothing'), [0.2, 0.8])
        """
        if reward is not None and observed_reward is not None:
            raise ParameterError("reward and observed_reward are both given; give one of them")
        paid = reward if observed_reward is None else fold_function(observe, observed_reward)
        limit = whole_amount("max_states", max_states)
        found = explore(transitions, start, actions=actions, reward=paid, terminal=terminal, max_states=limit)
        seen = observed(observe, found, observations)
        mdp = MDP.from_explored(found, gamma, numbered=not isinstance(actions, Sequence))
        return cls(mdp, seen.rows, labels_of(seen.observations))

    @classmethod
    @says_what_to_write
    def from_env(cls, env: str | EnvSpec | Env, *, gamma: float | None = None, **kwargs: object) -> Self:
        """Read the model of a partially observable environment of ours.

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
            If the environment has no such model. Gymnasium has no convention for one, so only an environment with
            a POMDP in ``env.unwrapped.model`` will do.
        """
        from rlsuite.environments.finding import opened

        with opened(env, **kwargs) as found:
            model: object = getattr(found.unwrapped, "model", None)
            if isinstance(model, PomdpConstructors):
                found_model = model.replace(gamma=discount_of(found, gamma))
                if not isinstance(found_model, cls):
                    found_model = cls(found_model.mdp, found_model.given_observation, found_model.observation_labels)
                return with_name(found_model, title_of(found))
            lacks = "has no POMDP (env.unwrapped.model); build one with POMDP.from_arrays"
            seen = "is fully observable: read it with MDP.from_env"
            raise UnsuitableEnvironment(f"{name_of(found)} {seen if isinstance(model, MDP) else lacks}")


def _without_observation(R: Tables | SparseLike) -> tuple[Tables | SparseLike, FloatArray | None]:
    """Return rewards for `MDP.from_arrays`, and those that depend on the observation, if `R` holds such ones."""
    if validation.is_matrix(R):
        return R, None
    listed, _ = listed_by_action("R", R)
    if is_sparse(listed) or np.asarray(listed).ndim != 4:
        return R, None
    weights = validation.floats("R", listed)
    # Zeros of the same shape, so that `MDP.from_arrays` reports a wrong shape.
    return np.broadcast_to(0.0, weights.shape[:3]), weights


def _folded(weights: FloatArray, model: PomdpFields, order: Order | None) -> FloatArray:
    """Return sum_z O[a, s', z] R(s, a, s', z) for each transition: (N,) float64."""
    mdp, rows = model.mdp, model.observation_rows
    shape = (*weights.shape[:3], model.n_observations)
    validation.shape("R", weights, shape, meaning="the last index is the observation")
    if order is None and shape[0] == shape[1] and (weights != weights.swapaxes(0, 1)).any():
        raise open_order("R", shape[0])
    state, action = np.divmod(mdp.pairs(), mdp.n_actions)
    by_state = order == "sas" if order else shape[:2] == (mdp.n_states, mdp.n_actions)
    first, second = (state, action) if by_state else (action, state)
    row = action * mdp.n_states + mdp.next_state
    lengths = np.diff(rows.indptr)[row]
    starts = np.cumsum(lengths) - lengths
    of = np.repeat(np.arange(row.size), lengths)
    entry = np.arange(of.size) - starts[of] + rows.indptr[row][of]
    paid = weights[first[of], second[of], mdp.next_state[of], rows.observation[entry]]
    mean = np.zeros(row.size)
    np.add.at(mean, of, rows.probability[entry] * paid)
    return mean


def _for_each_action(O: Observations | SparseLike, actions: int) -> Observations:  # noqa: E741 - as above
    """Return a table of each action, if one for all was given."""
    if validation.is_matrix(O):
        return [O] * actions
    if isinstance(O, ObservationRows):
        return O
    listed, _ = listed_by_action("O", O)
    if is_sparse(listed):
        return listed
    table = validation.floats("O", listed)
    return np.broadcast_to(table, (actions, *table.shape)) if table.ndim == 2 else table
