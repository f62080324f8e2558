"""Index policies: every arm has a number of its own, and the arm with the largest is pulled.

An index is an optimistic estimate of an arm's mean: its mean reward, plus a bonus for uncertainty. It is infinite for
an arm that was never pulled, so each is pulled once before any are compared. (The functions below compute a number for
such an arm too, which is not used, because ten numbers are computed faster than ten branches.) The index may depend on
other arms through one number only, its level: how many pulls there were in all, say.

Each index bounds the mean of its arm from above with a probability that grows with time. Sutton and Barto's form of
the idea, Q + c sqrt(ln t / N) (S&B2 eq. 2.10), is ``SampleAverage(exploration=UpperConfidence(c))``.

KL-UCB: the largest mean that the rewards of an arm do not contradict (Garivier & Cappe 2011).

The index of an arm with mean reward p after n pulls is the largest q with n d(p, q) <= ln t + c ln ln t, where d is
the divergence between the distributions with means p and q. For Bernoulli arms d(p, q) = p ln(p/q) + (1-p)
ln((1-p)/(1-q)), which bounds the deviations of *any* rewards in [0, 1]; for normal arms the equation is solved by hand.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import Bandit, n_arms, not_negative, pulls
from rlsuite.agents.exploration import (
    NO_ACTION,
    ExplorationRule,
    Score,
    argmax,
    choose,
    is_legal,
    spread_over_best,
)
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import UNUSED
from rlsuite.core.checks import finite_number, whole_amount
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step, Transition

Level = Compiled[[Any, int], float]


class Index(NamedTuple):
    """An index in compiled form, as the memory's ``learned`` holds it; others add tables to these fields."""

    score: Score  # (memory, state, arm, level) -> index
    level: Level  # (memory, state) -> what the indices of a state have in common
    c: float
    scale: float = 1.0  # the horizon of MOSS, the standard deviation of KL-UCB


@compiled(in_place=True)
def _largest(memory: Memory, state: int, first: float, second: float, rng: np.random.Generator) -> int:
    return argmax(memory.learned.score, memory, state, memory.learned.level(memory, state), rng)


@compiled(in_place=True)
def _largest_probabilities(memory: Memory, state: int, first: float, second: float, out: NDArray[np.float64]) -> None:
    spread_over_best(memory.learned.score, memory, state, memory.learned.level(memory, state), out)


@compiled(in_place=True)
def average_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(a) <- Q(a) + (r - Q(a)) / N(a): the mean of the rewards of the arm."""
    count(memory, t.state, t.action, t.terminated or t.truncated)
    memory.q[t.state, t.action] += (t.reward - memory.q[t.state, t.action]) / memory.visits[t.state, t.action]
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class IndexPolicy(Bandit):
    """Base of the index policies: `tables` returns a NamedTuple with the fields ``score`` and ``level`` of `Index`."""

    def rule(self) -> ExplorationRule:
        """The arm with the largest index, ties at random."""
        return ExplorationRule(_largest, _largest_probabilities, UNUSED, UNUSED)


@compiled(in_place=True)
def _ucb1(memory: Memory, state: int, arm: int, width: float) -> float:
    """Q(a) + c sqrt(2 ln t / N(a)); `width` is c sqrt(2 ln t)."""
    n = memory.visits[state, arm]
    index = memory.q[state, arm] + width / math.sqrt(n)  # computed also for n = 0, so that no branch is needed
    return index if n > 0 else np.inf


@compiled(in_place=True)
def _ucb1_width(memory: Memory, state: int) -> float:
    return memory.learned.c * math.sqrt(2.0 * math.log(max(pulls(memory, state), 1)))


@dataclass(eq=False, kw_only=True)
class UCB1(IndexPolicy):
    """UCB1: the mean reward plus Hoeffding's bound on its error, c sqrt(2 ln t / N(a)) (Auer et al. 2002, Figure 1).

    With c the range of the rewards, largest less smallest, its regret is at most 8 sum(c^2 / gap) ln t plus a
    constant (Theorem 1). Weights that are smaller than the theorem asks for often do better. The form of S&B2 eq.
    2.10, with c sqrt(ln t / N(a)), is ``SampleAverage(exploration=UpperConfidence(c))``.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    c : float
        Weight of the bound, in units of the reward, at least 0: the range of the rewards.

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
    >>> agent = rl.UCB1().learn(bandit([0.2, 0.8], kind="bernoulli").to_env(), steps=2_000, seed=7)
    >>> bool(agent.visits_[0, 1] > 1_900)
    True
    """

    c: float = 1.0

    step: ClassVar[Step] = average_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.c = not_negative("c", self.c)

    def tables(self, n_states: int, n_actions: int) -> Index:
        """Name the index."""
        return Index(_ucb1, _ucb1_width, self.c)


class VarianceTables(NamedTuple):
    """The index of UCB-V, and the variances that it uses."""

    score: Score
    level: Level
    c: float
    zeta: float
    squares: NDArray[np.float64]  # (n_states, n_arms), sums of squared distances from the mean


@compiled(in_place=True)
def _ucbv(memory: Memory, state: int, arm: int, level: float) -> float:
    """Q(a) + sqrt(2 V(a) E / N(a)) + 3 c E / N(a) with E = zeta ln t."""
    n = memory.visits[state, arm]
    variance = memory.learned.squares[state, arm] / n
    index = memory.q[state, arm] + math.sqrt(2.0 * variance * level / n) + 3.0 * memory.learned.c * level / n
    return index if n > 0 else np.inf


@compiled(in_place=True)
def _ucbv_level(memory: Memory, state: int) -> float:
    return memory.learned.zeta * math.log(max(pulls(memory, state), 1))


@compiled(in_place=True)
def _variance_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(a) <- Q(a) + d / N(a) with d = r - Q(a); N(a) V(a) grows by d (r - Q(a)), before and after (Welford 1962)."""
    count(memory, t.state, t.action, t.terminated or t.truncated)
    distance = t.reward - memory.q[t.state, t.action]
    memory.q[t.state, t.action] += distance / memory.visits[t.state, t.action]
    memory.learned.squares[t.state, t.action] += distance * (t.reward - memory.q[t.state, t.action])
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class UCBV(IndexPolicy):
    """UCB-V: an upper confidence bound that uses the variance of each arm (Audibert, Munos & Szepesvari 2009).

    The index is Q(a) + sqrt(2 V(a) E / N(a)) + 3 c E / N(a), with V(a) the variance seen and E = zeta ln t. It decides
    about arms with nearly constant rewards sooner than `UCB1`; the regret is logarithmic for zeta > 1 and c the range
    of the rewards.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    c : float
        Weight of the term that guards against a variance that is too small by accident, in units of the reward, at
        least 0: the range of the rewards.
    zeta : float
        Speed at which the confidence grows, at least 0.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Mean reward of each arm.
    squares_ : ndarray of float64, shape (n_states, n_arms)
        Sum of the squared distances of the rewards of each arm from their mean.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.UCBV().learn(bandit([0.4, 0.6], kind="deterministic").to_env(), steps=2_000, seed=7)
    >>> bool(agent.visits_[0, 1] > 1_800)
    True
    """

    c: float = 1.0
    zeta: float = 1.2

    step: ClassVar[Step] = _variance_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.c = not_negative("c", self.c)
        self.zeta = not_negative("zeta", self.zeta)

    def tables(self, n_states: int, n_actions: int) -> VarianceTables:
        """Name the index, and make a buffer for the squared distances."""
        return VarianceTables(_ucbv, _ucbv_level, self.c, self.zeta, np.zeros((n_states, n_actions)))


@compiled(in_place=True)
def _moss(memory: Memory, state: int, arm: int, share: float) -> float:
    """Q(a) + c sqrt(max(ln(n / (K N(a))), 0) / N(a)); `share` is n / K."""
    n = memory.visits[state, arm]
    return memory.q[state, arm] + memory.learned.c * math.sqrt(max(math.log(share / n), 0.0) / n) if n > 0 else np.inf


@compiled(in_place=True)
def _share(memory: Memory, state: int) -> float:
    return memory.learned.scale / n_arms(memory, state)


@dataclass(eq=False, kw_only=True)
class MOSS(IndexPolicy):
    """MOSS, minimax optimal in the stochastic case (Audibert & Bubeck 2009).

    The index is Q(a) + c sqrt(max(ln(n / (K N(a))), 0) / N(a)) for a horizon of n pulls of K arms: an arm that had its
    share of the pulls gets no bonus any more. With c the range of the rewards, no bandit makes it lose more than
    49 c sqrt(n K) in n pulls, which but for the constant is the least possible.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    horizon : int
        Number of pulls n, of each state, that are planned for.
    c : float
        Weight of the bonus, in units of the reward, at least 0: the range of the rewards.

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
    >>> agent = rl.MOSS(horizon=2_000).learn(bandit([0.2, 0.8], kind="bernoulli").to_env(), steps=2_000, seed=7)
    >>> bool(agent.visits_[0, 1] > 1_900)
    True
    """

    horizon: int = 1_000
    c: float = 1.0

    step: ClassVar[Step] = average_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.horizon = whole_amount("horizon", self.horizon)
        self.c = not_negative("c", self.c)

    def tables(self, n_states: int, n_actions: int) -> Index:
        """Name the index."""
        return Index(_moss, _share, self.c, float(self.horizon))


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
def _largest_bound(memory: Memory, state: int, first: float, second: float, rng: np.random.Generator) -> int:
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
        return super().rule()._replace(select=_largest_bound)

    def tables(self, n_states: int, n_actions: int) -> BoundedIndex:
        """Name the index."""
        return BoundedIndex(_scaled_index, _level, self.c, self.low, self.high, np.zeros((n_states, n_actions)))


@compiled(in_place=True)
def _normal_index(memory: Memory, state: int, arm: int, level: float) -> float:
    """Largest q with N(a) (q - Q(a))^2 / (2 sigma^2) <= level: Q(a) + sigma sqrt(2 level / N(a))."""
    n = memory.visits[state, arm]
    index = memory.q[state, arm] + memory.learned.scale * math.sqrt(2.0 * level / n)
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

    def tables(self, n_states: int, n_actions: int) -> Index:
        """Name the index."""
        return Index(_normal_index, _level, self.c, self.std)
