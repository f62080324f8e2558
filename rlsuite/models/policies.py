"""Policies as users give them, one action per state or probabilities, checked once."""

import numpy as np

from rlsuite.core.array_like import ArrayLike
from rlsuite.errors import ParameterError
from rlsuite.models.aliases import BoolArray, FloatArray, IndexArray
from rlsuite.models.validation import ROW_SUM_TOLERANCE


def policy_weights(legal: BoolArray, policy: ArrayLike) -> FloatArray:
    """Return `policy` as probabilities (S, A), 0 at states without legal actions, after checking it.

    `legal` (S, A) are the actions that exist.

    Raises
    ------
    ParameterError
        If `policy` has another shape, is not a distribution in some state, or takes an illegal action; the message
        names the state.
    """
    given = np.asarray(policy)
    n_states, n_actions = legal.shape
    acting = np.flatnonzero(legal.any(axis=1))
    if given.shape == (n_states,) and given.dtype.kind in "iu":
        actions = given[acting]
        outside = (actions < 0) | (actions >= n_actions)
        if outside.any():
            state = int(acting[np.argmax(outside)])
            raise ParameterError(
                f"policy[{state}] is {given[state]}, which is not an action; the actions are 0..{n_actions - 1}"
            )
        weights = np.zeros((n_states, n_actions))
        weights[acting, actions] = 1.0
    elif given.shape == (n_states, n_actions) and given.dtype.kind in "biuf":
        weights = np.zeros((n_states, n_actions))
        weights[acting] = given[acting]
        _check_distributions(weights, acting)
    else:
        raise ParameterError(
            f"policy has shape {given.shape} and dtype {given.dtype}; allowed are ({n_states},) integers, one "
            f"action per state, and ({n_states}, {n_actions}) probabilities"
        )
    wrong = (weights > 0.0) & ~legal
    if wrong.any():
        state, action = (int(i) for i in np.argwhere(wrong)[0])
        allowed = np.flatnonzero(legal[state]).tolist()
        raise ParameterError(
            f"the policy takes action {action} in state {state}, where only the actions {allowed} are legal"
        )
    return weights


def check_policy_form(name: str, policy: object) -> None:
    """Raise unless `policy` has a form that fits some model: one action per state, or a table of probabilities.

    Whether it suits a model is for `policy_weights` to say.

    Raises
    ------
    ParameterError
        If `policy` is neither, or an entry is negative, infinite or not a number.
    """
    allowed = "allowed are (n_states,) integers, one action per state, and (n_states, n_actions) probabilities"
    try:
        given = np.asarray(policy)
    except ValueError as error:
        raise ParameterError(f"{name} is not an array: {error}; {allowed}") from error
    if given.dtype.kind not in ("iu" if given.ndim == 1 else "biuf") or given.ndim not in (1, 2):
        raise ParameterError(f"{name} has shape {given.shape} and dtype {given.dtype}; {allowed}")
    if given.ndim == 2 and not ((given >= 0.0) & (given <= 1.0 + ROW_SUM_TOLERANCE)).all():
        raise ParameterError(f"{name} has an entry outside [0, 1], which is not a probability")


def _check_distributions(weights: FloatArray, acting: IndexArray) -> None:
    rows = weights[acting]
    bad = ~((rows >= 0.0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1.0) <= ROW_SUM_TOLERANCE))
    if bad.any():
        state = int(acting[np.argmax(bad)])
        raise ParameterError(f"policy[{state}] is {weights[state].tolist()}, which is not a probability distribution")
