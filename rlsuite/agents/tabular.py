"""The base of all agents with a table of action values."""

from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.exploration import EpsilonGreedy, Exploration, ExplorationRule, choose
from rlsuite.agents.memory import Memory
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.value_agent import ValueAgent
from rlsuite.core.array_like import ArrayLike
from rlsuite.core.checks import row_of_id
from rlsuite.training.kernels import Begin
from rlsuite.training.legality import Legality


@dataclass(eq=False, kw_only=True)
class TabularAgent(ValueAgent):
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
        self.values_.check_counts("exploration", exploration)

    def tables(self, n_states: int, n_actions: int, /) -> tuple[object, ...]:
        """Make the memory's ``learned``: a NamedTuple of what a rule learns beside `q`; nothing here."""
        return ()

    def scratch(self, n_states: int, n_actions: int, /) -> tuple[object, ...]:
        """Make the memory's ``scratch``: a NamedTuple of what a rule keeps during an episode; nothing here."""
        return ()

    def exploration_rule(self) -> ExplorationRule:
        """How actions are chosen, compiled; `ABSENT` if the rule does not choose by the values."""
        return self.exploration.rule

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> Memory:
        """Make a memory of initial values, in what represents them."""
        size, n_actions = self.values_.size(len(legal)), legal.shape[1]
        return self.values_.of_actions(
            self._memory_without_values(legal, legality)._replace(
                exploration=self.exploration_rule(),
                scores=np.zeros(n_actions),
                learned=self.tables(size, n_actions),
                scratch=self.scratch(size, n_actions),
            )
        )

    def policy(self) -> NDArray[np.float64]:
        """Greedy policy learned so far, shape (n_observations, n_actions): probabilities; ties share them equally."""
        return greedy(self.memory_.q, self.memory_.legal)

    def best_actions(self, state: int) -> NDArray[np.int64]:
        """Greedy actions of one state (counted from 0), in ascending order; several if tied, none at an end."""
        q, legal = self.q_, self.legal_
        row = row_of_id(state, 0, len(q))
        return np.flatnonzero(greedy(q[row : row + 1], legal[row : row + 1]))

    @property
    def q_(self) -> NDArray[np.float64]:
        """Learned action values, shape (n_states, n_actions)."""
        return self.memory_.q

    @property
    def visits_(self) -> NDArray[np.int64]:
        """How often each pair was taken, shape (n_states, n_actions); only of a table."""
        return self._learned("visits_")


def greedy(q: NDArray[np.float64], action_mask: "ArrayLike | None") -> NDArray[np.float64]:
    """The greedy policy of action values (n, n_actions): probabilities; ties share them equally."""
    legal = np.ones(q.shape, dtype=np.bool_) if action_mask is None else np.asarray(action_mask, dtype=np.bool_)
    masked = np.where(legal, q, -np.inf)
    best = (masked == masked.max(axis=1, keepdims=True)) & legal
    return best / np.maximum(best.sum(axis=1, keepdims=True), 1)
