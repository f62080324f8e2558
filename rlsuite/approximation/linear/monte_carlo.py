"""Gradient Monte Carlo: values that are linear in features, from the returns that followed."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.episode_buffer import LONGEST, NO_ROOM, clear
from rlsuite.agents.prediction.returns import note_returns
from rlsuite.agents.predictor import STATE, begin_predicting
from rlsuite.approximation.linear.episode_buffer import (
    Episode,
    append_vector,
    learn_returns,
    new_vector_buffer,
    vector_buffer_has_room,
)
from rlsuite.approximation.linear.following import follow_policy
from rlsuite.approximation.linear.memory import compute_features, count_and_advance, value_of
from rlsuite.approximation.linear.predictor import LinearPredictor
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.exploration import NO_ACTION
from rlsuite.training.kernels import Begin, Step, Transition


@compiled(in_place=True)
def _begin(memory: Any, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Discard the steps of the last episode, and draw the first action of this one."""
    clear(memory.scratch.buffer)
    return begin_predicting(memory, observation, rng)


@compiled(in_place=True)
def _step(memory: Any, t: Transition, rng: np.random.Generator) -> int:
    """When the episode is over, let w <- w + alpha [G_t - v(s_t)] x(s_t) for each of its steps t."""
    buffer, row = memory.scratch.buffer, memory.active.now[0]
    append_vector(buffer, t.state, t.action, t.reward)
    over = t.terminated or t.truncated
    if over:
        future = 0.0
        if not t.terminated:
            compute_features(memory, t.next_state, 1 - row)
            future = value_of(memory, 1 - row, STATE)
        note_returns(buffer, memory.gamma, future)
        learn_returns(memory, STATE)
    count_and_advance(memory, over)
    if over:
        return NO_ACTION
    return follow_policy(memory, t.next_state, 1 - row, rng) if vector_buffer_has_room(buffer) else NO_ROOM


@dataclass(eq=False, kw_only=True)
class GradientMonteCarlo(LinearPredictor):
    """Gradient Monte Carlo prediction (S&B2 section 9.3, the box on p. 202) with values linear in features.

    It climbs down the mean squared error of the values, weighted by how often each state is visited: with vanishing
    step sizes it converges to the least there is, for any features. With one-hot features it is `EveryVisitMonteCarlo`,
    to the last bit. On truncation the return bootstraps from the value of the last observation.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1].
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one is an error.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.

    Examples
    --------
    One weight for the position in the walk, and one for a constant; the true value is position / 6:

    >>> import gymnasium, numpy as np, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import GradientMonteCarlo
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = GradientMonteCarlo(gamma=1.0, learning_rate=0.01)
    >>> agent = agent.learn(env, episodes=2_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def scratch(self, n_features: int) -> Any:
        """Make an empty buffer."""
        return Episode(new_vector_buffer(self.longest_episode, self.features_.n_features_in_))
