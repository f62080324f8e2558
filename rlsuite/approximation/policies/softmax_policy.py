"""The base of the agents whose policy is a softmax of preferences that are linear in features.

pi(a | s) is proportional to exp h(s, a), where h(s, a) = sum_i theta[i, a] x_i(s) (S&B2 eqs. 13.2 and 13.3). The agents
of this kind differ in how they estimate the gradient of the value of the start. All of them need the gradient of ln
pi(a | s), the *score*: with respect to theta[i, b] it is (1{b = a} - pi(b | s)) x_i(s).

Their memory is that of the linear agents, with theta in the place of the weights and h in the place of the action
values. Its ``scratch`` has the field `pi` (n_actions,), room for the probabilities of one observation.

Where possible, the functions below take the arrays that they need instead of the memory: then they are compiled once
for all agents.
"""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.agents.exploration import NO_ACTION, Exploration, Softmax
from rlsuite.agents.memory import ActiveFeatures, Memory
from rlsuite.agents.schedules import Rate, Schedule, as_schedule
from rlsuite.agents.values.features import evaluate, evaluate_rows
from rlsuite.agents.values.linear import check_unit
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.core.checks import legal_actions
from rlsuite.core.compilation import compiled
from rlsuite.training.evaluation import Policy
from rlsuite.training.legality import Legality


class Critic(NamedTuple):
    """Values that are linear in the same features, v(s) = sum_i w_i x_i(s): the memory's ``learned``."""

    value_weights: NDArray[np.float64]  # (n_features,), the book's w
    critic_rate: Rate


@compiled(in_place=True)
def softmax_into(
    out: NDArray[np.float64],
    preferences: NDArray[np.float64],
    legality: Legality,
    legal: NDArray[np.bool_],
    row: int,
) -> None:
    """Fill in pi(a) = exp h(a) / sum_b exp h(b) over the actions that are legal in a row; 0 for the others."""
    top = -np.inf
    for action in range(out.size):
        if legality(legal, row, action):
            top = max(top, preferences[action])
    total = 0.0
    for action in range(out.size):
        out[action] = 0.0
        if legality(legal, row, action):
            out[action] = math.exp(preferences[action] - top)
            total += out[action]
    for action in range(out.size):
        out[action] /= total


@compiled(in_place=True)
def draw_from(pi: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Draw an action, each with its probability."""
    remaining = rng.random()
    choice = NO_ACTION
    for action in range(pi.size):
        if pi[action] > 0.0:
            choice = action
            remaining -= pi[action]
            if remaining < 0.0:
                break
    return choice


@compiled(in_place=True)
def act_in(memory: Memory, row: int, rng: np.random.Generator) -> int:
    """Draw an action for the observation in a row; its pi stays in ``scratch.pi`` until the next is drawn."""
    evaluate(memory, row)
    softmax_into(memory.scratch.pi, memory.q[row], memory.legality, memory.legal, row)
    return draw_from(memory.scratch.pi, rng)


@compiled(in_place=True)
def value_in(active: ActiveFeatures, weights: NDArray[np.float64], row: int) -> float:
    """sum_i w_i x_i(s) for the observation in a row."""
    value = 0.0
    for k in range(active.n_active[row]):
        value += weights[active.indices[row, k]] * active.values[row, k]
    return value


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
class SoftmaxPolicyAgent(LinearAgent):
    """Base of the agents with a softmax policy; subclasses define `step`.

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

    # the softmax of the preferences explores by itself, and the step size is `actor_rate`
    exploration: Exploration = field(init=False, repr=False, default_factory=Softmax)
    learning_rate: float | Schedule = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate("actor_rate", self.actor_rate, math.inf)

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """Make equal preferences."""
        rate = as_schedule("actor_rate", self.actor_rate, 0.0, math.inf).rate
        return super().init_memory(legal, legality)._replace(learning_rate=rate)

    # ------------------------------------------------------------------------------------------------ what was learned

    def policy(
        self, observations: ArrayLike | None = None, action_mask: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The policy learned so far, the softmax of the preferences: probabilities.

        Parameters
        ----------
        observations : array_like (n, d), optional
            By default all ids of a Discrete space, counted from 0.
        action_mask : array_like (n, n_actions), optional
            1 for the actions that are legal. By default all, and of ids those that the model of the environment knows.

        Returns
        -------
        ndarray of float64, shape (n, n_actions)
        """
        if observations is None:
            if not self.legal_.size:
                raise errors.ParameterError(
                    "policy() needs observations=, an array (n, d): the observations of this environment are not ids"
                )
            observations = np.arange(float(len(self.legal_)))[:, None]
            action_mask = self.legal_ if action_mask is None else action_mask
        q = self.q(observations)
        return softmax(
            q, None if action_mask is None else legal_actions("action_mask", action_mask, q.shape[1], len(q))
        )

    def frozen_policy(self) -> Policy:
        """The policy learned so far, as a function of one vector and a mask, by a copy of the weights."""
        known: Memory = self.memory_
        weights, capacity = known.weights.copy(), self.features_.most_active_
        indices, values = np.zeros(capacity, dtype=np.int64), np.zeros(capacity)

        def policy(vector: NDArray[np.float64], action_mask: Any) -> NDArray[np.float64]:
            preferences = np.zeros((1, weights.shape[1]))
            evaluate_rows(known.features, weights, vector[None], indices, values, preferences)
            return softmax(preferences, None if action_mask is None else [action_mask])[0]

        return policy

    def act(self, observation: object, action_mask: ArrayLike | None = None) -> int:
        """Draw an action of the policy learned so far, which is stochastic: the optimal one may have to be.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not one of the space, or not finite, or no action is legal.
        """
        vector = self.linear_.encoding.numbers_of(observation)
        preferences = self.q(vector[None])
        if action_mask is None and self.legal_.size:
            action_mask = self.legal_[int(vector[0])]
        mask = np.ones(preferences.shape[1]) if action_mask is None else action_mask
        probabilities = softmax(preferences, legal_actions("action_mask", mask, preferences.shape[1])[None])[0]
        if not probabilities.any():
            raise errors.ParameterError(f"no action is legal at observation {observation!r}")
        reached: NDArray[np.float64] = np.cumsum(probabilities)
        return int((reached <= self.generator_.random() * reached[-1]).sum()) + self.first_action_


@dataclass(eq=False, kw_only=True)
class CriticAgent(SoftmaxPolicyAgent):
    """Base of the agents that learn state values beside the policy.

    Parameters
    ----------
    features, gamma, actor_rate, initial_weight
        As for `SoftmaxPolicyAgent`.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1]; a schedule counts steps or episodes.

    Attributes
    ----------
    value_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the values.
    """

    critic_rate: float | Schedule = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rate("critic_rate", self.critic_rate, 1.0)

    def tables(self, n_features: int, n_actions: int) -> tuple[object, ...]:
        """Make the memory's ``learned``, with at least the fields of `Critic`."""
        return Critic(np.zeros(n_features), as_schedule("critic_rate", self.critic_rate, 0.0, 1.0).rate)

    def value(self, observations: ArrayLike) -> NDArray[np.float64]:
        """Learned state values, shape (n,), of observations (n, d).

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width.
        """
        weights = self.memory_.learned.value_weights[:, None]
        return self.linear_.linear_in(weights, self.memory_, observations)[:, 0]


def check_rate(name: str, rate: object, largest: float) -> None:
    """Raise ParameterError unless a step size is a number or a schedule in [0, largest] that does not count visits."""
    check_unit(name, as_schedule(name, rate, 0.0, largest).rate)


def softmax(preferences: NDArray[np.float64], action_mask: ArrayLike | None = None) -> NDArray[np.float64]:
    """Probabilities (n, n_actions) proportional to the exponentials of preferences (n, n_actions).

    Actions that are not legal have probability 0; where none is legal, all have.

    Examples
    --------
    >>> softmax(np.log([[1.0, 3.0]])).round(12).tolist(), softmax(np.zeros((1, 3)), [[1, 0, 1]]).tolist()
    ([[0.25, 0.75]], [[0.5, 0.0, 0.5]])
    """
    legal = np.ones(preferences.shape, dtype=np.bool_) if action_mask is None else np.asarray(action_mask) != 0
    masked = np.where(legal, preferences, -np.inf)
    highest = np.maximum(masked.max(axis=1, keepdims=True), -np.finfo(np.float64).max)
    weights = np.exp(masked - highest)
    return weights / np.where(legal.any(axis=1, keepdims=True), weights.sum(axis=1, keepdims=True), 1.0)
