"""The value of a policy as a series in single precision, added to a vector in double precision.

With the change d = T_pi V - V of one backup, V_pi = V + sum_k (gamma C_pi)^k d (P94 Theorem 6.1.1). A planner that
backs up again and again needs but the first digits of that sum each time: what is missing shows in the next d, which is
computed in double precision (iterative refinement). Single precision halves the memory that a sweep has to move.
"""

import numpy as np

from rlsuite.models.aliases import FloatArray, SingleArray, StateArray
from rlsuite.planning.certificate import interval, largest_change
from rlsuite.planning.chain_kernels import begin_series, end_series, propagate
from rlsuite.planning.operators import Lookahead
from rlsuite.planning.policy_rows import PolicyRows
from rlsuite.planning.threads import on_blocks
from rlsuite.planning.vectors import vector

SINGLE_EPS = float(np.finfo(np.float32).eps)
"""Terms that are smaller, in units of the first, no longer change the sum."""


class ValueSeries:
    """The sums for one policy after the other, in the same memory.

    Parameters
    ----------
    lookahead : Lookahead
        The model, prepared.

    Attributes
    ----------
    exhausted : bool
        Whether further terms are too small for single precision.
    """

    exhausted: bool
    _action: StateArray
    _scale: float
    _missing: float
    _largest: float

    def __init__(self, lookahead: Lookahead) -> None:
        self._lookahead = lookahead
        self._rows = PolicyRows(lookahead, np.float32)
        self._change: SingleArray = vector(lookahead.n_states, np.float32)
        self._spare: SingleArray = vector(lookahead.n_states, np.float32)
        self._total: SingleArray = vector(lookahead.n_states, np.float32)

    def begin(self, action: StateArray, before: FloatArray, after: FloatArray, scale: float) -> bool:
        """Begin with d = after - before, whose largest entry is `scale`; return whether this is another policy.

        `action` (S,) is the policy, -1 at closed states. The first term, d itself, is what `after` already has.
        """
        another = self._rows.take(action)
        self._action = action
        self._scale = scale
        on_blocks(begin_series, self._lookahead.blocks, action, before, after, scale, self._change, self._total)
        return another

    def add_term(self) -> float:
        """Add the next term; return how far apart the bounds on the value of the policy are then."""
        rows, lookahead = self._rows, self._lookahead
        chain = (rows.indptr, rows.successor, rows.weight)
        terms = on_blocks(propagate, lookahead.blocks, *chain, self._change, self._spare, self._total)
        self._change, self._spare = self._spare, self._change
        bounds = interval(lookahead, terms, 0.0)
        self._missing = self._scale * bounds.certain
        self._largest = largest_change(terms)
        self.exhausted = self._largest <= SINGLE_EPS
        return self._scale * bounds.width

    @property
    def floor(self) -> float:
        """How far apart rounding alone can keep the bounds after the last term: a smaller distance says nothing."""
        noise = self.noise(self._largest)
        return self._scale * interval(self._lookahead, [(-noise, noise)], 0.0).width

    def noise(self, size: float) -> float:
        """Return a bound on the rounding error of an entry of a term, if none is larger than `size`."""
        return 0.5 * SINGLE_EPS * (self._lookahead.longest_row + 2) * size

    def settle(self, value: FloatArray) -> None:
        """Add the sum to `value`, and what the series still lacks in every state."""
        arguments = (self._action, self._total, self._scale, self._missing, value)
        on_blocks(end_series, self._lookahead.blocks, *arguments)
