"""Sarsa: on-policy temporal-difference control (Rummery & Niranjan 1994)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import Memory, end_step, locate, locate_next, step_size, update, value
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(s, a) <- Q(s, a) + alpha [r + gamma Q(s', a') - Q(s, a)], with the a' that is taken next.

    On truncation the target still bootstraps, so a' is also chosen then.
    """
    s = locate(memory, t.state)
    target, next_action = t.reward, NO_ACTION
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        next_action = choose(memory, next_s, rng)
        target = t.reward + memory.gamma * memory.q[next_s, next_action]
    update(memory, s, t.action, step_size(memory, s, t.action) * (target - value(memory, s, t.action)))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class Sarsa(ActionValueAgent):
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
    >>> agent = rl.Sarsa(gamma=1.0, learning_rate=0.1, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CliffWalking-v1", episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -30)
    True
    """

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _step
