"""Finite decision problems as validated, immutable arrays.

`MDP` is the centre: every way in (arrays, rows, successors, a function, an environment, experience, a file) ends in
its rows, and every way out starts from them. `POMDP` hides its states behind observations; `MarkovChain` is what
remains of it under a fixed policy.
"""

from rlsuite.models.chain import MarkovChain
from rlsuite.models.mdp import MDP
from rlsuite.models.observations import ObservationRows
from rlsuite.models.pomdp import POMDP

__all__ = ["MDP", "POMDP", "MarkovChain", "ObservationRows"]
