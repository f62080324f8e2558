"""Expected Sarsa: Sarsa without the variance of the next action (van Seijen, van Hasselt, Whiteson & Wiering 2009)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.exploration import NO_ACTION, action_probabilities, choose
from rlsuite.agents.memory import NOWHERE, Memory, end_step, locate, locate_next, step_size, update, value
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


class Probabilities(NamedTuple):
    """Buffer for the probabilities of the actions of one state."""

    probabilities: NDArray[np.float64]  # (n_actions,)


@compiled(in_place=True)
def expected_value(memory: Memory, row: int, out: NDArray[np.float64]) -> float:
    """Return sum_a pi(a | s) Q(s, a) for the policy that the agent follows; pi(. | s) is left in `out`."""
    action_probabilities(memory, row, out)
    total = 0.0
    for action in range(out.size):
        total += out[action] * memory.q[row, action]
    return total


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q(s, a) <- Q(s, a) + alpha [r + gamma sum_a' pi(a' | s') Q(s', a') - Q(s, a)], then choose by the new values."""
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * expected_value(memory, next_s, memory.scratch.probabilities)
    update(memory, s, t.action, step_size(memory, s, t.action) * (target - value(memory, s, t.action)))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    if t.terminated or t.truncated:
        return NO_ACTION
    return choose(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class ExpectedSarsa(ActionValueAgent):
    """Expected Sarsa: learns the value of the policy that it follows, averaged over its next action (S&B2 eq. 6.9).

    It moves in the direction in which `Sarsa` moves on average, with less variance, and so bears larger step sizes: in
    a deterministic environment even 1. It converges where Sarsa does (van Seijen et al. 2009, Theorem 1). Where the
    policy is greedy it is `QLearning`.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    learning_rate : float or Schedule
        Step size, in [0, 1].
    exploration : Exploration
        The policy that is followed and evaluated.
    features : FeatureMap or transformer, optional
        What the values are linear in, such as `rlsuite.approximation.TileCoding`; by default a table. See
        `ActionValueAgent`.

    Attributes
    ----------
    q_ : ndarray of float64, shape (n_states, n_actions)
        Learned action values.
    weights_ : ndarray of float64, shape (n_features, n_actions)
        Learned weights, with features.

    Examples
    --------
    >>> import rlsuite as rl
    >>> agent = rl.ExpectedSarsa(gamma=1.0, learning_rate=1.0, exploration=rl.EpsilonGreedy(0.1))
    >>> agent = agent.learn("CliffWalking-v1", episodes=500, seed=7)
    >>> bool(agent.episodes_["return"][-100:].mean() > -30)
    True
    """

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _step

    def scratch(self, n_states: int, n_actions: int) -> Probabilities:
        """Make a buffer for the probabilities of one state."""
        return Probabilities(np.zeros(n_actions))
