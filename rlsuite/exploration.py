"""How an agent chooses among the actions whose values it has learned.

An exploration (`EpsilonGreedy`, `Softmax`) is a description; its compiled form in the agent's memory is a function
``select(memory, state, parameter, rng) -> action`` and the `Rate` that gives its parameter. The functions `choose`,
`greedy` and `max_value` are what a learning rule needs, ours or a user's; they work on any memory with the fields

======== ========================= ==========================================
q        (n_states, n_actions)     action values, float64
visits   (n_states, n_actions)     how often each pair was taken, int64
legal    (n_states, n_actions)     the actions that exist, bool
legality function                  ``(legal, state, action) -> bool``: how to look it up
clock    (2,)                      [steps, episodes] learned from, int64
======== ========================= ==========================================

Ties are broken at random, always, and illegal actions are never chosen.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.compilation import Compiled, compiled
from rlsuite.schedules import VISITS, Rate, Schedule, as_positive_schedule, as_schedule, rate_now

Legality = Compiled[[NDArray[np.bool_], int, int], bool]
Select = Compiled[[Any, int, float, np.random.Generator], int]
NO_ACTION = -1


class ExplorationRule(NamedTuple):
    """An exploration in compiled form."""

    select: Select
    parameter: Rate


@compiled(in_place=True)
def every_action(legal: NDArray[np.bool_], state: int, action: int) -> bool:
    """Legality where all actions exist everywhere: the question disappears from the compiled loop."""
    return True


@compiled(in_place=True)
def listed_actions(legal: NDArray[np.bool_], state: int, action: int) -> bool:
    """Legality where some actions do not exist."""
    return legal[state, action]


@compiled(in_place=True)
def is_legal(memory: Any, state: int, action: int) -> bool:
    """Whether an action exists in a state."""
    return memory.legality(memory.legal, state, action)


@compiled(in_place=True)
def max_value(memory: Any, state: int) -> float:
    """max_a Q(state, a) over the legal actions; 0 where there is none, as at an end."""
    best = -np.inf
    for action in range(memory.q.shape[1]):
        if memory.q[state, action] > best and is_legal(memory, state, action):
            best = memory.q[state, action]
    return best if best > -np.inf else 0.0


@compiled(in_place=True)
def greedy(memory: Any, state: int, rng: np.random.Generator) -> int:
    """argmax_a Q(state, a) over the legal actions, ties broken at random; -1 where no action is legal."""
    best = -np.inf
    choice = NO_ACTION
    ties = 0
    for action in range(memory.q.shape[1]):
        if is_legal(memory, state, action):
            value = memory.q[state, action]
            if value > best:
                best = value
                choice = action
                ties = 1
            elif value == best:
                ties += 1
    if ties > 1:
        chosen = int(rng.random() * ties)
        for action in range(choice, memory.q.shape[1]):
            if memory.q[state, action] == best and is_legal(memory, state, action):
                if chosen == 0:
                    return action
                chosen -= 1
    return choice


@compiled(in_place=True)
def uniform(memory: Any, state: int, rng: np.random.Generator) -> int:
    """Any legal action, each equally likely; -1 where no action is legal."""
    n_legal = 0
    for action in range(memory.q.shape[1]):
        n_legal += is_legal(memory, state, action)
    chosen = int(rng.random() * n_legal)
    for action in range(memory.q.shape[1]):
        if is_legal(memory, state, action):
            if chosen == 0:
                return action
            chosen -= 1
    return NO_ACTION


@compiled(in_place=True)
def choose(memory: Any, state: int, rng: np.random.Generator) -> int:
    """Choose an action by the memory's exploration; its schedule is evaluated at the present time."""
    parameter = memory.exploration.parameter
    visits = 0
    if parameter.unit == VISITS:
        for action in range(memory.visits.shape[1]):
            visits += memory.visits[state, action]
    return memory.exploration.select(memory, state, rate_now(parameter, memory.clock, visits), rng)


@compiled(in_place=True)
def _epsilon_greedy(memory: Any, state: int, epsilon: float, rng: np.random.Generator) -> int:
    if rng.random() < epsilon:
        return uniform(memory, state, rng)
    return greedy(memory, state, rng)


@compiled(in_place=True)
def _boltzmann(memory: Any, state: int, sharpness: float, rng: np.random.Generator) -> int:
    """Pr(a) proportional to exp(sharpness * Q(state, a)); the largest exponent is subtracted so that none overflows."""
    top = -np.inf
    for action in range(memory.q.shape[1]):
        if is_legal(memory, state, action):
            top = max(top, sharpness * memory.q[state, action])
    total = 0.0
    for action in range(memory.q.shape[1]):
        if is_legal(memory, state, action):
            total += math.exp(sharpness * memory.q[state, action] - top)
    remaining = rng.random() * total
    choice = NO_ACTION
    for action in range(memory.q.shape[1]):
        if is_legal(memory, state, action):
            choice = action
            remaining -= math.exp(sharpness * memory.q[state, action] - top)
            if remaining < 0.0:
                break
    return choice


@compiled(in_place=True)
def _softmax_of_temperature(memory: Any, state: int, temperature: float, rng: np.random.Generator) -> int:
    return _boltzmann(memory, state, 1.0 / temperature, rng)


@compiled(in_place=True)
def _softmax_of_base(memory: Any, state: int, base: float, rng: np.random.Generator) -> int:
    return _boltzmann(memory, state, math.log(base), rng)


class Exploration:
    """Base of all explorations: a description that compiles to an `ExplorationRule`."""

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as it stands in an agent's memory."""
        raise NotImplementedError


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
    >>> from rlsuite.schedules import Linear
    >>> EpsilonGreedy(Linear(1.0, 0.05, over=10_000))
    EpsilonGreedy(epsilon=Linear(start=1.0, end=0.05, over=10000, per='steps'))
    """

    epsilon: float | Schedule = 0.1

    def __post_init__(self) -> None:
        as_schedule("epsilon", self.epsilon, 0.0, 1.0)

    @property
    def rule(self) -> ExplorationRule:
        """The compiled form, as it stands in an agent's memory."""
        return ExplorationRule(_epsilon_greedy, as_schedule("epsilon", self.epsilon, 0.0, 1.0).rate)


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
        """The compiled form, as it stands in an agent's memory."""
        if self.base is not None:
            return ExplorationRule(_softmax_of_base, as_positive_schedule("base", self.base).rate)
        temperature = 1.0 if self.temperature is None else self.temperature
        return ExplorationRule(_softmax_of_temperature, as_positive_schedule("temperature", temperature).rate)
