"""Semi-gradient Expected Sarsa: Expected Sarsa with values that are linear in features."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rlsuite.agents.control.expected_sarsa import Probabilities, expected_value
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.approximation.linear.memory import (
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
def _step(memory: Any, t: Transition, rng: np.random.Generator) -> int:
    """Let w <- w + alpha [r + gamma sum_a' pi(a' | s') Q(s', a') - Q(s, a)] x(s, a), then choose by the new values."""
    row = memory.scene.now[0]
    target = t.reward
    if not t.terminated:
        perceive(memory, t.next_state, 1 - row)
        evaluate(memory, 1 - row)
        target += memory.gamma * expected_value(memory, 1 - row, memory.scratch.chances)
    improve(memory, row, t.action, linear_step_size(memory) * (target - value_of(memory, row, t.action)))
    next_action = NO_ACTION
    if not (t.terminated or t.truncated):
        memory.q[1 - row, t.action] = value_of(memory, 1 - row, t.action)  # the others have not changed
        next_action = choose(memory, 1 - row, rng)
    move_on(memory, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class SemiGradientExpectedSarsa(LinearAgent):
    """Semi-gradient Expected Sarsa (S&B2 eq. 11.5, for the policy that is followed) with values linear in features.

    With one-hot features it is `ExpectedSarsa`, to the last bit. It moves as `SemiGradientSarsa` does on average, with
    less variance, for the price of the probabilities of all actions.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; see `SemiGradientSarsa`.
    exploration : Exploration
        The policy that is followed and evaluated.
    initial_weight : float
        What every weight is before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl
    >>> from rlsuite.approximation import SemiGradientExpectedSarsa
    >>> env = rl.VectorObservation.one_hot(gymnasium.make("CliffWalking-v1"))
    >>> agent = SemiGradientExpectedSarsa(gamma=1.0, learning_rate=1.0, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn(env, episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -30)
    True
    """

    step: ClassVar[Step] = _step

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make room for the probabilities of one observation."""
        return Probabilities(np.zeros(n_actions))
