"""Experiments: many agents x environments x seeds, kept on disk, resumed where they stopped, and compared.

Names are loaded on first use: reading results does not need the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rlsuite.synonyms import attribute_error

_MODULE_OF = {
    "AgentEntry": "config",
    "EnvironmentEntry": "config",
    "Experiment": "experiment",
    "Row": "comparison",
    "Stopped": "run",
    "compare": "comparison",
    "load_results": "folder",
    "table": "comparison",
}

__all__ = ["AgentEntry", "EnvironmentEntry", "Experiment", "Row", "Stopped", "compare", "load_results", "table"]

if TYPE_CHECKING:
    from rlsuite.experiments.comparison import Row, compare, table
    from rlsuite.experiments.config import AgentEntry, EnvironmentEntry
    from rlsuite.experiments.experiment import Experiment
    from rlsuite.experiments.folder import load_results
    from rlsuite.experiments.run import Stopped
else:

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise attribute_error(f"module {__name__!r}", name, __all__)
        value = getattr(import_module(f"rlsuite.experiments.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
