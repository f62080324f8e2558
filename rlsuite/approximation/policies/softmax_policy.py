"""The bases of the agents whose policy is a softmax of preferences, and which always have features."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.softmax_agent import CriticAgent, SoftmaxAgent
from rlsuite.agents.exploration import Exploration, Softmax
from rlsuite.agents.memory import ActiveFeatures
from rlsuite.agents.schedules import Schedule
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.core.compilation import compiled


@compiled(in_place=True)
def climb(
    weights: NDArray[np.float64], active: ActiveFeatures, row: int, action: int, pi: NDArray[np.float64], amount: float
) -> None:
    """Let theta <- theta + amount * grad ln pi(a | s) for the observation in a row."""
    for k in range(active.n_active[row]):
        index, value = active.indices[row, k], active.values[row, k]
        for other in range(pi.size):
            weights[index, other] += amount * ((other == action) - pi[other]) * value


@dataclass(eq=False, kw_only=True)
class LinearSoftmaxAgent(LinearAgent, SoftmaxAgent):
    """Base of the agents with a softmax policy that is linear in features; subclasses define `begin` and `step`.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the preferences are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha theta), at least 0; a schedule counts steps or episodes.
    initial_weight : float
        What every weight of the preferences is at first.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights of the preferences; only their differences between actions count.
    """

    actor_rate: float | Schedule = 0.01

    exploration: Exploration = field(init=False, repr=False, default_factory=Softmax)
    learning_rate: float | Schedule = field(init=False, repr=False, default=0.0)


@dataclass(eq=False, kw_only=True)
class LinearCriticAgent(LinearSoftmaxAgent, CriticAgent):
    """Base of those that learn state values beside the policy, linear in the same features.

    Parameters
    ----------
    features, gamma, actor_rate, initial_weight
        As for `LinearSoftmaxAgent`.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1]; a schedule counts steps or episodes.

    Attributes
    ----------
    value_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the values.
    """
