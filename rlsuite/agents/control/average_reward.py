"""Control for continuing tasks: the objective is the reward per step in the long run, the gain.

Values are differential: the return of a pair beyond the gain of the steps that follow it (S&B2 section 10.3). Nothing
is discounted. Both agents learn the gain beside the values, and both errors contain it.

Where a task has episodes, an end leads to the next start, as if it were one long task: the last step of an episode
waits for the state in which the next one begins, and is learned from then. (A planner of `rlsuite.planning`, which is
given a model and no next episode, lets nothing follow an end, so that a policy that ends has gain 0.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION, choose, max_value
from rlsuite.agents.memory import Memory, count, step_size
from rlsuite.agents.schedules import Rate, Schedule, as_schedule, rate_now
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Array
from rlsuite.training.kernels import Begin, Step, Transition


class Gain(NamedTuple):
    """What is learned beside the differential values."""

    gain: NDArray[np.float64]  # (1,), reward per step


class Waiting(NamedTuple):
    """The last step of an episode, while the next one has not begun, and the step size of the gain."""

    pair: Annotated[NDArray[np.int64], Array(at_least=-1)]  # (2,), state and action; [-1, -1] if no step waits
    numbers: NDArray[np.float64]  # (3,), reward, alpha, beta
    beta: Rate

    def check(self, sizes: Mapping[str, int]) -> None:
        """Raise ValueError unless the pair is one of the table, or none."""
        state, action = self.pair.tolist()
        if not ((0 <= state < sizes["n_states"] and 0 <= action < sizes["n_actions"]) or state == action == -1):
            raise ValueError(f"the pending pair (state {state}, action {action}) is out of range")


@compiled(in_place=True)
def _wait(memory: Memory, state: int, action: int, reward: float, alpha: float, beta: float) -> None:
    """Keep the last step of an episode."""
    pair, numbers, _ = memory.scratch
    pair[0], pair[1] = state, action
    numbers[0], numbers[1], numbers[2] = reward, alpha, beta


@compiled(in_place=True)
def _gain_step_size(memory: Memory, state: int, action: int) -> float:
    return rate_now(memory.scratch.beta, memory.clock, memory.visits[state, action])


@compiled(in_place=True)
def _differential_sarsa(
    memory: Memory,
    state: int,
    action: int,
    reward: float,
    alpha: float,
    beta: float,
    next_state: int,
    next_action: int,
) -> None:
    """Q(x, a) <- Q(x, a) + alpha delta and g <- g + beta delta, where delta = r - g + Q(x', a') - Q(x, a)."""
    gain = memory.learned.gain
    error = reward - gain[0] + memory.q[next_state, next_action] - memory.q[state, action]
    gain[0] += beta * error
    memory.q[state, action] += alpha * error


@compiled(in_place=True)
def _sarsa_begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Choose the first action; the end of the last episode has led to this state."""
    action = choose(memory, state, rng)
    pair, numbers, _ = memory.scratch
    if pair[0] >= 0:
        _differential_sarsa(memory, pair[0], pair[1], numbers[0], numbers[1], numbers[2], state, action)
        pair[0] = pair[1] = -1
    return action


@compiled(in_place=True)
def _sarsa_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Choose a', then learn; after an end, both wait for the next start."""
    alpha, beta = step_size(memory, t.state, t.action), _gain_step_size(memory, t.state, t.action)
    next_action = NO_ACTION if t.terminated else choose(memory, t.next_state, rng)
    if t.terminated:
        _wait(memory, t.state, t.action, t.reward, alpha, beta)
    else:
        _differential_sarsa(memory, t.state, t.action, t.reward, alpha, beta, t.next_state, next_action)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return next_action


@compiled(in_place=True)
def _r_learning(
    memory: Memory, state: int, action: int, reward: float, alpha: float, beta: float, next_state: int
) -> None:
    """Q(x, a) <- Q(x, a) + alpha [r - g + V(x') - Q(x, a)]; then g <- g + beta [r - g + V(x') - V(x)] if a is greedy.

    V = max_a Q.
    """
    gain = memory.learned.gain
    error = reward - gain[0] + max_value(memory, next_state) - memory.q[state, action]
    memory.q[state, action] += alpha * error
    if memory.q[state, action] == max_value(memory, state):
        gain[0] += beta * (reward - gain[0] + max_value(memory, next_state) - max_value(memory, state))


@compiled(in_place=True)
def _r_begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Choose the first action; the end of the last episode has led to this state."""
    pair, numbers, _ = memory.scratch
    if pair[0] >= 0:
        _r_learning(memory, pair[0], pair[1], numbers[0], numbers[1], numbers[2], state)
        pair[0] = pair[1] = -1
    return choose(memory, state, rng)


@compiled(in_place=True)
def _r_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Learn, then choose a'; after an end, learning waits for the next start state."""
    alpha, beta = step_size(memory, t.state, t.action), _gain_step_size(memory, t.state, t.action)
    if t.terminated:
        _wait(memory, t.state, t.action, t.reward, alpha, beta)
    else:
        _r_learning(memory, t.state, t.action, t.reward, alpha, beta, t.next_state)
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class AverageRewardAgent(TabularAgent):
    """Base of the agents that learn the reward per step.

    Parameters
    ----------
    beta : float or Schedule
        Step size of the gain, in [0, 1].
    exploration, learning_rate, initial_value
        As for `TabularAgent`.
    """

    gamma: float = field(init=False, repr=False, default=1.0)
    beta: float | Schedule = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        as_schedule("beta", self.beta, 0.0, 1.0)

    def tables(self, n_states: int, n_actions: int) -> Gain:
        """Make the estimate of the gain, 0."""
        return Gain(np.zeros(1))

    def scratch(self, n_states: int, n_actions: int) -> Waiting:
        """Make a buffer for one step, with no pair in it."""
        return Waiting(np.full(2, -1, dtype=np.int64), np.zeros(3), as_schedule("beta", self.beta, 0.0, 1.0).rate)

    @property
    def gain_(self) -> float:
        """Learned reward per step."""
        return float(self.memory_.learned.gain[0])


@dataclass(eq=False, kw_only=True)
class DifferentialSarsa(AverageRewardAgent):
    """Differential Sarsa (S&B2 section 10.3, the boxed algorithm for a table).

    Learns the gain of the policy that it follows, exploration included: it tends to the best one if the exploration
    vanishes. All steps count for the gain, so that it is a steady estimate; nothing is known of its convergence
    while the policy changes.

    Parameters
    ----------
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size of the values (the book's alpha), in [0, 1].
    beta : float or Schedule
        Step size of the gain, in [0, 1]; smaller than that of the values as a rule.
    initial_value : float
        Differential value of every action before it is tried.

    Attributes
    ----------
    gain_ : float
        Learned reward per step.
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned differential values; only their differences count.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    Three steps to a reward of 6, again and again:

    >>> import rlsuite as rl
    >>> ring = rl.MDP.from_successors([[1], [2], [0]], [[0], [0], [6]], gamma=0.9)
    >>> round(rl.DifferentialSarsa().learn(ring.to_env(), steps=3_000, seed=7).gain_, 6)
    2.0
    """

    begin: ClassVar[Begin] = _sarsa_begin
    step: ClassVar[Step] = _sarsa_step


@dataclass(eq=False, kw_only=True)
class RLearning(AverageRewardAgent):
    """R-learning (Schwartz 1993; Sutton & Barto 1998, section 6.7).

    The Q-learning of average rewards: learns the best gain with any exploration. Only greedy steps count for the
    gain. No proof of convergence is known, and none is needed to see that at the best gain and the values that belong
    to it all errors are 0 in the mean.

    Parameters
    ----------
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size of the values (the book's alpha), in [0, 1].
    beta : float or Schedule
        Step size of the gain, in [0, 1]; smaller than that of the values as a rule.
    initial_value : float
        Differential value of every action before it is tried.

    Attributes
    ----------
    gain_ : float
        Learned reward per step.
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned differential values; only their differences count.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    The chain, where going forward for ever brings 3.6768 per step (`rlsuite_envs.chains.ChainEnv`):

    >>> import rlsuite as rl, rlsuite_envs
    >>> slow, slower = (rl.Polynomial(start, power=0.7, per="visits") for start in (1.0, 0.1))
    >>> agent = rl.RLearning(learning_rate=slow, beta=slower, exploration=rl.EpsilonGreedy(0.3))
    >>> agent = agent.learn("rlsuite/Chain-v0", steps=500_000, seed=7)
    >>> bool(abs(agent.gain_ - 3.6768) < 0.15)
    True
    """

    begin: ClassVar[Begin] = _r_begin
    step: ClassVar[Step] = _r_step
