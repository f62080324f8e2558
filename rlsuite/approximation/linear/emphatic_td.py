"""Emphatic TD: off-policy prediction that weights states by the visits of the evaluated policy (S&B2 section 11.8).

Off-policy TD diverges because states are updated as often as the policy that is followed visits them. The emphasis M
weights each update by how often the evaluated policy would come there, from all states in which it might have begun.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import STATE, Memory
from rlsuite.agents.prediction.policies import follow_policy, ratio_of_policies
from rlsuite.agents.prediction.td_lambda import begin_with_traces
from rlsuite.agents.traces import Traces, accumulating, new_traces, update_eligible
from rlsuite.agents.values.features import (
    compute_features,
    count_and_advance,
    linear_step_size,
    value_of,
    visit_features,
)
from rlsuite.approximation.linear.linear_agent import OffPolicyPredictor
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


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
    target = t.reward
    if not t.terminated:
        compute_features(memory, t.next_state, 1 - row)
        target = t.reward + memory.gamma * value_of(memory, 1 - row, STATE)
    error = target - value_of(memory, row, STATE)
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
