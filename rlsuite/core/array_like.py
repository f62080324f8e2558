"""`ArrayLike` under its own name: what `numpy.asarray` takes.

It is NumPy's union of types. `help` and `inspect.signature` show the name, not the union's private members.
"""

import numpy.typing
from typing_extensions import TypeAliasType

ArrayLike = TypeAliasType("ArrayLike", numpy.typing.ArrayLike)
"""A number, a sequence of numbers, nested sequences, or an array: whatever `numpy.asarray` takes."""
