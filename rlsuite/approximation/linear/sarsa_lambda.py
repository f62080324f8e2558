"""Semi-gradient Sarsa(lambda): Sarsa(lambda) with values that are linear in features."""

from dataclasses import dataclass
from typing import ClassVar

from rlsuite.agents.control.sarsa_lambda import SarsaLambda
from rlsuite.approximation.linear.eligibility import LinearEligibilityAgent
from rlsuite.training.kernels import Step


@dataclass(eq=False, kw_only=True)
class SemiGradientSarsaLambda(LinearEligibilityAgent):
    """Semi-gradient Sarsa with eligibility traces (S&B2 section 12.7, the box on p. 305 and its variants).

    With one-hot features it is `SarsaLambda`, to the last bit; with ``lambda_=0``, `SemiGradientSarsa` but for
    rounding. Accumulating traces need small step sizes where the same features are active for long; replacing and dutch
    traces bear larger ones, and `TrueOnlineLinearSarsaLambda` follows the lambda-return exactly.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; see `SemiGradientSarsa`. Each visit learns with the step size of its own moment.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.exploration`.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    traces : {"accumulating", "replacing", "dutch"}
        What a visit with the features x does to the traces e of its action, which include the step size: e + alpha x,
        alpha x where x is not 0, or e + alpha (1 - e . x) x.
    initial_weight : float
        What every weight is before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl
    >>> from rlsuite.approximation import SemiGradientSarsaLambda
    >>> env = rl.VectorObservation.one_hot(gymnasium.make("CliffWalking-v1"))
    >>> agent = SemiGradientSarsaLambda(gamma=1.0, learning_rate=0.1, lambda_=0.8)
    >>> agent = agent.learn(env, episodes=200, seed=7)
    >>> bool(agent.episodes_["return"][-50:].mean() > -60)
    True
    """

    step: ClassVar[Step] = SarsaLambda.step
