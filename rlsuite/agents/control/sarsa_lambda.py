"""Sarsa(lambda): Sarsa with eligibility traces (Rummery & Niranjan 1994).

In plain NumPy: `rlsuite.reference.learning.sarsa_lambda`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rlsuite.agents.control.eligibility import EligibilityAgent, credit
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import Memory, end_step, locate, locate_next, step_size, value
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + delta e and e <- gamma lambda e, where delta = r + gamma Q(s', a') - Q(s, a).

    On truncation the target still bootstraps, so a' is also chosen then.
    """
    s = locate(memory, t.state)
    target, next_action = t.reward, NO_ACTION
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        next_action = choose(memory, next_s, rng)
        target = t.reward + memory.gamma * memory.q[next_s, next_action]
    credit(memory, s, t.action, step_size(memory, s, t.action), target - value(memory, s, t.action))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class SarsaLambda(EligibilityAgent):
    """Sarsa with eligibility traces (S&B2 section 12.7, for a table).

    One reward changes the values of all pairs that led to it, the recent ones most: where rewards are rare this saves
    most of the episodes that Sarsa needs. The cost of a step grows with 1 / (1 - gamma lambda), as that many pairs
    are eligible, and not with the size of the table. With ``lambda_=0`` it is `Sarsa`, to the last bit.

    A pair that is visited again while it is eligible may learn too much from accumulating traces: with many of such
    visits and a large step size the values diverge. Replacing and dutch traces prevent that; `TrueOnlineSarsaLambda`
    follows the lambda-return exactly.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    traces : {"accumulating", "replacing", "dutch", "clearing"}
        What a visit does to a trace e, which includes the step size: e + alpha, alpha (Singh & Sutton 1996), or
        (1 - alpha) e + alpha (S&B2 eq. 12.11). Clearing traces are replacing ones, where a visit also sets the traces
        of the other actions of the state to 0 (Singh & Sutton 1996).
    initial_value : float
        Value of every action before it is tried.
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
    Thirty episodes in the windy grid, where nothing is learned before the goal is found:

    >>> import rlsuite as rl, rlsuite_envs
    >>> for lambda_ in (0.0, 0.9):
    ...     agent = rl.SarsaLambda(gamma=1.0, learning_rate=0.1, lambda_=lambda_, traces="replacing")
    ...     agent = agent.learn("rlsuite/WindyGrid-v0", episodes=30, seed=7)
    ...     print("last episode under 100 steps:", bool(agent.episodes_["length"][-1] < 100))
    last episode under 100 steps: False
    last episode under 100 steps: True
    """

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _step
