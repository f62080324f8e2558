"""The text format of A. R. Cassandra's pomdp-solve (``.mdp``, ``.pomdp``; grammar at pomdp.org), from text to model.

`text` cuts a file into tokens with their places; `names` holds what was declared; `entries` keeps assignments with
wildcards, of which the last one counts; `grammar` turns the tokens into declarations and entries, with the help of
`runs` where there are many; `reading` and `writing` lead to the model and back.
"""

from rlsuite.models.cassandra.reading import read_mdp
from rlsuite.models.cassandra.writing import write_mdp

__all__ = ["read_mdp", "write_mdp"]
