"""Bootstrapped Q-learning: an ensemble of tables, each of which learns from a part of the steps (Osband et al. 2016).

This is bagging for exploration: where tables disagree, little is known. One of them is followed for a whole episode, so
what is uncertain is tried in a consistent way, many steps deep.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import not_negative
from rlsuite.agents.exploration import (
    NO_ACTION,
    EpsilonGreedy,
    Exploration,
    argmax,
    is_legal,
)
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import rate_now
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import fraction, whole_amount
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.training.kernels import Begin, Step, Transition


class Ensemble(NamedTuple):
    """Several estimates of the same values; the memory's ``q`` is their mean."""

    tables: NDArray[np.float64]  # (n_tables, n_states, n_actions)
    updates: Count  # (n_tables, n_states, n_actions), how often each entry has learned
    active: Count  # (1,) the table that is followed


class Bootstrap(NamedTuple):
    """How tables begin, and how often they learn."""

    initial_value: float
    prior_std: float
    share: float


@compiled(in_place=True)
def _value_in(memory: Memory, state: int, action: int, table: float) -> float:
    """Q_k(state, action): the score by which one table chooses."""
    return memory.learned.tables[int(table), state, action]


@compiled(in_place=True)
def _best_value_in(memory: Memory, table: int, state: int) -> float:
    """max_a Q_k(state, a) over the legal actions."""
    best = -np.inf
    for action in range(memory.legal.shape[1]):
        if memory.learned.tables[table, state, action] > best and is_legal(memory, state, action):
            best = memory.learned.tables[table, state, action]
    return best if best > -np.inf else 0.0


@compiled(in_place=True)
def _set_mean(memory: Memory, state: int, action: int) -> None:
    """Q(x, a) is the mean of all tables."""
    tables = memory.learned.tables
    total = 0.0
    for table in range(tables.shape[0]):
        total += tables[table, state, action]
    memory.q[state, action] = total / tables.shape[0]


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Choose the table of this episode; before the first one, draw the initial values of all."""
    tables = memory.learned.tables
    if memory.clock[0] == 0:
        for table in range(tables.shape[0]):
            for row in range(tables.shape[1]):
                for action in range(tables.shape[2]):
                    tables[table, row, action] = rng.normal(memory.scratch.initial_value, memory.scratch.prior_std)
        for row in range(tables.shape[1]):
            for action in range(tables.shape[2]):
                _set_mean(memory, row, action)
    memory.learned.active[0] = int(tables.shape[0] * rng.random())
    return argmax(_value_in, memory, state, float(memory.learned.active[0]), rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q_k(x, a) <- Q_k(x, a) + alpha [r + gamma max_a' Q_k(x', a') - Q_k(x, a)] for each k whose coin says so."""
    tables, updates = memory.learned.tables, memory.learned.updates
    for table in range(tables.shape[0]):
        if rng.random() < memory.scratch.share:
            target = t.reward
            if not t.terminated:
                target += memory.gamma * _best_value_in(memory, table, t.next_state)
            alpha = rate_now(memory.learning_rate, memory.clock, updates[table, t.state, t.action])
            tables[table, t.state, t.action] += alpha * (target - tables[table, t.state, t.action])
            updates[table, t.state, t.action] += 1
    _set_mean(memory, t.state, t.action)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    if t.terminated or t.truncated:
        return NO_ACTION
    return argmax(_value_in, memory, t.next_state, float(memory.learned.active[0]), rng)


@dataclass(eq=False, kw_only=True)
class BootstrappedQLearning(TabularAgent):
    """Q-learning with an ensemble of tables, one of which is followed in each episode (after Osband et al. 2016).

    Each table begins with random values of its own, and learns from each step with probability `share`. An action that
    one table overrates is tried when this table is followed, until enough of them know better: exploration ends where
    they agree. The policy of `act` and of evaluations is greedy in the mean of all tables.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule per visits counts the updates of the pair in the table that learns.
    initial_value : float
        Mean of the initial values.
    n_tables : int
        Size of the ensemble, at least 1.
    share : float
        Probability with which a table learns from a step, in [0, 1]; with 1 they differ in how they began.
    prior_std : float
        Standard deviation of the initial values, in units of Q, at least 0. It should be of the size of the returns.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Mean of all tables.
    tables_ : ndarray of float64, shape (n_tables, n_states, n_actions)
        All tables; ``tables_.std(axis=0)`` says how uncertain each value is.
    updates_ : ndarray of int64, shape (n_tables, n_states, n_actions)
        How often each entry has learned.
    active_ : ndarray of int64, shape (1,)
        The table that is followed.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.BootstrappedQLearning(gamma=0.9, learning_rate=0.5)
    >>> agent = agent.learn("rlsuite/GridGoal-v0", episodes=500, seed=7)
    >>> agent.tables_[:, 0].max(axis=1).round()  # all agree on what the start is worth
    array([81., 81., 81., 81., 81., 81., 81., 81., 81., 81.])
    """

    n_tables: int = 10
    share: float = 0.5
    prior_std: float = 1.0
    exploration: Exploration = field(init=False, repr=False, default_factory=lambda: EpsilonGreedy(0.0))
    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n_tables = whole_amount("n_tables", self.n_tables)
        self.share, self.prior_std = fraction("share", self.share), not_negative("prior_std", self.prior_std)

    def check_memory(self, memory: Memory) -> None:
        """Raise ValueError unless the table that is followed exists."""
        if memory.learned.active[0] >= self.n_tables:
            raise ValueError(f"active is {memory.learned.active[0]}, needed below n_tables = {self.n_tables}")

    def tables(self, n_states: int, n_actions: int) -> Ensemble:
        """Make all tables."""
        shape = (self.n_tables, n_states, n_actions)
        return Ensemble(
            np.full(shape, self.initial_value), np.zeros(shape, dtype=np.int64), np.zeros(1, dtype=np.int64)
        )

    def scratch(self, n_states: int, n_actions: int) -> Bootstrap:
        """Store the numbers that the rule reads."""
        return Bootstrap(self.initial_value, self.prior_std, self.share)
