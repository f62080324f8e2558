"""Experiments: many agents x environments x seeds, kept on disk, resumed where they stopped, and compared.

Names are loaded on first use: reading results does not need the compiler.
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.experiments.comparing import compare as compare
    from rlsuite.experiments.comparison import Aggregate as Aggregate
    from rlsuite.experiments.comparison import Comparison as Comparison
    from rlsuite.experiments.config import AgentEntry as AgentEntry
    from rlsuite.experiments.config import EnvironmentEntry as EnvironmentEntry
    from rlsuite.experiments.crew import Stopped as Stopped
    from rlsuite.experiments.experiment import Experiment as Experiment
    from rlsuite.experiments.exporting import export as export
    from rlsuite.experiments.folder import load_results as load_results
    from rlsuite.experiments.known import KnownSetting as KnownSetting
    from rlsuite.experiments.known import known_settings as known_settings
    from rlsuite.experiments.paired import Pair as Pair
    from rlsuite.experiments.paired import Verdict as Verdict
    from rlsuite.experiments.rows import Row as Row
    from rlsuite.experiments.rows import table as table
    from rlsuite.experiments.searching import Search as Search
    from rlsuite.experiments.searching import Trial as Trial
    from rlsuite.experiments.searching import search as search
    from rlsuite.experiments.status import Status as Status
    from rlsuite.experiments.status import merge_results as merge_results
    from rlsuite.experiments.status import status_of as status_of
    from rlsuite.experiments.sweeping import Sweep as Sweep
    from rlsuite.experiments.sweeping import sweep as sweep
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
