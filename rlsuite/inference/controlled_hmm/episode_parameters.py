"""The parameters of a POMDP as dense arrays, in which they are learned."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np

from rlsuite.checks import fits_in_memory
from rlsuite.inference import dirichlet
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import FloatArray


class Parameters(NamedTuple):
    """The parameters that are learned."""

    start: FloatArray
    """(S,)"""
    transition: FloatArray
    """(A, 2, S, S): Pr[s', whether the episode ends | s, a] at [a, ended, s, s']"""
    observation: FloatArray
    """(A, S, Z)"""
    reward: FloatArray
    """(S, A): mean reward of each pair"""


class Prior(NamedTuple):
    """Pseudo-counts, in the shapes of the parameters; the transitions as (A, S, 2 S)."""

    start: FloatArray
    transition: FloatArray
    observation: FloatArray


def parameters_of(model: POMDP) -> Parameters:
    """Return the parameters of a model as dense arrays.

    Raises
    ------
    ParameterError
        If they need more memory than there is.
    """
    states, actions = model.n_states, model.n_actions
    fits_in_memory(f"dense transitions of {states} states", 8 * 6 * actions * states * states)
    mdp = model.mdp
    transition = np.zeros((actions, 2, states, states))
    pair = mdp.pairs()
    place = (pair % actions, mdp.terminated.astype(np.int64), pair // actions, mdp.next_state)
    np.add.at(transition, place, mdp.probability)
    return Parameters(mdp.start, transition, model.observation, mdp.expected_reward())


def random_parameters(model: Parameters, frozen: AbstractSet[str], rng: np.random.Generator) -> Parameters:
    """Return random probabilities where those of `model` are positive."""
    actions, _, states, _ = model.transition.shape
    found = model
    if "start" not in frozen:
        found = found._replace(start=_random_rows(model.start, rng))
    if "transition" not in frozen:
        rows = _random_rows(by_row(model.transition), rng)
        found = found._replace(transition=by_matrix(rows, actions, states))
    if "observation" not in frozen:
        found = found._replace(observation=_random_rows(model.observation, rng))
    return found


def model_of(found: Parameters, like: POMDP, keep_rewards: bool) -> POMDP:
    """Return the model that has these parameters; the rest is that of `like`, and its rewards, too, if `keep_rewards`.

    Rewards that depend on the next state then stay with it, so that their mean follows the transitions.
    """
    mdp = like.mdp
    actions, _, states, _ = found.transition.shape
    rows = found.transition.transpose(2, 0, 1, 3).reshape(states * actions, 2 * states)
    pair, outcome = np.nonzero(rows)
    reward = found.reward.reshape(-1)[pair]
    if keep_rewards and not mdp.reward_per_pair:
        paid, weight = np.zeros(rows.shape), np.zeros(rows.shape)
        place = (mdp.pairs(), mdp.terminated * states + mdp.next_state)
        np.add.at(paid, place, mdp.probability * mdp.reward)
        np.add.at(weight, place, mdp.probability)
        known = weight[pair, outcome] > 0.0
        reward[known] = paid[pair, outcome][known] / weight[pair, outcome][known]
    indptr = np.zeros(states * actions + 1, dtype=np.int64)
    np.cumsum(np.bincount(pair, minlength=states * actions), out=indptr[1:])
    learned = MDP.from_rows(
        indptr,
        outcome % states,
        rows[pair, outcome],
        reward,
        n_actions=actions,
        gamma=mdp.gamma,
        terminated=outcome >= states,
        start=found.start,
        reward_std=mdp.reward_std if keep_rewards else None,
        bernoulli=mdp.bernoulli if keep_rewards else None,
        state_labels=mdp.state_labels,
        action_labels=mdp.action_labels,
    )
    return POMDP(learned, found.observation, like.observation_labels)


def pseudo_counts(model: Parameters, prior: dirichlet.PseudoCounts) -> Prior:
    """Return one number, or nothing, as pseudo-counts of every possible outcome."""
    return Prior(
        dirichlet.pseudo_counts("prior", prior, model.start),
        dirichlet.pseudo_counts("prior", prior, by_row(model.transition)),
        dirichlet.pseudo_counts("prior", prior, model.observation),
    )


def by_row(transition: FloatArray) -> FloatArray:
    """Return transitions as (A, S, 2 S): one row of outcomes for each action and state."""
    actions, _, states, _ = transition.shape
    return transition.transpose(0, 2, 1, 3).reshape(actions, states, 2 * states)


def by_matrix(rows: FloatArray, actions: int, states: int) -> FloatArray:
    """Undo `by_row`: (A, 2, S, S)."""
    return np.ascontiguousarray(rows.reshape(actions, states, 2, states).transpose(0, 2, 1, 3))


def _random_rows(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    drawn = rng.exponential(size=rows.shape) * (rows > 0.0)
    total = drawn.sum(axis=-1, keepdims=True)
    return drawn / np.where(total > 0.0, total, 1.0)
