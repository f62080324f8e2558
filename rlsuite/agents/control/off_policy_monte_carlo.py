"""Off-policy Monte Carlo control: values of the greedy policy from episodes of another one (S&B2 section 5.7).

A return counts in proportion to how much more often the greedy policy would have produced it than the behaviour: its
weight W is the product of the ratios pi(A | S) / b(A | S) behind the pair, and values are weighted means (weighted
importance sampling, S&B2 eq. 5.7 and 5.8).
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.episode_buffer import (
    EPISODE_TOO_LONG,
    LONGEST,
    EpisodeBuffer,
    append_step,
    clear,
    has_capacity,
    new_episode_buffer,
)
from rlsuite.agents.exploration import NO_ACTION, action_probabilities, choose, is_legal, max_value
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import whole_number
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class Weights(NamedTuple):
    """The sums of the weights of the returns behind each value."""

    weights: NDArray[np.float64]  # (n_states, n_actions), the book's C: sum of the weights of all returns


class Episode(NamedTuple):
    """The present episode; the buffer's extra number is the probability with which the behaviour took the action."""

    buffer: EpisodeBuffer
    probabilities: NDArray[np.float64]  # (n_actions,), a buffer for the probabilities of one state
    probability: NDArray[np.float64]  # (1,), probability of the action that was chosen last


@compiled(in_place=True)
def _choose_and_record(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Choose by the behaviour b, and store b(A | S) now: b changes with what is learned."""
    episode = memory.scratch
    action_probabilities(memory, state, episode.probabilities)
    action = choose(memory, state, rng)
    episode.probability[0] = episode.probabilities[action]
    return action


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Discard the last episode, and choose as in all other steps."""
    clear(memory.scratch.buffer)
    return _choose_and_record(memory, state, rng)


@compiled(in_place=True)
def _is_greedy(memory: Memory, state: int, action: int) -> bool:
    """Whether the target policy takes this action: it takes the first of the best ones."""
    for other in range(memory.q.shape[1]):
        if other != action and is_legal(memory, state, other):
            ahead = memory.q[state, other] - memory.q[state, action]
            if ahead > 0.0 or (ahead == 0.0 and other < action):
                return False
    return True


@compiled(in_place=True)
def _learn(memory: Memory, future: float) -> None:
    """Go back as long as actions are greedy: C += W, Q += (W / C) (G - Q), W <- W / b(A | S)."""
    buffer = memory.scratch.buffer
    weights = memory.learned.weights
    target = future
    weight = 1.0
    for t in range(buffer.length[0] - 1, -1, -1):
        state, action = buffer.state[t], buffer.action[t]
        target = buffer.reward[t] + memory.gamma * target
        weights[state, action] += weight
        memory.q[state, action] += weight / weights[state, action] * (target - memory.q[state, action])
        # a softmax may draw an action whose probability is rounded to 0
        if buffer.extra[t] == 0.0 or not _is_greedy(memory, state, action):
            break
        weight /= buffer.extra[t]


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Remember the step and how probable it was; when the episode is over, learn from its greedy tail."""
    buffer = memory.scratch.buffer
    if not has_capacity(buffer):
        return EPISODE_TOO_LONG
    append_step(buffer, t.state, t.action, t.reward, memory.scratch.probability[0])
    over = t.terminated or t.truncated
    if over:
        _learn(memory, 0.0 if t.terminated else max_value(memory, t.next_state))
    count(memory, t.state, t.action, over)
    return NO_ACTION if over else _choose_and_record(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class OffPolicyMonteCarlo(TabularAgent):
    """Off-policy Monte Carlo control with weighted importance sampling (S&B2 p. 111).

    Converges to Q* if the behaviour never ceases to try every action, but slowly: it learns from the end of an episode
    alone, back to the last action that is not greedy. On truncation the return bootstraps from the best value of the
    last state.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        The behaviour; it has to take every action now and then.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one stops learning with an error.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned values of the greedy policy.
    weights_ : ndarray of float64, shape (n_states, n_actions)
        Sum of the weights of the returns that each value is the mean of.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.OffPolicyMonteCarlo(gamma=0.9, exploration=rl.RandomActions())
    >>> agent.learn("rlsuite/GridGoal-v0", episodes=2_000, seed=7).q_.max(axis=1)
    array([ 81.,  90., 100.,  90., 100.,   0.])
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def tables(self, n_states: int, n_actions: int) -> Weights:
        """Make the sums of weights."""
        return Weights(np.zeros((n_states, n_actions)))

    def scratch(self, n_states: int, n_actions: int) -> Episode:
        """Make an empty buffer."""
        return Episode(new_episode_buffer(self.longest_episode), np.zeros(n_actions), np.zeros(1))
