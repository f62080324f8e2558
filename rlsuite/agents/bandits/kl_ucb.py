"""KL-UCB: the largest mean that the rewards of an arm do not contradict (Garivier & Cappe 2011).

The index of an arm with mean reward p after n pulls is the largest q with n d(p, q) <= ln t + c ln ln t, where d is
the divergence between the distributions with means p and q. For Bernoulli arms d(p, q) = p ln(p/q) + (1-p)
ln((1-p)/(1-q)), which bounds the deviations of *any* rewards in [0, 1]; for normal arms the equation is solved by hand.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import not_negative, pulls
from rlsuite.agents.bandits.index_policy import IndexPolicy, Level, average_step
from rlsuite.agents.exploration import NO_ACTION, ExplorationRule, Score, choose, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.core.checks import finite_number
from rlsuite.core.compilation import compiled
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step, Transition

NEWTON_STEPS = 60
"""Far more iterations than are ever needed."""

ROUNDING = 1e-12
"""Far more than the rounding error of a divergence."""


@compiled(in_place=True)
def negative_entropy(p: float) -> float:
    """h(p) = p ln p + (1 - p) ln(1 - p) in nats, for p in [0, 1]."""
    entropy = 0.0
    if p > 0.0:
        entropy += p * math.log(p)
    if p < 1.0:
        entropy += (1.0 - p) * math.log(1.0 - p)
    return entropy


@compiled(in_place=True)
def bernoulli_bound(p: float, entropy: float, level: float) -> float:
    """The q >= p with d(p, q) = level, by Newton's method; 1 where even the largest number below 1 is too small.

    ``entropy`` is h(p), so that d(p, q) = h(p) - p ln q - (1 - p) ln(1 - q). Newton's method begins at a q that is too
    large. As d is convex and rises there, every step stays on that side and comes closer; it ends when rounding makes
    it stand still.
    """
    if p >= 1.0 or level <= 0.0:
        return min(p, 1.0)
    if p <= 0.0:
        return -math.expm1(-level)
    # d(p, q) >= p ln p + (1 - p) ln((1 - p) / (1 - q)), and d(p, q) >= 2 (q - p)^2 (Pinsker)
    q = min(1.0 - math.exp((entropy - level) / (1.0 - p)), p + math.sqrt(0.5 * level))
    if q >= 1.0:
        return 1.0
    for _ in range(NEWTON_STEPS):
        divergence = entropy - p * math.log(q) - (1.0 - p) * math.log(1.0 - q)
        newer = q - (divergence - level) * q * (1.0 - q) / (q - p)
        if not p < newer < q:
            break
        q = newer
    return q


@compiled(in_place=True)
def _level(memory: Memory, state: int) -> float:
    """Return ln t + c ln ln t; the second term counts from t = e on."""
    log_t = math.log(max(pulls(memory, state), 1))
    return log_t + memory.learned.c * math.log(max(log_t, 1.0)) if memory.learned.c > 0.0 else log_t


@compiled(in_place=True)
def _scaled(memory: Memory, state: int, arm: int) -> float:
    """p: the mean of an arm where the rewards are scaled to [0, 1]."""
    return min(max((memory.q[state, arm] - memory.learned.low) / (memory.learned.high - memory.learned.low), 0.0), 1.0)


@compiled(in_place=True)
def _scaled_index(memory: Memory, state: int, arm: int, level: float) -> float:
    """Largest q with N(a) d(p, q) <= level."""
    n = memory.visits[state, arm]
    if n == 0:
        return np.inf
    return bernoulli_bound(_scaled(memory, state, arm), memory.learned.entropy[state, arm], level / n)


@compiled(in_place=True)
def _contends(
    memory: Memory, state: int, arm: int, level: float, best: float, log_best: float, log_rest: float
) -> bool:
    """Whether the index of an arm may be as large as ``best``, whose logarithm and that of 1 - best are known.

    d(p, q) grows with q, so the index is below q where N(a) d(p, q) is above the level. That takes no logarithm, while
    the index takes many. An arm so near that rounding might decide contends.
    """
    n = memory.visits[state, arm]
    if n == 0 or best == np.inf:
        return n == 0
    p = _scaled(memory, state, arm)
    if p >= best or best >= 1.0:
        return True
    divergence = memory.learned.entropy[state, arm] - p * log_best - (1.0 - p) * log_rest
    return n * (divergence - ROUNDING) <= level * (1.0 + ROUNDING)


@compiled(in_place=True)
def _largest(memory: Memory, state: int, first: float, second: float, rng: np.random.Generator) -> int:
    """The largest index, ties at random; computed for the arm pulled most often, and for those that may exceed it."""
    level = _level(memory, state)
    leader = NO_ACTION
    for arm in range(memory.visits.shape[1]):
        most = leader == NO_ACTION or memory.visits[state, arm] > memory.visits[state, leader]
        if most and is_legal(memory, state, arm):
            leader = arm
    choice = leader
    best, log_best, log_rest = -np.inf, 0.0, 0.0
    ties = 0
    for turn in range(-1, memory.visits.shape[1]):
        arm = leader if turn < 0 else turn
        if turn == leader or not is_legal(memory, state, arm):
            continue
        if turn >= 0 and not _contends(memory, state, arm, level, best, log_best, log_rest):
            continue
        index = _scaled_index(memory, state, arm, level)
        if index > best:
            best, log_best, log_rest = index, math.log(index), math.log(1.0 - index)
            choice = arm
            ties = 1
        elif index == best:
            ties += 1
    if ties > 1:
        chosen = int(rng.random() * ties)
        for arm in range(memory.visits.shape[1]):
            contends = is_legal(memory, state, arm) and _contends(memory, state, arm, level, best, log_best, log_rest)
            if contends and _scaled_index(memory, state, arm, level) == best:
                if chosen == 0:
                    return arm
                chosen -= 1
    return choice


@compiled(in_place=True)
def _bounded_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(a) <- Q(a) + (r - Q(a)) / N(a): the mean of the rewards of the arm, and h of it."""
    count(memory, t.state, t.action, t.terminated or t.truncated)
    memory.q[t.state, t.action] += (t.reward - memory.q[t.state, t.action]) / memory.visits[t.state, t.action]
    memory.learned.entropy[t.state, t.action] = negative_entropy(_scaled(memory, t.state, t.action))
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


class BoundedIndex(NamedTuple):
    """The index of KL-UCB for rewards in [low, high]."""

    score: Score
    level: Level
    c: float
    low: float
    high: float
    entropy: NDArray[np.float64]  # (n_states, n_arms), h of the scaled mean


@dataclass(eq=False, kw_only=True)
class KLUCB(IndexPolicy):
    """KL-UCB for Bernoulli arms, and for any rewards in an interval (Garivier & Cappe 2011, Algorithm 1).

    For Bernoulli arms the regret grows like C ln t with the least constant that is possible (Lai & Robbins 1985).
    The index is never above that of `UCB1`, as Pinsker's inequality shows.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    c : float
        Weight of ln ln t, at least 0: 3 in the paper's theorem, 0 in its experiments.
    low, high : float
        Ends of the interval in which all rewards lie; a mean outside counts as the end that is nearer.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Mean reward of each arm.
    entropy_ : ndarray of float64, shape (n_states, n_arms)
        p ln p + (1 - p) ln(1 - p) in nats, where p is the mean scaled to [0, 1].

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values, or ``low`` is not below ``high``.

    Warns
    -----
    RewardWarning
        Once by `learn`, if the environment has rewards outside the range that is expected.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.KLUCB().learn(bandit([0.2, 0.8], kind="bernoulli").to_env(), steps=2_000, seed=7)
    >>> bool(agent.visits_[0, 1] > 1_950)
    True
    """

    c: float = 0.0
    low: float = 0.0
    high: float = 1.0

    step: ClassVar[Step] = _bounded_step
    expected_rewards = ("low", "high")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.c = not_negative("c", self.c)
        self.low, self.high = finite_number("low", self.low), finite_number("high", self.high)
        if not self.low < self.high:
            raise ParameterError(f"low={self.low:g} is not below high={self.high:g}")

    def rule(self) -> ExplorationRule:
        """The arm with the largest index, ties at random."""
        return super().rule()._replace(select=_largest)

    def tables(self, n_states: int, n_actions: int) -> BoundedIndex:
        """Name the index."""
        return BoundedIndex(_scaled_index, _level, self.c, self.low, self.high, np.zeros((n_states, n_actions)))


class NormalIndex(NamedTuple):
    """The index of KL-UCB for normal rewards."""

    score: Score
    level: Level
    c: float
    std: float


@compiled(in_place=True)
def _normal_index(memory: Memory, state: int, arm: int, level: float) -> float:
    """Largest q with N(a) (q - Q(a))^2 / (2 sigma^2) <= level: Q(a) + sigma sqrt(2 level / N(a))."""
    n = memory.visits[state, arm]
    index = memory.q[state, arm] + memory.learned.std * math.sqrt(2.0 * level / n)
    return index if n > 0 else np.inf


@dataclass(eq=False, kw_only=True)
class KLUCBNormal(IndexPolicy):
    """KL-UCB for normal arms of known standard deviation (Garivier & Cappe 2011, with their Gaussian divergence).

    The divergence of two normal distributions with one variance is (p - q)^2 / (2 std^2), and the index is the mean
    plus std sqrt(2 (ln t + c ln ln t) / N(a)): that of `UCB1` with c = std, where the ln ln t is left out.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    c : float
        Weight of ln ln t, at least 0.
    std : float
        Standard deviation of the rewards of every arm, at least 0.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Mean reward of each arm.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.KLUCBNormal(std=0.5).learn(bandit([0.0, 1.0], std=0.5).to_env(), steps=2_000, seed=7)
    >>> bool(agent.visits_[0, 1] > 1_950)
    True
    """

    c: float = 0.0
    std: float = 1.0

    step: ClassVar[Step] = average_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.c = not_negative("c", self.c)
        self.std = not_negative("std", self.std)

    def tables(self, n_states: int, n_actions: int) -> NormalIndex:
        """Name the index."""
        return NormalIndex(_normal_index, _level, self.c, self.std)
