"""Monte Carlo prediction: the value of a state is the mean of the returns that followed it (S&B2 section 5.1).

The returns are computed backwards when an episode is over, and learned from in the order of time, so that with a
constant step size the latest counts most.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from rlsuite.agents.episode_buffer import (
    EPISODE_TOO_LONG,
    LONGEST,
    EpisodeBuffer,
    append_step,
    has_capacity,
    new_episode_buffer,
)
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import (
    STATE,
    Memory,
    count,
    end_step,
    learn_recorded,
    learn_return,
    locate,
    locate_next,
    next_action,
    record,
    value,
)
from rlsuite.agents.prediction.returns import Episode, Returns, begin_buffer, fill_returns, go_on
from rlsuite.agents.predictor import Predictor
from rlsuite.agents.schedules import Inverse, Schedule
from rlsuite.agents.state_value_agent import StateValueAgent
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.training.kernels import Begin, Step, Transition


class EpisodeOfFirsts(NamedTuple):
    """What is kept during an episode."""

    buffer: EpisodeBuffer
    first: Count  # (n_states,), time of the first visit to each state of a finished episode


@compiled(in_place=True)
def _every_visit(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """When the episode is over, V(s_t) <- V(s_t) + alpha [G_t - V(s_t)] for each of its steps t."""
    buffer = memory.scratch.buffer
    s, now, over = locate(memory, t.state), buffer.length[0], t.terminated or t.truncated
    record(memory, t.state, now)
    buffer.reward[now] = t.reward
    buffer.length[0] = now + 1
    if over:
        future = 0.0 if t.terminated else value(memory, locate_next(memory, t.next_state), STATE)
        fill_returns(buffer, memory.gamma, future)
        for time in range(buffer.length[0]):
            learn_recorded(memory, time, buffer.extra[time])
    end_step(memory, s, t.action, over)
    if over:
        return NO_ACTION
    # the next observation is the present one by now; its features are not needed
    return (
        next_action(memory, t.next_state, locate(memory, t.next_state), rng)
        if has_capacity(buffer)
        else EPISODE_TOO_LONG
    )


@compiled(in_place=True)
def _first_visit(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """When the episode is over, V(s_t) <- V(s_t) + alpha [G_t - V(s_t)] for each t at which s_t was new."""
    buffer, first = memory.scratch.buffer, memory.scratch.first
    append_step(buffer, t.state, t.action, t.reward, 0.0)
    over = t.terminated or t.truncated
    if over:
        fill_returns(buffer, memory.gamma, 0.0 if t.terminated else float(memory.q[t.next_state, STATE]))
        for time in range(buffer.length[0] - 1, -1, -1):
            first[buffer.state[time]] = time  # backwards, so that the first visit is written last
        for time in range(buffer.length[0]):
            if first[buffer.state[time]] == time:
                learn_return(memory, buffer.state[time], buffer.extra[time])
    count(memory, t.state, STATE, over)
    return go_on(memory, t.next_state, over, rng)


@dataclass(eq=False, kw_only=True)
class EveryVisitMonteCarlo(StateValueAgent):
    """Monte Carlo prediction from the returns of all visits (S&B2 section 5.1 and eq. 6.1).

    By default the value is the mean of the returns of all visits to a state. Returns of one episode depend on each
    other, so the mean of few episodes is biased; it converges to the value of the policy all the same (Singh & Sutton
    1996). On truncation the return bootstraps from the value of the last state.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule per visits counts the returns that the state has learned from.
    initial_value : float
        Value of every state before it is visited.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one is an error.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `StateValueAgent`.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    returns_ : ndarray of int64, shape (n_states,)
        How many returns each of them has learned from.
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.EveryVisitMonteCarlo(gamma=1.0).learn("rlsuite/RandomWalk-v0", episodes=2_000, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.05)
    True
    """

    begin: ClassVar[Begin] = begin_buffer
    step: ClassVar[Step] = _every_visit

    learning_rate: float | Schedule = field(default_factory=lambda: Inverse(1.0, per="visits"))
    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def tables(self, n_states: int) -> tuple[object, ...]:
        """Make the counts of the returns; none with features."""
        return Returns(np.zeros(n_states, dtype=np.int64)) if self.values_.has_rows else ()

    def scratch(self, n_states: int) -> Episode:
        """Make an empty buffer."""
        return Episode(self.values_.new_buffer(self.longest_episode))


@dataclass(eq=False, kw_only=True)
class FirstVisitMonteCarlo(Predictor):
    """Monte Carlo prediction from the return of each episode's first visit (S&B2 section 5.1).

    By default the value is the mean of the returns of first visits. They are independent of each other, so it is
    unbiased, and converges to the value of the policy with an error of the order of 1 / sqrt(episodes).

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule per visits counts the returns that the state has learned from.
    initial_value : float
        Value of every state before it is visited.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one is an error.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    returns_ : ndarray of int64, shape (n_states,)
        How many returns each of them has learned from: one for each episode in which it was visited.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.FirstVisitMonteCarlo(gamma=1.0).learn("rlsuite/RandomWalk-v0", episodes=2_000, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.05)
    True
    """

    begin: ClassVar[Begin] = begin_buffer
    step: ClassVar[Step] = _first_visit

    learning_rate: float | Schedule = field(default_factory=lambda: Inverse(1.0, per="visits"))
    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def tables(self, n_states: int) -> Returns:
        """Make the counts of the returns."""
        return Returns(np.zeros(n_states, dtype=np.int64))

    def scratch(self, n_states: int) -> EpisodeOfFirsts:
        """Make an empty buffer, and the times of first visits."""
        return EpisodeOfFirsts(new_episode_buffer(self.longest_episode), np.zeros(n_states, dtype=np.int64))
