"""Batch methods: what can be learned from a fixed set of transitions, without another step in the environment."""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use

if TYPE_CHECKING:
    from rlsuite.approximation.batch.batch import Batch as Batch
    from rlsuite.approximation.batch.fitted_iteration import FittedQ as FittedQ
    from rlsuite.approximation.batch.fitted_iteration import FittedValueIteration as FittedValueIteration
    from rlsuite.approximation.batch.lspi import LSPI as LSPI
    from rlsuite.approximation.batch.lspi import LSTD as LSTD
    from rlsuite.approximation.batch.regressors import GatedExperts as GatedExperts
    from rlsuite.approximation.batch.regressors import LocallyWeightedRegression as LocallyWeightedRegression
    from rlsuite.training.episodes import Rollout as Rollout
    from rlsuite.training.episodes import episode_of as episode_of
    from rlsuite.training.episodes import returns_of as returns_of
else:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
