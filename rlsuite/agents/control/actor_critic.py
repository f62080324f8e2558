"""Actor and critic: a policy that shifts towards actions that turned out better than the critic expected.

The actor has a preference h for each pair of state and action, and acts by their softmax pi; the critic has a value v
for each state. The error of the critic, delta = r + gamma v(x') - v(x), says whether an action was better than the
policy is on the average, and delta grad ln pi(a | x) is a sample of the direction in which the policy improves fastest
(policy gradient theorem, S&B2 section 13.2). The gradient with respect to h(x, b) is 1{b = a} - pi(b | x).
"""

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
    update,
    update_in,
    value_in,
)
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class Present(NamedTuple):
    """What the rule keeps of the present episode."""

    discount: NDArray[np.float64]  # (1,), gamma to the power of the steps so far
    pi: NDArray[np.float64]  # (n_actions,), probabilities of the present observation


@compiled(in_place=True)
def _begin(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Set gamma^t to 1, and draw the first action."""
    memory.scratch.discount[0] = 1.0
    return draw(memory, locate_first(memory, state), rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Update both: v(x) += alpha_w delta, and h(x, b) += alpha_h delta gamma^t (1{b = a} - pi(b | x)) for all b."""
    s, next_s, critic = locate(memory, t.state), NOWHERE, memory.learned.value
    discount, pi, target = memory.scratch.discount, memory.scratch.pi, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * value_in(memory, critic, next_s, STATE)
    error = target - value_in(memory, critic, s, STATE)
    amount = step_size(memory, s, t.action) * error
    for other in range(pi.size):
        update(memory, s, other, amount * (discount[0] * ((other == t.action) - pi[other])))
    update_in(memory, critic, s, STATE, critic_step_size(memory, s) * error)
    discount[0] *= memory.gamma
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else draw(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class ActorCritic(CriticAgent):
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
    >>> agent = rl.ActorCritic(gamma=0.9, actor_rate=0.05).learn("rlsuite/GridGoal-v0", episodes=2_000, seed=7)
    >>> bool(agent.value_[0] > 75), agent.policy()[2].round(1).tolist()
    (True, [0.0, 0.0, 1.0, 0.0])
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step
    renews: ClassVar[bool] = True

    def scratch(self, n_states: int, n_actions: int) -> Present:
        """Make room for the probabilities of one observation."""
        return Present(np.ones(1), np.zeros(n_actions))
