"""Semi-gradient Sarsa: Sarsa with values that are linear in features."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.approximation.linear.memory import (
    LinearMemory,
    evaluate,
    improve,
    linear_step_size,
    move_on,
    perceive,
    value_of,
)
from rlsuite.compilation import compiled
from rlsuite.exploration import NO_ACTION, choose
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _step(memory: LinearMemory, t: Transition, rng: np.random.Generator) -> int:
    """Let w <- w + alpha [r + gamma Q(s', a') - Q(s, a)] x(s, a), with the a' that is taken next.

    On truncation the target still bootstraps, so a' is chosen then, too.
    """
    row = memory.scene.now[0]
    target = t.reward
    next_action = NO_ACTION
    if not t.terminated:
        perceive(memory, t.next_state, 1 - row)
        evaluate(memory, 1 - row)
        next_action = choose(memory, 1 - row, rng)
        target = t.reward + memory.gamma * memory.q[1 - row, next_action]
    improve(memory, row, t.action, linear_step_size(memory) * (target - value_of(memory, row, t.action)))
    move_on(memory, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class SemiGradientSarsa(LinearAgent):
    """Episodic semi-gradient Sarsa (S&B2 section 10.1) with values that are linear in features.

    With one-hot features it is `Sarsa`, to the last bit.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]. With n features of size 1 active at a time, a learning rate of 1 / n moves a value
        all the way to its target.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.exploration`.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Examples
    --------
    The mountain car (S&B2 example 10.1), whose first episode takes a thousand steps:

    >>> import rlsuite as rl
    >>> from rlsuite.approximation import SemiGradientSarsa, TileCoding
    >>> tiles, greedy = TileCoding(n_tilings=8, bins=8), rl.EpsilonGreedy(0.0)
    >>> agent = SemiGradientSarsa(features=tiles, gamma=1.0, learning_rate=0.5 / 8, exploration=greedy)
    >>> agent = agent.learn("MountainCar-v0", steps=30_000, seed=7)
    >>> bool(agent.episodes_["length"][-20:].mean() < 200)
    True
    """

    step: ClassVar[Step] = _step
