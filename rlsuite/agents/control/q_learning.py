"""Q-learning: off-policy temporal-difference control (Watkins 1989), deterministic and stochastic.

In plain NumPy: `rlsuite.reference.learning.q_learning`.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.exploration import NO_ACTION, choose, max_value
from rlsuite.agents.memory import (
    NOWHERE,
    Memory,
    count,
    end_step,
    locate,
    locate_next,
    step_size,
    update,
    value,
)
from rlsuite.agents.schedules import Schedule
from rlsuite.agents.tabular import TabularAgent
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _deterministic_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(x, a) <- r + gamma max_a' Q(x', a'); the value of an end is 0."""
    target = t.reward if t.terminated else t.reward + memory.gamma * max_value(memory, t.next_state)
    memory.q[t.state, t.action] = target
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else choose(memory, t.next_state, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(s, a) <- Q(s, a) + alpha [r + gamma max_a' Q(s', a') - Q(s, a)], then choose by what has been learned."""
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * max_value(memory, next_s)
    update(memory, s, t.action, step_size(memory, s, t.action) * (target - value(memory, s, t.action)))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    if t.terminated or t.truncated:
        return NO_ACTION
    return choose(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class DeterministicQLearning(TabularAgent):
    """Q-learning that replaces a value by its newest sample (lecture notes, Algorithm 9.1).

    Exact where the environment is deterministic: with rewards that are never negative the values rise monotonically
    towards Q*, and reach it once every pair has been visited often enough (Mitchell 1997, Theorem 13.1). Where
    the environment is random the values never settle: use `QLearning`.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning: `EpsilonGreedy` or `Softmax`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.DeterministicQLearning(gamma=0.9, exploration=rl.EpsilonGreedy(0.5))
    >>> agent.learn("rlsuite/GridGoal-v0", steps=2_000, seed=7).q_.max(axis=1)
    array([ 81.,  90., 100.,  90., 100.,   0.])
    """

    learning_rate: float | Schedule = field(init=False, repr=False, default=1.0)
    step: ClassVar[Step] = _deterministic_step


@dataclass(eq=False, kw_only=True)
class QLearning(ActionValueAgent):
    """Q-learning for deterministic and random environments (S&B2 eq. 6.8; lecture notes, section 9.2.2).

    Converges to Q* with probability 1 if every pair is visited infinitely often and its step sizes a_n satisfy
    sum a_n = inf, sum a_n^2 < inf (Watkins & Dayan 1992); the notes' step size ``Inverse(1.0, per="visits")`` does.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning: `EpsilonGreedy` or `Softmax`.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.QLearning(gamma=1.0, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CliffWalking-v1", steps=20_000, seed=7)
    >>> agent.q_.shape
    (48, 4)
    >>> float(agent.q_[36].max())
    -13.0
    """

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _step
