"""Arms that drift: upper confidence bounds that discount or drop old rewards (Garivier & Moulines 2011).

Old rewards say little about an arm that drifts. A window drops them at once, a discount gradually, and so does a
constant step size: ``QLearning(gamma=0, learning_rate=0.1)`` is the exponential recency-weighted average
of S&B2 section 2.5. Time is counted in pulls of the state.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import not_negative, pulls
from rlsuite.agents.bandits.index_policy import IndexPolicy, Level
from rlsuite.agents.exploration import NO_ACTION, Score, choose
from rlsuite.agents.memory import Memory, count
from rlsuite.core.checks import finite_number, fits_in_memory, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Action
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step, Transition


class WindowTables(NamedTuple):
    """The last pulls of every state, and their sums."""

    score: Score
    level: Level
    c: float
    weight: NDArray[np.float64]  # (n_states, n_arms), pulls of each arm in the window
    total: NDArray[np.float64]  # (n_states, n_arms), sum of their rewards
    ring_action: Action  # (n_states, window)
    ring_reward: NDArray[np.float64]  # (n_states, window)


@compiled(in_place=True)
def _recent_index(memory: Memory, state: int, arm: int, width: float) -> float:
    """Q(a) + c sqrt(ln n / N(a)), with n and N(a) the weights that are remembered; `width` is c sqrt(ln n)."""
    weight = memory.learned.weight[state, arm]
    index = memory.q[state, arm] + width / math.sqrt(weight)
    return index if weight > 0.0 else np.inf


@compiled(in_place=True)
def _recent_width(memory: Memory, state: int) -> float:
    """Return c sqrt(ln n), with n the weight of all that is remembered of a state."""
    n = 0.0
    for arm in range(memory.visits.shape[1]):
        n += memory.learned.weight[state, arm]
    return memory.learned.c * math.sqrt(math.log(max(n, 1.0)))


@compiled(in_place=True)
def _add_up(memory: Memory, state: int) -> None:
    """Compute the sums of a full window again from its entries, so that rounding errors do not accumulate."""
    recent = memory.learned
    for arm in range(recent.total.shape[1]):
        recent.total[state, arm] = 0.0
    for entry in range(recent.ring_action.shape[1]):
        recent.total[state, recent.ring_action[state, entry]] += recent.ring_reward[state, entry]


@compiled(in_place=True)
def _window_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(a): the mean of the rewards of arm a among the last pulls of its state."""
    recent = memory.learned
    time = pulls(memory, t.state)
    entry = time % recent.ring_action.shape[1]
    if time >= recent.ring_action.shape[1]:
        oldest = recent.ring_action[t.state, entry]
        recent.weight[t.state, oldest] -= 1.0
        recent.total[t.state, oldest] -= recent.ring_reward[t.state, entry]
        if recent.weight[t.state, oldest] > 0.0:
            memory.q[t.state, oldest] = recent.total[t.state, oldest] / recent.weight[t.state, oldest]
    recent.ring_action[t.state, entry] = t.action
    recent.ring_reward[t.state, entry] = t.reward
    recent.weight[t.state, t.action] += 1.0
    recent.total[t.state, t.action] += t.reward
    if entry == recent.ring_action.shape[1] - 1:
        _add_up(memory, t.state)
    memory.q[t.state, t.action] = recent.total[t.state, t.action] / recent.weight[t.state, t.action]
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class SlidingWindowUCB(IndexPolicy):
    """SW-UCB: an upper confidence bound from the last pulls alone (Garivier & Moulines 2011, section 3).

    The index is Q(a) + c sqrt(ln n / N(a)), where Q(a), N(a) and n = min(t, window) count the last pulls of the state.
    An arm of which the window holds nothing is pulled again. Good where arms change abruptly, and seldom.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    window : int
        Number of pulls of a state that are remembered.
    c : float
        Weight of the uncertainty, in units of the reward, at least 0: B sqrt(xi) in the paper, whose experiments have
        xi = 1/2 and rewards up to B = 1.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Mean reward of each arm in the window, or what it was when the arm dropped out.
    weight_ : ndarray of float64, shape (n_states, n_arms)
        Pulls of each arm in the window.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values, or the windows do not fit in memory.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.SlidingWindowUCB(window=100).learn(bandit([0.2, 0.8]).to_env(), steps=1_000, seed=7)
    >>> float(agent.weight_.sum())
    100.0
    """

    window: int = 200
    c: float = math.sqrt(0.5)

    step: ClassVar[Step] = _window_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.window = whole_number("window", self.window)
        self.c = not_negative("c", self.c)

    def tables(self, n_states: int, n_actions: int) -> WindowTables:
        """Make an empty window for every state."""
        fits_in_memory(f"a window of {self.window} pulls for each of {n_states} states", 16 * self.window * n_states)
        weight, total = (np.zeros((n_states, n_actions)) for _ in range(2))
        actions = np.zeros((n_states, self.window), dtype=np.int64)
        return WindowTables(
            _recent_index, _recent_width, self.c, weight, total, actions, np.zeros((n_states, self.window))
        )


class DiscountTables(NamedTuple):
    """The weight that is remembered of every arm."""

    score: Score
    level: Level
    c: float
    discount: float
    weight: NDArray[np.float64]  # (n_states, n_arms)


@compiled(in_place=True)
def _discount_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """N <- discount N for all arms, N(a) <- N(a) + 1, Q(a) <- Q(a) + (r - Q(a)) / N(a)."""
    weight = memory.learned.weight
    for arm in range(weight.shape[1]):
        weight[t.state, arm] *= memory.learned.discount
    weight[t.state, t.action] += 1.0
    memory.q[t.state, t.action] += (t.reward - memory.q[t.state, t.action]) / weight[t.state, t.action]
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class DiscountedUCB(IndexPolicy):
    """D-UCB: an upper confidence bound from discounted rewards (Kocsis & Szepesvari 2006; Garivier & Moulines 2011).

    The index is Q(a) + c sqrt(ln n / N(a)), where a pull that is k pulls old counts discount^k in Q(a), N(a) and n =
    sum N.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    discount : float
        What is left of a pull's weight after one more pull of the state, in (0, 1); 1 / (1 - discount) pulls are
        remembered, more or less.
    c : float
        Weight of the uncertainty, in units of the reward, at least 0: 2 B sqrt(xi) in the paper, whose experiments
        have xi = 1/2 and rewards up to B = 1.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Weighted mean reward of each arm.
    weight_ : ndarray of float64, shape (n_states, n_arms)
        What the pulls of each arm still count.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.DiscountedUCB(discount=0.99).learn(bandit([0.2, 0.8]).to_env(), steps=2_000, seed=7)
    >>> round(float(agent.weight_.sum()), 6)
    100.0
    """

    discount: float = 0.99
    c: float = math.sqrt(2.0)

    step: ClassVar[Step] = _discount_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.discount = finite_number("discount", self.discount)
        if not 0.0 < self.discount < 1.0:
            raise ParameterError(f"discount={self.discount:g} is not in (0, 1)")
        self.c = not_negative("c", self.c)

    def tables(self, n_states: int, n_actions: int) -> DiscountTables:
        """Make an empty memory."""
        nothing = np.zeros((n_states, n_actions))
        return DiscountTables(_recent_index, _recent_width, self.c, self.discount, nothing)
