"""True online Sarsa(lambda) with values that are linear in features, its original form."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.traces import Traces, new_traces
from rlsuite.approximation.linear.eligibility import begin_eligible, learn_from, visit_dutch
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.approximation.linear.memory import (
    evaluate,
    improve,
    linear_step_size,
    move_on,
    perceive,
    value_of,
)
from rlsuite.checks import fraction
from rlsuite.compilation import compiled
from rlsuite.exploration import NO_ACTION, choose
from rlsuite.training.kernels import Begin, Step, Transition


class TrueOnline(NamedTuple):
    """What the rule keeps of the present episode."""

    traces: Traces  # of n_features * n_actions weights, step sizes included
    former: NDArray[np.float64]  # (1,), what the present pair was worth when the last error was computed
    lambda_: float


@compiled(in_place=True)
def _begin(memory: Any, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Reset all traces, and choose the first action."""
    action = begin_eligible(memory, observation, rng)
    memory.scratch.former[0] = memory.q[0, action]
    return action


@compiled(in_place=True)
def _step(memory: Any, t: Transition, rng: np.random.Generator) -> int:
    """Let w <- w + (delta + c) e, then w <- w - alpha c x(s, a), with the change c of Q(s, a) since it was chosen."""
    row, former = memory.scene.now[0], memory.scratch.former
    next_action = NO_ACTION
    ahead = 0.0
    if not t.terminated:
        perceive(memory, t.next_state, 1 - row)
        evaluate(memory, 1 - row)
        next_action = choose(memory, 1 - row, rng)
        ahead = memory.q[1 - row, next_action]
    alpha = linear_step_size(memory)
    value = value_of(memory, row, t.action)
    error = t.reward + memory.gamma * ahead - value
    change = value - former[0]
    former[0] = ahead
    visit_dutch(memory, row, t.action, alpha)
    learn_from(memory, error + change)
    improve(memory, row, t.action, -(alpha * change))
    move_on(memory, t.terminated or t.truncated)
    return next_action


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

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    lambda_: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make the traces of all weights, none of them eligible."""
        return TrueOnline(new_traces(n_features * n_actions), np.zeros(1), self.lambda_)
