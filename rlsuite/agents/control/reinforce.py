"""REINFORCE: actions are made more probable in proportion to the return that followed them (Williams 1992).

The score grad ln pi(a | s) is the direction in which an action becomes more probable, and G_t grad ln pi(A_t | S_t),
summed over an episode, is on average the gradient of the value of the start (S&B2 section 13.3). It does not bootstrap.
The disadvantage is variance; a baseline that is subtracted from the return reduces it, and does not change the
expectation as long as it does not depend on the action (S&B2 section 13.4).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.softmax_agent import CriticAgent, SoftmaxAgent, critic_step_size, draw, softmax_into
from rlsuite.agents.episode_buffer import EPISODE_TOO_LONG, EpisodeBuffer, VectorEpisodeBuffer, clear, has_capacity
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import (
    NOWHERE,
    STATE,
    Memory,
    Observation,
    end_step,
    locate,
    locate_first,
    locate_next,
    locate_recorded,
    record,
    renew,
    step_size,
    update,
    update_in,
    value_in,
)
from rlsuite.agents.prediction.returns import fill_returns
from rlsuite.agents.schedules import Schedule
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition

LONGEST = 100_000
"""Default number of steps of an episode that are stored."""


class Episode(NamedTuple):
    """The present episode."""

    buffer: EpisodeBuffer | VectorEpisodeBuffer  # its extra numbers are the returns, when the episode is over
    legal: NDArray[np.bool_]  # (longest, n_actions)
    pi: NDArray[np.float64]  # (n_actions,), room for the probabilities of one observation


@compiled(in_place=True)
def _begin(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Discard the last episode, and draw the first action."""
    clear(memory.scratch.buffer)
    return draw(memory, locate_first(memory, state), rng)


@compiled(in_place=True)
def _remember(memory: Memory, t: Transition, row: int) -> None:
    """Record a step, for which there must be room."""
    episode = memory.scratch
    buffer = episode.buffer
    now = buffer.length[0]
    record(memory, t.state, now)
    for action in range(episode.pi.size):
        episode.legal[now, action] = memory.legal[row, action]
    buffer.action[now] = t.action
    buffer.reward[now] = t.reward
    buffer.length[0] = now + 1


@compiled(in_place=True)
def _look_back(memory: Memory, time: int) -> int:
    """The row of what was observed at a time, its probabilities by the present preferences in ``scratch.pi``."""
    row = locate_recorded(memory, time)
    renew(memory, row, NO_ACTION)
    softmax_into(memory.scratch.pi, memory.q[row], memory.legality, memory.scratch.legal, time)
    return row


@compiled(in_place=True)
def _climb(memory: Memory, row: int, action: int, amount: float) -> None:
    """Let h(s, b) <- h(s, b) + amount (1{b = a} - pi(b | s)) for all b: the score of the action."""
    pi = memory.scratch.pi
    for other in range(pi.size):
        update(memory, row, other, amount * ((other == action) - pi[other]))


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Remember; after an episode let theta <- theta + alpha gamma^t G_t grad ln pi(A_t | S_t), for t = 0, 1, ..."""
    s, next_s, buffer, discount = locate(memory, t.state), NOWHERE, memory.scratch.buffer, 1.0
    if not has_capacity(buffer):
        return EPISODE_TOO_LONG
    _remember(memory, t, s)
    over = t.terminated or t.truncated
    if over:
        fill_returns(buffer, memory.gamma, 0.0)
        for time in range(buffer.length[0]):
            row, action = _look_back(memory, time), buffer.action[time]
            _climb(memory, row, action, step_size(memory, row, action) * discount * buffer.extra[time])
            discount *= memory.gamma
    else:
        next_s = locate_next(memory, t.next_state)
    end_step(memory, s, t.action, over)
    return NO_ACTION if over else draw(memory, next_s, rng)


@compiled(in_place=True)
def _step_with_baseline(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Remember; after an episode let v and theta learn from its steps t = 0, 1, ... and from delta = G_t - v(S_t).

    v(S_t) <- v(S_t) + alpha_w delta, and theta <- theta + alpha_theta gamma^t delta grad ln pi(A_t | S_t). On
    truncation the returns bootstrap from v of the last observation.
    """
    s, next_s, buffer, discount = locate(memory, t.state), NOWHERE, memory.scratch.buffer, 1.0
    critic = memory.learned.value
    if not has_capacity(buffer):
        return EPISODE_TOO_LONG
    _remember(memory, t, s)
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
    over = t.terminated or t.truncated
    if over:
        fill_returns(buffer, memory.gamma, 0.0 if t.terminated else value_in(memory, critic, next_s, STATE))
        for time in range(buffer.length[0]):
            row, action = _look_back(memory, time), buffer.action[time]
            error = buffer.extra[time] - value_in(memory, critic, row, STATE)
            update_in(memory, critic, row, STATE, critic_step_size(memory, row) * error)
            _climb(memory, row, action, step_size(memory, row, action) * discount * error)
            discount *= memory.gamma
    end_step(memory, s, t.action, over)
    return NO_ACTION if over else draw(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class Reinforce(SoftmaxAgent):
    """REINFORCE, Monte Carlo policy gradient (Williams 1992; S&B2 section 13.3, the box).

    Climbs the value of the start, to where no small change of the policy helps, if the step size vanishes slowly. It
    learns when an episode is over; an episode that is cut off counts as if nothing came after it.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha), at least 0, small beside 1 / return.
    features : FeatureMap or transformer, optional
        What the preferences are linear in; see `rlsuite.ActionValueAgent`. By default a table.
    values : Table or Linear, optional
        The same in full; its `initial` is what the preferences, or their weights, are at first.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    preference_ : ndarray of float64, shape (n_states, n_actions)
        Learned preferences; only their differences within a state count. With features, of the ids of a Discrete
        space.
    visits_ : ndarray of int64, shape (n_states, n_actions)
        How often each pair was taken; only of a table.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights of the preferences; only with features.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    The short corridor (S&B2 Example 13.1), where the best policy is a random one:

    >>> import gymnasium, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import Identity
    >>> corridor = gymnasium.make("rlsuite/ShortCorridor-v0")
    >>> alike = rl.VectorObservation(corridor, corridor.unwrapped.features)
    >>> agent = rl.Reinforce(features=Identity(), gamma=1.0, actor_rate=2**-12).learn(alike, episodes=2_000, seed=7)
    >>> bool(0.4 < agent.policy([[1.0]])[0, 1] < 0.8)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step
    renews: ClassVar[bool] = True

    actor_rate: float | Schedule = 0.01
    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def scratch(self, n_states: int, n_actions: int) -> Episode:
        """Make an empty episode."""
        return new_episode(self, n_actions)


@dataclass(eq=False, kw_only=True)
class ReinforceWithBaseline(CriticAgent):
    """REINFORCE with a learned value as its baseline (S&B2 section 13.4, the box).

    Converges to the same policies as `Reinforce`, with less variance, and so faster. On truncation the returns
    bootstrap from the value of the last observation.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha theta), at least 0.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1].
    initial_value : float
        Value of every state before it is visited; with features, what every weight of the values is.
    features : FeatureMap or transformer, optional
        What preferences and values are linear in; see `rlsuite.ActionValueAgent`. By default a table.
    values : Table or Linear, optional
        The same in full; its `initial` is what the preferences, or their weights, are at first.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    preference_ : ndarray of float64, shape (n_states, n_actions)
        Learned preferences; only their differences within a state count. With features, of the ids of a Discrete
        space, as `value_`.
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    visits_ : ndarray of int64, shape (n_states, n_actions)
        How often each pair was taken; only of a table.
    weights_, value_weights_ : ndarray of float64, shapes (n_features, n_actions) and (n_features,)
        Learned weights of preferences and values; only with features.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.ReinforceWithBaseline(gamma=0.9, actor_rate=0.05)
    >>> agent = agent.learn("rlsuite/GridGoal-v0", episodes=2_000, seed=7)
    >>> bool(agent.value_[0] > 75)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step_with_baseline
    renews: ClassVar[bool] = True

    actor_rate: float | Schedule = 0.01
    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def scratch(self, n_states: int, n_actions: int) -> Episode:
        """Make an empty episode."""
        return new_episode(self, n_actions)


def new_episode(agent: Reinforce | ReinforceWithBaseline, n_actions: int) -> Episode:
    """Make room for an episode; the system allocates only memory that is written to."""
    longest = agent.longest_episode
    return Episode(
        agent.values_.new_buffer(longest), np.zeros((longest, n_actions), dtype=np.bool_), np.zeros(n_actions)
    )
