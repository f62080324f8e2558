"""Actor-critic with eligibility traces of both the values and the preferences."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.actor_critic import (
    ActorCriticAgent,
    ActorCriticMemory,
    actor_step_size,
    critic_step_size,
    draw,
    probabilities,
)
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import count
from rlsuite.agents.traces import Traces, add_to_trace, new_traces, reset_traces, update_eligible
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class PresentTraces(NamedTuple):
    """What the rule keeps of the present episode."""

    discount: NDArray[np.float64]  # (1,), gamma to the power of the steps so far
    pi: NDArray[np.float64]  # (n_actions,), a buffer for the probabilities of one state
    actor: Traces  # of n_states * n_actions preferences
    critic: Traces  # of n_states values
    actor_lambda: float
    critic_lambda: float


@compiled(in_place=True)
def _begin(memory: ActorCriticMemory, state: int, rng: np.random.Generator) -> int:
    """Reset all traces, set gamma^t to 1, and draw the first action."""
    reset_traces(memory.scratch.actor)
    reset_traces(memory.scratch.critic)
    memory.scratch.discount[0] = 1.0
    return draw(memory, state, rng)


@compiled(in_place=True)
def _step(memory: ActorCriticMemory, t: Transition, rng: np.random.Generator) -> int:
    """Visit: z_w(x) += 1 and z_h(x, b) += gamma^t (1{b = a} - pi(b | x)); update: v += alpha_w delta z_w, h likewise.

    Then both traces fade: z_w by gamma lambda_w, z_h by gamma lambda_h.
    """
    discount, pi, actor, critic, actor_lambda, critic_lambda = memory.scratch
    target = t.reward if t.terminated else t.reward + memory.gamma * memory.value[t.next_state]
    error = float(target - memory.value[t.state])
    probabilities(memory, t.state, pi)
    for other in range(pi.size):
        add_to_trace(actor, t.state * pi.size + other, discount[0] * ((other == t.action) - pi[other]))
    add_to_trace(critic, t.state, 1.0)
    amount = actor_step_size(memory, t.state, t.action) * error
    update_eligible(actor, memory.preference, amount, memory.gamma * actor_lambda)
    update_eligible(critic, memory.value, critic_step_size(memory, t.state) * error, memory.gamma * critic_lambda)
    discount[0] *= memory.gamma
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else draw(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class ActorCriticLambda(ActorCriticAgent):
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
        Value of every state before it is visited.

    Attributes
    ----------
    preference_ : ndarray of float64, shape (n_states, n_actions)
        Learned preferences; only their differences within a state count.
    value_ : ndarray of float64, shape (n_states,)
        Learned state values.
    visits_ : ndarray of int64, shape (n_states, n_actions)
        How often each pair was taken.

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
