"""The base of the bandits: statistics for each state by itself, and a rule that chooses arms by them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import EpsilonGreedy, Exploration, ExplorationRule, action_probabilities, is_legal
from rlsuite.agents.memory import Memory
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import finite_number
from rlsuite.core.compilation import compiled
from rlsuite.errors import ParameterError
from rlsuite.training.legality import Legality


def not_negative(name: str, value: object) -> float:
    """Return `value` as a finite float of at least 0.

    Raises
    ------
    ParameterError
        If `value` is not a finite number, or below 0.
    """
    number = finite_number(name, value)
    if number < 0.0:
        raise ParameterError(f"{name}={number:g} is less than 0")
    return number


def positive(name: str, value: object, least: float = 0.0) -> float:
    """Return `value` as a finite float above 0, and not below the least one.

    Raises
    ------
    ParameterError
        If `value` is not a finite number, not above 0, or less than `least`.
    """
    number = finite_number(name, value)
    if not number > 0.0:
        raise ParameterError(f"{name}={number:g} is not above 0")
    if number < least:
        raise ParameterError(f"{name}={number:g} is less than {least:g}")
    return number


@compiled(in_place=True)
def pulls(memory: Memory, state: int) -> int:
    """t: how often the arms of a state were pulled."""
    total = 0
    for arm in range(memory.visits.shape[1]):
        total += memory.visits[state, arm]
    return total


@compiled(in_place=True)
def n_arms(memory: Memory, state: int) -> int:
    """K: how many arms a state has."""
    total = 0
    for arm in range(memory.legal.shape[1]):
        total += is_legal(memory, state, arm)
    return total


@compiled(in_place=True)
def no_closed_form(memory: Memory, state: int, first: float, second: float, out: NDArray[np.float64]) -> None:
    """The probabilities of a choice that is drawn, not computed: unknown."""
    for arm in range(out.size):
        out[arm] = np.nan


def choice_probabilities(memory: Memory) -> NDArray[np.float64]:
    """How probable each arm is to be pulled next, in every state: (n_states, n_actions), 0 at ends."""
    shares = np.zeros(memory.q.shape)
    for state in np.flatnonzero(memory.legal.any(axis=1)):
        action_probabilities(memory, int(state), shares[state])
    return shares


@dataclass(eq=False, kw_only=True)
class Bandit(TabularAgent):
    """Base of the bandits that choose by a rule of their own; subclasses define `step` and `rule`.

    Parameters
    ----------
    gamma : float
        Not used by bandits, which look no further than one reward; the discount of evaluations.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Estimated mean reward of each arm.
    visits_ : ndarray of int64, shape (n_states, n_arms)
        How often each arm was pulled.
    """

    gamma: float = 0.0
    # Not used: the memory gets `rule` instead.
    exploration: Exploration = field(init=False, repr=False, default_factory=lambda: EpsilonGreedy(0.0))
    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    initial_value: float = field(init=False, repr=False, default=0.0)

    def rule(self) -> ExplorationRule:
        """How arms are chosen, in compiled form."""
        raise NotImplementedError

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """Make a table of initial values, with the rule of this class."""
        return super().init_memory(legal, legality)._replace(exploration=self.rule())
