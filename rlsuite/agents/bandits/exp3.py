"""EXP3: exponential weights for arms whose rewards an adversary may have chosen (Auer et al. 2002b)."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.bandits.bandit import Bandit, choice_probabilities, n_arms, pulls
from rlsuite.agents.exploration import NO_ACTION, ExplorationRule, choose, is_legal
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import UNUSED, Schedule, as_schedule, rate_now
from rlsuite.core.compilation import compiled
from rlsuite.errors import ParameterError
from rlsuite.training.kernels import Step, Transition


class Exp3Scratch(NamedTuple):
    """The probabilities with which the current arm was drawn."""

    p: NDArray[np.float64]  # (n_actions,)


@compiled(in_place=True)
def _exp3_probabilities(memory: Memory, state: int, epsilon: float, unused: float, out: NDArray[np.float64]) -> None:
    """p(a) = (1 - epsilon) w(a) / sum w + epsilon / K, with ln w(a) instead of Q(a); no weight overflows."""
    top = -np.inf
    for arm in range(out.size):
        if is_legal(memory, state, arm):
            top = max(top, memory.q[state, arm])
    total = 0.0
    for arm in range(out.size):
        out[arm] = math.exp(memory.q[state, arm] - top) if is_legal(memory, state, arm) else 0.0
        total += out[arm]
    uniform = epsilon / n_arms(memory, state)
    for arm in range(out.size):
        if is_legal(memory, state, arm):
            out[arm] = (1.0 - epsilon) * out[arm] / total + uniform


@compiled(in_place=True)
def _exp3_choice(memory: Memory, state: int, epsilon: float, unused: float, rng: np.random.Generator) -> int:
    p = memory.scratch.p
    _exp3_probabilities(memory, state, epsilon, unused, p)
    remaining = rng.random()
    choice = NO_ACTION
    for arm in range(p.size):
        if p[arm] > 0.0:
            choice = arm
            remaining -= p[arm]
            if remaining < 0.0:
                break
    return choice


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """w(A) <- w(A) exp(epsilon r / (K p(A))): the reward, weighted by how unlikely its arm was."""
    epsilon = rate_now(memory.exploration.first, memory.clock, pulls(memory, t.state))
    memory.q[t.state, t.action] += epsilon * t.reward / (memory.scratch.p[t.action] * n_arms(memory, t.state))
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class EXP3(Bandit):
    """EXP3, for adversarial rewards in [0, 1] (Auer, Cesa-Bianchi, Freund & Schapire 2002, Figure 1).

    Whatever the rewards are, even chosen by an adversary that knows the rule but not its random numbers, the expected
    loss against the best single arm is at most (e - 1) epsilon G + K ln K / epsilon, with K arms and G the rewards of
    that arm (Theorem 3.1); epsilon = sqrt(K ln K / ((e - 1) T)) makes it about 2.63 sqrt(T K ln K) in T pulls. Where
    the rewards do follow a law, the index policies and Thompson sampling lose far less.

    Parameters
    ----------
    gamma : float
        Not used by the rule, which looks no further than one reward; the discount of evaluations.
    epsilon : float or Schedule
        Probability of a uniformly random arm, above 0 and at most 1, and the step size of the weights: the paper's
        gamma.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_arms)
        Logarithms of the weights, which are not values: only their differences count.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Warns
    -----
    RewardWarning
        Once by `learn`, if the environment has rewards outside the range that is expected.

    Examples
    --------
    >>> import rlsuite as rl
    >>> from rlsuite_envs.bandits import bandit
    >>> agent = rl.EXP3(epsilon=0.1).learn(bandit([0.2, 0.8], kind="bernoulli").to_env(), steps=2_000, seed=7)
    >>> bool(agent.policy()[0, 1] > 0.9)
    True
    """

    epsilon: float | Schedule = 0.1

    step: ClassVar[Step] = _step
    expected_rewards = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        as_schedule("epsilon", self.epsilon, 0.0, 1.0)
        if self.epsilon == 0:
            raise ParameterError("epsilon=0 is not in (0, 1]: as the step size it would leave all weights as they are")

    def rule(self) -> ExplorationRule:
        """A draw by the weights, mixed with a uniform one."""
        rate = as_schedule("epsilon", self.epsilon, 0.0, 1.0).rate
        return ExplorationRule(_exp3_choice, _exp3_probabilities, rate, UNUSED)

    def scratch(self, n_states: int, n_actions: int) -> Exp3Scratch:
        """Make a buffer for the probabilities of a draw."""
        return Exp3Scratch(np.zeros(n_actions))

    def policy(self) -> NDArray[np.float64]:
        """The probabilities of the next draw in each state, shape (n_states, n_actions)."""
        return choice_probabilities(self.memory_)
