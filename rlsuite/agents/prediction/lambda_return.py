"""The off-line lambda-return, the forward view: a state learns from the mean of all its n-step returns.

Returns are computed backwards when an episode is over, from the values before any of them was learned from.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.episode_buffer import LONGEST, EpisodeBuffer, append_step, new_episode_buffer
from rlsuite.agents.memory import STATE, Memory, count, learn_return
from rlsuite.agents.prediction.returns import Returns, begin_buffer, go_on
from rlsuite.agents.predictor import Predictor
from rlsuite.core.checks import fraction, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class EpisodeSeenBack(NamedTuple):
    """What is kept during an episode, and the constant of the rule."""

    buffer: EpisodeBuffer
    lambda_: float


@compiled(in_place=True)
def fill_lambda_returns(
    buffer: EpisodeBuffer, value: NDArray[np.float64], gamma: float, lambda_: float, future: float
) -> None:
    """G_t = r_t+1 + gamma [(1 - lambda) V(s_t+1) + lambda G_t+1], from the last step back; then comes `future`.

    The same as (1 - lambda) sum_n lambda^(n - 1) G_t:t+n, where all n-step returns from the end on are the return.
    """
    beyond = future
    for t in range(buffer.length[0] - 1, -1, -1):
        buffer.extra[t] = buffer.reward[t] + gamma * beyond
        beyond = (1.0 - lambda_) * value[buffer.state[t], STATE] + lambda_ * buffer.extra[t]


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """When the episode is over, V(s_t) <- V(s_t) + alpha [G_t^lambda - V(s_t)] for each of its steps t in order."""
    buffer, lambda_ = memory.scratch
    append_step(buffer, t.state, t.action, t.reward, 0.0)
    over = t.terminated or t.truncated
    if over:
        future = 0.0 if t.terminated else float(memory.q[t.next_state, STATE])
        fill_lambda_returns(buffer, memory.q, memory.gamma, lambda_, future)
        for time in range(buffer.length[0]):
            learn_return(memory, buffer.state[time], buffer.extra[time])
    count(memory, t.state, STATE, over)
    return go_on(memory, t.next_state, over, rng)


@dataclass(eq=False, kw_only=True)
class OfflineLambdaReturn(Predictor):
    """The off-line lambda-return algorithm (S&B2 section 12.1, eq. 12.2 to 12.4; Watkins 1989).

    It converges under the conditions of `TD`. TD(lambda) approximates it step by step; what the two add to the values
    in one episode is the same if both leave the values alone until its end, and each error uses the old ones.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    lambda_ : float
        Weight of the next longer return, in [0, 1]: 0 looks one step ahead, 1 is `EveryVisitMonteCarlo`.
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
        How many returns each of them has learned from.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.OfflineLambdaReturn(gamma=1.0, lambda_=0.8, learning_rate=0.02, initial_value=0.5)
    >>> agent = agent.learn("rlsuite/RandomWalk-v0", episodes=500, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.15)
    True
    """

    begin: ClassVar[Begin] = begin_buffer
    step: ClassVar[Step] = _step

    lambda_: float = 0.9
    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def tables(self, n_states: int) -> Returns:
        """Make the counts of the returns."""
        return Returns(np.zeros(n_states, dtype=np.int64))

    def scratch(self, n_states: int) -> EpisodeSeenBack:
        """Make an empty buffer."""
        return EpisodeSeenBack(new_episode_buffer(self.longest_episode), self.lambda_)
