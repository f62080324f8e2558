"""The explicit files of the model checkers PRISM and Storm: ``.tra``, ``.lab`` and reward files.

`columns` reads lines of numbers; `labels` and `rewards` know their files; `reading` and `writing` lead to the model
and back.
"""

from rlsuite.models.explicit.reading import read_explicit
from rlsuite.models.explicit.writing import Dialect, write_explicit

__all__ = ["Dialect", "read_explicit", "write_explicit"]
