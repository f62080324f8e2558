"""Actor and critic: a policy that shifts towards actions that turned out better than the critic expected.

The actor has a preference h for each pair of state and action, and acts by their softmax pi; the critic has a value v
for each state. The error of the critic, delta = r + gamma v(x') - v(x), says whether an action was better than the
policy is on the average, and delta grad ln pi(a | x) is a sample of the direction in which the policy improves fastest
(policy gradient theorem, S&B2 section 13.2). The gradient with respect to h(x, b) is 1{b = a} - pi(b | x).

The natural gradient has steps whose size is measured by the change of the policy, not of its parameters.
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
    update_all,
    update_and_decay,
    update_in,
    value_in,
    visit_in,
)
from rlsuite.agents.schedules import Rate, Schedule, as_schedule
from rlsuite.agents.traces import Traces, new_traces, reset_traces, update_eligible
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class Present(NamedTuple):
    """What the rules keep of the present episode."""

    discount: NDArray[np.float64]  # (1,), gamma to the power of the steps so far
    pi: NDArray[np.float64]  # (n_actions,), probabilities of the present observation
    actor: Traces  # of the preferences, of their weights, or of those of the advantages
    critic: Traces  # of the values, or of their weights
    actor_lambda: float
    critic_lambda: float


class NaturalCritic(NamedTuple):
    """Values, and the advantages that are linear in the scores: the memory's ``learned``."""

    value: NDArray[np.float64]  # (n_states, 1), or the weights of features (n_features, 1)
    critic_rate: Rate
    advantage_weights: NDArray[np.float64]  # (n_states, n_actions) or (n_features, n_actions), u


def new_present(n_states: int, n_actions: int, actor_lambda: float, critic_lambda: float) -> Present:
    """Make the traces of preferences and values, none of them eligible, and room for the probabilities of a row."""
    actor, critic = new_traces(n_states * n_actions), new_traces(n_states)
    return Present(np.ones(1), np.zeros(n_actions), actor, critic, actor_lambda, critic_lambda)


@compiled(in_place=True)
def _begin(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Set gamma^t to 1, reset both traces, and draw the first action."""
    memory.scratch.discount[0] = 1.0
    reset_traces(memory.scratch.actor)
    reset_traces(memory.scratch.critic)
    return draw(memory, locate_first(memory, state), rng)


@compiled(in_place=True)
def _surprise(memory: Memory, t: Transition, s: int) -> tuple[int, float]:
    """The row of what comes next, if anything, and delta = r + gamma v(s') - v(s)."""
    next_s, target, critic = NOWHERE, t.reward, memory.learned.value
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * value_in(memory, critic, next_s, STATE)
    return next_s, target - value_in(memory, critic, s, STATE)


@compiled(in_place=True)
def _end(memory: Memory, t: Transition, s: int, next_s: int, rng: np.random.Generator) -> int:
    """Count the step, and draw the next action."""
    over = t.terminated or t.truncated
    end_step(memory, s, t.action, over)
    return NO_ACTION if over else draw(memory, next_s, rng)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Update both: v(x) += alpha_w delta, and h(x, b) += alpha_h delta gamma^t (1{b = a} - pi(b | x)) for all b."""
    s, discount, pi = locate(memory, t.state), memory.scratch.discount, memory.scratch.pi
    next_s, error = _surprise(memory, t, s)
    amount = step_size(memory, s, t.action) * error
    for other in range(pi.size):
        update(memory, s, other, amount * (discount[0] * ((other == t.action) - pi[other])))
    update_in(memory, memory.learned.value, s, STATE, critic_step_size(memory, s) * error)
    discount[0] *= memory.gamma
    return _end(memory, t, s, next_s, rng)


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
        """Make room for the probabilities of one observation; nothing is eligible."""
        return new_present(0, n_actions, 0.0, 0.0)


@compiled(in_place=True)
def _visit_both(memory: Memory, row: int, action: int, share: float) -> None:
    """z_w += x(s), and z_h += share * grad ln pi(a | s); of a table x(s) is 1 for the state and 0 for the others."""
    actor, pi = memory.scratch.actor, memory.scratch.pi
    visit_in(memory, memory.scratch.critic, row, STATE, 1, 1.0)
    for other in range(pi.size):
        score = share * ((other == action) - pi[other])
        if score != 0.0:
            visit_in(memory, actor, row, other, pi.size, score)


@compiled(in_place=True)
def _traced_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Let delta = r + gamma v(s') - v(s), z_w += x(s) and z_h += gamma^t grad ln pi(a | s).

    Then v += alpha_w delta z_w and h += alpha_h delta z_h; z_w fades by gamma lambda_w, z_h by gamma lambda_h.
    """
    s, present, critic = locate(memory, t.state), memory.scratch, memory.learned.value
    next_s, error = _surprise(memory, t, s)
    _visit_both(memory, s, t.action, present.discount[0])
    amount = step_size(memory, s, t.action) * error
    update_and_decay(memory, present.actor, amount, memory.gamma * present.actor_lambda)
    update_eligible(present.critic, critic, critic_step_size(memory, s) * error, memory.gamma * present.critic_lambda)
    present.discount[0] *= memory.gamma
    return _end(memory, t, s, next_s, rng)


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
    step: ClassVar[Step] = _traced_step
    renews: ClassVar[bool] = True

    actor_lambda: float = 0.9
    critic_lambda: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.actor_lambda = fraction("actor_lambda", self.actor_lambda)
        self.critic_lambda = fraction("critic_lambda", self.critic_lambda)

    def scratch(self, n_states: int, n_actions: int) -> Present:
        """Make the traces of preferences and values, none of them eligible."""
        return new_present(n_states, n_actions, self.actor_lambda, self.critic_lambda)


@compiled(in_place=True)
def _score_product(memory: Memory, weights: NDArray[np.float64], row: int, action: int) -> float:
    """Return u . psi(s, a) of the observation in a row: u . x of the action, less its mean by pi."""
    pi = memory.scratch.pi
    product = value_in(memory, weights, row, action)
    for other in range(pi.size):
        product -= pi[other] * value_in(memory, weights, row, other)
    return product


@compiled(in_place=True)
def _natural_step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Let delta = r + gamma v(s') - v(s), z_w += x(s) and z_u += psi = grad ln pi(a | s).

    Then w += alpha_w delta z_w and u += alpha_w [delta z_u - (u . psi) psi]; both traces fade by gamma lambda, and
    theta += alpha_theta u. Without traces, u is moved by [delta - u . psi] psi: delta is a sample of the advantage.
    """
    s, present, learned = locate(memory, t.state), memory.scratch, memory.learned
    next_s, error = _surprise(memory, t, s)
    _visit_both(memory, s, t.action, 1.0)
    alpha, decay = critic_step_size(memory, s), memory.gamma * present.critic_lambda
    surplus = alpha * _score_product(memory, learned.advantage_weights, s, t.action)
    for other in range(present.pi.size):
        score = (other == t.action) - present.pi[other]
        update_in(memory, learned.advantage_weights, s, other, -surplus * score)
    update_eligible(present.actor, learned.advantage_weights, alpha * error, decay)
    update_eligible(present.critic, learned.value, alpha * error, decay)
    update_all(memory, learned.advantage_weights, step_size(memory, s, t.action))
    return _end(memory, t, s, next_s, rng)


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

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _natural_step
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

    def scratch(self, n_states: int, n_actions: int) -> Present:
        """Make the traces of advantages and values, none of them eligible."""
        return new_present(n_states, n_actions, self.lambda_, self.lambda_)
