"""n-step TD: n rewards, then the value of the state they have led to (S&B2 section 7.1).

One step is TD(0); as many as an episode has is Monte Carlo.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.prediction.returns import Returns, learn_return
from rlsuite.agents.predictor import Predictor, StateValues, count_state, follow
from rlsuite.core.checks import fits_in_memory, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.exploration import NO_ACTION
from rlsuite.training.kernels import Begin, Step, Transition


class Ring(NamedTuple):
    """The steps whose states have not learned yet, at most n; step t of the episode is at position t modulo n."""

    state: NDArray[np.int64]  # (n,)
    reward: NDArray[np.float64]  # (n,), the reward that followed
    target: NDArray[np.float64]  # (n,), the return, once it is known
    elapsed: NDArray[np.int64]  # (1,), steps of this episode so far


@compiled(in_place=True)
def _begin(memory: StateValues, state: int, rng: np.random.Generator) -> int:
    """Empty the ring, and draw the first action of an episode."""
    memory.scratch.elapsed[0] = 0
    return follow(memory, state, rng)


@compiled(in_place=True)
def _step(memory: StateValues, t: Transition, rng: np.random.Generator) -> int:
    """V(s_t) <- V(s_t) + alpha [r_t+1 + gamma r_t+2 + ... + gamma^n V(s_t+n) - V(s_t)], n steps later.

    When the episode is over, the states of the last n steps learn from what they have got, in the order of time.
    """
    ring = memory.scratch
    n = ring.state.size
    now = ring.elapsed[0]
    ring.state[now % n] = t.state
    ring.reward[now % n] = t.reward
    ring.elapsed[0] = now + 1
    over = t.terminated or t.truncated
    oldest = max(0, now + 1 - n)
    if over or now + 1 >= n:
        total = 0.0 if t.terminated else memory.value[t.next_state]
        for time in range(now, oldest - 1, -1):
            total = ring.reward[time % n] + memory.gamma * total
            ring.target[time % n] = total
        for time in range(oldest, now + 1 if over else oldest + 1):
            learn_return(memory, ring.state[time % n], ring.target[time % n])
    count_state(memory, t.state, over)
    return NO_ACTION if over else follow(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class NStepTD(Predictor):
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

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    returns_ : ndarray of int64, shape (n_states,)
        How many returns each of them has learned from.

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

    def tables(self, n_states: int) -> Returns:
        """Make the counts of the returns."""
        return Returns(np.zeros(n_states, dtype=np.int64))

    def scratch(self, n_states: int) -> Ring:
        """Make an empty ring."""
        return Ring(np.zeros(self.n, dtype=np.int64), np.zeros(self.n), np.zeros(self.n), np.zeros(1, dtype=np.int64))
