"""Speedy Q-learning: value iteration with averaged noise (Azar, Munos, Ghavamzadeh & Kappen 2011).

Q-learning with step sizes 1 / k corrects its first, wrong, values very slowly. Speedy Q-learning takes two backups from
each sample, one of the present table and one of the table before, and adds the *difference* of the two at nearly full
size: k Q_k is then a sum of noise plus (k - 1) T Q_k-1, so that Q_k follows value iteration while its noise is averaged
away like 1 / k.

The two tables stand for whole rounds. In the asynchronous form, for experience that comes as it comes, a round is over
when every pair has been visited again; until then all samples of a pair in this round are averaged. Here a pair counts
from its first visit on, so that pairs that cannot be reached do not delay the rounds.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION, choose, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.training.kernels import Step, Transition


class Rounds(NamedTuple):
    """The state of the rounds; the memory's ``q`` is Q_k+1, the table being computed."""

    present: NDArray[np.float64]  # (n_states, n_actions), Q_k
    before: NDArray[np.float64]  # (n_states, n_actions), Q_k-1
    backup_of_present: NDArray[np.float64]  # (n_states, n_actions), T_k Q_k: mean over the samples of this round
    backup_of_before: NDArray[np.float64]  # (n_states, n_actions), T_k Q_k-1
    samples: Count  # (n_states, n_actions), in this round
    rounds: Count  # (n_states, n_actions), k: finished rounds in which the pair has learned
    pairs: Count  # (2,), [visited ever, visited in this round]


EVER, NOW = range(2)


@compiled(in_place=True)
def _best(memory: Memory, table: NDArray[np.float64], state: int) -> float:
    """max_a table(state, a) over the legal actions; 0 where there is none."""
    best = -np.inf
    for action in range(table.shape[1]):
        if table[state, action] > best and is_legal(memory, state, action):
            best = table[state, action]
    return best if best > -np.inf else 0.0


@compiled(in_place=True)
def _finish_round(memory: Memory) -> None:
    """Q_k-1 <- Q_k, Q_k <- Q_k+1, and no pair has been visited."""
    known = memory.learned
    for state in range(memory.q.shape[0]):
        for action in range(memory.q.shape[1]):
            known.before[state, action] = known.present[state, action]
            known.present[state, action] = memory.q[state, action]
            if known.samples[state, action] > 0:
                known.rounds[state, action] += 1
                known.samples[state, action] = 0
    known.pairs[NOW] = 0


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q_k+1(x, a) <- Q_k + alpha_k [T Q_k-1 - Q_k] + (1 - alpha_k) [T Q_k - T Q_k-1], alpha_k = 1 / (k + 1)."""
    known = memory.learned
    first = known.samples[t.state, t.action] == 0
    if first:
        known.pairs[NOW] += 1
        known.pairs[EVER] += memory.visits[t.state, t.action] == 0
        known.backup_of_present[t.state, t.action] = 0.0
        known.backup_of_before[t.state, t.action] = 0.0
    known.samples[t.state, t.action] += 1
    share = 1.0 / known.samples[t.state, t.action]
    of_present = t.reward if t.terminated else t.reward + memory.gamma * _best(memory, known.present, t.next_state)
    of_before = t.reward if t.terminated else t.reward + memory.gamma * _best(memory, known.before, t.next_state)
    known.backup_of_present[t.state, t.action] += share * (of_present - known.backup_of_present[t.state, t.action])
    known.backup_of_before[t.state, t.action] += share * (of_before - known.backup_of_before[t.state, t.action])

    alpha = 1.0 / (known.rounds[t.state, t.action] + 1.0)
    lag = known.backup_of_before[t.state, t.action] - known.present[t.state, t.action]
    fresh = known.backup_of_present[t.state, t.action] - known.backup_of_before[t.state, t.action]
    memory.q[t.state, t.action] = known.present[t.state, t.action] + alpha * lag + (1.0 - alpha) * fresh
    if known.pairs[NOW] == known.pairs[EVER]:
        _finish_round(memory)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class SpeedyQLearning(TabularAgent):
    """Speedy Q-learning, asynchronous (Azar, Munos, Ghavamzadeh & Kappen 2011).

    Converges to Q* with probability 1 if every pair is visited infinitely often. After T rounds the error is of order
    1 / ((1 - gamma)^2 sqrt(T)), against an exponential dependence on 1 / (1 - gamma) of `QLearning` with step sizes
    1 / k (ibid., Theorem 1). A round takes as long as the rarest pair: explore well.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning.
    initial_value : float
        Value of every action before it is tried.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    rounds_ : ndarray of int64, shape (n_states, n_actions)
        How many rounds each value has learned from.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.SpeedyQLearning(gamma=0.9, exploration=rl.RandomActions())
    >>> agent = agent.learn("rlsuite/GridGoal-v0", steps=100_000, seed=7)
    >>> bool(abs(agent.q_.max(axis=1) - [81, 90, 100, 90, 100, 0]).max() < 0.1)
    True
    """

    step: ClassVar[Step] = _step

    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)

    def tables(self, n_states: int, n_actions: int) -> Rounds:
        """Make the tables of two rounds."""
        shape = (n_states, n_actions)
        present, before = (np.full(shape, self.initial_value) for _ in range(2))
        of_present, of_before = (np.zeros(shape) for _ in range(2))
        samples, rounds = (np.zeros(shape, dtype=np.int64) for _ in range(2))
        return Rounds(present, before, of_present, of_before, samples, rounds, np.zeros(2, dtype=np.int64))
