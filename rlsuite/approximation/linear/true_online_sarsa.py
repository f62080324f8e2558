"""True online Sarsa(lambda) with values that are linear in features, its original form."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rlsuite.agents.control.true_online_sarsa import TrueOnline, TrueOnlineSarsaLambda
from rlsuite.agents.traces import new_traces
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.checks import fraction
from rlsuite.training.kernels import Begin, Step


@dataclass(eq=False, kw_only=True)
class TrueOnlineLinearSarsaLambda(LinearAgent):
    """True online Sarsa(lambda) with values that are linear in features (S&B2 section 12.7, the box on p. 307).

    Its weights are those of the online lambda-return algorithm (S&B2 section 12.4) after every step, for any features
    and any step sizes (van Seijen et al. 2016). With one-hot features it is `TrueOnlineSarsaLambda`, to the last bit.

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
    initial_weight : float
        What every weight is before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl
    >>> from rlsuite.approximation import TrueOnlineLinearSarsaLambda
    >>> env = rl.VectorObservation.one_hot(gymnasium.make("CliffWalking-v1"))
    >>> agent = TrueOnlineLinearSarsaLambda(gamma=1.0, learning_rate=0.5, lambda_=0.8)
    >>> agent = agent.learn(env, episodes=200, seed=7)
    >>> bool(agent.episodes_["return"][-50:].mean() > -60)
    True
    """

    begin: ClassVar[Begin] = TrueOnlineSarsaLambda.begin
    step: ClassVar[Step] = TrueOnlineSarsaLambda.step

    lambda_: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make the traces of all weights, none of them eligible."""
        return TrueOnline(new_traces(n_features * n_actions), np.zeros(1), self.lambda_)
