"""Gradient bandits: preferences instead of values, moved along the gradient of the expected reward (S&B2 section 2.8).

Arms are chosen by the softmax pi of the preferences H. The derivative of the expected reward by H(a) is
E[(R - b)(1{A = a} - pi(a))] for any baseline b that does not depend on the arm; each reward is one sample of it. The
baseline does not change the expectation, but a good one removes most of the noise.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import choice_probabilities, pulls
from rlsuite.agents.exploration import NO_ACTION, Exploration, Softmax
from rlsuite.agents.exploration.boltzmann import boltzmann_weights, draw_by_weight
from rlsuite.agents.memory import Memory, count, step_size
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.checks import one_of
from rlsuite.core.compilation import Compiled, compiled
from rlsuite.training.kernels import Begin, Step, Transition

Baseline = Compiled[[Any, int, float], float]


class GradientTables(NamedTuple):
    """What a gradient bandit learns beside the preferences, which are stored instead of Q."""

    mean_reward: NDArray[np.float64]  # (n_states,), the mean of all rewards so far
    baseline: Baseline  # (memory, state, reward) -> number


class GradientScratch(NamedTuple):
    """The probabilities with which the last arm was chosen."""

    pi: NDArray[np.float64]  # (n_actions,)


@compiled(in_place=True)
def _average_baseline(memory: Memory, state: int, reward: float) -> float:
    """The mean of the rewards before the present one; the first one is its own baseline."""
    return memory.learned.mean_reward[state] if pulls(memory, state) > 0 else reward


@compiled(in_place=True)
def _no_baseline(memory: Memory, state: int, reward: float) -> float:
    return 0.0


BASELINES: dict[str, Baseline] = {"average": _average_baseline, "none": _no_baseline}


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Draw an arm from the softmax of the preferences, and keep the softmax for the step."""
    pi = memory.scratch.pi
    total = boltzmann_weights(memory, state, 1.0, pi)
    for arm in range(pi.size):
        pi[arm] /= total
    return draw_by_weight(memory, state, pi, 1.0, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """H(a) <- H(a) + alpha (R - b) (1{a = A} - pi(a)) for all arms a."""
    pi = memory.scratch.pi
    amount = step_size(memory, t.state, t.action) * (t.reward - memory.learned.baseline(memory, t.state, t.reward))
    for arm in range(pi.size):
        memory.q[t.state, arm] += amount * ((1.0 if arm == t.action else 0.0) - pi[arm])
    count(memory, t.state, t.action, t.terminated or t.truncated)
    memory.learned.mean_reward[t.state] += (t.reward - memory.learned.mean_reward[t.state]) / pulls(memory, t.state)
    return NO_ACTION if t.terminated or t.truncated else _begin(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class GradientBandit(TabularAgent):
    """Gradient bandit: stochastic gradient ascent on preferences (S&B2 eq. 2.12).

    With the average reward as baseline the learned policy does not change when the same number is added to all
    rewards; without one it learns badly where rewards are far from 0. As an instance of stochastic gradient ascent it
    converges if its steps are small enough; large ones may settle on an arm too early.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1].
    baseline : {"average", "none"}
        What is subtracted from a reward: the mean of all rewards of this state before it, or nothing.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Preferences H, which are not values: only their differences count.
    mean_reward_ : ndarray of float64, shape (n_states,)
        Mean of the rewards received in each state.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.GradientBandit(learning_rate=0.4)
    >>> agent = agent.learn(bandit([4.0, 5.5]).to_env(), steps=2_000, seed=7)
    >>> bool(agent.policy()[0, 1] > 0.95)
    True
    """

    gamma: float = 0.0
    exploration: Exploration = field(init=False, repr=False, default_factory=Softmax)
    learning_rate: float | Schedule = 0.1
    initial_value: float = field(init=False, repr=False, default=0.0)
    baseline: str = "average"

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("baseline", self.baseline, BASELINES)

    def tables(self, n_states: int, n_actions: int) -> GradientTables:
        """Make the mean reward of each state, and name the baseline."""
        return GradientTables(np.zeros(n_states), BASELINES[self.baseline])

    def scratch(self, n_states: int, n_actions: int) -> GradientScratch:
        """Make a buffer for the probabilities of one state."""
        return GradientScratch(np.zeros(n_actions))

    def policy(self) -> NDArray[np.float64]:
        """The softmax of the preferences, shape (n_states, n_actions): the probabilities learned so far."""
        return choice_probabilities(self.memory_)
