"""Batch methods: what can be learned from a fixed set of transitions, without another step in the environment."""

from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.fitted_q import FittedQ
from rlsuite.approximation.batch.fitted_value_iteration import FittedValueIteration
from rlsuite.approximation.batch.locally_weighted import LocallyWeightedRegression
from rlsuite.approximation.batch.lspi import LSPI
from rlsuite.approximation.batch.lstd import LSTD
from rlsuite.approximation.batch.rollout import Rollout, episode_of, returns_of

__all__ = [
    "LSPI",
    "LSTD",
    "Batch",
    "FittedQ",
    "FittedValueIteration",
    "LocallyWeightedRegression",
    "Rollout",
    "episode_of",
    "returns_of",
]
