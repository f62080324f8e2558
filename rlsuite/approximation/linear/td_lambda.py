"""TD(lambda) with values that are linear in features: semi-gradient, and true online."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.eligibility import Eligibility
from rlsuite.agents.traces import TRACE_UPDATES, Traces, check_kind, dutch, new_traces, reset_traces, update_eligible
from rlsuite.approximation.linear.following import follow_linear, ratio
from rlsuite.approximation.linear.memory import improve, linear_step_size, move_on, perceive, value_of, visit_features
from rlsuite.approximation.linear.predictor import STATE, LinearPredictor, OffPolicyPredictor, begin_predicting
from rlsuite.checks import fraction
from rlsuite.compilation import compiled
from rlsuite.exploration import NO_ACTION
from rlsuite.training.kernels import Begin, Step, Transition


class TrueOnline(NamedTuple):
    """What is kept during an episode, and the constant of the rule."""

    traces: Traces  # one for each weight
    expected: NDArray[np.float64]  # (1,), what the present observation was worth when it was the next one
    lambda_: float


@compiled(in_place=True)
def begin_traced(memory: Any, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Reset all traces, and draw the first action of an episode."""
    reset_traces(memory.scratch.traces)
    return begin_predicting(memory, observation, rng)


@compiled(in_place=True)
def _step(memory: Any, t: Transition, rng: np.random.Generator) -> int:
    """Let e <- rho (gamma lambda e + alpha x(s)), then w <- w + [r + gamma v(s') - v(s)] e.

    The traces fade as soon as the next action is known, and with it the next rho.
    """
    eligible, row = memory.scratch, memory.scene.now[0]
    over = t.terminated or t.truncated
    target = t.reward
    if not t.terminated:
        perceive(memory, t.next_state, 1 - row)
        target = t.reward + memory.gamma * value_of(memory, 1 - row, STATE)
    error = target - value_of(memory, row, STATE)
    alpha = linear_step_size(memory) * ratio(memory, t.state, row, t.action)
    visit_features(memory, row, STATE, eligible.kind, alpha)
    next_action = NO_ACTION
    decay = memory.gamma * eligible.lambda_
    if not over:
        next_action = follow_linear(memory, t.next_state, 1 - row, rng)
        decay *= ratio(memory, t.next_state, 1 - row, next_action)
    update_eligible(eligible.traces, memory.weights.reshape(memory.weights.size), error, decay)
    move_on(memory, over)
    return next_action


@compiled(in_place=True)
def _begin_true_online(memory: Any, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Reset all traces, draw the first action of an episode, and set v_old to the value of its first state.

    Anything else would cancel in the first step, but for rounding.
    """
    action = begin_traced(memory, observation, rng)
    memory.scratch.expected[0] = value_of(memory, 0, STATE)
    return action


@compiled(in_place=True)
def _true_online(memory: Any, t: Transition, rng: np.random.Generator) -> int:
    """Let w <- w + [delta + v(s) - v_old(s)] e, then w <- w - alpha [v(s) - v_old(s)] x(s).

    delta = r + gamma v(s') - v(s), and v_old(s) is what s was worth a step ago, before that step was learned from.
    """
    traces, expected, lambda_ = memory.scratch
    row = memory.scene.now[0]
    over = t.terminated or t.truncated
    next_value = 0.0
    if not t.terminated:
        perceive(memory, t.next_state, 1 - row)
        next_value = value_of(memory, 1 - row, STATE)
    alpha = linear_step_size(memory)
    value = value_of(memory, row, STATE)
    error = t.reward + memory.gamma * next_value - value
    change = value - expected[0]
    visit_features(memory, row, STATE, dutch, alpha)
    flat = memory.weights.reshape(memory.weights.size)
    update_eligible(traces, flat, error + change, memory.gamma * lambda_)
    improve(memory, row, STATE, -(alpha * change))
    expected[0] = next_value
    move_on(memory, over)
    return NO_ACTION if over else follow_linear(memory, t.next_state, 1 - row, rng)


@dataclass(eq=False, kw_only=True)
class SemiGradientTDLambda(OffPolicyPredictor):
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

    begin: ClassVar[Begin] = begin_traced
    step: ClassVar[Step] = _step

    lambda_: float = 0.9
    traces: str = "accumulating"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)
        self.traces = check_kind("traces", self.traces)

    def scratch(self, n_features: int) -> Any:
        """Make the traces, none of them eligible."""
        return Eligibility(new_traces(n_features), TRACE_UPDATES[self.traces], self.lambda_)


@dataclass(eq=False, kw_only=True)
class TrueOnlineLinearTDLambda(LinearPredictor):
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

    begin: ClassVar[Begin] = _begin_true_online
    step: ClassVar[Step] = _true_online

    lambda_: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)

    def scratch(self, n_features: int) -> Any:
        """Make the traces, none of them eligible."""
        return TrueOnline(new_traces(n_features), np.zeros(1), self.lambda_)
