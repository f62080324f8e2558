"""The base of the agents with eligibility traces: the traces of all pairs, and how an error updates them.

An error says how much better or worse than expected a step was. Not only the last pair of state and action
is updated, but all that led there, each in proportion to its trace; `credit` updates them, and decays the traces.

The traces hold step sizes (see `rlsuite.agents.traces`). With the step size of the pair just taken for all of them,
what Peng's Q(lambda) tends to would depend on how often each pair is visited.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from rlsuite.agents.action_value_agent import ActionValueAgent
from rlsuite.agents.memory import Memory, Observation, begin, update_and_decay, visit
from rlsuite.agents.traces import CLEARING, PAIR_TRACES, Traces, TraceUpdate, check_kind, new_traces, reset_traces
from rlsuite.core.checks import fraction
from rlsuite.core.compilation import compiled
from rlsuite.training.kernels import Begin


class Eligibility(NamedTuple):
    """The traces of the present episode."""

    traces: Traces  # of the n_states * n_actions pairs, step sizes included
    kind: TraceUpdate  # how a visit changes a trace
    lambda_: float
    clears: bool  # whether a visit clears the traces of the other actions


@compiled(in_place=True)
def begin_eligible(memory: Memory, state: Observation, rng: np.random.Generator) -> int:
    """Reset all traces, which may be those of an episode that was abandoned, and choose the first action."""
    reset_traces(memory.scratch.traces)
    return begin(memory, state, rng)


@compiled(in_place=True)
def credit(memory: Memory, row: int, action: int, step_size: float, error: float) -> None:
    """Visit (s, a); Q <- Q + delta e for all that is eligible; e <- gamma lambda e."""
    eligible = memory.scratch
    if eligible.clears:
        for other in range(memory.q.shape[1]):
            if other != action:
                visit(memory, row, other, eligible.kind, 0.0)  # which replaces the trace by 0
    visit(memory, row, action, eligible.kind, step_size)
    update_and_decay(memory, eligible.traces, error, memory.gamma * eligible.lambda_)


@dataclass(eq=False, kw_only=True)
class EligibilityAgent(ActionValueAgent):
    """Base of the agents with eligibility traces.

    Parameters
    ----------
    lambda_ : float
        How slowly the traces fade beside the discount, in [0, 1]: 0 is learning from one step, 1 from whole episodes.
    traces : {"accumulating", "replacing", "dutch", "clearing"}
        What a visit does to a trace e: e + alpha, alpha, or (1 - alpha) e + alpha; or alpha, and those of the other
        actions become 0.
    gamma, exploration, learning_rate, initial_value
        As for `TabularAgent`.
    """

    begin: ClassVar[Begin] = begin_eligible

    lambda_: float = 0.9
    traces: str = "accumulating"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.lambda_ = fraction("lambda_", self.lambda_)
        self.traces = check_kind("traces", self.traces, PAIR_TRACES)

    def scratch(self, n_states: int, n_actions: int) -> tuple[object, ...]:
        """Make the traces of all pairs, none of them eligible."""
        traces, kind = new_traces(n_states * n_actions), PAIR_TRACES[self.traces]
        return Eligibility(traces, kind, self.lambda_, self.traces == CLEARING)
