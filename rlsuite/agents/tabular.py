"""The base of all agents with a table of action values."""

from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.agent import Agent
from rlsuite.agents.exploration import EpsilonGreedy, Exploration, choose
from rlsuite.agents.memory import ActionValues
from rlsuite.agents.rule_parameters import in_memory
from rlsuite.agents.schedules import Schedule, as_schedule
from rlsuite.core.checks import finite_number, row_of_id
from rlsuite.training.kernels import Begin
from rlsuite.training.legality import Legality


@dataclass(eq=False, kw_only=True)
class TabularAgent(Agent):
    """Base of the agents with a table of action values; subclasses define `step`.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1].
    initial_value : float
        Value of every action before it is tried. Higher than anything that can be had, it makes even a greedy
        agent try everything (optimistic start, S&B2 section 2.6).

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    visits_ : ndarray of int64, shape (n_states, n_actions)
        How often each pair was taken.

    Examples
    --------
    Expected Sarsa (S&B2 eq. 6.9) for a uniformly random policy, in ten lines:

    >>> import rlsuite as rl
    >>> @rl.compiled
    ... def evaluate_random(memory, t, rng):
    ...     target = t.reward
    ...     if not t.terminated:
    ...         target += memory.gamma * memory.q[t.next_state].mean()
    ...     error = target - memory.q[t.state, t.action]
    ...     memory.q[t.state, t.action] += rl.step_size(memory, t.state, t.action) * error
    ...     rl.count(memory, t.state, t.action, t.terminated or t.truncated)
    ...     return rl.choose(memory, t.next_state, rng)
    >>> class RandomWalker(rl.TabularAgent):
    ...     step = evaluate_random
    >>> walker = RandomWalker(exploration=rl.EpsilonGreedy(1.0), learning_rate=0.1)
    >>> walker.learn("FrozenLake-v1", episodes=100, seed=1).q_.shape
    (16, 4)
    """

    begin: ClassVar[Begin] = choose  # (memory, state, rng): by the exploration

    exploration: Exploration = field(default_factory=lambda: EpsilonGreedy(0.1))
    learning_rate: float | Schedule = 0.1
    initial_value: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        exploration = cast(object, self.exploration)  # annotations are not checked at run time
        if not isinstance(exploration, Exploration):
            raise errors.ParameterError(
                f"exploration={exploration!r} must be an exploration such as EpsilonGreedy(0.1) or Softmax(1.0)"
            )
        as_schedule("learning_rate", self.learning_rate, 0.0, 1.0)
        self.initial_value = finite_number("initial_value", self.initial_value)

    def tables(self, n_states: int, n_actions: int, /) -> tuple[object, ...]:
        """Make the memory's ``learned``: a NamedTuple of what a rule learns beside `q`; nothing here."""
        return ()

    def scratch(self, n_states: int, n_actions: int, /) -> tuple[object, ...]:
        """Make the memory's ``scratch``: a NamedTuple of what a rule keeps during an episode; nothing here."""
        return ()

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> ActionValues:
        """Make a table of initial values."""
        n_states, n_actions = legal.shape
        return ActionValues(
            q=np.full(legal.shape, self.initial_value),
            visits=np.zeros(legal.shape, dtype=np.int64),
            legal=legal,
            legality=legality,
            clock=np.zeros(2, dtype=np.int64),
            gamma=self.gamma,
            learning_rate=as_schedule("learning_rate", self.learning_rate, 0.0, 1.0).rate,
            exploration=self.exploration.rule,
            scores=np.zeros(n_actions),
            learned=self.tables(n_states, n_actions),
            scratch=self.scratch(n_states, n_actions),
            parameters=in_memory(self),
        )

    def policy(self) -> NDArray[np.float64]:
        """Greedy policy learned so far, shape (n_observations, n_actions): probabilities; ties share them equally."""
        known: ActionValues = self.memory_
        masked = np.where(known.legal, known.q, -np.inf)
        best = (masked == masked.max(axis=1, keepdims=True)) & known.legal
        return best / np.maximum(best.sum(axis=1, keepdims=True), 1)

    def best_actions(self, state: int) -> NDArray[np.int64]:
        """Greedy actions of one state (counted from 0), in ascending order; several if tied, none at an end."""
        known: ActionValues = self.memory_
        row = row_of_id(state, 0, len(known.legal))
        legal = np.flatnonzero(known.legal[row])
        values = known.q[row, legal]
        return legal[values == values.max(initial=-np.inf)]

    @property
    def q_(self) -> NDArray[np.float64]:
        """Learned action values, shape (n_states, n_actions)."""
        return self.memory_.q

    @property
    def visits_(self) -> NDArray[np.int64]:
        """How often each pair was taken, shape (n_states, n_actions)."""
        return self.memory_.visits
