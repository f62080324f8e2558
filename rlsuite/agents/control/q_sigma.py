"""n-step Q(sigma): each step is sampled, as in Sarsa, or branches, as in tree backup, or something in between."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.n_step_buffer import (
    NStepAgent,
    NStepBuffer,
    first_to_learn,
    last_to_learn,
    learn,
    new_n_step_buffer,
    record_step,
)
from rlsuite.agents.control.target_policies import TARGET_POLICIES, TargetPolicy, check_target_policy
from rlsuite.agents.exploration import NO_ACTION, action_probabilities, choose
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.schedules import Rate, Schedule, as_schedule, rate_now
from rlsuite.agents.values import Representation
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin, Step, Transition

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap


class Sampling(NamedTuple):
    """The last n steps, and how each action was chosen."""

    buffer: NStepBuffer
    target_policy: TargetPolicy
    sigma: Rate
    sampled: NDArray[np.float64]  # (n,), sigma of the step
    ratio: NDArray[np.float64]  # (n,), rho = pi(A | S) / b(A | S) when A was chosen
    latest: NDArray[np.float64]  # (2,), both for the action that was chosen last


@compiled(in_place=True)
def _choose_and_record(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Choose by the behaviour b; store sigma and rho = pi(A | S) / b(A | S) now: both policies change."""
    scratch = memory.scratch
    policy = scratch.buffer.probabilities
    action_probabilities(memory, state, policy)
    action = choose(memory, state, rng)
    behaviour = policy[action]
    scratch.target_policy(memory, state, policy)
    scratch.latest[0] = rate_now(scratch.sigma, memory.clock, memory.visits[state, action])
    # a softmax may draw an action whose probability is rounded to 0
    scratch.latest[1] = policy[action] / behaviour if behaviour > 0.0 else 0.0
    return action


@compiled(in_place=True)
def _begin(memory: Memory, state: int, rng: np.random.Generator) -> int:
    """Discard the last episode, and choose as in all other steps."""
    memory.scratch.buffer.length[0] = 0
    return _choose_and_record(memory, state, rng)


@compiled(in_place=True)
def _expected(memory: Memory, state: int) -> float:
    """V(state) = sum_a pi(a | state) Q(state, a); pi(. | state) is left in the buffer."""
    policy: NDArray[np.float64] = memory.scratch.buffer.probabilities
    memory.scratch.target_policy(memory, state, policy)
    value = 0.0
    for action in range(policy.size):
        value += policy[action] * memory.q[state, action]
    return value


@compiled(in_place=True)
def _sigma_return(memory: Memory, tau: int, t: int, future: float) -> float:
    """G_k = R_k+1 + gamma {[sigma rho + (1 - sigma) pi(A | S)] [G_k+1 - Q(S, A)] + V(S)}, all of time k + 1."""
    scratch = memory.scratch
    buffer = scratch.buffer
    total = buffer.reward[t % buffer.n] + memory.gamma * future
    for k in range(t, tau, -1):
        entry = k % buffer.n
        state, action = buffer.state[entry], buffer.action[entry]
        value = _expected(memory, state)
        sigma = scratch.sampled[entry]
        weight = sigma * scratch.ratio[entry] + (1.0 - sigma) * buffer.probabilities[action]
        below = weight * (total - memory.q[state, action]) + value
        total = buffer.reward[(k - 1) % buffer.n] + memory.gamma * below
    return total


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(S_tau, A_tau) <- Q(S_tau, A_tau) + alpha [G_tau - Q(S_tau, A_tau)]; the last step ends in V(S_t+1)."""
    over = t.terminated or t.truncated
    scratch = memory.scratch
    buffer = scratch.buffer
    time = record_step(memory, t.state, t.action, t.reward)
    scratch.sampled[time % buffer.n] = scratch.latest[0]
    scratch.ratio[time % buffer.n] = scratch.latest[1]
    first, last = first_to_learn(buffer, time), last_to_learn(buffer, time, over)
    future = 0.0 if t.terminated or last < first else _expected(memory, t.next_state)
    for tau in range(first, last + 1):
        learn(memory, tau, _sigma_return(memory, tau, time, future))
    count(memory, t.state, t.action, over)
    return NO_ACTION if over else _choose_and_record(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class NStepQSigma(NStepAgent):
    """n-step Q(sigma), off-policy (S&B2 section 7.6, eq. 7.17; De Asis, Hernandez-Garcia, Holland & Sutton 2018).

    With sigma = 0 it is `NStepTreeBackup`. With sigma = 1 it is n-step Sarsa with control variates (S&B2 eq. 7.14): off
    policy each step is weighted by the importance ratio rho; on policy its target has the mean of that of
    `NStepSarsa`, and less variance, and is the same where the policy is deterministic. With n = 1 sigma has no say.
    Each step costs time in proportion to n.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule takes its value when the pair is visited, n steps before it learns.
    exploration : Exploration
        The behaviour b: how actions are chosen while learning.
    n : int
        Steps after which a pair learns, at least 1.
    sigma : float or Schedule
        Degree of sampling, in [0, 1]; a schedule takes its value when the action is chosen, and one per visits counts
        those of its pair.
    target_policy : {"greedy", "behaviour"}
        The policy pi that is learned about. With a greedy one and sigma near 1, rare actions have large weights.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.NStepQSigma(n=4, sigma=0.5, gamma=1.0, learning_rate=0.2, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CliffWalking-v1", episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -40)
    True
    """

    begin: ClassVar[Begin] = _begin
    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _step

    # none, as the values of all actions are asked n steps later
    features: "FeatureMap | Transformer | None" = field(init=False, repr=False, default=None)
    values: Representation | None = field(init=False, repr=False, default=None)

    sigma: float | Schedule = 0.5
    target_policy: str = "behaviour"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_schedule("sigma", self.sigma, 0.0, 1.0)
        self.target_policy = check_target_policy("target_policy", self.target_policy)

    def scratch(self, n_states: int, n_actions: int) -> Sampling:
        """Make an empty buffer."""
        sigma = as_schedule("sigma", self.sigma, 0.0, 1.0).rate
        buffer = new_n_step_buffer(self.n, n_actions)
        sampled, ratio = (np.zeros(self.n) for _ in range(2))
        return Sampling(buffer, TARGET_POLICIES[self.target_policy], sigma, sampled, ratio, np.zeros(2))
