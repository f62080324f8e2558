"""Control agents that always have features, under the names of S&B2: `Sarsa` with `features=` is `SemiGradientSarsa`.

The rules are those of `rlsuite.agents.control`; what they ask of features is answered in
`rlsuite.agents.feature_memory`. With one-hot features an agent here is the agent there, to the last bit.

The trace of a weight is the share of the next error that it is updated with: a decaying sum of the recent gradients of
the values (S&B2 section 12.2). As for tables a trace includes the step size, and small traces are dropped; see
`rlsuite.agents.traces`. The trace of w[i, a] is entry ``i * n_actions + a``.
"""

from dataclasses import dataclass

from rlsuite.agents.control.expected_sarsa import ExpectedSarsa
from rlsuite.agents.control.n_step import NStepSarsa
from rlsuite.agents.control.q_lambda import WatkinsQLambda
from rlsuite.agents.control.q_learning import QLearning
from rlsuite.agents.control.sarsa import Sarsa
from rlsuite.agents.control.sarsa_lambda import SarsaLambda
from rlsuite.agents.control.true_online_sarsa import TrueOnlineSarsaLambda
from rlsuite.approximation.linear.linear_agent import LinearAgent


@dataclass(eq=False, kw_only=True)
class SemiGradientSarsa(LinearAgent, Sarsa):
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
        How actions are chosen while learning; see `rlsuite.agents.exploration`.

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


@dataclass(eq=False, kw_only=True)
class SemiGradientQLearning(LinearAgent, QLearning):
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
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
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


@dataclass(eq=False, kw_only=True)
class SemiGradientExpectedSarsa(LinearAgent, ExpectedSarsa):
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


@dataclass(eq=False, kw_only=True)
class SemiGradientNStepSarsa(LinearAgent, NStepSarsa):
    """Episodic semi-gradient n-step Sarsa (S&B2 section 10.2, the box on p. 247), with values linear in features.

    With n = 1 it is `SemiGradientSarsa`; with an n that no episode reaches, `GradientMonteCarloControl`. With one-hot
    features it is `NStepSarsa`, to the last bit. Each step costs time in proportion to n.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size alpha, in [0, 1]; see `SemiGradientSarsa`. A schedule takes its value when the pair is visited, n
        steps before it learns. The larger n, the smaller a step size does best: returns vary more.
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    initial_weight : float
        What every weight is before anything is learned.
    n : int
        Steps after which a pair learns, at least 1.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights.

    Raises
    ------
    ParameterError
        If a parameter is outside its range; from `learn`, if the features of n steps do not fit in memory.

    Examples
    --------
    The mountain car as in S&B2 Figure 10.3, where n = 8 learns faster than n = 1:

    >>> import rlsuite as rl
    >>> from rlsuite.approximation import SemiGradientNStepSarsa, TileCoding
    >>> tiles, greedy = TileCoding(n_tilings=8, bins=8), rl.EpsilonGreedy(0.0)
    >>> agent = SemiGradientNStepSarsa(features=tiles, n=8, gamma=1.0, learning_rate=0.3 / 8, exploration=greedy)
    >>> agent = agent.learn("MountainCar-v0", steps=30_000, seed=7)
    >>> bool(agent.episodes_["length"][-20:].mean() < 200)
    True
    """


@dataclass(eq=False, kw_only=True)
class SemiGradientSarsaLambda(LinearAgent, SarsaLambda):
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
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
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


@dataclass(eq=False, kw_only=True)
class SemiGradientQLambda(LinearAgent, WatkinsQLambda):
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
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
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


@dataclass(eq=False, kw_only=True)
class TrueOnlineLinearSarsaLambda(LinearAgent, TrueOnlineSarsaLambda):
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
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
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
