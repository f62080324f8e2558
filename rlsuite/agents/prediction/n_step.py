"""n-step TD: n rewards, then the value of the state they have led to (S&B2 section 7.1).

One step is TD(0); as many as an episode has is Monte Carlo.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.n_step_buffer import NStepBuffer, first_to_learn, last_to_learn, new_n_step_buffer
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import (
    NOWHERE,
    STATE,
    Memory,
    Observation,
    begin_following,
    end_step,
    learn_stored,
    locate,
    locate_next,
    next_action,
    store,
    value,
)
from rlsuite.agents.prediction.returns import Returns
from rlsuite.agents.state_value_agent import StateValueAgent
from rlsuite.core.checks import fits_in_memory, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class Waiting(NamedTuple):
    """The steps whose states have not learned yet, at most n."""

    buffer: NStepBuffer
    target: NDArray[np.float64]  # (n,), the return of each step, once it is known


@compiled(in_place=True)
def _begin(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Empty the buffer, and draw the first action of an episode."""
    memory.scratch.buffer.length[0] = 0
    return begin_following(memory, state, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """V(s_t) <- V(s_t) + alpha [r_t+1 + gamma r_t+2 + ... + gamma^n V(s_t+n) - V(s_t)], n steps later.

    When the episode is over, the states of the last n steps learn from what they have got, in the order of time. The
    returns are known before any of them learns.
    """
    buffer, target = memory.scratch
    over = t.terminated or t.truncated
    s, next_s, total = locate(memory, t.state), NOWHERE, 0.0
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        total = value(memory, next_s, STATE)
    now = buffer.length[0]
    store(memory, s, now % buffer.n)
    buffer.reward[now % buffer.n] = t.reward
    buffer.length[0] = now + 1
    first, last = first_to_learn(buffer, now), last_to_learn(buffer, now, over)
    if first <= last:
        for time in range(now, first - 1, -1):
            total = buffer.reward[time % buffer.n] + memory.gamma * total
            target[time % buffer.n] = total
    for time in range(first, last + 1):
        learn_stored(memory, time % buffer.n, target[time % buffer.n])
    end_step(memory, s, t.action, over)
    return NO_ACTION if over else next_action(memory, t.next_state, next_s, rng)


@dataclass(eq=False, kw_only=True)
class NStepTD(StateValueAgent):
    """n-step TD prediction (S&B2 eq. 7.2).

    The n-step return is closer to the value of the policy than the values it is made from, by gamma^n at worst (eq.
    7.3); so the values converge for all n under the conditions of `TD`. A step costs n additions. Where an episode is
    truncated, the last n states learn from the value that the state reached has at that moment.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    n : int
        Steps until a state learns, at least 1.
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule per visits counts the returns that the state has learned from.
    initial_value : float
        Value of every state before it is visited.
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
    >>> agent = rl.NStepTD(gamma=1.0, n=3, learning_rate=0.02, initial_value=0.5)
    >>> agent = agent.learn("rlsuite/RandomWalk-v0", episodes=500, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.15)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    n: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        self.n = whole_number("n", self.n)
        fits_in_memory(f"n={self.n}", 24 * self.n)

    def tables(self, n_states: int) -> tuple[object, ...]:
        """Make the counts of the returns; none with features."""
        return Returns(np.zeros(n_states, dtype=np.int64)) if self.values_.has_rows else ()

    def scratch(self, n_states: int) -> Waiting:
        """Make an empty buffer."""
        return Waiting(new_n_step_buffer(self.n, 0, self.values_.most_active), np.zeros(self.n))
