"""Python in a browser (Pyodide): what Gymnasium and rlsuite need that is otherwise there.

There are no processes, and `multiprocessing.synchronize`, which Gymnasium imports to name a type in a signature,
cannot be imported. Sizes have 32 bits: `np.repeat` refuses counts of 64 bits, although every other machine takes them.
"""

import sys
from functools import wraps
from types import ModuleType
from typing import Any, Final

SYNCHRONIZE: Final = "multiprocessing.synchronize"


class Semaphore:
    """The type that is named; there is none to be made."""

    def __init__(self, *arguments: object) -> None:
        raise OSError("there are no processes in a browser, and no semaphores between them")


def import_gymnasium() -> None:
    """Import Gymnasium with a module in the place of `multiprocessing.synchronize`, which others then miss as before."""
    if SYNCHRONIZE in sys.modules:
        return
    module = ModuleType(SYNCHRONIZE)
    vars(module)["Semaphore"] = Semaphore
    sys.modules[SYNCHRONIZE] = module
    try:
        import gymnasium.vector  # noqa: F401 - for what it imports
    finally:
        del sys.modules[SYNCHRONIZE]


def let_counts_have_64_bits() -> None:
    """Let `np.repeat` take counts of 64 bits, as it does where sizes have 64 bits."""
    import numpy as np

    repeat: Any = np.repeat

    @wraps(repeat)
    def repeat_counts(a: Any, repeats: Any, axis: Any = None) -> Any:
        counts = np.asarray(repeats)
        return repeat(a, counts.astype(np.intp) if counts.dtype == np.int64 else repeats, axis)

    vars(np)["repeat"] = repeat_counts
