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
from typing import Any, ClassVar

from rlsuite.agents.control.eligibility import Eligibility, begin_eligible
from rlsuite.agents.traces import TRACE_UPDATES, check_kind, new_traces
from rlsuite.approximation.linear.linear_agent import LinearAgent
from rlsuite.checks import fraction
from rlsuite.training.kernels import Begin


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
        self.traces = check_kind("traces", self.traces)

    def scratch(self, n_features: int, n_actions: int) -> Any:
        """Make the traces of all weights, none of them eligible."""
        return Eligibility(new_traces(n_features * n_actions), TRACE_UPDATES[self.traces], self.lambda_)
