"""Actor-critic with linear features: preferences and values that learn from the same error, with traces."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.exploration import NO_ACTION
from rlsuite.agents.memory import ActiveFeatures, Memory
from rlsuite.agents.schedules import rate_now
from rlsuite.agents.traces import Traces, add_to_trace, new_traces, reset_traces, update_eligible
from rlsuite.agents.values.features import compute_features, count_and_advance
from rlsuite.approximation.policies.softmax_policy import CriticAgent, act_in, value_in
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition


class PresentTraces(NamedTuple):
    """What the rule keeps of the present episode."""

    discount: NDArray[np.float64]  # (1,), gamma to the power of the steps so far
    pi: NDArray[np.float64]  # (n_actions,), probabilities of the present observation
    actor: Traces  # of the n_features * n_actions weights of the preferences
    critic: Traces  # of the n_features weights of the values
    actor_lambda: float
    critic_lambda: float


@compiled(in_place=True)
def begin_traced(memory: Memory, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Reset all traces, and draw the first action."""
    reset_traces(memory.scratch.actor)
    reset_traces(memory.scratch.critic)
    memory.active.now[0] = 0
    compute_features(memory, observation, 0)
    return act_in(memory, 0, rng)


@compiled(in_place=True)
def _begin(memory: Memory, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Also set gamma^t to 1."""
    memory.scratch.discount[0] = 1.0
    return begin_traced(memory, observation, rng)


@compiled(in_place=True)
def visit(
    critic: Traces, actor: Traces, active: ActiveFeatures, row: int, action: int, pi: NDArray[np.float64], share: float
) -> None:
    """z_w += x(s), and z_theta += share * grad ln pi(a | s)."""
    for k in range(active.n_active[row]):
        index, value = active.indices[row, k], active.values[row, k]
        if value != 0.0:
            add_to_trace(critic, index, value)
            for other in range(pi.size):
                score = share * ((other == action) - pi[other]) * value
                if score != 0.0:
                    add_to_trace(actor, index * pi.size + other, score)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Let delta = r + gamma v(s') - v(s), z_w += x(s) and z_theta += gamma^t grad ln pi(a | s).

    Then w += alpha_w delta z_w and theta += alpha_theta delta z_theta; z_w fades by gamma lambda_w, z_theta by
    gamma lambda_theta.
    """
    row, present, values = memory.active.now[0], memory.scratch, memory.learned.value_weights
    target = t.reward
    if not t.terminated:
        compute_features(memory, t.next_state, 1 - row)
        target = t.reward + memory.gamma * value_in(memory.active, values, 1 - row)
    error = target - value_in(memory.active, values, row)
    visit(present.critic, present.actor, memory.active, row, t.action, present.pi, present.discount[0])
    amount = rate_now(memory.learning_rate, memory.clock, 0) * error
    update_eligible(present.actor, memory.weights, amount, memory.gamma * present.actor_lambda)
    amount = rate_now(memory.learned.critic_rate, memory.clock, 0) * error
    update_eligible(present.critic, values, amount, memory.gamma * present.critic_lambda)
    present.discount[0] *= memory.gamma
    over = t.terminated or t.truncated
    count_and_advance(memory, over)
    return NO_ACTION if over else act_in(memory, 1 - row, rng)


@dataclass(eq=False, kw_only=True)
class LinearActorCritic(CriticAgent):
    """Actor-critic with eligibility traces (S&B2 section 13.5, the second box), linear in features.

    With one-hot features it is `ActorCriticLambda`. With both lambdas 1, and values that change little during an
    episode, it is REINFORCE with a baseline, which needs no critic that is right; with both 0 it is the one-step
    actor-critic, which learns fast and believes what its critic says.

    For episodes: the factor gamma^t of the book makes late steps count little, so that on a task without end, and
    with gamma < 1, the actor comes to rest.

    Parameters
    ----------
    features : FeatureMap or transformer, optional
        What preferences and values are linear in; see `LinearAgent`.
    gamma : float
        Discount per step, in [0, 1].
    actor_rate : float or Schedule
        Step size of the preferences (the book's alpha theta), at least 0; a schedule counts steps or episodes.
    critic_rate : float or Schedule
        Step size of the values (the book's alpha w), in [0, 1]; larger than that of the actor as a rule. With n
        features of size 1 active at a time, 1 / n moves a value all the way to its target.
    actor_lambda, critic_lambda : float
        How slowly the traces of preferences and values fade beside the discount, in [0, 1].
    initial_weight : float
        What every weight of the preferences is at first.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights of the preferences; only their differences between actions count.
    value_weights_ : ndarray of float64, shape (n_features,)
        Learned weights of the values.

    Raises
    ------
    ParameterError
        If a parameter is outside its allowed values.

    Examples
    --------
    On the cliff, where the safest path takes 17 steps, with one feature for each state:

    >>> import gymnasium, numpy as np
    >>> from rlsuite.features.identity import Identity
    >>> from rlsuite.environments.wrappers import VectorObservation
    >>> cliff = VectorObservation(gymnasium.make("CliffWalking-v1"), np.eye(48))
    >>> agent = LinearActorCritic(features=Identity(), gamma=1.0, actor_rate=0.05, actor_lambda=0.8, critic_lambda=0.8)
    >>> agent = agent.learn(cliff, episodes=1_000, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -20)
    True
    """

    begin: ClassVar[Begin] = _begin
    step: ClassVar[Step] = _step

    actor_lambda: float = 0.9
    critic_lambda: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        self.actor_lambda = fraction("actor_lambda", self.actor_lambda)
        self.critic_lambda = fraction("critic_lambda", self.critic_lambda)

    def scratch(self, n_features: int, n_actions: int) -> PresentTraces:
        """Make the traces of preferences and values, none of them eligible."""
        actor, critic = new_traces(n_features * n_actions), new_traces(n_features)
        return PresentTraces(np.ones(1), np.zeros(n_actions), actor, critic, self.actor_lambda, self.critic_lambda)
