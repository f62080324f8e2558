"""The base of the agents whose policy is a softmax of preferences, in a table or linear in features.

pi(a | s) is proportional to exp h(s, a) (S&B2 eqs. 13.2 and 13.3), where h stands in the place of the action values.
The agents of this kind differ in how they estimate the gradient of the value of the start. All of them need the
gradient of ln pi(a | s), the *score*: with respect to h(s, b) it is 1{b = a} - pi(b | s).

The memory's ``scratch`` has the field `pi` (n_actions,), room for the probabilities of one observation. Where possible,
the functions below take the arrays that they need instead of the memory: then they are compiled once for all agents.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.exploration import NO_ACTION, Exploration, ExplorationRule, Softmax
from rlsuite.agents.memory import ABSENT, STATE, Memory, renew
from rlsuite.agents.schedules import VISITS, Rate, Schedule, as_schedule, rate_now
from rlsuite.agents.tabular import greedy
from rlsuite.agents.values import Representation, chosen
from rlsuite.core.aliases import Observation
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import row_of_id
from rlsuite.core.compilation import compiled
from rlsuite.models.aliases import AnyArray
from rlsuite.training.legality import Legality


class Critic(NamedTuple):
    """State values, in what preferences are learned in: the memory's ``learned``."""

    value: NDArray[np.float64]  # (n_states, 1), or the weights of features (n_features, 1), the book's w
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
def draw(memory: Memory, row: int, rng: np.random.Generator) -> int:
    """Draw an action for the observation in a row; its pi stays in ``scratch.pi`` until the next is drawn."""
    renew(memory, row, NO_ACTION)
    softmax_into(memory.scratch.pi, memory.q[row], memory.legality, memory.legal, row)
    return draw_from(memory.scratch.pi, rng)


@compiled(in_place=True)
def critic_step_size(memory: Memory, row: int) -> float:
    """Step size of the values now; a schedule per visits counts those of the state."""
    rate, visits = memory.learned.critic_rate, 0
    if rate.unit == VISITS:
        for action in range(memory.visits.shape[1]):
            visits += memory.visits[row, action]
    return rate_now(rate, memory.clock, visits)


@dataclass(eq=False, kw_only=True)
class SoftmaxAgent(ActionValueAgent):
    """Base of the agents with a softmax policy; subclasses define `begin` and `step`.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha theta), at least 0.
    features : FeatureMap or transformer, optional
        What the preferences are linear in; see `ActionValueAgent`. By default a table.
    values : Table, Linear or Network, optional
        The same in full: what is learned in; its `initial` is what every preference, or weight, is at first.

    Attributes
    ----------
    preference_ : ndarray of float64, shape (n_states, n_actions)
        Learned preferences; only their differences within a state count.
    """

    actor_rate: float | Schedule = 0.1

    # the softmax of the preferences explores by itself, and the step size is `actor_rate`
    exploration: Exploration = field(init=False, repr=False, default_factory=Softmax)
    learning_rate: float | Schedule = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values_.check_counts("actor_rate", as_schedule("actor_rate", self.actor_rate, 0.0, math.inf).rate)

    def representation(self) -> Representation:
        """What preferences are learned in; they are equal at first."""
        return chosen(self.values, self.features, 0.0)

    def exploration_rule(self) -> ExplorationRule:
        """None: the rule draws by its own policy."""
        return ABSENT

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """Make equal preferences."""
        rate = as_schedule("actor_rate", self.actor_rate, 0.0, math.inf).rate
        return super().init_memory(legal, legality)._replace(learning_rate=rate)

    # ------------------------------------------------------------------------------------------------ what was learned

    @property
    def preference_(self) -> NDArray[np.float64]:
        """Learned preferences, shape (n_states, n_actions); of features, those of all ids."""
        return self.q()

    @property
    def q_(self) -> NDArray[np.float64]:
        """Preferences that are linear in features; of a table they are `preference_` alone."""
        if self.values_.has_rows:
            raise AttributeError("q_")
        return self.q()

    def __getattr__(self, name: str) -> AnyArray:
        """Learned arrays by name; no action values, although the memory keeps preferences in their place."""
        if name == "q_":
            raise AttributeError(f"this {type(self).__name__} has no q_: it learns preferences, preference_")
        return super().__getattr__(name)

    def to_policy(self, q: NDArray[np.float64], action_mask: ArrayLike | None) -> NDArray[np.float64]:
        """The softmax of preferences (n, n_actions)."""
        return softmax(q, action_mask)

    def best_actions(self, state: int) -> NDArray[np.int64]:
        """The most probable actions of one state (counted from 0), in ascending order; none at an end."""
        preference, legal = self.preference_, self.legal_
        row = row_of_id(state, 0, len(preference))
        return np.flatnonzero(greedy(preference[row : row + 1], legal[row : row + 1]))

    def act(self, observation: Observation, action_mask: ArrayLike | None = None) -> int:
        """Draw an action of the policy learned so far, which is stochastic: the optimal one may have to be.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not one of the space, or not finite, or no action is legal.
        """
        preferences, legal = self.values_at(observation, action_mask)
        reached: NDArray[np.float64] = np.cumsum(softmax(preferences[None], legal[None]))
        return int((reached <= self.generator_.random() * reached[-1]).sum()) + self.first_action_


@dataclass(eq=False, kw_only=True)
class CriticAgent(SoftmaxAgent):
    """Base of the agents that learn state values beside the policy.

    Parameters
    ----------
    gamma, actor_rate, features, values
        As for `SoftmaxAgent`.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1].
    initial_value : float
        Value of every state before it is visited; with features, what every weight of the values is.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    value_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the values; only with features.
    """

    critic_rate: float | Schedule = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values_.check_counts("critic_rate", as_schedule("critic_rate", self.critic_rate, 0.0, 1.0).rate)

    def tables(self, n_states: int, n_actions: int, /) -> tuple[object, ...]:
        """Make the memory's ``learned``, with at least the fields of `Critic`."""
        rate = as_schedule("critic_rate", self.critic_rate, 0.0, 1.0).rate
        return Critic(np.full((n_states, 1), self.initial_value), rate)

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """Make equal preferences and initial values."""
        memory = super().init_memory(legal, legality)
        if self.values_.has_rows:
            memory.learned.value[~legal.any(axis=1)] = 0.0
        return memory

    @property
    def value_(self) -> NDArray[np.float64]:
        """Learned state values, shape (n_states,); of features, those of all ids."""
        return self.value()

    def value(self, observations: ArrayLike | None = None) -> NDArray[np.float64]:
        """State values, shape (n,), of observations (n, d), or of ids (n,) for a table; by default of all ids.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations are not finite, or of another width, or missing where they are not ids.
        """
        value: NDArray[np.float64] = self.memory_.learned.value
        of_states = self.memory_._replace(q=value, weights=value)
        return self.values_.q(of_states, observations, self.rows_of)[:, STATE]

    @property
    def value_weights_(self) -> NDArray[np.float64]:
        """Learned weights of the values, shape (n_features,); only with features."""
        if self.values_.has_rows:
            raise AttributeError("value_weights_")
        return self.memory_.learned.value[:, STATE]

    def __getattr__(self, name: str) -> AnyArray:
        """Learned arrays by name; `value_weights_` only with features."""
        if name == "value_weights_":
            raise AttributeError(f"this {type(self).__name__} has no {name}: it learns a table, value_")
        return super().__getattr__(name)


def softmax(preferences: NDArray[np.float64], action_mask: ArrayLike | None = None) -> NDArray[np.float64]:
    """Probabilities (n, n_actions) proportional to the exponentials of preferences (n, n_actions).

    Actions that are not legal have probability 0; where none is legal, all have.

    Examples
    --------
    >>> softmax(np.log([[1.0, 3.0]])).round(12).tolist(), softmax(np.zeros((1, 3)), [[1, 0, 1]]).tolist()
    ([[0.25, 0.75]], [[0.5, 0.0, 0.5]])
    """
    legal = np.ones(preferences.shape, dtype=np.bool_) if action_mask is None else np.atleast_2d(action_mask) != 0
    masked = np.where(legal, preferences, -np.inf)
    highest = np.maximum(masked.max(axis=1, keepdims=True), -np.finfo(np.float64).max)
    weights = np.exp(masked - highest)
    return weights / np.where(legal.any(axis=1, keepdims=True), weights.sum(axis=1, keepdims=True), 1.0)
