"""Semi-gradient Sarsa: Sarsa with values that are linear in features."""

from dataclasses import dataclass
from typing import ClassVar

from rlsuite.agents.control.sarsa import Sarsa
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.training.kernels import Step


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

    step: ClassVar[Step] = Sarsa.step
