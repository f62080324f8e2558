"""Epsilon-greedy exploration, and uniformly random actions.

In plain NumPy: `rlsuite.reference.learning.epsilon_greedy`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration.choosing import (
    ChoiceMemory,
    Exploration,
    ExplorationRule,
    greedy,
    is_legal,
    lean_to_best,
    uniform,
)
from rlsuite.agents.schedules import UNUSED, Schedule, as_schedule
from rlsuite.core.compilation import compiled


@compiled(in_place=True)
def _epsilon_greedy(memory: ChoiceMemory, state: int, epsilon: float, unused: float, rng: np.random.Generator) -> int:
    if rng.random() < epsilon:
        return uniform(memory, state, rng)
    return greedy(memory, state, rng)


@compiled(in_place=True)
def _epsilon_greedy_probabilities(
    memory: ChoiceMemory, state: int, epsilon: float, unused: float, out: NDArray[np.float64]
) -> None:
    n_legal = 0
    for action in range(out.size):
        n_legal += is_legal(memory, state, action)
    for action in range(out.size):
        out[action] = 1.0 / n_legal if is_legal(memory, state, action) else 0.0
    lean_to_best(memory, state, 1.0 - epsilon, out)


@dataclass(frozen=True)
class EpsilonGreedy(Exploration):
    """A uniformly random legal action with probability epsilon, a greedy one otherwise (S&B2 section 2.2).

    The random draw includes the greedy actions, so a single greedy action is taken with probability
    1 - epsilon + epsilon / n_legal.

    Parameters
    ----------
    epsilon : float or Schedule
        Probability of a random action, in [0, 1].

    Raises
    ------
    ParameterError
        If epsilon is not a number or schedule within [0, 1].

    Examples
    --------
    >>> from rlsuite.agents.schedules import Linear
    >>> EpsilonGreedy(Linear(1.0, 0.05, over=10_000))
    EpsilonGreedy(epsilon=Linear(start=1.0, end=0.05, over=10000, per='steps'))
    """

    epsilon: float | Schedule = 0.1

    def __post_init__(self) -> None:
        as_schedule("epsilon", self.epsilon, 0.0, 1.0)

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as an agent's memory stores it."""
        epsilon = as_schedule("epsilon", self.epsilon, 0.0, 1.0)
        return ExplorationRule(_epsilon_greedy, _epsilon_greedy_probabilities, epsilon.rate, UNUSED)


@dataclass(frozen=True)
class RandomActions(Exploration):
    """A uniformly random legal action, always.

    Examples
    --------
    >>> RandomActions()
    RandomActions()
    """

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as an agent's memory stores it."""
        return EpsilonGreedy(1.0).rule
