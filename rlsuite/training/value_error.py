"""How far learned state values are from the exact ones: what is measured of an agent that evaluates a policy.

The root mean squared error over the states. Of a table each state in which the followed policy acts counts once, as in
S&B2 Figs. 6.2, 7.2, 12.3 and 12.6. With features it is the root of the value error VE, in which a state counts as often
as the followed policy is there (eq. 9.1, with the on-policy distribution of eqs. 9.2 and 9.3).
"""

import math
from typing import NamedTuple

import numpy as np

from rlsuite import errors
from rlsuite.core.arithmetic import weighted_sum
from rlsuite.environments.facts import NO_LIMIT
from rlsuite.models import MDP
from rlsuite.models.aliases import FloatArray


class Prediction(NamedTuple):
    """What an agent that learns state values has learned, and of which policy."""

    value: FloatArray
    """Learned values of all states, (S,); empty where observations are not ids."""
    followed: FloatArray
    """The policy that is followed, (S, n_actions)."""
    evaluated: FloatArray
    """The policy whose values are learned, (S, n_actions) or (1, n_actions); the same unless it learns off-policy."""
    by_visits: bool
    """Whether a state counts as often as it is visited."""


class ValueErrors:
    """Measures predictions of one policy in one model.

    Parameters
    ----------
    mdp : MDP
        The model, at the agent's discount.
    time_limit : int
        Of the environment, in steps; `NO_LIMIT` without one.
    prediction : Prediction
        The first; its policies are those of all.

    Raises
    ------
    RlsuiteError
        If the policies have no exact values: they do not fit the model, or at gamma 1 their episodes need not end.
    """

    def __init__(self, mdp: MDP, time_limit: int, prediction: Prediction):
        from rlsuite.planning import evaluate_policy
        from rlsuite.planning.visits import expected_visits, surely_ends

        acts = mdp.legal.any(axis=1)
        evaluated = np.broadcast_to(prediction.evaluated, mdp.legal.shape) * mdp.legal
        self.exact = evaluate_policy(mdp, evaluated / np.maximum(evaluated.sum(axis=1, keepdims=True), 1e-300))
        if surely_ends(mdp, prediction.followed):
            visits = expected_visits(mdp, prediction.followed, gamma=1.0)
        elif time_limit != NO_LIMIT:
            visits = expected_visits(mdp, prediction.followed, gamma=1.0, horizon=time_limit)
        else:
            visits = expected_visits(mdp, prediction.followed, gamma=mdp.gamma)
        counted = visits * acts
        weight = counted if prediction.by_visits else (counted > 0.0).astype(np.float64)
        self.weight = weight / weight.sum()

    def of(self, value: FloatArray) -> float:
        """The error of learned values (S,)."""
        return math.sqrt(weighted_sum(self.weight, (value - self.exact) ** 2))


def value_errors(mdp: object, time_limit: int, prediction: Prediction) -> ValueErrors | None:
    """Prepare to measure predictions; None if the exact values are unknown."""
    if not isinstance(mdp, MDP) or prediction.value.shape != (mdp.n_states,):
        return None
    try:
        return ValueErrors(mdp, time_limit, prediction)
    except errors.RlsuiteError:
        return None
