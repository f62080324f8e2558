"""Sarsa: on-policy temporal-difference control (Rummery & Niranjan 1994)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rlsuite.agents.memory import ActionValues, count, step_size
from rlsuite.agents.tabular import TabularAgent
from rlsuite.compilation import compiled
from rlsuite.exploration import NO_ACTION, choose
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _step(memory: ActionValues, t: Transition, rng: np.random.Generator) -> int:
    """Q(x, a) <- Q(x, a) + alpha [r + gamma Q(x', a') - Q(x, a)], with the a' that is taken next.

    On truncation the target still bootstraps, so a' is chosen then, too.
    """
    next_action = NO_ACTION if t.terminated else choose(memory, t.next_state, rng)
    target = t.reward if t.terminated else t.reward + memory.gamma * memory.q[t.next_state, next_action]
    memory.q[t.state, t.action] += step_size(memory, t.state, t.action) * (target - memory.q[t.state, t.action])
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class Sarsa(TabularAgent):
    """Sarsa: learns the value of the policy that it follows, exploration included (S&B2 eq. 6.7).

    Converges to Q* if the exploration vanishes but visits every pair infinitely often, with step sizes as for
    `QLearning` (Singh, Jaakkola, Littman & Szepesvari 2000).

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning: `EpsilonGreedy` or `Softmax`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.Sarsa(gamma=1.0, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CliffWalking-v1", episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -30)
    True
    """

    step: ClassVar[Step] = _step
