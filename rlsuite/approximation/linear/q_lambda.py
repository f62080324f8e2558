"""Semi-gradient Q(lambda) of Watkins: the greedy policy, learned with traces and values linear in features."""

from dataclasses import dataclass
from typing import ClassVar

from rlsuite.agents.control.q_lambda import WatkinsQLambda
from rlsuite.approximation.linear.eligibility import LinearEligibilityAgent
from rlsuite.training.kernels import Step


@dataclass(eq=False, kw_only=True)
class SemiGradientQLambda(LinearEligibilityAgent):
    """Semi-gradient Watkins' Q(lambda) (S&B2 section 12.10) with values that are linear in features.

    With one-hot features it is `WatkinsQLambda`, to the last bit; with ``lambda_=0``, `SemiGradientQLearning` but for
    rounding, and what is said of its convergence holds here too. As there, the next action is chosen, and compared with
    the greedy one, after the update.

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
        What a visit does to the traces; see `SemiGradientSarsaLambda`.
    initial_weight : float
        What every weight is before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Examples
    --------
    >>> import gymnasium, rlsuite as rl
    >>> from rlsuite.approximation import SemiGradientQLambda
    >>> env = rl.VectorObservation.one_hot(gymnasium.make("CliffWalking-v1"))
    >>> agent = SemiGradientQLambda(gamma=1.0, learning_rate=0.5, lambda_=0.5)
    >>> agent = agent.learn(env, episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -100)
    True
    """

    step: ClassVar[Step] = WatkinsQLambda.step
