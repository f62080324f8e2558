"""Off-policy prediction with features that converges: gradient TD, emphatic TD.

Gradient-TD: prediction with bootstrapping that converges off-policy and with any features (S&B2 section 11.7).

These methods minimise the projected Bellman error: the norm of the mean TD error, projected onto the features. Its
gradient is a product of expected values, of which a second set of weights v learns one: v . x(s) is the TD error to be
expected in s. The two methods use it in two forms of the same gradient.

Emphatic TD: off-policy prediction that weights states by the visits of the evaluated policy (S&B2 section 11.8).

Off-policy TD diverges because states are updated as often as the policy that is followed visits them. The emphasis M
weights each update by how often the evaluated policy would come there, from all states in which it might have begun.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import STATE, Memory
from rlsuite.agents.prediction.policies import follow_policy, ratio_of_policies
from rlsuite.agents.prediction.td_lambda import begin_with_traces
from rlsuite.agents.schedules import Rate, Schedule, as_schedule, rate_now
from rlsuite.agents.traces import Traces, accumulating, new_traces, update_eligible
from rlsuite.agents.values.features import (
    compute_features,
    count_and_advance,
    improve,
    linear_step_size,
    value_of,
    visit_features,
)
from rlsuite.approximation.linear.linear_agent import OffPolicyPredictor
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


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


class Emphasis(NamedTuple):
    """What is kept during an episode, and the constant of the rule."""

    traces: Traces  # one for each weight
    follow_on: NDArray[np.float64]  # (1,), the book's F
    lambda_: float


@compiled(in_place=True)
def _begin(memory: Memory, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Forget all traces; F <- 1, and draw the first action of an episode."""
    memory.scratch.follow_on[0] = 1.0
    return begin_with_traces(memory, observation, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Let e <- rho (gamma lambda e + alpha M x(s)) and w <- w + delta e, with M = lambda + (1 - lambda) F.

    Then F <- 1 + gamma rho F. The traces fade as soon as the next action is known, and with it the next rho.
    """
    traces, follow_on, lambda_ = memory.scratch
    row = memory.active.now[0]
    over = t.terminated or t.truncated
    error = _td_error(memory, row, t.reward, t.next_state, t.terminated)
    rho = ratio_of_policies(memory, t.state, row, t.action)
    emphasis = lambda_ + (1.0 - lambda_) * follow_on[0]
    visit_features(memory, row, STATE, accumulating, linear_step_size(memory) * (rho * emphasis))
    next_action = NO_ACTION
    decay = memory.gamma * lambda_
    if not over:
        next_action = follow_policy(memory, t.next_state, 1 - row, rng)
        decay *= ratio_of_policies(memory, t.next_state, 1 - row, next_action)
    update_eligible(traces, memory.weights, error, decay)
    follow_on[0] = 1.0 + memory.gamma * rho * follow_on[0]
    count_and_advance(memory, over)
    return next_action


@dataclass(eq=False, kw_only=True)
class EmphaticTD(OffPolicyPredictor):
    """Emphatic TD(lambda) prediction, with interest 1 in all states (Sutton, Mahmood & White 2016; S&B2 section 12.11).

    With one set of weights and one step size its expected update is stable, on-policy and off-policy, with any
    features. The emphasis is a product of ratios, so that its variance may be infinite: then what converges in theory
    takes forever (S&B2 p. 282). Where ratios are large take small step sizes, or `TDC`.

    Parameters
    ----------
    features : FeatureMap or transformer
        What the values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    lambda_ : float
        How far errors are passed back, in [0, 1]: 0 is one-step emphatic TD.
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
    >>> from rlsuite.approximation import EmphaticTD
    >>> positions = np.linspace(0.0, 1.0, 7)
    >>> env = rl.VectorObservation(gymnasium.make("rlsuite/RandomWalk-v0"), np.c_[positions, np.ones(7)])
    >>> agent = EmphaticTD(gamma=1.0, lambda_=0.5, learning_rate=0.001)
    >>> agent = agent.learn(env, episodes=2_000, seed=7)
    >>> bool(abs(agent.value(env.vectors) - positions).max() < 0.1)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    lambda_: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)

    def scratch(self, n_features: int) -> Emphasis:
        """Make the traces, none of them eligible."""
        return Emphasis(new_traces(n_features), np.ones(1), self.lambda_)
