"""What a rule learns its values in: a table, weights of features, or a network. Nothing else asks which of them it is.

=============================== ============ ==================================================
``values=``                     file         what it answers to a rule
=============================== ============ ==================================================
``Table(initial=0.0)``          `table`      `TABLE` of `rlsuite.agents.memory`
``Linear(features, initial)``   `linear`     `FEATURES` of `rlsuite.agents.values.features`
``Network(hidden=(64,))``       `network`    `NETWORK` of `rlsuite.agents.values.layers`
=============================== ============ ==================================================

``Sarsa(features=TileCoding())`` is short for ``Sarsa(values=Linear(TileCoding()))``, and ``Sarsa(initial_value=1.0)``
for ``Sarsa(values=Table(1.0))``. What the last two have in common is in `feature_values`. Another representation is
another file with the methods of `Representation`.
"""

from rlsuite.agents.values.linear import Linear as Linear
from rlsuite.agents.values.network import Network as Network
from rlsuite.agents.values.representation import Representation as Representation
from rlsuite.agents.values.table import Table as Table
from rlsuite.agents.values.table import chosen as chosen

__all__ = ["Linear", "Network", "Representation", "Table", "chosen"]
