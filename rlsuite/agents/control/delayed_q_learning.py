"""Delayed Q-learning: updates rarely, from many samples at once, and acts greedily (Strehl et al. 2006).

Values begin as high as they could possibly be, and only ever fall. A pair collects m samples before it learns, and it
learns only if that lowers its value by a good deal; a greedy agent then either acts nearly optimally, or visits what it
still overrates and learns. The number of steps that are much worse than optimal is bounded by a polynomial.
"""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION, EpsilonGreedy, Exploration, choose, max_value
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import STEPS, Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import finite_number, positive_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step, Transition


class Attempts(NamedTuple):
    """The samples collected for the next attempt to lower each value. Times count steps from 1; 0 is never."""

    total: NDArray[np.float64]  # (n_states, n_actions), the paper's U: sum of the samples
    samples: Count  # (n_states, n_actions), the paper's l
    attempted: Count  # (n_states, n_actions), the paper's t(s, a): time of the last attempt
    resting: NDArray[np.bool_]  # (n_states, n_actions), not the paper's LEARN: no attempts for now
    changed: Count  # (1,), the paper's t*: time of the last change of any value


class Patience(NamedTuple):
    """The two parameters of the rule."""

    m: int
    epsilon1: float


@compiled(in_place=True)
def _attempt(memory: Memory, state: int, action: int, now: int) -> None:
    """Q(s, a) <- U / m + epsilon1 if that lowers it by epsilon1 or more; else rest, unless values changed meanwhile."""
    known, patience = memory.learned, memory.scratch
    mean = known.total[state, action] / patience.m
    if memory.q[state, action] - mean >= 2.0 * patience.epsilon1:
        memory.q[state, action] = mean + patience.epsilon1
        known.changed[0] = now
    elif known.attempted[state, action] >= known.changed[0]:
        known.resting[state, action] = True
    known.attempted[state, action] = now
    known.total[state, action] = 0.0
    known.samples[state, action] = 0


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """U(s, a) <- U(s, a) + r + gamma max_a' Q(s', a'), and an attempt to learn after m of them."""
    known = memory.learned
    now = memory.clock[STEPS] + 1
    if not known.resting[t.state, t.action]:
        target = t.reward if t.terminated else t.reward + memory.gamma * max_value(memory, t.next_state)
        known.total[t.state, t.action] += target
        known.samples[t.state, t.action] += 1
        if known.samples[t.state, t.action] == memory.scratch.m:
            _attempt(memory, t.state, t.action, now)
    elif known.attempted[t.state, t.action] < known.changed[0]:
        known.resting[t.state, t.action] = False
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class DelayedQLearning(TabularAgent):
    """Delayed Q-learning (Strehl, Li, Wiewiora, Langford & Littman 2006, Algorithm 1).

    Greedy always, and optimistic at the start: values begin at ``largest_reward / (1 - gamma)``. With m of order
    ln(...) / (epsilon1^2 (1 - gamma)^2) and epsilon1 of order epsilon (1 - gamma), all but polynomially many steps are,
    with high probability, within epsilon of optimal (ibid., Theorem 1). Each value falls at most
    ``1 / ((1 - gamma) epsilon1)`` times, for rewards in [0, 1].

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1).
    m : int
        Samples per attempt, at least 1; 1 is enough where nothing is random.
    epsilon1 : float
        Half of what an attempt must lower a value by, in units of Q, greater than 0.
    largest_reward : float
        No reward is larger. If it is negative, values begin at 0, the value of an end.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values; with high probability above Q*.
    attempted_ : ndarray of int64, shape (n_states, n_actions)
        Step of the last attempt of each pair, counted from 1; 0 if there was none.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.DelayedQLearning(gamma=0.9, m=1, epsilon1=0.01, largest_reward=100.0)
    >>> agent = agent.learn("rlsuite/GridGoal-v0", steps=5_000, seed=7)
    >>> agent.q_[[0, 1, 2], [1, 1, 2]].round(1), agent.episodes_["length"][-100:].max()
    (array([ 81.,  90., 100.]), np.int64(3))
    """

    step: ClassVar[Step] = _step

    exploration: Exploration = field(init=False, repr=False, default_factory=lambda: EpsilonGreedy(0.0))
    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    initial_value: float = field(init=False, repr=False, default=0.0)
    m: int = 10
    epsilon1: float = 0.01
    largest_reward: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gamma == 1.0:
            raise ParameterError(
                "gamma=1 is not in [0, 1): the optimistic initial value is largest_reward / (1 - gamma)"
            )
        self.m = whole_number("m", self.m)
        self.epsilon1 = finite_number("epsilon1", positive_number("epsilon1", self.epsilon1))
        self.largest_reward = finite_number("largest_reward", self.largest_reward)
        self.initial_value = max(self.largest_reward, 0.0) / (1.0 - self.gamma)

    def tables(self, n_states: int, n_actions: int) -> Attempts:
        """Make the collections of samples, empty."""
        shape = (n_states, n_actions)
        samples, attempted = (np.zeros(shape, dtype=np.int64) for _ in range(2))
        resting = np.zeros(shape, dtype=np.bool_)
        return Attempts(np.zeros(shape), samples, attempted, resting, np.zeros(1, dtype=np.int64))

    def scratch(self, n_states: int, n_actions: int) -> Patience:
        """Hold the parameters of the rule."""
        return Patience(self.m, self.epsilon1)
