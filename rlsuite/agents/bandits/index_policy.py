"""Index policies: every arm has a number of its own, and the arm with the largest is pulled.

An index is an optimistic estimate of an arm's mean: its mean reward, plus a bonus for uncertainty. It is infinite for
an arm that was never pulled, so each is pulled once before any are compared. (The functions below compute a number for
such an arm too, which is not used, because ten numbers are computed faster than ten branches.) The index may depend on
other arms through one number only, its level: how many pulls there were in all, say.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import Bandit
from rlsuite.agents.exploration import NO_ACTION, ExplorationRule, Score, argmax, choose, spread_over_best
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import UNUSED
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.training.kernels import Transition

Level = Compiled[[Any, int], float]


class Index(NamedTuple):
    """An index in compiled form, as the memory's ``learned`` holds it; others add tables to these fields."""

    score: Score  # (memory, state, arm, level) -> index
    level: Level  # (memory, state) -> what the indices of a state have in common
    c: float


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
