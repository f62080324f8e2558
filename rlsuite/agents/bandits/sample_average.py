"""Sample averages: the value of an arm is the mean of its rewards (S&B2 Section 2.2).

Each arm is pulled once before any two are compared. Which one is pulled then is chosen by an exploration.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rlsuite.agents.exploration import NO_ACTION, choose, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Pull each arm once before any is compared: an untried arm's 0 is not an estimate.

    The first pulls are in order, so that all arms were tried if the last one was.
    """
    last = NO_ACTION
    for arm in range(memory.visits.shape[1]):
        if is_legal(memory, state, arm):
            last = arm
    if last == NO_ACTION or memory.visits[state, last] > 0:
        return choose(memory, state, rng)
    for arm in range(last):
        if is_legal(memory, state, arm) and memory.visits[state, arm] == 0:
            return arm
    return last


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Theta[i] <- Theta[i] + (r - Theta[i]) / c[i]: the mean of the rewards of arm i."""
    count(memory, t.state, t.action, t.terminated or t.truncated)
    memory.q[t.state, t.action] += (t.reward - memory.q[t.state, t.action]) / memory.visits[t.state, t.action]
    return NO_ACTION if t.terminated or t.truncated else _begin(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class SampleAverage(TabularAgent):
    """The lecture notes' bandit learner: the mean reward of each arm, and a rule to choose by it (S&B2 eq. 2.3).

    Every arm is pulled once before the first choice. In an environment with several states the means are kept for each
    state on its own, so it learns the immediate reward of a contextual bandit.

    With ``exploration=UpperConfidence(c)`` it is the UCB of S&B2 eq. 2.10. The epsilon-greedy figures of that chapter
    count an untried arm as 0 instead of pulling it first; ``QLearning(gamma=0, learning_rate=Inverse(1.0,
    per="visits"))`` does.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    exploration : Exploration
        How arms are chosen: `EpsilonGreedy` or `Softmax`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Mean reward of each arm.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.SampleAverage(exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("rlsuite/Bandit-v0", steps=1_000, seed=7)
    >>> int(agent.visits_.sum())
    1000
    """

    gamma: float = 0.0
    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step
