"""Semi-gradient Expected Sarsa: Expected Sarsa with values that are linear in features."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rlsuite.agents.control.expected_sarsa import ExpectedSarsa, Probabilities
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.training.kernels import Step


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

    step: ClassVar[Step] = ExpectedSarsa.step

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make room for the probabilities of one observation."""
        return Probabilities(np.zeros(n_actions))
