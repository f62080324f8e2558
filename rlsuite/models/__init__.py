"""Finite decision problems as validated, immutable arrays.

`MDP` is the centre: every constructor (from arrays, rows, successors, a function, an environment, experience, a file)
makes its rows, and every conversion starts from them. A `POMDP` has hidden states and observations; a `MarkovChain` is
an MDP under a fixed policy.
"""

from rlsuite.models.chain import MarkovChain
from rlsuite.models.mdp import MDP
from rlsuite.models.observations import ObservationRows
from rlsuite.models.pomdp import POMDP

__all__ = ["MDP", "POMDP", "MarkovChain", "ObservationRows"]
