"""The text format of A. R. Cassandra's pomdp-solve (``.mdp``, ``.pomdp``; grammar at pomdp.org), from text to model.

`text` cuts a file into tokens with their positions; `names` holds what was declared; `entries` keeps assignments with
wildcards, of which the last one counts; `grammar` turns the tokens into declarations and entries, many at a time where
it can; `reading` turns entries into rows of probabilities and rewards, and these into models; `writing` leads back.
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.models.cassandra.reading import read_mdp as read_mdp
from rlsuite.models.cassandra.reading import read_pomdp as read_pomdp
from rlsuite.models.cassandra.writing import write_mdp as write_mdp
from rlsuite.models.cassandra.writing import write_pomdp as write_pomdp

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
