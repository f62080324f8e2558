"""Monte Carlo control: the value of a pair is the mean of the returns that followed it (S&B2 sections 5.3 and 5.4).

Nothing is learned before an episode is over. On truncation the return bootstraps from the table, as in `Sarsa`.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from rlsuite.agents.episode_buffer import (
    EPISODE_TOO_LONG,
    LONGEST,
    EpisodeBuffer,
    append_step,
    clear,
    has_capacity,
    new_episode_buffer,
)
from rlsuite.agents.exploration import NO_ACTION, EpsilonGreedy, Exploration, choose, uniform
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import Inverse, Schedule, rate_now
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.training.kernels import Begin, Step, Transition


class Returns(NamedTuple):
    """The number of returns that have been averaged."""

    returns: Count  # (n_states, n_actions), number of returns that each value is the mean of


class Episode(NamedTuple):
    """The present episode; the buffer's extra number is 1 for the first visit of a pair, and 0 for all others."""

    buffer: EpisodeBuffer
    number: Count  # (1,), the number of this episode
    seen: Count  # (n_states, n_actions), number of the latest episode with this pair


@compiled(in_place=True)
def _clear(memory: Memory) -> None:
    clear(memory.scratch.buffer)
    memory.scratch.number[0] += 1


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Discard the last episode, and choose as in all other steps."""
    _clear(memory)
    return choose(memory, state, rng)


@compiled(in_place=True)
def _begin_anywhere(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Forget the last episode, and take any action: an exploring start."""
    _clear(memory)
    return uniform(memory, state, rng)


@compiled(in_place=True)
def _learn(memory: Memory, future: float) -> None:
    """Q(S_t, A_t) <- Q(S_t, A_t) + alpha [G_t - Q(S_t, A_t)] at first visits; G_t = R_t+1 + gamma G_t+1."""
    buffer = memory.scratch.buffer
    returns = memory.learned.returns
    target = future
    for t in range(buffer.length[0] - 1, -1, -1):
        target = buffer.reward[t] + memory.gamma * target
        if buffer.extra[t] == 1.0:
            state, action = buffer.state[t], buffer.action[t]
            alpha = rate_now(memory.learning_rate, memory.clock, returns[state, action])
            memory.q[state, action] += alpha * (target - memory.q[state, action])
            returns[state, action] += 1


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Remember the step; when the episode is over, learn from all of it."""
    buffer, number, seen = memory.scratch
    if not has_capacity(buffer):
        return EPISODE_TOO_LONG
    first_visit = seen[t.state, t.action] != number[0]
    seen[t.state, t.action] = number[0]
    append_step(buffer, t.state, t.action, t.reward, 1.0 if first_visit else 0.0)
    next_action = NO_ACTION if t.terminated else choose(memory, t.next_state, rng)
    if t.terminated or t.truncated:
        _learn(memory, 0.0 if t.terminated else memory.q[t.next_state, next_action])
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class MonteCarloControl(TabularAgent):
    """On-policy first-visit Monte Carlo control (S&B2 section 5.4, for any exploration).

    A value is the mean of the returns that followed the first visit of its pair in each episode; every-visit means
    equal those of `NStepSarsa` with an n that no episode reaches. Improves the policy, in expectation, to the best of
    those that explore as much (S&B2 p. 102). A policy that goes round in circles ends no episode, and learns nothing:
    such an environment needs a time limit.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule per visits counts the returns that the value has learned from. By default the
        value is their mean; a constant discounts returns of old policies (S&B2 eq. 6.1).
    exploration : Exploration
        How actions are chosen.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    returns_ : ndarray of int64, shape (n_states, n_actions)
        How many returns each value has learned from.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.MonteCarloControl(gamma=1.0, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("rlsuite/Blackjack-v0", episodes=20_000, seed=7)
    >>> bool(abs(agent.episodes_["return"].mean() + 0.1) < 0.05)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    learning_rate: float | Schedule = field(default_factory=lambda: Inverse(1.0, per="visits"))
    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def tables(self, n_states: int, n_actions: int) -> Returns:
        """Make the counts of returns."""
        return Returns(np.zeros((n_states, n_actions), dtype=np.int64))

    def scratch(self, n_states: int, n_actions: int) -> Episode:
        """Make an empty buffer."""
        seen = np.zeros((n_states, n_actions), dtype=np.int64)
        return Episode(new_episode_buffer(self.longest_episode), np.zeros(1, dtype=np.int64), seen)


@dataclass(eq=False, kw_only=True)
class MonteCarloExploringStarts(MonteCarloControl):
    """Monte Carlo control that explores in the first step only (Monte Carlo ES, S&B2 p. 99).

    The first action of each episode is any legal one, all others are greedy. It finds the optimal policy where
    episodes may begin in every state; a pair that no greedy policy visits is otherwise never tried. A greedy policy
    may never end an episode: then the environment needs a time limit.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1], as for `MonteCarloControl`.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    returns_ : ndarray of int64, shape (n_states, n_actions)
        How many returns each value has learned from.

    Examples
    --------
    >>> import rlsuite as rl
    >>> successors, rewards = [[1, 2], [2, 1], [None, None]], [[0, 1], [3, 0], [0, 0]]
    >>> model = rl.MDP.from_successors(successors, rewards, gamma=0.9, start=[0.5, 0.5, 0.0])
    >>> agent = rl.MonteCarloExploringStarts(gamma=0.9).learn(model.to_env(), episodes=200, seed=7)
    >>> agent.q_.max(axis=1).round(6).tolist()
    [2.7, 3.0, 0.0]
    """

    begin: ClassVar[Begin] = _begin_anywhere

    exploration: Exploration = field(init=False, repr=False, default_factory=lambda: EpsilonGreedy(0.0))
