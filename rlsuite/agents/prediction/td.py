"""TD(0): the value of a state from the reward and the value of the next one (Sutton 1988)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import (
    NOWHERE,
    STATE,
    Memory,
    end_step,
    locate,
    locate_next,
    next_action,
    ratio,
    step_size,
    update,
    value,
)
from rlsuite.agents.state_value_agent import StateValueAgent
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """V(s) <- V(s) + alpha rho [r + gamma V(s') - V(s)]; the value of an end is 0."""
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * value(memory, next_s, STATE)
    error = ratio(memory, t.state, s, t.action) * (target - value(memory, s, STATE))
    update(memory, s, STATE, step_size(memory, s, STATE) * error)
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else next_action(memory, t.next_state, next_s, rng)


@dataclass(eq=False, kw_only=True)
class TD(StateValueAgent):
    """TD(0) prediction (S&B2 eq. 6.2).

    Converges to the value of the policy with probability 1 for step sizes as of `QLearning`; with a constant one the
    mean does (Sutton 1988, Dayan 1992).

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size, in [0, 1].
    initial_value : float
        Value of every state before it is visited.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `StateValueAgent`.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.TD(gamma=1.0, learning_rate=0.05, initial_value=0.5)
    >>> agent = agent.learn("rlsuite/RandomWalk-v0", episodes=100, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.15)
    True
    """

    step: ClassVar[Step] = _step
