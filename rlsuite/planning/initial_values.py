"""Initial values of iterative methods."""

import numpy as np
from numpy.typing import ArrayLike

from rlsuite.models.aliases import FloatArray
from rlsuite.planning.operators import Lookahead, checked_value, highest
from rlsuite.planning.vectors import vector

SAMPLE = 10_000
"""Number of states from which a median is taken."""


def starting_value(lookahead: Lookahead, initial: ArrayLike | None) -> FloatArray:
    """Return the initial value of a method: a user's guess, or 0; 0 at closed states.

    Raises
    ------
    ParameterError
        If `initial` is not S finite numbers.
    """
    if initial is None:
        value = vector(lookahead.n_states)
        value[:] = 0.0
        return value
    return lookahead.ahead(checked_value(lookahead.mdp, initial, "initial"))


def typical_value(lookahead: Lookahead) -> FloatArray:
    """Return the value of earning the best reward of the median state for ever; 0 at ends.

    Far from anything of interest that is already the value: where every step costs 1, say. Sweeps that begin with it
    need not raise or lower the greater part of a large model step by step. gamma < 1.
    """
    legal = lookahead.mdp.legal
    acting = legal.any(axis=1) & ~lookahead.closed
    some = np.flatnonzero(acting)
    if some.size == 0:
        return starting_value(lookahead, None)
    some = some[:: max(1, some.size // SAMPLE)]
    reward = lookahead.reward.reshape(legal.shape)[some]
    typical = float(np.median(highest(np.where(legal[some], reward, -np.inf))))
    return lookahead.ahead(np.where(acting, typical / (1.0 - lookahead.modulus), 0.0))
