"""Natural gradient: steps whose size is measured by the change of the policy, not of its parameters.

The gradient of a softmax policy is small where the policy is nearly deterministic, right or wrong. The natural
gradient F^-1 grad J, with Fisher's information F = E[psi psi^T] of the scores psi = grad ln pi(a | s), is the same for
all parametrisations of the same policies (Amari 1998; Kakade 2001). No matrix has to be inverted: if the
advantages of actions are approximated linearly in the *compatible* features, which are the scores themselves,
A(s, a) ~ u . psi(s, a), then the weights u of the best approximation are the natural gradient (Peters & Schaal 2008).

So this critic learns u besides the values of states, and the actor follows it: theta <- theta + alpha u.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.actor_critic_lambda import begin_traced, visit_both
from rlsuite.agents.control.softmax_agent import CriticAgent, critic_step_size, draw
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import (
    NOWHERE,
    STATE,
    Memory,
    end_step,
    locate,
    locate_next,
    step_size,
    update_all,
    update_in,
    value_in,
)
from rlsuite.agents.schedules import Rate, Schedule, as_schedule
from rlsuite.agents.traces import Traces, new_traces, update_eligible
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class NaturalCritic(NamedTuple):
    """Values, and the advantages that are linear in the scores: the memory's ``learned``."""

    value: NDArray[np.float64]  # (n_states, 1), or the weights of features (n_features, 1)
    critic_rate: Rate
    advantage_weights: NDArray[np.float64]  # (n_states, n_actions) or (n_features, n_actions), u


class PresentTraces(NamedTuple):
    """What the rule keeps of the present episode."""

    pi: NDArray[np.float64]  # (n_actions,), probabilities of the present observation
    actor: Traces  # of the weights of the advantages
    critic: Traces  # of the values, or of their weights
    lambda_: float


@compiled(in_place=True)
def score_product(memory: Memory, weights: NDArray[np.float64], row: int, action: int) -> float:
    """Return u . psi(s, a) of the observation in a row: u . x of the action, less its mean by pi."""
    pi = memory.scratch.pi
    product = value_in(memory, weights, row, action)
    for other in range(pi.size):
        product -= pi[other] * value_in(memory, weights, row, other)
    return product


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Let delta = r + gamma v(s') - v(s), z_w += x(s) and z_u += psi = grad ln pi(a | s).

    Then w += alpha_w delta z_w and u += alpha_w [delta z_u - (u . psi) psi]; both traces fade by gamma lambda, and
    theta += alpha_theta u. Without traces, u is moved by [delta - u . psi] psi: delta is a sample of the advantage.
    """
    s, next_s, present, learned = locate(memory, t.state), NOWHERE, memory.scratch, memory.learned
    target = t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * value_in(memory, learned.value, next_s, STATE)
    error = target - value_in(memory, learned.value, s, STATE)
    visit_both(memory, s, t.action, 1.0)
    alpha, decay = critic_step_size(memory, s), memory.gamma * present.lambda_
    surplus = alpha * score_product(memory, learned.advantage_weights, s, t.action)
    for other in range(present.pi.size):
        score = (other == t.action) - present.pi[other]
        update_in(memory, learned.advantage_weights, s, other, -surplus * score)
    update_eligible(present.actor, learned.advantage_weights, alpha * error, decay)
    update_eligible(present.critic, learned.value, alpha * error, decay)
    update_all(memory, learned.advantage_weights, step_size(memory, s, t.action))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else draw(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class NaturalActorCritic(CriticAgent):
    """Incremental natural actor-critic with advantage parameters (Bhatnagar, Sutton, Ghavamzadeh & Lee 2009, alg. 3).

    With traces, as Degris, Pilarski & Sutton (2012) have it, and discounted. Each step changes all preferences, so its
    cost grows with the number of states, or of features, not of active ones. Unlike `ActorCriticLambda` it weighs late
    steps of an episode like early ones.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences, at least 0, much smaller than that of the critic: the advantages have to keep up
        with the policy.
    critic_rate : float or Schedule
        Step size of values and advantages, in [0, 1].
    lambda_ : float
        How slowly both traces fade beside the discount, in [0, 1].
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
    advantage_weights_ : ndarray of float64, shape (n_states, n_actions) or (n_features, n_actions)
        Learned weights of the advantages: the natural gradient.
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
    The short corridor (S&B2 Example 13.1), whose three states look alike: only with ``lambda_=1`` no error of the
    values matters.

    >>> import gymnasium, rlsuite as rl, rlsuite_envs
    >>> from rlsuite.approximation import Identity
    >>> corridor = gymnasium.make("rlsuite/ShortCorridor-v0")
    >>> alike = rl.VectorObservation(corridor, corridor.unwrapped.features)
    >>> rates = {"actor_rate": 2**-11, "critic_rate": 2**-7}
    >>> agent = rl.NaturalActorCritic(features=Identity(), gamma=1.0, lambda_=1.0, **rates)
    >>> agent = agent.learn(alike, episodes=5_000, seed=7)
    >>> bool(-13 < agent.episodes_["return"][-2_000:].mean() < -11)
    True
    """

    begin: ClassVar[Begin] = begin_traced
    step: ClassVar[Step] = _step
    renews: ClassVar[bool] = True

    actor_rate: float | Schedule = 0.01
    lambda_: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)

    def tables(self, n_states: int, n_actions: int) -> NaturalCritic:
        """Make the memory's ``learned``."""
        rate = as_schedule("critic_rate", self.critic_rate, 0.0, 1.0).rate
        value = np.full((n_states, 1), self.initial_value)
        return NaturalCritic(value, rate, np.zeros((n_states, n_actions)))

    def scratch(self, n_states: int, n_actions: int) -> PresentTraces:
        """Make the traces of advantages and values, none of them eligible."""
        actor, critic = new_traces(n_states * n_actions), new_traces(n_states)
        return PresentTraces(np.zeros(n_actions), actor, critic, self.lambda_)
