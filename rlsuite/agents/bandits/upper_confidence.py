"""Upper confidence bounds in closed form: UCB1, UCB-V and MOSS.

Each index bounds the mean of its arm from above with a probability that grows with time. Sutton and Barto's form of
the idea, Q + c sqrt(ln t / N) (S&B2 eq. 2.10), is ``SampleAverage(exploration=UpperConfidence(c))``.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import n_arms, not_negative, pulls
from rlsuite.agents.bandits.index_policy import Index, IndexPolicy, Level, average_step
from rlsuite.agents.exploration import NO_ACTION, Score, choose
from rlsuite.agents.memory import Memory, count
from rlsuite.core.checks import whole_amount
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


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


class HorizonIndex(NamedTuple):
    """The index of MOSS."""

    score: Score
    level: Level
    c: float
    horizon: float


@compiled(in_place=True)
def _moss(memory: Memory, state: int, arm: int, share: float) -> float:
    """Q(a) + c sqrt(max(ln(n / (K N(a))), 0) / N(a)); `share` is n / K."""
    n = memory.visits[state, arm]
    return memory.q[state, arm] + memory.learned.c * math.sqrt(max(math.log(share / n), 0.0) / n) if n > 0 else np.inf


@compiled(in_place=True)
def _share(memory: Memory, state: int) -> float:
    return memory.learned.horizon / n_arms(memory, state)


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

    def tables(self, n_states: int, n_actions: int) -> HorizonIndex:
        """Name the index."""
        return HorizonIndex(_moss, _share, self.c, float(self.horizon))
