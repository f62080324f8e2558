"""Semi-gradient TD(0): state values that are linear in features, on-policy and off-policy."""

from dataclasses import dataclass
from typing import ClassVar

from rlsuite.agents.prediction.td import TD
from rlsuite.approximation.linear.predictor import OffPolicyPredictor
from rlsuite.training.kernels import Step


@dataclass(eq=False, kw_only=True)
class SemiGradientTD(OffPolicyPredictor):
    """Semi-gradient TD(0) prediction (S&B2 section 9.3, the box on p. 203; off-policy: eq. 11.2).

    On-policy it converges, with vanishing step sizes, to the TD fixed point, whose mean squared error is at most
    1 / (1 - gamma) times the least there is (Tsitsiklis & Van Roy 1997; S&B2 eq. 9.14). Off-policy it may
    diverge (S&B2 section 11.2): use `TDC`. With one-hot features it is `TD`, to the last bit.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions; by default all legal actions are equally likely.
    policy_to_evaluate : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the policy that is evaluated; by default the one that is followed.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1].
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.

    Examples
    --------
    One weight for the position in the walk, and one for a constant; the true value is position / 6:

    >>> import gymnasium, numpy as np, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import SemiGradientTD
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = SemiGradientTD(gamma=1.0, learning_rate=0.02)
    >>> agent = agent.learn(env, episodes=2_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """

    step: ClassVar[Step] = TD.step
