"""Gradient-TD: prediction with bootstrapping that converges off-policy and with any features (S&B2 section 11.7).

These methods minimise the projected Bellman error: the norm of the mean TD error, projected onto the features. Its
gradient is a product of expected values, of which a second set of weights v learns one: v . x(s) is the TD error to be
expected in s. The two methods use it in two forms of the same gradient.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import STATE, Memory
from rlsuite.agents.prediction.policies import follow_policy, ratio_of_policies
from rlsuite.agents.schedules import Rate, Schedule, as_schedule, rate_now
from rlsuite.agents.values.features import compute_features, count_and_advance, improve, linear_step_size, value_of
from rlsuite.approximation.linear.linear_agent import OffPolicyPredictor
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


class ErrorWeights(NamedTuple):
    """What is learned beside the weights of the values."""

    error_weights: NDArray[np.float64]  # (n_features,), the book's v


class SecondRate(NamedTuple):
    """The constant of the rule."""

    error_rate: Rate  # the book's beta


@compiled(in_place=True)
def expected_error(memory: Memory, row: int) -> float:
    """Return v . x(s)."""
    active, weights = memory.active, memory.learned.error_weights
    expected = 0.0
    for k in range(active.n_active[row]):
        expected += weights[active.indices[row, k]] * active.values[row, k]
    return expected


@compiled(in_place=True)
def learn_error(memory: Memory, row: int, weighted_surprise: float) -> None:
    """Let v <- v + beta rho [delta - v . x] x, given rho [delta - v . x]."""
    active, weights = memory.active, memory.learned.error_weights
    amount = rate_now(memory.scratch.error_rate, memory.clock, 0) * weighted_surprise
    for k in range(active.n_active[row]):
        weights[active.indices[row, k]] += amount * active.values[row, k]


@compiled(in_place=True)
def _td_error(
    memory: Memory, row: int, reward: float, next_observation: NDArray[np.float64], terminated: bool
) -> float:
    """Return r + gamma v(s') - v(s), and compute the features of s'."""
    target = reward
    if not terminated:
        compute_features(memory, next_observation, 1 - row)
        target = reward + memory.gamma * value_of(memory, 1 - row, STATE)
    return target - value_of(memory, row, STATE)


@compiled(in_place=True)
def _gtd2(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Let w <- w + alpha rho (v . x) (x - gamma x'), and v <- v + beta rho [delta - v . x] x."""
    row = memory.active.now[0]
    error = _td_error(memory, row, t.reward, t.next_state, t.terminated)
    expected, rho = expected_error(memory, row), ratio_of_policies(memory, t.state, row, t.action)
    amount = linear_step_size(memory) * (rho * expected)
    improve(memory, row, STATE, amount)
    if not t.terminated:
        improve(memory, 1 - row, STATE, -memory.gamma * amount)
    learn_error(memory, row, rho * (error - expected))
    count_and_advance(memory, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else follow_policy(memory, t.next_state, 1 - row, rng)


@compiled(in_place=True)
def _tdc(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Let w <- w + alpha rho [delta x - gamma (v . x) x'], and v <- v + beta rho [delta - v . x] x."""
    row = memory.active.now[0]
    error = _td_error(memory, row, t.reward, t.next_state, t.terminated)
    expected, rho = expected_error(memory, row), ratio_of_policies(memory, t.state, row, t.action)
    alpha = linear_step_size(memory)
    improve(memory, row, STATE, alpha * (rho * error))
    if not t.terminated:
        improve(memory, 1 - row, STATE, -memory.gamma * (alpha * (rho * expected)))
    learn_error(memory, row, rho * (error - expected))
    count_and_advance(memory, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else follow_policy(memory, t.next_state, 1 - row, rng)


@dataclass(eq=False, kw_only=True)
class GradientTDPredictor(OffPolicyPredictor):
    """Base of the two gradient-TD methods.

    Parameters
    ----------
    error_rate : float or Schedule
        Step size beta of the second weights, at least 0.
    features, gamma, policy_to_follow, policy_to_evaluate, learning_rate, initial_weight
        As for `OffPolicyPredictor`.
    """

    error_rate: float | Schedule = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values_.check_counts("error_rate", as_schedule("error_rate", self.error_rate, 0.0, math.inf).rate)

    def tables(self, n_features: int) -> ErrorWeights:
        """Make the second weights."""
        return ErrorWeights(np.zeros(n_features))

    def scratch(self, n_features: int) -> SecondRate:
        """Note the second step size."""
        return SecondRate(as_schedule("error_rate", self.error_rate, 0.0, math.inf).rate)


@dataclass(eq=False, kw_only=True)
class GTD2(GradientTDPredictor):
    """GTD2 prediction (Sutton, Maei, Precup, Bhatnagar, Silver, Szepesvari & Wiewiora 2009; S&B2 p. 279).

    Converges to the TD fixed point also off-policy, with vanishing step sizes of which beta is at least of the order
    of alpha. `TDC` is faster as a rule.

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
    error_rate : float or Schedule
        Step size beta of the second weights, at least 0.
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.
    error_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the TD error to be expected, the book's v.

    Examples
    --------
    One weight for the position in the walk, and one for a constant; the true value is position / 6:

    >>> import gymnasium, numpy as np, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import GTD2
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = GTD2(gamma=1.0, learning_rate=0.05, error_rate=0.05)
    >>> agent = agent.learn(env, episodes=50_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """

    step: ClassVar[Step] = _gtd2


@dataclass(eq=False, kw_only=True)
class TDC(GradientTDPredictor):
    """TDC, TD(0) with gradient correction, also GTD(0) (Sutton et al. 2009; S&B2 p. 280).

    Semi-gradient TD(0) and a correction, which is what it lacks of a gradient. Converges to the TD fixed point also
    off-policy, with vanishing step sizes of which alpha vanishes faster than beta.

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
    error_rate : float or Schedule
        Step size beta of the second weights, at least 0; larger than alpha.
    initial_weight : float or array_like (n_features,)
        What the weights are before anything is learned.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights.
    error_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the TD error to be expected, the book's v.

    Examples
    --------
    One weight for the position in the walk, and one for a constant; the true value is position / 6:

    >>> import gymnasium, numpy as np, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import TDC
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = TDC(gamma=1.0, learning_rate=0.02, error_rate=0.02)
    >>> agent = agent.learn(env, episodes=4_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """

    step: ClassVar[Step] = _tdc
