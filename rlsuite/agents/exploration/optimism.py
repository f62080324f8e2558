"""Optimism in the face of uncertainty: a bonus for actions that have rarely been tried."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration.choosing import (
    ChoiceMemory,
    Exploration,
    ExplorationRule,
    argmax,
    is_legal,
    spread_over_best,
)
from rlsuite.agents.schedules import UNUSED, Schedule, as_schedule
from rlsuite.core.compilation import compiled

MOST = 1e300
"""Weights are finite: any number below this."""


@compiled(in_place=True)
def _upper_confidence(memory: ChoiceMemory, state: int, action: int, width: float) -> float:
    """Q(s, a) + c sqrt(ln N(s) / N(s, a)); `width` is c sqrt(ln N(s)). Infinite for what was never tried."""
    tried = memory.visits[state, action]
    score = memory.q[state, action] + width / math.sqrt(tried)  # also if tried is 0: no branch is needed
    return score if tried > 0 else np.inf


@compiled(in_place=True)
def _width(memory: ChoiceMemory, state: int, weight: float) -> float:
    """Return c sqrt(ln N(s)), with N(s) the visits of the state."""
    visits = 0
    for action in range(memory.visits.shape[1]):
        if is_legal(memory, state, action):
            visits += memory.visits[state, action]
    return weight * math.sqrt(math.log(max(visits, 1)))


@compiled(in_place=True)
def _upper_confidence_choice(
    memory: ChoiceMemory, state: int, weight: float, unused: float, rng: np.random.Generator
) -> int:
    return argmax(_upper_confidence, memory, state, _width(memory, state, weight), rng)


@compiled(in_place=True)
def _upper_confidence_probabilities(
    memory: ChoiceMemory, state: int, weight: float, unused: float, out: NDArray[np.float64]
) -> None:
    spread_over_best(_upper_confidence, memory, state, _width(memory, state, weight), out)


@compiled(in_place=True)
def _with_bonus(memory: ChoiceMemory, state: int, action: int, weight: float) -> float:
    """Q(s, a) + beta / sqrt(1 + N(s, a))."""
    return memory.q[state, action] + weight / math.sqrt(1.0 + memory.visits[state, action])


@compiled(in_place=True)
def _bonus_choice(memory: ChoiceMemory, state: int, weight: float, unused: float, rng: np.random.Generator) -> int:
    return argmax(_with_bonus, memory, state, weight, rng)


@compiled(in_place=True)
def _bonus_probabilities(
    memory: ChoiceMemory, state: int, weight: float, unused: float, out: NDArray[np.float64]
) -> None:
    spread_over_best(_with_bonus, memory, state, weight, out)


@dataclass(frozen=True)
class UpperConfidence(Exploration):
    """The action with the largest Q(s, a) + c sqrt(ln N(s) / N(s, a)) (S&B2 eq. 2.10, for each state on its own).

    N counts how often the state was left, and by which action; every action is tried once before any is compared.

    Parameters
    ----------
    c : float or Schedule
        Weight of the uncertainty, in units of Q, at least 0.

    Raises
    ------
    ParameterError
        If c is not a finite number or schedule of at least 0.

    Examples
    --------
    >>> UpperConfidence(2.0)
    UpperConfidence(c=2.0)
    """

    c: float | Schedule = 2.0

    def __post_init__(self) -> None:
        _ = self.rule

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as an agent's memory stores it."""
        weight = as_schedule("c", self.c, 0.0, MOST)
        return ExplorationRule(_upper_confidence_choice, _upper_confidence_probabilities, weight.rate, UNUSED)


@dataclass(frozen=True)
class CountBonus(Exploration):
    """The action with the largest Q(s, a) + beta / sqrt(1 + N(s, a)) (after Strehl & Littman 2008).

    The bonus counts at the choice only and is not learned, so that Q stays what the rule makes of the rewards.

    Parameters
    ----------
    beta : float or Schedule
        Bonus of an action that was never taken, in units of Q, at least 0.

    Raises
    ------
    ParameterError
        If beta is not a finite number or schedule of at least 0.

    Examples
    --------
    >>> CountBonus(10.0)
    CountBonus(beta=10.0)
    """

    beta: float | Schedule = 1.0

    def __post_init__(self) -> None:
        _ = self.rule

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as an agent's memory stores it."""
        weight = as_schedule("beta", self.beta, 0.0, MOST)
        return ExplorationRule(_bonus_choice, _bonus_probabilities, weight.rate, UNUSED)
