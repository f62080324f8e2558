"""True online Sarsa(lambda): the values that the lambda-return would give, at every moment (van Seijen & Sutton 2014).

The forward view is this. After each step, undo all updates of the episode, and go through it again from its beginning:
each value moves towards the lambda-return of what is known by now. That is one pass per step; a dutch trace and two
corrections give the same numbers at the cost of Sarsa(lambda).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import (
    Memory,
    Observation,
    end_step,
    locate,
    locate_first,
    locate_next,
    step_size,
    update,
    update_and_decay,
    value,
    visit,
)
from rlsuite.agents.traces import Traces, dutch, new_traces, reset_traces
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class TrueOnline(NamedTuple):
    """What the rule keeps of the present episode."""

    traces: Traces  # of the n_states * n_actions pairs, step sizes included
    former: NDArray[np.float64]  # (1,), value of the present pair when the last error was computed
    lambda_: float


@compiled(in_place=True)
def _begin(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Reset all traces, and choose the first action."""
    reset_traces(memory.scratch.traces)
    s = locate_first(memory, state)
    action = choose(memory, s, rng)
    memory.scratch.former[0] = memory.q[s, action]
    return action


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + (delta + c) e, then Q(s, a) <- Q(s, a) - alpha c, with the change c of Q(s, a) since it was chosen."""
    s = locate(memory, t.state)
    ahead, next_action = 0.0, NO_ACTION
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        next_action = choose(memory, next_s, rng)
        ahead = memory.q[next_s, next_action]
    alpha = step_size(memory, s, t.action)
    traces, former, lambda_ = memory.scratch
    present = value(memory, s, t.action)
    error = t.reward + memory.gamma * ahead - present
    change = present - former[0]
    former[0] = ahead
    visit(memory, s, t.action, dutch, alpha)
    update_and_decay(memory, traces, error + change, memory.gamma * lambda_)
    update(memory, s, t.action, -(alpha * change))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return next_action


@dataclass(eq=False, kw_only=True)
class TrueOnlineSarsaLambda(ActionValueAgent):
    """True online Sarsa(lambda) (S&B2 section 12.7, the boxed algorithm for a table).

    Its values equal those of the online lambda-return algorithm (S&B2 section 12.4) after every step and for any step
    sizes. With ``lambda_=0`` these are the values of `Sarsa`; with ``lambda_=1``, at the end of an episode, those of
    every-visit Monte Carlo. Unlike accumulating traces it is stable for every step size up to 1.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        How actions are chosen while learning; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    initial_value : float
        Value of every action before it is tried.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.TrueOnlineSarsaLambda(gamma=1.0, learning_rate=0.5, lambda_=0.8)
    >>> agent = agent.learn("CliffWalking-v1", episodes=200, seed=7)
    >>> bool(agent.episodes_["return"][-50:].mean() > -60)
    True
    """

    begin: ClassVar[Begin] = _begin
    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _step

    lambda_: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)

    def scratch(self, n_states: int, n_actions: int) -> TrueOnline:
        """Make the traces of all pairs, none of them eligible."""
        return TrueOnline(new_traces(n_states * n_actions), np.zeros(1), self.lambda_)
