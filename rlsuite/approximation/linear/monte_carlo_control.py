"""Gradient Monte Carlo control: action values that are linear in features, from the returns that followed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.episode_buffer import EPISODE_TOO_LONG, LONGEST, clear, has_capacity, new_vector_buffer
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import Memory, begin
from rlsuite.agents.prediction.returns import Episode, fill_returns
from rlsuite.agents.values.features import (
    compute_features,
    count_and_advance,
    evaluate,
    learn_vector,
    record_vector,
)
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


@compiled(in_place=True)
def _begin(memory: Memory, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Discard the last episode, and choose the first action of this one."""
    clear(memory.scratch.buffer)
    return begin(memory, observation, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """When the episode is over, let w <- w + alpha [G_t - Q(s_t, a_t)] x(s_t, a_t) for each of its steps t."""
    buffer, row = memory.scratch.buffer, memory.active.now[0]
    if not has_capacity(buffer):
        return EPISODE_TOO_LONG
    now = buffer.length[0]
    record_vector(memory, t.state, now)
    buffer.action[now] = t.action
    buffer.reward[now] = t.reward
    buffer.length[0] = now + 1
    next_action = NO_ACTION
    future = 0.0
    if not t.terminated:
        compute_features(memory, t.next_state, 1 - row)
        evaluate(memory, 1 - row)
        next_action = choose(memory, 1 - row, rng)
        future = memory.q[1 - row, next_action]
    if t.terminated or t.truncated:
        fill_returns(buffer, memory.gamma, future)
        for time in range(buffer.length[0]):
            learn_vector(memory, time, buffer.action[time], buffer.extra[time])
    count_and_advance(memory, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class GradientMonteCarloControl(LinearAgent):
    """On-policy every-visit Monte Carlo control with values linear in features (S&B2 sections 9.3 and 10.1).

    Nothing is learned before an episode is over, and nothing from estimates: so what is learned of one policy converges
    for any features. One that goes round in circles ends no episode; such an environment needs a time limit. With
    one-hot features it is `NStepSarsa` with an n that no episode reaches, to the last bit.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; see `SemiGradientSarsa`.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    initial_weight : float
        What every weight is before anything is learned.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import GradientMonteCarloControl
    >>> env = rl.VectorObservation.one_hot(gymnasium.make("rlsuite/GridGoal-v0"))
    >>> agent = GradientMonteCarloControl(gamma=0.9, learning_rate=0.2, exploration=rl.EpsilonGreedy(0.1))
    >>> agent.learn(env, episodes=500, seed=7).act(env.vectors[2])
    2
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def scratch(self, n_features: int, n_actions: int) -> Episode:
        """Make an empty buffer."""
        return Episode(new_vector_buffer(self.longest_episode, self.features_.n_features_in_))
