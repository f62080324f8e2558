"""The text format of A. R. Cassandra's pomdp-solve (``.mdp``, ``.pomdp``; grammar at pomdp.org), from text to model.

`text` cuts a file into tokens with their places; `names` holds what was declared; `entries` keeps assignments with
wildcards, of which the last one counts; `grammar` turns the tokens into declarations and entries, many at a time where
it can; `reading` turns entries into rows of probabilities and rewards, and these into models; `writing` leads back.
"""

from rlsuite.models.cassandra.reading import read_mdp, read_pomdp
from rlsuite.models.cassandra.writing import write_mdp, write_pomdp

__all__ = ["read_mdp", "read_pomdp", "write_mdp", "write_pomdp"]
