"""REINFORCE: actions are made more probable in proportion to the return that followed them (Williams 1992).

The score grad ln pi(a | s) is the direction in which an action becomes more probable, and G_t grad ln pi(A_t | S_t),
summed over an episode, is on average the gradient of the value of the start (S&B2 section 13.3). It does not bootstrap.
The disadvantage is variance; a baseline that is subtracted from the return reduces it, and does not change the
expectation as long as it does not depend on the action (S&B2 section 13.4).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.softmax_agent import critic_step_size, draw, softmax_into
from rlsuite.agents.episode_buffer import EPISODE_TOO_LONG
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import (
    NOWHERE,
    Memory,
    end_step,
    locate,
    locate_first,
    locate_next,
    step_size,
    update_in,
    value_in,
)
from rlsuite.agents.values.features import compute_features, evaluate
from rlsuite.approximation.policies.softmax_policy import LinearCriticAgent, LinearSoftmaxAgent, climb
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Action, Array
from rlsuite.training.kernels import Begin, Step, Transition

LONGEST = 100_000
"""Default number of steps of an episode that are stored."""


class Episode(NamedTuple):
    """The present episode."""

    observation: NDArray[np.float64]  # (longest, d)
    legal: NDArray[np.bool_]  # (longest, n_actions)
    action: Action  # (longest,)
    reward: NDArray[np.float64]  # (longest,), the reward that followed; replaced by the return when the episode is over
    length: Annotated[NDArray[np.int64], Array(at_least=0, at_most="action")]  # (1,)
    pi: NDArray[np.float64]  # (n_actions,), room for the probabilities of one observation


@compiled(in_place=True)
def _begin(memory: Memory, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Discard the last episode, and draw the first action."""
    memory.scratch.length[0] = 0
    return draw(memory, locate_first(memory, observation), rng)


@compiled(in_place=True)
def _remember(
    episode: Episode, observation: NDArray[np.float64], legal: NDArray[np.bool_], action: int, reward: float
) -> None:
    """Record a step, for which there must be room."""
    t = episode.length[0]
    for i in range(observation.size):
        episode.observation[t, i] = observation[i]
    for other in range(legal.size):
        episode.legal[t, other] = legal[other]
    episode.action[t] = action
    episode.reward[t] = reward
    episode.length[0] = t + 1


@compiled(in_place=True)
def _to_returns(episode: Episode, gamma: float, future: float) -> None:
    """Replace the rewards by the returns: G_t = R_t+1 + gamma G_t+1."""
    for t in range(episode.length[0] - 1, -1, -1):
        future = episode.reward[t] + gamma * future
        episode.reward[t] = future


@compiled(in_place=True)
def _look_back(memory: Memory, t: int) -> None:
    """Compute a step's features in row 0, and its probabilities by the present weights in ``scratch.pi``."""
    episode = memory.scratch
    compute_features(memory, episode.observation[t], 0)
    evaluate(memory, 0)
    softmax_into(episode.pi, memory.q[0], memory.legality, episode.legal, t)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Remember; after an episode let theta <- theta + alpha gamma^t G_t grad ln pi(A_t | S_t), for t = 0, 1, ..."""
    s, next_s, episode = locate(memory, t.state), NOWHERE, memory.scratch
    if episode.length[0] == episode.action.size:
        return EPISODE_TOO_LONG
    _remember(episode, t.state, memory.legal[s], t.action, t.reward)
    over = t.terminated or t.truncated
    if over:
        _to_returns(episode, memory.gamma, 0.0)
        alpha = step_size(memory, s, t.action)
        for time in range(episode.length[0]):
            _look_back(memory, time)
            climb(memory.weights, memory.active, 0, episode.action[time], episode.pi, alpha * episode.reward[time])
            alpha *= memory.gamma
    else:
        next_s = locate_next(memory, t.next_state)
    end_step(memory, s, t.action, over)
    return NO_ACTION if over else draw(memory, next_s, rng)


@compiled(in_place=True)
def _step_with_baseline(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Remember; after an episode let w and theta learn from its steps t = 0, 1, ... and from delta = G_t - v(S_t).

    w <- w + alpha_w delta x(S_t), and theta <- theta + alpha_theta gamma^t delta grad ln pi(A_t | S_t). On truncation
    the returns bootstrap from v of the last observation.
    """
    s, next_s, episode, critic = locate(memory, t.state), NOWHERE, memory.scratch, memory.learned.value
    if episode.length[0] == episode.action.size:
        return EPISODE_TOO_LONG
    _remember(episode, t.state, memory.legal[s], t.action, t.reward)
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
    over = t.terminated or t.truncated
    if over:
        _to_returns(episode, memory.gamma, 0.0 if t.terminated else value_in(memory, critic, next_s))
        alpha, beta = step_size(memory, s, t.action), critic_step_size(memory, s)
        for time in range(episode.length[0]):
            _look_back(memory, time)
            error = episode.reward[time] - value_in(memory, critic, 0)
            update_in(memory, critic, 0, beta * error)
            climb(memory.weights, memory.active, 0, episode.action[time], episode.pi, alpha * error)
            alpha *= memory.gamma
    end_step(memory, s, t.action, over)
    return NO_ACTION if over else draw(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class Reinforce(LinearSoftmaxAgent):
    """REINFORCE, Monte Carlo policy gradient (Williams 1992; S&B2 section 13.3, the box).

    Climbs the value of the start, to where no small change of the policy helps, if the step size vanishes slowly. It
    learns when an episode is over; an episode that is cut off counts as if nothing came after it.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What the preferences are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha), at least 0, small beside 1 / return; a schedule counts steps
        or episodes.
    initial_weight : float
        What every weight of the preferences is at first.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights of the preferences; only their differences between actions count.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    The short corridor (S&B2 Example 13.1), where the best policy is a random one:

    >>> import gymnasium, rlsuite_envs
    >>> from rlsuite.features.identity import Identity
    >>> from rlsuite.environments.wrappers import VectorObservation
    >>> corridor = gymnasium.make("rlsuite/ShortCorridor-v0")
    >>> alike = VectorObservation(corridor, corridor.unwrapped.features)
    >>> agent = Reinforce(features=Identity(), gamma=1.0, actor_rate=2**-12).learn(alike, episodes=2_000, seed=7)
    >>> bool(0.4 < agent.policy([[1.0]])[0, 1] < 0.8)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step
    renews: ClassVar[bool] = True

    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def scratch(self, n_features: int, n_actions: int) -> tuple[object, ...]:
        """Make an empty episode."""
        return new_episode(self.longest_episode, self.features_.n_features_in_, n_actions)


@dataclass(eq=False, kw_only=True)
class ReinforceWithBaseline(LinearCriticAgent):
    """REINFORCE with a learned value as its baseline (S&B2 section 13.4, the box).

    Converges to the same policies as `Reinforce`, with less variance, and so faster. On truncation the returns
    bootstrap from the value of the last observation.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What preferences and values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha theta), at least 0; a schedule counts steps or episodes.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1].
    initial_weight : float
        What every weight of the preferences is at first.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights of the preferences; only their differences between actions count.
    value_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the values.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    The short corridor again; the values show its return, -11.66 at best:

    >>> import gymnasium, rlsuite_envs
    >>> from rlsuite.features.identity import Identity
    >>> from rlsuite.environments.wrappers import VectorObservation
    >>> corridor = gymnasium.make("rlsuite/ShortCorridor-v0")
    >>> alike = VectorObservation(corridor, corridor.unwrapped.features)
    >>> agent = ReinforceWithBaseline(features=Identity(), gamma=1.0, actor_rate=2**-11, critic_rate=2**-9)
    >>> agent = agent.learn(alike, episodes=5_000, seed=7)
    >>> bool(-13 < agent.episodes_["return"][-2_000:].mean() < -11)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step_with_baseline
    renews: ClassVar[bool] = True

    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def scratch(self, n_features: int, n_actions: int) -> tuple[object, ...]:
        """Make an empty episode."""
        return new_episode(self.longest_episode, self.features_.n_features_in_, n_actions)


def new_episode(longest: int, width: int, n_actions: int) -> Episode:
    """Make room for an episode of up to `longest` steps; the system allocates only memory that is written to."""
    return Episode(
        np.zeros((longest, width)),
        np.zeros((longest, n_actions), dtype=np.bool_),
        np.zeros(longest, dtype=np.int64),
        np.zeros(longest),
        np.zeros(1, dtype=np.int64),
        np.zeros(n_actions),
    )
