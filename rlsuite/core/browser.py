"""Python in a browser (Pyodide): what Gymnasium, tqdm and rlsuite find there as on any other machine.

A browser has neither processes nor threads. Gymnasium 1.4 imports `multiprocessing.synchronize`, which fails there,
to name a type in a signature; tqdm warns that it cannot begin a thread. Sizes have 32 bits, and `np.repeat` does not
take counts of 64 bits.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

SYNCHRONIZE: Final = "multiprocessing.synchronize"


def prepare() -> None:
    """Do what is needed, before rlsuite is used."""
    _import_gymnasium()
    _take_counts_of_64_bits()
    import_module("tqdm").tqdm.monitor_interval = 0  # it begins no thread that looks after its bars


def _import_gymnasium() -> None:
    """Import Gymnasium with a module in the place of `multiprocessing.synchronize`; others miss it as before."""
    if SYNCHRONIZE in sys.modules:
        return
    module = ModuleType(SYNCHRONIZE)
    vars(module)["Semaphore"] = object  # a type that a signature names; none is made
    sys.modules[SYNCHRONIZE] = module
    try:
        import_module("gymnasium.vector")
    finally:
        del sys.modules[SYNCHRONIZE]


def _take_counts_of_64_bits() -> None:
    """Let `np.repeat` take them, as it does where sizes have 64 bits."""
    np = import_module("numpy")
    repeat = np.repeat

    def repeat_counts(a: Any, repeats: Any, axis: Any = None) -> Any:
        counts = np.asarray(repeats)
        return repeat(a, counts.astype(np.intp) if counts.dtype == np.int64 else repeats, axis)

    vars(np)["repeat"] = repeat_counts
