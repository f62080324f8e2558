"""Double learning: one table chooses the best action, the other estimates its value (van Hasselt 2010).

The largest of several noisy estimates is too large on average, so Q-learning is biased upwards. Two tables that learn
from different samples have independent errors: the second table's estimate of the action that the first one prefers
is not biased upwards.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.expected_sarsa import Probabilities
from rlsuite.agents.exploration import NO_ACTION, action_probabilities, argmax, choose
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import rate_now
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.training.kernels import Step, Transition


class TwoTables(NamedTuple):
    """Two estimates of the same values; the memory's ``q`` is their mean, by which actions are chosen."""

    tables: NDArray[np.float64]  # (2, n_states, n_actions)
    updates: Count  # (2, n_states, n_actions), how often each entry has learned


@compiled(in_place=True)
def _value_in(memory: Memory, state: int, action: int, table: float) -> float:
    """Q_i(state, action): the score by which one table chooses."""
    return memory.learned.tables[int(table), state, action]


@compiled(in_place=True)
def _learn(memory: Memory, table: int, state: int, action: int, target: float) -> None:
    """Q_i(x, a) <- Q_i(x, a) + alpha [target - Q_i(x, a)], and the mean of both tables after it."""
    tables, updates = memory.learned.tables, memory.learned.updates
    alpha = rate_now(memory.learning_rate, memory.clock, updates[table, state, action])
    tables[table, state, action] += alpha * (target - tables[table, state, action])
    updates[table, state, action] += 1
    memory.q[state, action] = 0.5 * (tables[0, state, action] + tables[1, state, action])


@compiled(in_place=True)
def _double_q_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q_i(x, a) <- Q_i(x, a) + alpha [r + gamma Q_j(x', argmax_a' Q_i(x', a')) - Q_i(x, a)]; a coin chooses i and j."""
    table = int(2.0 * rng.random())
    target = t.reward
    if not t.terminated:
        best = argmax(_value_in, memory, t.next_state, float(table), rng)
        target += memory.gamma * memory.learned.tables[1 - table, t.next_state, best]
    _learn(memory, table, t.state, t.action, target)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@compiled(in_place=True)
def _double_expected_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q_i(x, a) <- Q_i(x, a) + alpha [r + gamma sum_a' pi(a' | x') Q_j(x', a') - Q_i(x, a)]; a coin chooses i and j."""
    table = int(2.0 * rng.random())
    target = t.reward
    if not t.terminated:
        policy = memory.scratch.probabilities
        action_probabilities(memory, t.next_state, policy)
        for next_action in range(policy.size):
            target += memory.gamma * policy[next_action] * memory.learned.tables[1 - table, t.next_state, next_action]
    _learn(memory, table, t.state, t.action, target)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class DoubleQLearning(TabularAgent):
    """Double Q-learning: Q-learning without maximization bias (S&B2 section 6.7).

    Converges to Q* like `QLearning`, and under the same conditions (van Hasselt 2010, Theorem 1). Its estimates of a
    maximum err to the low side rather than to the high one.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule per visits counts the updates of the pair in the table that learns.
    exploration : Exploration
        How actions are chosen while learning, by the mean of both tables.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Mean of both tables.
    tables_ : ndarray of float64, shape (2, n_states, n_actions)
        Both tables.
    updates_ : ndarray of int64, shape (2, n_states, n_actions)
        How often each entry has learned.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.DoubleQLearning(gamma=1.0, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("rlsuite/MaximizationBias-v0", episodes=300, seed=7)
    >>> agent.tables_.shape
    (2, 3, 10)
    """

    step: ClassVar[Step] = _double_q_step

    def tables(self, n_states: int, n_actions: int) -> TwoTables:
        """Make both tables."""
        shape = (2, n_states, n_actions)
        return TwoTables(np.full(shape, self.initial_value), np.zeros(shape, dtype=np.int64))


@dataclass(eq=False, kw_only=True)
class DoubleExpectedSarsa(DoubleQLearning):
    """Double Expected Sarsa: each table learns the value of the followed policy in the other (S&B2 Exercise 6.13).

    The policy applies the exploration to the mean of both tables. Where it is greedy, this is double Q-learning
    with the best action of both tables instead of that of one.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule per visits counts the updates of the pair in the table that learns.
    exploration : Exploration
        The policy that is followed and evaluated, on the mean of both tables.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Mean of both tables.
    tables_ : ndarray of float64, shape (2, n_states, n_actions)
        Both tables.
    updates_ : ndarray of int64, shape (2, n_states, n_actions)
        How often each entry has learned.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.DoubleExpectedSarsa(gamma=1.0, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CliffWalking-v1", episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -30)
    True
    """

    step: ClassVar[Step] = _double_expected_step

    def scratch(self, n_states: int, n_actions: int) -> Probabilities:
        """Make a buffer for the probabilities of one state."""
        return Probabilities(np.zeros(n_actions))
