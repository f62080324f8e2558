"""Predictors that always have features, under the names of S&B2: `TD` with `features=` is `SemiGradientTD`.

The rules are those of `rlsuite.agents.prediction`; what they ask of features is answered in
`rlsuite.agents.feature_memory`. With one-hot features an agent here is the agent there, to the last bit.
"""

from dataclasses import dataclass

from rlsuite.agents.prediction.monte_carlo import EveryVisitMonteCarlo
from rlsuite.agents.prediction.n_step import NStepTD
from rlsuite.agents.prediction.td import TD
from rlsuite.agents.prediction.td_lambda import TDLambda, TrueOnlineTDLambda
from rlsuite.agents.schedules import Schedule
from rlsuite.approximation.linear.linear_agent import LinearPredictor, OffPolicyPredictor


@dataclass(eq=False, kw_only=True)
class SemiGradientTD(OffPolicyPredictor, TD):
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


@dataclass(eq=False, kw_only=True)
class SemiGradientTDLambda(OffPolicyPredictor, TDLambda):
    """Semi-gradient TD(lambda) prediction (S&B2 section 12.2, the box on p. 293; off-policy: eq. 12.25).

    On-policy it converges, with vanishing step sizes, to a fixed point whose mean squared error is at most
    (1 - gamma lambda) / (1 - gamma) times the least there is (S&B2 eq. 12.8). Off-policy it may diverge, the less so
    the larger lambda is. With one-hot features it is `TDLambda`, to the last bit.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    lambda_ : float
        How far errors are passed back, in [0, 1].
    traces : {"accumulating", "replacing", "dutch"}
        What a visit does to the traces; see `SemiGradientSarsaLambda`.
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions; by default all legal actions are equally likely.
    policy_to_evaluate : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the policy that is evaluated; by default the one that is followed.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; an error reaches each earlier visit with the step size of that visit.
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
    >>> from rlsuite.approximation import SemiGradientTDLambda
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = SemiGradientTDLambda(gamma=1.0, lambda_=0.8, learning_rate=0.005)
    >>> agent = agent.learn(env, episodes=2_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """


@dataclass(eq=False, kw_only=True)
class TrueOnlineLinearTDLambda(LinearPredictor, TrueOnlineTDLambda):
    """True online TD(lambda) with values linear in features (S&B2 section 12.5, the box on p. 300).

    Its weights are those of the online lambda-return algorithm (S&B2 section 12.4) after every step (van Seijen et al.
    2016). With one-hot features it is `TrueOnlineTDLambda`, to the last bit.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    lambda_ : float
        How far errors are passed back, in [0, 1].
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; an error reaches each earlier visit with the step size of that visit.
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
    >>> from rlsuite.approximation import TrueOnlineLinearTDLambda
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = TrueOnlineLinearTDLambda(gamma=1.0, lambda_=0.8, learning_rate=0.005)
    >>> agent = agent.learn(env, episodes=2_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """


@dataclass(eq=False, kw_only=True)
class SemiGradientNStepTD(LinearPredictor, NStepTD):
    """Semi-gradient n-step TD prediction (S&B2 section 9.4, the box on p. 209), with values linear in features.

    With n = 1 it is `SemiGradientTD`; with an n that no episode reaches, `GradientMonteCarlo`. With one-hot features it
    is `NStepTD`, to the last bit. Each step costs time in proportion to n. On truncation the return bootstraps from the
    value of the last observation.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]. The larger n, the smaller a step size does best: returns vary more.
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.
    n : int
        Steps until an observation learns, at least 1.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.

    Raises
    ------
    ParameterError
        If a parameter is outside its range; from `learn`, if the features of n steps do not fit in memory.

    Examples
    --------
    One weight for the position in the walk, and one for a constant; the true value is position / 6:

    >>> import gymnasium, numpy as np, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import SemiGradientNStepTD
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = SemiGradientNStepTD(n=4, gamma=1.0, learning_rate=0.01)
    >>> agent = agent.learn(env, episodes=2_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """


@dataclass(eq=False, kw_only=True)
class GradientMonteCarlo(LinearPredictor, EveryVisitMonteCarlo):
    """Gradient Monte Carlo prediction (S&B2 section 9.3, the box on p. 202) with values linear in features.

    It climbs down the mean squared error of the values, weighted by how often each state is visited: with vanishing
    step sizes it converges to the least there is, for any features. With one-hot features it is `EveryVisitMonteCarlo`,
    to the last bit. On truncation the return bootstraps from the value of the last observation.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    policy_to_follow : array_like (n_actions,) or (n_ids, n_actions), optional
        Probabilities of the actions; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size alpha, in [0, 1].
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.
    longest_episode : int
        Steps of an episode that can be remembered; a longer one is an error.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.

    Examples
    --------
    One weight for the position in the walk, and one for a constant; the true value is position / 6:

    >>> import gymnasium, numpy as np, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import GradientMonteCarlo
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = GradientMonteCarlo(gamma=1.0, learning_rate=0.01)
    >>> agent = agent.learn(env, episodes=2_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """

    learning_rate: float | Schedule = 0.1  # there are no visits to count
