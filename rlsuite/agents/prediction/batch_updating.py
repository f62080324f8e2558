"""Batch prediction: the limits of TD(0) and Monte Carlo if all experience is presented repeatedly (batch updating).

Both obey a linear system, one equation for each state that has been left (S&B2 section 6.3). Each sample of a state is
a reward plus a fraction of the value of another state; the rest of the fraction is the end. TD has a sample for each
step, Monte Carlo one for each return, whose fraction of another value is 0 unless the episode was truncated. The value
is the mean of the samples::

    (ends_s + sum_s' successors_ss') V(s) = rewards_s + sum_s' successors_ss' V(s')

The system is solved exactly after each episode, so no step size has to be small enough.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.episode_buffer import LONGEST, EpisodeBuffer, append_step, new_episode_buffer
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import STATE, Memory, count
from rlsuite.agents.prediction.policies import follow
from rlsuite.agents.prediction.returns import begin_buffer, go_on
from rlsuite.agents.predictor import Predictor
from rlsuite.agents.schedules import Schedule
from rlsuite.core.checks import fits_in_memory, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import State
from rlsuite.training.kernels import Begin, Step, Transition


class Evidence(NamedTuple):
    """Sums over the samples of each state."""

    rewards: NDArray[np.float64]  # (n_states,)
    successors: NDArray[np.float64]  # (n_states, n_states), weights of the values of the successors
    ends: NDArray[np.float64]  # (n_states,), number of samples less these weights


class System(NamedTuple):
    """The equations of the states that have been left, while they are solved."""

    states: State  # (n_states,), their numbers
    rewards: NDArray[np.float64]  # (n_states,)
    successors: NDArray[np.float64]  # (n_states, n_states)
    ends: NDArray[np.float64]  # (n_states,)


class EpisodeAndSystem(NamedTuple):
    """The steps of an episode, and the equations."""

    buffer: EpisodeBuffer
    system: System


@compiled(in_place=True)
def record(evidence: Evidence, state: int, reward: float, fraction: float, successor: int) -> None:
    """Add a sample of a state: a reward, a fraction of the value of another state, and the end for the rest."""
    evidence.rewards[state] += reward
    evidence.successors[state, successor] += fraction
    evidence.ends[state] += 1.0 - fraction


@compiled(in_place=True)
def _set_up(evidence: Evidence, value: NDArray[np.float64], visits: NDArray[np.int64], system: System) -> int:
    """Write down the equations of the states that have samples, and return their number.

    The other states keep their initial values; in the equations they are ends with a reward.
    """
    n = 0
    for state in range(value.size):
        if visits[state] > 0:
            system.states[n] = state
            n += 1
    for i in range(n):
        state = system.states[i]
        system.rewards[i] = evidence.rewards[state]
        system.ends[i] = evidence.ends[state]
        for j in range(n):
            system.successors[i, j] = evidence.successors[state, system.states[j]]
        for successor in range(value.size):
            if visits[successor] == 0:
                system.rewards[i] += evidence.successors[state, successor] * value[successor]
                system.ends[i] += evidence.successors[state, successor]
    return n


@compiled(in_place=True)
def solve(evidence: Evidence, value: NDArray[np.float64], visits: NDArray[np.int64], system: System) -> None:
    """Solve the equations by elimination without a subtraction (Grassmann, Taksar & Heyman 1985).

    What leads to a state leads on to where that state leads: so states are taken out one by one. A state that is left
    with no way to an end is not determined, and keeps its value.
    """
    n = _set_up(evidence, value, visits, system)
    states, rewards, successors, ends = system
    for k in range(n):
        total = ends[k]
        for j in range(k + 1, n):
            total += successors[k, j]
        if total == 0.0:
            rewards[k], ends[k], total = value[states[k]], 1.0, 1.0
        successors[k, k] = total  # the diagonal is free: a step from a state to itself cancels out
        for i in range(k + 1, n):
            share = successors[i, k] / total
            if share > 0.0:
                rewards[i] += share * rewards[k]
                ends[i] += share * ends[k]
                for j in range(k + 1, n):
                    successors[i, j] += share * successors[k, j]
    for k in range(n - 1, -1, -1):
        total = rewards[k]
        for j in range(k + 1, n):
            total += successors[k, j] * value[states[j]]
        value[states[k]] = total / successors[k, k]


@compiled(in_place=True)
def _learn(memory: Memory, system: System) -> None:
    solve(memory.learned, memory.q.reshape(memory.q.size), memory.visits.reshape(memory.visits.size), system)


@compiled(in_place=True)
def _td(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Each step is a sample r + gamma V(s'); when the episode is over, V solves the equations of all steps."""
    over = t.terminated or t.truncated
    record(memory.learned, t.state, t.reward, 0.0 if t.terminated else memory.gamma, t.next_state)
    count(memory, t.state, STATE, over)
    if over:
        _learn(memory, memory.scratch)
    return NO_ACTION if over else follow(memory, t.next_state, rng)


@compiled(in_place=True)
def _monte_carlo(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """When the episode is over, V is the mean of all returns that followed each state."""
    buffer = memory.scratch.buffer
    append_step(buffer, t.state, t.action, t.reward, 0.0)
    over = t.terminated or t.truncated
    count(memory, t.state, STATE, over)
    if over:
        total = 0.0
        future = 0.0 if t.terminated else 1.0  # weight of V(s') on truncation
        for time in range(buffer.length[0] - 1, -1, -1):
            total = buffer.reward[time] + memory.gamma * total
            future *= memory.gamma
            record(memory.learned, buffer.state[time], total, future, t.next_state)
        _learn(memory, memory.scratch.system)
    return go_on(memory, t.next_state, over, rng)


def _no_evidence(n_states: int) -> Evidence:
    fits_in_memory(f"batch learning of {n_states} states", 16 * n_states**2)
    return Evidence(np.zeros(n_states), np.zeros((n_states, n_states)), np.zeros(n_states))


def _new_system(n_states: int) -> System:
    states = np.zeros(n_states, dtype=np.int64)
    return System(states, np.zeros(n_states), np.zeros((n_states, n_states)), np.zeros(n_states))


@dataclass(eq=False, kw_only=True)
class BatchTD(Predictor):
    """Batch TD(0): the fixed point of TD(0) on all steps so far (S&B2 section 6.3).

    That is the certainty equivalence: the value of the policy in the model that has exactly the frequencies which were
    observed (Example 6.4). Solved after each episode, with memory for n_states^2 numbers and up to n_states^3 / 3
    multiplications; between, and without any end in sight at gamma = 1, values stay as they are.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    initial_value : float
        Value of every state before it is visited.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    rewards_, ends_ : ndarray of float64, shape (n_states,)
    successors_ : ndarray of float64, shape (n_states, n_states)
        The equations above: sums of rewards, weight of ends, gamma times the number of steps from state to state.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.BatchTD(gamma=1.0).learn("rlsuite/RandomWalk-v0", episodes=200, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.1)
    True
    """

    begin: ClassVar[Begin] = follow
    step: ClassVar[Step] = _td

    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)

    def tables(self, n_states: int) -> Evidence:
        """Make empty sums."""
        return _no_evidence(n_states)

    def scratch(self, n_states: int) -> System:
        """Make the empty equations."""
        return _new_system(n_states)


@dataclass(eq=False, kw_only=True)
class BatchMonteCarlo(Predictor):
    """Batch Monte Carlo: the values closest to all returns so far, in the mean square (S&B2 section 6.3).

    That is the mean of the returns of all visits. Where an episode was cut off, its returns continue with the value of
    the state it stopped in, which is an unknown like the others. Solved after each episode, with the memory of
    `BatchTD`.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    initial_value : float
        Value of every state before it is visited.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one is an error.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    rewards_, ends_ : ndarray of float64, shape (n_states,)
    successors_ : ndarray of float64, shape (n_states, n_states)
        The equations above: sums of returns, their number, discounts of those that were cut off.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.BatchMonteCarlo(gamma=1.0).learn("rlsuite/RandomWalk-v0", episodes=200, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.1)
    True
    """

    begin: ClassVar[Begin] = begin_buffer
    step: ClassVar[Step] = _monte_carlo

    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    longest_episode: int = LONGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.longest_episode = whole_number("longest_episode", self.longest_episode)

    def tables(self, n_states: int) -> Evidence:
        """Make empty sums."""
        return _no_evidence(n_states)

    def scratch(self, n_states: int) -> EpisodeAndSystem:
        """Make an empty buffer, and the equations."""
        return EpisodeAndSystem(new_episode_buffer(self.longest_episode), _new_system(n_states))
