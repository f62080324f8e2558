"""The base of the linear agents with eligibility traces: a trace for each weight, and how an error updates them.

The trace of a weight is the share of the next error that it is updated with: a decaying sum of the recent gradients of
the values (S&B2 section 12.2). As for tables a trace includes the step size, and small traces are dropped; see
`rlsuite.agents.traces`. The trace of w[i, a] is entry ``i * n_actions + a``.

How a visit changes the traces e of an action, when x is the feature vector:

accumulating
    e + alpha x (S&B2 eq. 12.5).
replacing
    alpha x, where x is not 0 (S&B2 eq. 12.12, which is for features 0 and 1).
dutch
    e + alpha (1 - e . x) x (S&B2 eq. 12.11).
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlsuite.agents.traces import Traces, accumulating, check_marks, forget, learn_and_fade, mark, new_traces, replacing
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.approximation.linear.memory import begin_linear
from rlsuite.checks import fraction
from rlsuite.compilation import Compiled, compiled
from rlsuite.training.kernels import Begin

Visit = Compiled[[Any, int, int, float], None]


class Eligibility(NamedTuple):
    """The traces of the present episode."""

    traces: Traces  # of n_features * n_actions weights, step sizes included
    visit: Visit  # what an observation and an action do to the traces
    lambda_: float


@compiled(in_place=True)
def visit_accumulating(memory: Any, row: int, action: int, step_size: float) -> None:
    """Let e <- e + alpha x."""
    scene, traces, n_actions = memory.scene, memory.scratch.traces, memory.weights.shape[1]
    for k in range(scene.n_active[row]):
        mark(traces, scene.indices[row, k] * n_actions + action, accumulating, step_size * scene.values[row, k])


@compiled(in_place=True)
def visit_replacing(memory: Any, row: int, action: int, step_size: float) -> None:
    """Let e <- alpha x where x is not 0."""
    scene, traces, n_actions = memory.scene, memory.scratch.traces, memory.weights.shape[1]
    for k in range(scene.n_active[row]):
        if scene.values[row, k] != 0.0:
            mark(traces, scene.indices[row, k] * n_actions + action, replacing, step_size * scene.values[row, k])


@compiled(in_place=True)
def visit_dutch(memory: Any, row: int, action: int, step_size: float) -> None:
    """Let e <- e + alpha (1 - e . x) x."""
    scene, traces, n_actions = memory.scene, memory.scratch.traces, memory.weights.shape[1]
    overlap = 0.0
    for k in range(scene.n_active[row]):
        overlap += traces.trace[scene.indices[row, k] * n_actions + action] * scene.values[row, k]
    visit_accumulating(memory, row, action, step_size * (1.0 - overlap))


VISITS: dict[str, Visit] = {
    "accumulating": visit_accumulating,
    "replacing": visit_replacing,
    "dutch": visit_dutch,
}
"""How a visit changes the traces, by the name it has in a constructor."""


@compiled(in_place=True)
def begin_eligible(memory: Any, observation: NDArray[np.float64], rng: np.random.Generator) -> int:
    """Reset all traces, which may be those of an episode that was abandoned, and choose the first action."""
    forget(memory.scratch.traces)
    return begin_linear(memory, observation, rng)


@compiled(in_place=True)
def learn_from(memory: Any, error: float) -> None:
    """Let w <- w + delta e for all eligible weights, then e <- gamma lambda e."""
    eligible = memory.scratch
    flat = memory.weights.reshape(memory.weights.size)
    learn_and_fade(eligible.traces, flat, error, memory.gamma * eligible.lambda_)


@dataclass(eq=False, kw_only=True)
class LinearEligibilityAgent(LinearAgent):
    """Base of the linear agents with eligibility traces.

    Parameters
    ----------
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1]: 0 is learning from one step, 1 from whole episodes.
    traces : {"accumulating", "replacing", "dutch"}
        What a visit does to the traces; see above.
    features, gamma, learning_rate, exploration, initial_weight
        As for `LinearAgent`.
    """

    begin: ClassVar[Begin] = begin_eligible

    lambda_: float = 0.9
    traces: str = "accumulating"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)
        self.traces = check_marks("traces", self.traces)

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make the traces of all weights, none of them eligible."""
        return Eligibility(new_traces(n_features * n_actions), VISITS[self.traces], self.lambda_)
