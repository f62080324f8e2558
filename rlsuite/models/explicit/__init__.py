"""The explicit files of the model checkers PRISM and Storm: ``.tra``, ``.lab`` and reward files.

`reading` leads from the columns and labels of the files to the model, and `writing` back.
"""

from rlsuite.models.explicit.reading import read_explicit
from rlsuite.models.explicit.writing import Dialect, write_explicit

__all__ = ["Dialect", "read_explicit", "write_explicit"]
