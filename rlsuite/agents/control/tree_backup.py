"""n-step tree backup: off-policy learning over n steps without importance sampling (Precup, Sutton & Singh 2000)."""

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
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import Memory, count
from rlsuite.agents.values import Representation
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition

if TYPE_CHECKING:  # the feature maps need scikit-learn
    from rlsuite.features.estimators import Transformer
    from rlsuite.features.feature_map import FeatureMap


class Tree(NamedTuple):
    """The last n steps, and the policy whose actions are the branches of the tree."""

    buffer: NStepBuffer
    target_policy: TargetPolicy


@compiled(in_place=True)
def _branches(memory: Memory, state: int, taken: int, below: float) -> float:
    """sum_a pi(a | state) Q(state, a), with `below` instead of the value of the action taken."""
    policy: NDArray[np.float64] = memory.scratch.buffer.probabilities
    memory.scratch.target_policy(memory, state, policy)
    total = 0.0
    for action in range(policy.size):
        total += policy[action] * (below if action == taken else memory.q[state, action])
    return total


@compiled(in_place=True)
def _tree_return(memory: Memory, tau: int, t: int, future: float) -> float:
    """G_k = R_k+1 + gamma [sum_{a != A_k+1} pi(a | S_k+1) Q(S_k+1, a) + pi(A_k+1 | S_k+1) G_k+1], from the leaf up."""
    buffer = memory.scratch.buffer
    total = buffer.reward[t % buffer.n] + memory.gamma * future
    for k in range(t, tau, -1):
        below = _branches(memory, buffer.state[k % buffer.n], buffer.action[k % buffer.n], total)
        total = buffer.reward[(k - 1) % buffer.n] + memory.gamma * below
    return total


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(S_tau, A_tau) <- Q(S_tau, A_tau) + alpha [G_tau - Q(S_tau, A_tau)]; leaf: sum_a pi(a | S_t+1) Q(S_t+1, a)."""
    over = t.terminated or t.truncated
    time = record_step(memory, t.state, t.action, t.reward)
    buffer = memory.scratch.buffer
    first, last = first_to_learn(buffer, time), last_to_learn(buffer, time, over)
    future = 0.0 if t.terminated or last < first else _branches(memory, t.next_state, NO_ACTION, 0.0)
    for tau in range(first, last + 1):
        learn(memory, tau, _tree_return(memory, tau, time, future))
    count(memory, t.state, t.action, over)
    return NO_ACTION if over else choose(memory, t.next_state, rng)


@dataclass(eq=False, kw_only=True)
class NStepTreeBackup(NStepAgent):
    """n-step tree backup (S&B2 section 7.5, eq. 7.16).

    An action that the target policy would not have taken cuts the tree: what lies behind it has weight
    pi(A | S), and the actions that were not taken have their values from the table. With n = 1 and a greedy target it
    is `QLearning`; with the behaviour for its target, `ExpectedSarsa`. Each step costs time in proportion to n.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1]; a schedule takes its value when the pair is visited, n steps before it learns.
    exploration : Exploration
        The behaviour: how actions are chosen while learning.
    n : int
        Steps after which a pair learns, at least 1.
    target_policy : {"greedy", "behaviour"}
        The policy that is learned about.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.NStepTreeBackup(n=2, gamma=1.0, learning_rate=0.5, exploration=rl.EpsilonGreedy(0.1))
    >>> float(agent.learn("CliffWalking-v1", steps=200_000, seed=7).q_[36].max())
    -13.0
    """

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _step

    # none, as the values of all actions are asked n steps later
    features: "FeatureMap | Transformer | None" = field(init=False, repr=False, default=None)
    values: Representation | None = field(init=False, repr=False, default=None)

    target_policy: str = "greedy"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.target_policy = check_target_policy("target_policy", self.target_policy)

    def scratch(self, n_states: int, n_actions: int) -> Tree:
        """Make an empty buffer."""
        return Tree(new_n_step_buffer(self.n, n_actions), TARGET_POLICIES[self.target_policy])
