"""Actor and critic: a policy that shifts towards actions that turned out better than the critic expected.

The actor has a preference h for each pair of state and action, and acts by their softmax pi; the critic has a value v
for each state. The error of the critic, delta = r + gamma v(x') - v(x), says whether an action was better than the
policy is on the average, and delta grad ln pi(a | x) is a sample of the direction in which the policy improves fastest
(policy gradient theorem, S&B2 section 13.2). For a table the gradient is 1{b = a} - pi(b | x) with respect to h(x, b).
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.agent import Agent
from rlsuite.agents.exploration import NO_ACTION, is_legal
from rlsuite.agents.memory import count
from rlsuite.agents.schedules import VISITS, Rate, Schedule, as_schedule, rate_now
from rlsuite.core.checks import finite_number, row_of_id
from rlsuite.core.compilation import compiled
from rlsuite.core.declared import Count
from rlsuite.training.kernels import Begin, Step, Transition
from rlsuite.training.legality import Legality


class ActorCriticMemory(NamedTuple):
    """Preferences and values, and everything that acting and learning need."""

    preference: NDArray[np.float64]  # (n_states, n_actions)
    value: NDArray[np.float64]  # (n_states,)
    visits: Count  # (n_states, n_actions), how often each pair was taken
    legal: NDArray[np.bool_]  # (n_states, n_actions)
    legality: Legality  # how `legal` is looked up
    clock: Count  # (2,), [steps, episodes] learned from
    gamma: float
    actor_rate: Rate
    critic_rate: Rate
    scratch: Any


class Present(NamedTuple):
    """What the rule keeps of the present episode."""

    discount: NDArray[np.float64]  # (1,), gamma to the power of the steps so far
    pi: NDArray[np.float64]  # (n_actions,), a buffer for the probabilities of one state


@compiled(in_place=True)
def probabilities(memory: ActorCriticMemory, state: int, out: NDArray[np.float64]) -> None:
    """pi(a | x) = exp h(x, a) / sum_b exp h(x, b) over the legal actions; 0 for the others (S&B2 eq. 13.2)."""
    top = -np.inf
    for action in range(out.size):
        if is_legal(memory, state, action):
            top = max(top, memory.preference[state, action])
    total = 0.0
    for action in range(out.size):
        out[action] = 0.0
        if is_legal(memory, state, action):
            out[action] = math.exp(memory.preference[state, action] - top)
            total += out[action]
    for action in range(out.size):
        out[action] /= total


@compiled(in_place=True)
def draw(memory: ActorCriticMemory, state: int, rng: np.random.Generator) -> int:
    """Draw an action of the policy."""
    pi = memory.scratch.pi
    probabilities(memory, state, pi)
    remaining = rng.random()
    choice = NO_ACTION
    for action in range(pi.size):
        if pi[action] > 0.0:
            choice = action
            remaining -= pi[action]
            if remaining < 0.0:
                break
    return choice


@compiled(in_place=True)
def actor_step_size(memory: ActorCriticMemory, state: int, action: int) -> float:
    """Step size of the preferences now; a schedule per visits counts those of the pair."""
    return rate_now(memory.actor_rate, memory.clock, memory.visits[state, action])


@compiled(in_place=True)
def critic_step_size(memory: ActorCriticMemory, state: int) -> float:
    """Step size of the values now; a schedule per visits counts those of the state."""
    visits = 0
    if memory.critic_rate.unit == VISITS:
        for action in range(memory.visits.shape[1]):
            visits += memory.visits[state, action]
    return rate_now(memory.critic_rate, memory.clock, visits)


@compiled(in_place=True)
def _begin(memory: ActorCriticMemory, state: int, rng: np.random.Generator) -> int:
    """Set gamma^t to 1, and draw the first action."""
    memory.scratch.discount[0] = 1.0
    return draw(memory, state, rng)


@compiled(in_place=True)
def _step(memory: ActorCriticMemory, t: Transition, rng: np.random.Generator) -> int:
    """Update both: v(x) += alpha_w delta, and h(x, b) += alpha_h delta gamma^t (1{b = a} - pi(b | x)) for all b."""
    discount, pi = memory.scratch
    target = t.reward if t.terminated else t.reward + memory.gamma * memory.value[t.next_state]
    error = target - memory.value[t.state]
    probabilities(memory, t.state, pi)
    amount = actor_step_size(memory, t.state, t.action) * error
    for other in range(pi.size):
        memory.preference[t.state, other] += amount * (discount[0] * ((other == t.action) - pi[other]))
    memory.value[t.state] += critic_step_size(memory, t.state) * error
    discount[0] *= memory.gamma
    count(memory, t.state, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else draw(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class ActorCriticAgent(Agent):
    """Base of the agents with preferences and state values.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences, at least 0.
    critic_rate : float or Schedule
        Step size of the values, in [0, 1].
    initial_value : float
        Value of every state before it is visited.
    """

    actor_rate: float | Schedule = 0.1
    critic_rate: float | Schedule = 0.1
    initial_value: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        as_schedule("actor_rate", self.actor_rate, 0.0, math.inf)
        as_schedule("critic_rate", self.critic_rate, 0.0, 1.0)
        self.initial_value = finite_number("initial_value", self.initial_value)

    def scratch(self, n_states: int, n_actions: int) -> tuple[object, ...]:
        """Make the memory's ``scratch``, with at least the fields of `Present`."""
        return Present(np.ones(1), np.zeros(n_actions))

    def init_memory(self, legal: NDArray[np.bool_], legality: Legality) -> ActorCriticMemory:
        """Make equal preferences and initial values."""
        return ActorCriticMemory(
            preference=np.zeros(legal.shape),
            value=np.where(legal.any(axis=1), self.initial_value, 0.0),
            visits=np.zeros(legal.shape, dtype=np.int64),
            legal=legal,
            legality=legality,
            clock=np.zeros(2, dtype=np.int64),
            gamma=self.gamma,
            actor_rate=as_schedule("actor_rate", self.actor_rate, 0.0, math.inf).rate,
            critic_rate=as_schedule("critic_rate", self.critic_rate, 0.0, 1.0).rate,
            scratch=self.scratch(*legal.shape),
        )

    def policy(self) -> NDArray[np.float64]:
        """The softmax of the preferences, shape (n_states, n_actions): probabilities, 0 at ends."""
        known: ActorCriticMemory = self.memory_
        masked: NDArray[np.float64] = np.where(known.legal, known.preference, -np.inf)
        highest: NDArray[np.float64] = masked.max(
            axis=1, keepdims=True, initial=-np.finfo(np.float64).max
        )  # finite in a terminal state, too
        weights: NDArray[np.float64] = np.exp(masked - highest)
        return weights / np.where(known.legal.any(axis=1, keepdims=True), weights.sum(axis=1, keepdims=True), 1.0)

    def best_actions(self, state: int) -> NDArray[np.int64]:
        """The most probable actions of one state (counted from 0), in ascending order; none at an end."""
        known: ActorCriticMemory = self.memory_
        row = row_of_id(state, 0, len(known.legal))
        legal = np.flatnonzero(known.legal[row])
        preferences = known.preference[row, legal]
        return legal[preferences == preferences.max(initial=-np.inf)]

    def act(self, observation: int) -> int:
        """Draw an action of the policy learned so far, which is stochastic: the optimal one may have to be.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation is not an integer in the range of the space, or is terminal.
        """
        policy = self.policy()
        index = self.row_of(observation)
        if not policy[index].any():
            raise errors.ParameterError(f"observation {observation!r} is terminal: no action is legal there")
        reached: NDArray[np.float64] = np.cumsum(policy[index])
        return int((reached <= self.generator_.random() * reached[-1]).sum()) + self.first_action_


@dataclass(eq=False, kw_only=True)
class ActorCritic(ActorCriticAgent):
    """One-step actor-critic with a softmax of preferences (S&B2 section 13.5, the boxed algorithm for a table).

    Climbs the value of the start. With vanishing step sizes, that of the critic much the larger one, it converges to
    where no small change of the policy helps (Konda & Tsitsiklis 2000). It explores because its policy is random, and
    less and less: a large `actor_rate` may end that too early.

    For episodes: the factor gamma^t of the book makes late steps count little, so that on a task without end, and
    with gamma < 1, the actor comes to rest.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha theta), at least 0.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1]; larger than that of the actor as a rule.
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
    >>> agent = rl.ActorCritic(gamma=0.9, actor_rate=0.05).learn("rlsuite/GridGoal-v0", episodes=2_000, seed=7)
    >>> bool(agent.value_[0] > 75), agent.policy()[2].round(1).tolist()
    (True, [0.0, 0.0, 1.0, 0.0])
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step
