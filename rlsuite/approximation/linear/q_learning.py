"""Semi-gradient Q-learning: Q-learning with values that are linear in features."""

from dataclasses import dataclass
from typing import ClassVar

from rlsuite.agents.control.q_learning import QLearning
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.training.kernels import Step


@dataclass(eq=False, kw_only=True)
class SemiGradientQLearning(LinearAgent):
    """Semi-gradient Q-learning (S&B2 section 11.1) with values that are linear in features.

    With one-hot features it is `QLearning`, to the last bit. With others there is no guarantee that it converges: it
    learns off-policy, from its own estimates, and with shared weights, which is the deadly triad (S&B2 section 11.3).
    Mostly it works, if the policy that is followed stays close to the greedy one.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; see `SemiGradientSarsa`.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.exploration`.
    initial_weight : float
        What every weight is before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl
    >>> from rlsuite.approximation import SemiGradientQLearning
    >>> env = rl.VectorObservation.one_hot(gymnasium.make("CliffWalking-v1"))
    >>> agent = SemiGradientQLearning(gamma=1.0, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn(env, steps=20_000, seed=7)
    >>> float(agent.q(env.vectors[36:37]).max())
    -13.0
    """

    step: ClassVar[Step] = QLearning.step
