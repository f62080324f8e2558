"""Expected Sarsa(lambda): Expected Sarsa with eligibility traces."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.control.eligibility import EligibilityAgent, credit
from rlsuite.agents.control.expected_sarsa import expected_value
from rlsuite.agents.exploration import NO_ACTION, choose
from rlsuite.agents.memory import NOWHERE, Memory, end_step, locate, locate_next, step_size, value
from rlsuite.agents.traces import CLEARING, PAIR_TRACES, Traces, TraceUpdate, new_traces
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Step, Transition


class ExpectedEligibility(NamedTuple):
    """The traces of the present episode, and a buffer for the probabilities of one state."""

    traces: Traces  # of the n_states * n_actions pairs, step sizes included
    kind: TraceUpdate  # how a visit changes a trace
    lambda_: float
    clears: bool  # whether a visit clears the traces of the other actions
    probabilities: NDArray[np.float64]  # (n_actions,)


@compiled(in_place=True)
def _step(memory: Memory, t: Transition, rng: np.random.Generator) -> int:
    """Q <- Q + delta e and e <- gamma lambda e, where delta = r + gamma sum_a' pi(a' | s') Q(s', a') - Q(s, a)."""
    s, next_s, target = locate(memory, t.state), NOWHERE, t.reward
    if not t.terminated:
        next_s = locate_next(memory, t.next_state)
        target = t.reward + memory.gamma * expected_value(memory, next_s, memory.scratch.probabilities)
    credit(memory, s, t.action, step_size(memory, s, t.action), target - value(memory, s, t.action))
    end_step(memory, s, t.action, t.terminated or t.truncated)
    if t.terminated or t.truncated:
        return NO_ACTION
    return choose(memory, next_s, rng)


@dataclass(eq=False, kw_only=True)
class ExpectedSarsaLambda(EligibilityAgent):
    """Expected Sarsa with eligibility traces (S&B2 eq. 12.20, for the policy that is followed).

    It has the errors of `ExpectedSarsa`, whose targets do not depend on the draw of the next action. Each error
    updates all pairs that led to it, as in `SarsaLambda`. With ``lambda_=0`` it is `ExpectedSarsa`, to the last bit.

    Parameters
    ----------
    gamma : float
        Discount per step, in [0, 1].
    exploration : Exploration
        The policy that is followed and evaluated; see `rlsuite.agents.exploration`.
    learning_rate : float or Schedule
        Step size, in [0, 1]. Each visit of a pair learns with the step size of its own moment.
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1].
    traces : {"accumulating", "replacing", "dutch", "clearing"}
        What a visit does to a trace; see `SarsaLambda`.
    initial_value : float
        Value of every action before it is tried.
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
    >>> agent = rl.ExpectedSarsaLambda(gamma=1.0, learning_rate=0.5, lambda_=0.8)
    >>> agent = agent.learn("CliffWalking-v1", episodes=200, seed=7)
    >>> bool(agent.episodes_["return"][-50:].mean() > -60)
    True
    """

    renews: ClassVar[bool] = True
    step: ClassVar[Step] = _step

    def scratch(self, n_states: int, n_actions: int) -> ExpectedEligibility:
        """Make the traces of all pairs, none of them eligible, and a buffer for the probabilities."""
        traces, kind = new_traces(n_states * n_actions), PAIR_TRACES[self.traces]
        return ExpectedEligibility(traces, kind, self.lambda_, self.traces == CLEARING, np.zeros(n_actions))
