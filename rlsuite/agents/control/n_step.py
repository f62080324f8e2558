"""n-step Sarsa: between one step of experience and a whole episode (S&B2 section 7.2)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rlsuite.agents.control.expected_sarsa import expected_value
from rlsuite.agents.control.n_step_buffer import NStepAgent, first_to_learn, last_to_learn, learn, record_step
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import NOWHERE, Memory, end_step, locate, locate_next
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _return(memory: Memory, tau: int, t: int, future: float) -> float:
    """G = R_tau+1 + gamma R_tau+2 + ... + gamma^(t-tau) R_t+1 + gamma^(t+1-tau) future."""
    buffer = memory.scratch.buffer
    total = future
    for k in range(t, tau - 1, -1):
        total = buffer.reward[k % buffer.n] + memory.gamma * total
    return total


@compiled(in_place=True)
def _sarsa_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(S_tau, A_tau) += alpha [R_tau+1 + ... + gamma^(n-1) R_t+1 + gamma^n Q(S_t+1, A_t+1) - Q(S_tau, A_tau)].

    On truncation the target still bootstraps: with the value of this moment, before any of the waiting pairs learns.
    """
    s, next_action, future = locate(memory, t.state), NO_ACTION, 0.0
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        next_action = choose(memory, next_s, rng)
        future = memory.q[next_s, next_action]
    time = record_step(memory, s, t.action, t.reward)
    buffer = memory.scratch.buffer
    for tau in range(first_to_learn(buffer, time), last_to_learn(buffer, time, t.terminated or t.truncated) + 1):
        learn(memory, tau, _return(memory, tau, time, future))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return next_action


@compiled(in_place=True)
def _expected_sarsa_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(S_tau, A_tau) += alpha [R_tau+1 + ... + gamma^n sum_a pi(a | S_t+1) Q(S_t+1, a) - Q(S_tau, A_tau)]."""
    s, next_s, future = locate(memory, t.state), NOWHERE, 0.0
    over = t.terminated or t.truncated
    time = record_step(memory, s, t.action, t.reward)
    buffer = memory.scratch.buffer
    first, last = first_to_learn(buffer, time), last_to_learn(buffer, time, over)
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        if last >= first:
            future = expected_value(memory, next_s, buffer.probabilities)
    for tau in range(first, last + 1):
        learn(memory, tau, _return(memory, tau, time, future))
    end_step(memory, s, t.action, over)
    if over:
        return NO_ACTION
    return choose(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class NStepSarsa(NStepAgent):
    """n-step Sarsa: n rewards, and then the value of the pair that is reached (S&B2 eq. 7.4 and 7.5).

    With n = 1 it is `Sarsa`; with an n that no episode reaches, every-visit Monte Carlo control with a constant step
    size. In between, a reward changes the values of n pairs at once. Each step costs time in proportion to n. Where an
    episode is truncated, the last n pairs learn from the value that the pair reached has at that moment.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule takes its value when the pair is visited, n steps before it learns.
    exploration : Exploration
        How actions are chosen while learning.
    n : int
        Steps after which a pair learns, at least 1.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.NStepSarsa(n=4, gamma=1.0, learning_rate=0.2, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CliffWalking-v1", episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -40)
    True
    """

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _sarsa_step


@dataclass(eq=False, kw_only=True)
class NStepExpectedSarsa(NStepAgent):
    """n-step Expected Sarsa: n rewards, and then the expected value of the state that is reached (S&B2 eq. 7.7).

    With n = 1 it is `ExpectedSarsa`. Where an episode is truncated, the last n pairs learn from the expected value that
    the state reached has at that moment.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule takes its value when the pair is visited, n steps before it learns.
    exploration : Exploration
        The policy that is followed and evaluated.
    n : int
        Steps after which a pair learns, at least 1.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.NStepExpectedSarsa(n=4, gamma=1.0, learning_rate=0.2, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CliffWalking-v1", episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -40)
    True
    """

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _expected_sarsa_step
