"""Policies as users give them, one action per state or probabilities, checked once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.errors import ParameterError
from rlsuite.models.aliases import FloatArray, IndexArray
from rlsuite.models.validation import ROW_SUM_TOLERANCE

if TYPE_CHECKING:
    from rlsuite.models.mdp import MDP


def policy_weights(mdp: MDP, policy: ArrayLike) -> FloatArray:
    """Return `policy` as probabilities (S, A), 0 at states without legal actions, after checking it.

    Raises
    ------
    ParameterError
        If `policy` has another shape, is not a distribution in some state, or takes an illegal action; the message
        names the state.
    """
    given = np.asarray(policy)
    acting = np.flatnonzero(mdp.legal.any(axis=1))
    if given.shape == (mdp.n_states,) and given.dtype.kind in "iu":
        actions = given[acting]
        outside = (actions < 0) | (actions >= mdp.n_actions)
        if outside.any():
            state = int(acting[np.argmax(outside)])
            raise ParameterError(
                f"policy[{state}] is {given[state]}, which is no action; the actions are 0..{mdp.n_actions - 1}"
            )
        weights = np.zeros((mdp.n_states, mdp.n_actions))
        weights[acting, actions] = 1.0
    elif given.shape == (mdp.n_states, mdp.n_actions) and given.dtype.kind in "biuf":
        weights = np.zeros((mdp.n_states, mdp.n_actions))
        weights[acting] = given[acting]
        _check_distributions(weights, acting)
    else:
        raise ParameterError(
            f"policy has shape {given.shape} and dtype {given.dtype}; allowed are ({mdp.n_states},) integers, one "
            f"action per state, and ({mdp.n_states}, {mdp.n_actions}) probabilities"
        )
    wrong = (weights > 0.0) & ~mdp.legal
    if wrong.any():
        state, action = (int(i) for i in np.argwhere(wrong)[0])
        legal = np.flatnonzero(mdp.legal[state]).tolist()
        raise ParameterError(f"the policy takes action {action} in state {state}, where only {legal} are legal")
    return weights


def _check_distributions(weights: FloatArray, acting: IndexArray) -> None:
    rows = weights[acting]
    bad = ~((rows >= 0.0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1.0) <= ROW_SUM_TOLERANCE))
    if bad.any():
        state = int(acting[np.argmax(bad)])
        raise ParameterError(f"policy[{state}] is {weights[state].tolist()}, which is not a probability distribution")
