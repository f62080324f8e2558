"""Bandits that explore first and then decide: explore-then-commit, and successive elimination."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import n_arms, not_negative
from rlsuite.agents.bandits.index_policy import IndexPolicy, Level
from rlsuite.agents.exploration import NO_ACTION, ExplorationRule, Score, argmax, choose, is_legal, spread_over_best
from rlsuite.agents.memory import Memory, count
from rlsuite.core.checks import finite_number, whole_number
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import ActionOrNone
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _no_level(memory: Memory, state: int) -> float:
    return 0.0


class CommitTables(NamedTuple):
    """How explore-then-commit chooses."""

    score: Score
    level: Level
    m: int
    committed: ActionOrNone  # (n_states,), the arm that was chosen for good, -1 before


@compiled(in_place=True)
def _commit_score(memory: Memory, state: int, arm: int, unused: float) -> float:
    """An arm that has not had its m pulls comes first; then the mean of those pulls decides."""
    return memory.q[state, arm] if memory.visits[state, arm] >= memory.learned.m else np.inf


@compiled(in_place=True)
def _is_committed(memory: Memory, state: int) -> bool:
    """Whether the agent has committed to an arm that is legal now."""
    arm = memory.learned.committed[state]
    return arm != NO_ACTION and is_legal(memory, state, arm)


@compiled(in_place=True)
def _commit(memory: Memory, state: int, first: float, second: float, rng: np.random.Generator) -> int:
    """The arm committed to; before that, an arm with fewer than m pulls; when there is none, commit."""
    if _is_committed(memory, state):
        return memory.learned.committed[state]
    arm = argmax(_commit_score, memory, state, 0.0, rng)
    if memory.visits[state, arm] >= memory.learned.m and memory.learned.committed[state] == NO_ACTION:
        memory.learned.committed[state] = arm
    return arm


@compiled(in_place=True)
def _commit_probabilities(memory: Memory, state: int, first: float, second: float, out: NDArray[np.float64]) -> None:
    spread_over_best(_commit_score, memory, state, 0.0, out)
    if _is_committed(memory, state):
        for arm in range(out.size):
            out[arm] = 1.0 if arm == memory.learned.committed[state] else 0.0


@compiled(in_place=True)
def _commit_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(a) <- Q(a) + (r - Q(a)) / N(a) for the first m rewards of an arm; what comes later changes nothing."""
    count(memory, t.state, t.action, t.terminated or t.truncated)
    if memory.visits[t.state, t.action] <= memory.learned.m:
        memory.q[t.state, t.action] += (t.reward - memory.q[t.state, t.action]) / memory.visits[t.state, t.action]
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class ExploreThenCommit(IndexPolicy):
    """Pull every arm m times, and then for ever the one with the largest mean (Lattimore & Szepesvari 2020, ch. 6).

    The plainest way to split exploring from exploiting. Two normal arms of variance 1 whose means differ by d cost
    m d + (T - 2 m) d Phi(-d sqrt(m / 2)) in T pulls: the best m depends on the difference, which is unknown.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    m : int
        Pulls of each arm before the choice is made.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Mean of the first m rewards of each arm.
    committed_ : ndarray of int64, shape (n_states,)
        The arm that is pulled for ever in each state, drawn from the best if they tie; -1 as long as there is none.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.ExploreThenCommit(m=50).learn(bandit([0.0, 1.0]).to_env(), steps=1_000, seed=7)
    >>> agent.visits_
    array([[ 50, 950]])
    """

    m: int = 10

    step: ClassVar[Step] = _commit_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.m = whole_number("m", self.m)

    def rule(self) -> ExplorationRule:
        """The arm committed to."""
        return super().rule()._replace(select=_commit, spread=_commit_probabilities)

    def tables(self, n_states: int, n_actions: int) -> CommitTables:
        """Name the order in which arms are pulled; nothing is decided yet."""
        return CommitTables(_commit_score, _no_level, self.m, np.full(n_states, NO_ACTION))


class EliminationTables(NamedTuple):
    """How successive elimination chooses, and which arms are out."""

    score: Score
    level: Level
    c: float
    delta: float
    eliminated: NDArray[np.bool_]  # (n_states, n_arms)


@compiled(in_place=True)
def _turn(memory: Memory, state: int, arm: int, unused: float) -> float:
    """Arms that are not out take turns: the one with the fewest pulls is next."""
    return -np.inf if memory.learned.eliminated[state, arm] else -float(memory.visits[state, arm])


@compiled(in_place=True)
def _end_of_round(memory: Memory, state: int, t: int) -> bool:
    """Whether all arms that are not out have been pulled t times."""
    for arm in range(memory.visits.shape[1]):
        remains = is_legal(memory, state, arm) and not memory.learned.eliminated[state, arm]
        if remains and memory.visits[state, arm] != t:
            return False
    return True


@compiled(in_place=True)
def _eliminate(memory: Memory, state: int, t: int) -> None:
    """Eliminate all arms with Q(best) - Q(a) >= 2 width, width = c sqrt(ln(4 K t^2 / delta) / (2 t))."""
    eliminated = memory.learned.eliminated
    best = -np.inf
    for arm in range(memory.visits.shape[1]):
        if is_legal(memory, state, arm) and not eliminated[state, arm]:
            best = max(best, memory.q[state, arm])
    confidence = math.log(4.0 * n_arms(memory, state) / memory.learned.delta) + 2.0 * math.log(float(t))
    width = memory.learned.c * math.sqrt(confidence / (2.0 * t))
    for arm in range(memory.visits.shape[1]):
        if is_legal(memory, state, arm) and best - memory.q[state, arm] >= 2.0 * width > 0.0:
            eliminated[state, arm] = True


@compiled(in_place=True)
def _elimination_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(a) <- Q(a) + (r - Q(a)) / N(a); after a round of t pulls of each remaining arm, eliminate."""
    count(memory, t.state, t.action, t.terminated or t.truncated)
    time = memory.visits[t.state, t.action]
    memory.q[t.state, t.action] += (t.reward - memory.q[t.state, t.action]) / time
    if _end_of_round(memory, t.state, time):
        _eliminate(memory, t.state, time)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class SuccessiveElimination(IndexPolicy):
    """Pull all arms in turn, and drop those that cannot be the best (Even-Dar, Mannor & Mansour 2006, Algorithm 3).

    With probability 1 - delta the best arm is never dropped, and an arm whose mean is d below it is dropped after
    O(c^2 ln(K / (delta d)) / d^2) rounds. The width of the intervals after t rounds is c sqrt(ln(4 K t^2 / delta) /
    (2 t)), Hoeffding's with its own constant, which is narrower than the paper's.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    delta : float
        Probability with which the best arm may be lost, in (0, 1).
    c : float
        Weight of the width, in units of the reward, at least 0: the range of the rewards.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Mean reward of each arm.
    eliminated_ : ndarray of bool, shape (n_states, n_arms)
        The arms that were dropped.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> arms = bandit([0.2, 0.5, 0.8], kind="bernoulli").to_env()
    >>> rl.SuccessiveElimination(delta=0.1).learn(arms, steps=2_000, seed=7).eliminated_
    array([[ True,  True, False]])
    """

    delta: float = 0.05
    c: float = 1.0

    step: ClassVar[Step] = _elimination_step

    def __post_init__(self) -> None:
        super().__post_init__()
        self.delta = finite_number("delta", self.delta)
        if not 0.0 < self.delta < 1.0:
            raise ParameterError(f"delta={self.delta:g} is not in (0, 1)")
        self.c = not_negative("c", self.c)

    def tables(self, n_states: int, n_actions: int) -> EliminationTables:
        """Name the order in which arms are pulled; none is eliminated yet."""
        out = np.zeros((n_states, n_actions), dtype=np.bool_)
        return EliminationTables(_turn, _no_level, self.c, self.delta, out)
