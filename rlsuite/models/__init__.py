"""Finite decision problems as validated, immutable arrays.

`MDP` is the centre: every constructor (from arrays, rows, successors, a function, an environment, experience, a file)
makes its rows, and every conversion starts from them. A `POMDP` has hidden states and observations; a `MarkovChain` is
an MDP under a fixed policy.
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.models.markov_chain import MarkovChain as MarkovChain
from rlsuite.models.mdp import MDP as MDP
from rlsuite.models.observation_model import ObservationRows as ObservationRows
from rlsuite.models.pomdp import POMDP as POMDP

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
