"""Semi-gradient Q(lambda) of Watkins: the greedy policy, learned with traces and values linear in features."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rlsuite.agents.traces import forget
from rlsuite.approximation.linear.eligibility import LinearEligibilityAgent, learn_from
from rlsuite.approximation.linear.memory import (
    evaluate,
    linear_step_size,
    move_on,
    perceive,
    value_of,
)
from rlsuite.compilation import compiled
from rlsuite.exploration import NO_ACTION, choose, max_value
from rlsuite.training.kernels import Step, Transition


@compiled(in_place=True)
def _step(memory: Any, t: Transition, rng: np.random.Generator) -> int:
    """Let w <- w + delta e and e <- gamma lambda e, where delta = r + gamma max_a' Q(s', a') - Q(s, a).

    If the next action is not greedy then e <- 0.
    """
    row = memory.scene.now[0]
    target = t.reward
    if not t.terminated:
        perceive(memory, t.next_state, 1 - row)
        evaluate(memory, 1 - row)
        target = t.reward + memory.gamma * max_value(memory, 1 - row)
    error = target - value_of(memory, row, t.action)
    memory.scratch.visit(memory, row, t.action, linear_step_size(memory))
    learn_from(memory, error)
    next_action = NO_ACTION
    if not (t.terminated or t.truncated):
        evaluate(memory, 1 - row)
        next_action = choose(memory, 1 - row, rng)
        if memory.q[1 - row, next_action] < max_value(memory, 1 - row):
            forget(memory.scratch.traces)
    move_on(memory, t.terminated or t.truncated)
    return next_action


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

    step: ClassVar[Step] = _step
