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
from rlsuite.agents.control.softmax_agent import critic_step_size, draw
from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import NOWHERE, ActiveFeatures, Memory, end_step, locate, locate_next, step_size, value_in
from rlsuite.agents.schedules import Rate, as_schedule
from rlsuite.agents.traces import Traces, new_traces, update_eligible
from rlsuite.approximation.policies.softmax_policy import LinearCriticAgent, climb
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class NaturalCritic(NamedTuple):
    """Values, and the advantages that are linear in the scores: the memory's ``learned``."""

    value: NDArray[np.float64]  # (n_features, 1), the weights of the values
    critic_rate: Rate
    advantage_weights: NDArray[np.float64]  # (n_features, n_actions), u


class PresentTraces(NamedTuple):
    """What the rule keeps of the present episode."""

    pi: NDArray[np.float64]  # (n_actions,), probabilities of the present observation
    actor: Traces  # of the n_features * n_actions weights of the advantages
    critic: Traces  # of the n_features weights of the values
    lambda_: float


@compiled(in_place=True)
def score_product(
    weights: NDArray[np.float64], active: ActiveFeatures, row: int, action: int, pi: NDArray[np.float64]
) -> float:
    """Return u . psi(s, a) of the observation in a row."""
    total = 0.0
    for k in range(active.n_active[row]):
        index, mean = active.indices[row, k], 0.0
        for other in range(pi.size):
            mean += pi[other] * weights[index, other]
        total += (weights[index, action] - mean) * active.values[row, k]
    return total


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
        target = t.reward + memory.gamma * value_in(memory, learned.value, next_s)
    error = target - value_in(memory, learned.value, s)
    visit_both(memory, s, t.action, 1.0)
    alpha, decay = critic_step_size(memory, s), memory.gamma * present.lambda_
    surplus = alpha * score_product(learned.advantage_weights, memory.active, s, t.action, present.pi)
    climb(learned.advantage_weights, memory.active, s, t.action, present.pi, -surplus)
    update_eligible(present.actor, learned.advantage_weights, alpha * error, decay)
    update_eligible(present.critic, learned.value, alpha * error, decay)
    actor_rate = step_size(memory, s, t.action)
    for index in range(memory.weights.shape[0]):
        for other in range(memory.weights.shape[1]):
            memory.weights[index, other] += actor_rate * learned.advantage_weights[index, other]
    end_step(memory, s, t.action, t.terminated or t.truncated)
    return NO_ACTION if t.terminated or t.truncated else draw(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class NaturalActorCritic(LinearCriticAgent):
    """Incremental natural actor-critic with advantage parameters (Bhatnagar, Sutton, Ghavamzadeh & Lee 2009, alg. 3).

    With traces, as Degris, Pilarski & Sutton (2012) have it, and discounted. Each step changes all weights, so its cost
    grows with the number of features, not of active ones. Unlike `LinearActorCritic` it weighs late steps of an episode
    like early ones.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What preferences and values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences, at least 0, much smaller than that of the critic: the advantages have to keep up
        with the policy. A schedule counts steps or episodes.
    critic_rate : float or Schedule
        Step size of values and advantages, in [0, 1].
    lambda_ : float
        How slowly both traces fade beside the discount, in [0, 1].
    initial_weight : float
        What every weight of the preferences is at first.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights of the preferences; only their differences between actions count.
    value_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the values.
    advantage_weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights of the advantages: the natural gradient.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    The short corridor (S&B2 Example 13.1), whose three states look alike: only with ``lambda_=1`` no error of the
    values matters.

    >>> import gymnasium, rlsuite_envs
    >>> from rlsuite.features.identity import Identity
    >>> from rlsuite.environments.wrappers import VectorObservation
    >>> corridor = gymnasium.make("rlsuite/ShortCorridor-v0")
    >>> alike = VectorObservation(corridor, corridor.unwrapped.features)
    >>> agent = NaturalActorCritic(features=Identity(), gamma=1.0, actor_rate=2**-11, critic_rate=2**-7, lambda_=1.0)
    >>> agent = agent.learn(alike, episodes=5_000, seed=7)
    >>> bool(-13 < agent.episodes_["return"][-2_000:].mean() < -11)
    True
    """

    begin: ClassVar[Begin] = begin_traced
    step: ClassVar[Step] = _step
    renews: ClassVar[bool] = True

    lambda_: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)

    def tables(self, n_features: int, n_actions: int) -> NaturalCritic:
        """Make the memory's ``learned``."""
        rate = as_schedule("critic_rate", self.critic_rate, 0.0, 1.0).rate
        return NaturalCritic(np.zeros((n_features, 1)), rate, np.zeros((n_features, n_actions)))

    def scratch(self, n_features: int, n_actions: int) -> PresentTraces:
        """Make the traces of advantages and values, none of them eligible."""
        actor, critic = new_traces(n_features * n_actions), new_traces(n_features)
        return PresentTraces(np.zeros(n_actions), actor, critic, self.lambda_)
