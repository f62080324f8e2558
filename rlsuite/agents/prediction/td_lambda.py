"""TD(lambda), the backward view: each error updates all states visited before it, in proportion to their traces."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.predictor import Predictor, StateValues, count_state, follow, value_step_size
from rlsuite.agents.traces import (
    TRACE_UPDATES,
    Traces,
    TraceUpdate,
    check_kind,
    dutch,
    new_traces,
    reset_traces,
    update_eligible,
    visit_entry,
)
from rlsuite.checks import fraction
from rlsuite.compilation import compiled
from rlsuite.exploration import NO_ACTION
from rlsuite.training.kernels import Begin, Step, Transition


class Eligibility(NamedTuple):
    """What is kept during an episode, and the two constants of the rule."""

    traces: Traces  # one for each state
    kind: TraceUpdate  # what a visit does to a trace
    lambda_: float


class TrueOnline(NamedTuple):
    """What is kept during an episode, and the constant of the rule."""

    traces: Traces  # one for each state
    expected: NDArray[np.float64]  # (1,), what the present state was worth when it was the next one
    lambda_: float


@compiled(in_place=True)
def _begin(memory: StateValues, state: int, rng: np.random.Generator) -> int:
    """Reset all traces, and draw the first action of an episode."""
    reset_traces(memory.scratch.traces)
    return follow(memory, state, rng)


@compiled(in_place=True)
def _step(memory: StateValues, t: Transition, rng: np.random.Generator) -> int:
    """V(x) <- V(x) + [r + gamma V(s') - V(s)] e(x), then e(x) <- gamma lambda e(x), for all states x."""
    traces, kind, lambda_ = memory.scratch
    target = t.reward if t.terminated else t.reward + memory.gamma * memory.value[t.next_state]
    error = target - memory.value[t.state]
    visit_entry(traces, t.state, kind, value_step_size(memory, t.state))
    update_eligible(traces, memory.value, error, memory.gamma * lambda_)
    count_state(memory, t.state, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else follow(memory, t.next_state, rng)


@compiled(in_place=True)
def _begin_true_online(memory: StateValues, state: int, rng: np.random.Generator) -> int:
    """Reset all traces, draw the first action of an episode, and set V_old to the value of its first state.

    Anything else would cancel in the first step, but for rounding.
    """
    reset_traces(memory.scratch.traces)
    memory.scratch.expected[0] = memory.value[state]
    return follow(memory, state, rng)


@compiled(in_place=True)
def _true_online(memory: StateValues, t: Transition, rng: np.random.Generator) -> int:
    """V(x) <- V(x) + [delta + V(s) - V_old(s)] e(x) - [V(s) - V_old(s)] alpha 1(x = s) for all states x.

    delta = r + gamma V(s') - V(s), and V_old(s) is what s was worth a step ago, before that step was learned from.
    """
    traces, expected, lambda_ = memory.scratch
    step_size = value_step_size(memory, t.state)
    next_value = 0.0 if t.terminated else memory.value[t.next_state]
    error = t.reward + memory.gamma * next_value - memory.value[t.state]
    change = memory.value[t.state] - expected[0]
    visit_entry(traces, t.state, dutch, step_size)
    update_eligible(traces, memory.value, error + change, memory.gamma * lambda_)
    memory.value[t.state] -= step_size * change
    expected[0] = next_value
    count_state(memory, t.state, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else follow(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class TDLambda(Predictor):
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
        What a visit does to the trace of a state that is still eligible: count anew, start anew, or in between.
    policy_to_follow : array_like (n_states,) of int or (n_states, n_actions), optional
        An action for each state, or probabilities; by default all legal actions are equally likely.
    learning_rate : float or Schedule
        Step size, in [0, 1]; an error reaches each earlier visit with the step size of that visit.
    initial_value : float
        Value of every state before it is visited.

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.TDLambda(gamma=1.0, lambda_=0.8, learning_rate=0.02, initial_value=0.5)
    >>> agent = agent.learn("rlsuite/RandomWalk-v0", episodes=500, seed=7)
    >>> bool(abs(agent.value_[1:6] - [1/6, 2/6, 3/6, 4/6, 5/6]).max() < 0.15)
    True
    """

    begin: ClassVar[Begin] = _begin
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
class TrueOnlineTDLambda(Predictor):
    """True online TD(lambda): after each step, the values of the on-line lambda-return (S&B2 section 12.5).

    The forward view would begin the episode anew after each step, with all its returns up to there (section 12.4). This
    comes to the same, exactly, at the cost of TD(lambda) (van Seijen, Mahmood, Pilarski, Machado & Sutton 2016).

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

    Attributes
    ----------
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.

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
