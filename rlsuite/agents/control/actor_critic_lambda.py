"""Actor-critic with eligibility traces of both the values and the preferences."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.softmax_agent import CriticAgent, critic_step_size, draw
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import (
    NOWHERE,
    STATE,
    Memory,
    Observation,
    end_step,
    locate,
    locate_first,
    locate_next,
    step_size,
    update_and_decay,
    value_in,
    visit_in,
)
from rlsuite.agents.traces import Traces, new_traces, reset_traces, update_eligible
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class PresentTraces(NamedTuple):
    """What the rule keeps of the present episode."""

    discount: NDArray[np.float64]  # (1,), gamma to the power of the steps so far
    pi: NDArray[np.float64]  # (n_actions,), probabilities of the present observation
    actor: Traces  # of the preferences, or of their weights
    critic: Traces  # of the values, or of their weights
    actor_lambda: float
    critic_lambda: float


@compiled(in_place=True)
def begin_traced(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Reset both traces, and draw the first action."""
    reset_traces(memory.scratch.actor)
    reset_traces(memory.scratch.critic)
    return draw(memory, locate_first(memory, state), rng)


@compiled(in_place=True)
def _begin(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Also set gamma^t to 1."""
    memory.scratch.discount[0] = 1.0
    return begin_traced(memory, state, rng)


@compiled(in_place=True)
def visit_both(memory: Memory, row: int, action: int, share: float) -> None:
    """z_w += x(s), and z_h += share * grad ln pi(a | s); of a table x(s) is 1 for the state and 0 for the others."""
    actor, pi = memory.scratch.actor, memory.scratch.pi
    visit_in(memory, memory.scratch.critic, row, STATE, 1, 1.0)
    for other in range(pi.size):
        score = share * ((other == action) - pi[other])
        if score != 0.0:
            visit_in(memory, actor, row, other, pi.size, score)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Let delta = r + gamma v(s') - v(s), z_w += x(s) and z_h += gamma^t grad ln pi(a | s).

    Then v += alpha_w delta z_w and h += alpha_h delta z_h; z_w fades by gamma lambda_w, z_h by gamma lambda_h.
    """
    s, next_s, present, critic = locate(memory, t.state), NOWHERE, memory.scratch, memory.learned.value
    target = t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * value_in(memory, critic, next_s, STATE)
    error = target - value_in(memory, critic, s, STATE)
    visit_both(memory, s, t.action, present.discount[0])
    amount = step_size(memory, s, t.action) * error
    update_and_decay(memory, present.actor, amount, memory.gamma * present.actor_lambda)
    update_eligible(present.critic, critic, critic_step_size(memory, s) * error, memory.gamma * present.critic_lambda)
    present.discount[0] *= memory.gamma
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else draw(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class ActorCriticLambda(CriticAgent):
    """Actor-critic with eligibility traces (S&B2 section 13.5, the boxed algorithm for a table).

    With both lambdas 0 it is `ActorCritic`, to the last bit. With both 1, and values that change little during an
    episode, it is REINFORCE with a baseline (S&B2 section 13.4), which needs no critic that is right: also where
    several states look the same it climbs the value of the start.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha theta), at least 0.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1]; larger than that of the actor as a rule.
    actor_lambda, critic_lambda : float
        How slowly the traces of preferences and values fade beside the discount, in [0, 1].
    initial_value : float
        Value of every state before it is visited; with features, what every weight of the values is.
    features : FeatureMap or transformer, optional
        What preferences and values are linear in; see `rlsuite.ActionValueAgent`. By default a table.
    values : Table or Linear, optional
        The same in full; its `initial` is what the preferences, or their weights, are at first.

    Attributes
    ----------
    preference_ : ndarray of float64, shape (n_states, n_actions)
        Learned preferences; only their differences within a state count. With features, of the ids of a Discrete
        space, as `value_`.
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    visits_ : ndarray of int64, shape (n_states, n_actions)
        How often each pair was taken; only of a table.
    weights_, value_weights_ : ndarray of float64, shapes (n_features, n_actions) and (n_features,)
        Learned weights of preferences and values; only with features.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    >>> import rlsuite as rl, rlsuite_envs
    >>> agent = rl.ActorCriticLambda(gamma=0.9, actor_rate=0.05, actor_lambda=0.8, critic_lambda=0.8)
    >>> agent = agent.learn("rlsuite/GridGoal-v0", episodes=1_000, seed=7)
    >>> bool(agent.value_[0] > 75), agent.policy().argmax(axis=1)[1:5].tolist()
    (True, [1, 2, 1, 1])
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step
    renews: ClassVar[bool] = True

    actor_lambda: float = 0.9
    critic_lambda: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.actor_lambda = fraction("actor_lambda", self.actor_lambda)
        self.critic_lambda = fraction("critic_lambda", self.critic_lambda)

    def scratch(self, n_states: int, n_actions: int) -> PresentTraces:
        """Make the traces of preferences and values, none of them eligible."""
        actor, critic = new_traces(n_states * n_actions), new_traces(n_states)
        return PresentTraces(np.ones(1), np.zeros(n_actions), actor, critic, self.actor_lambda, self.critic_lambda)
