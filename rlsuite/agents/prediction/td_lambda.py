"""TD(lambda), the backward view: each error updates all states visited before it, in proportion to their traces.

In plain NumPy: `rlsuite.reference.learning.td_lambda`.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import (
    NOWHERE,
    STATE,
    Memory,
    Observation,
    begin_following,
    end_step,
    locate,
    locate_first,
    locate_next,
    next_action,
    ratio,
    step_size,
    update,
    update_and_decay,
    value,
    visit,
)
from rlsuite.agents.state_value_agent import StateValueAgent
from rlsuite.agents.traces import TRACE_UPDATES, Traces, TraceUpdate, check_kind, dutch, new_traces, reset_traces
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class Eligibility(NamedTuple):
    """What is kept during an episode, and the two constants of the rule."""

    traces: Traces  # one for each state
    kind: TraceUpdate  # how a visit changes a trace
    lambda_: float


class TrueOnline(NamedTuple):
    """What is kept during an episode, and the constant of the rule."""

    traces: Traces  # one for each state
    expected: NDArray[np.float64]  # (1,), value of the present state when it was the next one
    lambda_: float


@compiled(in_place=True)
def begin_with_traces(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Reset all traces, and draw the first action of an episode."""
    reset_traces(memory.scratch.traces)
    return begin_following(memory, state, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """E <- rho (gamma lambda E + alpha x(s)), then V <- V + [r + gamma V(s') - V(s)] E, where x(s) = 1(s) for a table.

    The traces fade as soon as the next action is known, and with it the next rho.
    """
    traces, kind, lambda_ = memory.scratch
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * value(memory, next_s, STATE)
    error = target - value(memory, s, STATE)
    visit(memory, s, STATE, kind, step_size(memory, s, STATE) * ratio(memory, t.state, s, t.action))
    chosen, decay = NO_ACTION, memory.gamma * lambda_
    if not (t.terminated or t.truncated):
        chosen = next_action(memory, t.next_state, next_s, rng)
        decay *= ratio(memory, t.next_state, next_s, chosen)
    update_and_decay(memory, traces, error, decay)
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return chosen


@compiled(in_place=True)
def _begin_true_online(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Reset all traces, draw the first action of an episode, and set V_old to the value of its first state.

    Anything else would cancel in the first step, but for rounding.
    """
    reset_traces(memory.scratch.traces)
    s = locate_first(memory, state)
    memory.scratch.expected[0] = value(memory, s, STATE)
    return next_action(memory, state, s, rng)


@compiled(in_place=True)
def _true_online(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """V <- V + [delta + V(s) - V_old(s)] e, then V <- V - alpha [V(s) - V_old(s)] x(s), where x(s) = 1(s) for a table.

    delta = r + gamma V(s') - V(s), and V_old(s) is the value of s a step ago, before that step was learned from.
    """
    traces, expected, lambda_ = memory.scratch
    s, next_s, next_value = locate(memory, t.state), NOWHERE, 0.0
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        next_value = value(memory, next_s, STATE)
    alpha, present = step_size(memory, s, STATE), value(memory, s, STATE)
    error = t.reward + memory.gamma * next_value - present
    change = present - expected[0]
    visit(memory, s, STATE, dutch, alpha)
    update_and_decay(memory, traces, error + change, memory.gamma * lambda_)
    update(memory, s, STATE, -(alpha * change))
    expected[0] = next_value
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else next_action(memory, t.next_state, next_s, rng)


@dataclass(eq=False, kw_only=True)
class TDLambda(StateValueAgent):
    """TD(lambda) prediction with eligibility traces (S&B2 section 12.2; Sutton 1988).

    Converges to the value of the policy with probability 1 under the conditions of `TD`, for all lambda (Dayan &
    Sejnowski 1994). A step costs what the eligible states cost, some 37 / (1 - gamma lambda) at most, however many
    states there are.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    lambda_ : float
        How far errors are passed back, in [0, 1]: 0 is `TD`, 1 close to `EveryVisitMonteCarlo`.
    traces : {"accumulating", "replacing", "dutch"}
        What a visit does to the trace of a state that is still eligible: add to it, restart it, or in between.
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size, in [0, 1]; an error reaches each earlier visit with the step size of that visit.
    initial_value : float
        Value of every state before it is visited.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `StateValueAgent`.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.TDLambda(gamma=1.0, lambda_=0.8, learning_rate=0.02, initial_value=0.5)
    >>> agent = agent.learn("rlsuite/RandomWalk-v0", episodes=500, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.15)
    True
    """

    begin: ClassVar[Begin] = begin_with_traces
    step: ClassVar[Step] = _step

    lambda_: float = 0.9
    traces: str = "accumulating"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)
        self.traces = check_kind("traces", self.traces)

    def scratch(self, n_states: int) -> Eligibility:
        """Make the traces, none of them eligible."""
        return Eligibility(new_traces(n_states), TRACE_UPDATES[self.traces], self.lambda_)


@dataclass(eq=False, kw_only=True)
class TrueOnlineTDLambda(StateValueAgent):
    """True online TD(lambda): after each step, the values of the on-line lambda-return (S&B2 section 12.5).

    The forward view would begin the episode again after each step, with all its returns up to there (section 12.4).
    This gives exactly the same at the cost of TD(lambda) (van Seijen, Mahmood, Pilarski, Machado & Sutton 2016).

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    lambda_ : float
        How far errors are passed back, in [0, 1].
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size, in [0, 1]; an error reaches each earlier visit with the step size of that visit.
    initial_value : float
        Value of every state before it is visited.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `StateValueAgent`.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    weights_ : ndarray of float64, shape (n_features,)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.TrueOnlineTDLambda(gamma=1.0, lambda_=0.8, learning_rate=0.02, initial_value=0.5)
    >>> agent = agent.learn("rlsuite/RandomWalk-v0", episodes=500, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.15)
    True
    """

    begin: ClassVar[Begin] = _begin_true_online
    step: ClassVar[Step] = _true_online

    lambda_: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)

    def scratch(self, n_states: int) -> TrueOnline:
        """Make the traces, none of them eligible."""
        return TrueOnline(new_traces(n_states), np.zeros(1), self.lambda_)
