"""Boltzmann exploration: a softmax of the values, always or in exploring steps only."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.exploration.choosing import (
    NO_ACTION,
    ChoiceMemory,
    Exploration,
    ExplorationRule,
    greedy,
    is_legal,
    lean_to_best,
)
from rlsuite.agents.schedules import UNUSED, Schedule, as_positive_schedule, as_schedule
from rlsuite.core.compilation import compiled


@compiled(in_place=True)
def _weights_beyond_range(memory: ChoiceMemory, state: int, sharpness: float, out: NDArray[np.float64]) -> float:
    """Weights where sharpness * Q overflows: the largest Q is subtracted first, then the difference is scaled."""
    best = -np.inf if sharpness > 0.0 else np.inf
    for action in range(out.size):
        if is_legal(memory, state, action):
            q = memory.q[state, action]
            best = max(best, q) if sharpness > 0.0 else min(best, q)
    total = 0.0
    for action in range(out.size):
        out[action] = 0.0
        if is_legal(memory, state, action):
            q = memory.q[state, action]
            out[action] = 1.0 if q == best else math.exp(sharpness * (q - best))
            total += out[action]
    return total


@compiled(in_place=True)
def boltzmann_weights(memory: ChoiceMemory, state: int, sharpness: float, out: NDArray[np.float64]) -> float:
    """Fill in exp(sharpness * Q(state, a)), divided by the largest so that none overflows; return their sum."""
    top = -np.inf
    for action in range(out.size):
        if is_legal(memory, state, action):
            top = max(top, sharpness * memory.q[state, action])
    if not np.isfinite(top):
        return _weights_beyond_range(memory, state, sharpness, out)
    total = 0.0
    for action in range(out.size):
        out[action] = 0.0
        if is_legal(memory, state, action):
            out[action] = math.exp(sharpness * memory.q[state, action] - top)
            total += out[action]
    return total


@compiled(in_place=True)
def draw_by_weight(
    memory: ChoiceMemory, state: int, weights: NDArray[np.float64], total: float, rng: np.random.Generator
) -> int:
    """Draw a legal action, each as probable as its share of the total; -1 where none is legal."""
    remaining = rng.random() * total
    choice = NO_ACTION
    for action in range(weights.size):
        if is_legal(memory, state, action):
            choice = action
            remaining -= weights[action]
            if remaining < 0.0:
                break
    return choice


@compiled(in_place=True)
def _boltzmann(memory: ChoiceMemory, state: int, sharpness: float, rng: np.random.Generator) -> int:
    """Pr(a) proportional to exp(sharpness * Q(state, a))."""
    total = boltzmann_weights(memory, state, sharpness, memory.scores)
    return draw_by_weight(memory, state, memory.scores, total, rng)


@compiled(in_place=True)
def _boltzmann_probabilities(memory: ChoiceMemory, state: int, sharpness: float, out: NDArray[np.float64]) -> None:
    total = boltzmann_weights(memory, state, sharpness, out)
    for action in range(out.size):
        out[action] /= total


@compiled(in_place=True)
def _softmax_of_temperature(
    memory: ChoiceMemory, state: int, temperature: float, unused: float, rng: np.random.Generator
) -> int:
    return _boltzmann(memory, state, 1.0 / temperature, rng)


@compiled(in_place=True)
def _probabilities_of_temperature(
    memory: ChoiceMemory, state: int, temperature: float, unused: float, out: NDArray[np.float64]
) -> None:
    _boltzmann_probabilities(memory, state, 1.0 / temperature, out)


@compiled(in_place=True)
def _softmax_of_base(memory: ChoiceMemory, state: int, base: float, unused: float, rng: np.random.Generator) -> int:
    return _boltzmann(memory, state, math.log(base), rng)


@compiled(in_place=True)
def _probabilities_of_base(
    memory: ChoiceMemory, state: int, base: float, unused: float, out: NDArray[np.float64]
) -> None:
    _boltzmann_probabilities(memory, state, math.log(base), out)


@compiled(in_place=True)
def _max_boltzmann(
    memory: ChoiceMemory, state: int, epsilon: float, temperature: float, rng: np.random.Generator
) -> int:
    if rng.random() < epsilon:
        return _boltzmann(memory, state, 1.0 / temperature, rng)
    return greedy(memory, state, rng)


@compiled(in_place=True)
def _max_boltzmann_probabilities(
    memory: ChoiceMemory, state: int, epsilon: float, temperature: float, out: NDArray[np.float64]
) -> None:
    _boltzmann_probabilities(memory, state, 1.0 / temperature, out)
    lean_to_best(memory, state, 1.0 - epsilon, out)


@dataclass(frozen=True)
class Softmax(Exploration):
    """Boltzmann exploration: Pr(a) proportional to exp(Q(s, a) / temperature) (S&B2 eq. 13.2 with h = Q / temperature).

    The lecture notes write k**Q(s, a) instead; ``base=k`` accepts that, and is ``temperature = 1 / ln k``. The base
    has to grow for the choice to become greedy; 1 is uniform, and below 1 the *worst* actions are preferred.

    Parameters
    ----------
    temperature : float or Schedule, optional
        In units of Q, greater than 0. Give either this or ``base``; the default is a temperature of 1.
    base : float or Schedule, optional
        The notes' k, greater than 0.

    Raises
    ------
    ParameterError
        If both are given, or one is not a number or schedule greater than 0.

    Examples
    --------
    >>> Softmax(base=2.0)
    Softmax(temperature=None, base=2.0)
    """

    temperature: float | Schedule | None = None
    base: float | Schedule | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None and self.base is not None:
            raise errors.ParameterError("Softmax takes temperature= or base=, not both (temperature = 1 / ln base)")
        _ = self.rule

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as an agent's memory stores it."""
        if self.base is not None:
            base = as_positive_schedule("base", self.base)
            return ExplorationRule(_softmax_of_base, _probabilities_of_base, base.rate, UNUSED)
        temperature = 1.0 if self.temperature is None else self.temperature
        rate = as_positive_schedule("temperature", temperature).rate
        return ExplorationRule(_softmax_of_temperature, _probabilities_of_temperature, rate, UNUSED)


@dataclass(frozen=True)
class MaxBoltzmann(Exploration):
    """A softmax draw with probability epsilon, a greedy action otherwise (Wiering 1999).

    Explores as seldom as epsilon-greedy, and as sensibly as softmax: clearly inferior actions are rarely tried.

    Parameters
    ----------
    epsilon : float or Schedule
        Probability of a draw, in [0, 1].
    temperature : float or Schedule
        Temperature of the draw, in units of Q, greater than 0.

    Raises
    ------
    ParameterError
        If a parameter is not a number or schedule within its range.

    Examples
    --------
    >>> MaxBoltzmann(0.2, temperature=5.0)
    MaxBoltzmann(epsilon=0.2, temperature=5.0)
    """

    epsilon: float | Schedule = 0.1
    temperature: float | Schedule = 1.0

    def __post_init__(self) -> None:
        _ = self.rule

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as an agent's memory stores it."""
        epsilon = as_schedule("epsilon", self.epsilon, 0.0, 1.0)
        temperature = as_positive_schedule("temperature", self.temperature)
        return ExplorationRule(_max_boltzmann, _max_boltzmann_probabilities, epsilon.rate, temperature.rate)
