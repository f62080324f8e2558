"""Batch methods: what can be learned from a fixed set of transitions, without another step in the environment."""

from rlsuite.approximation.batch.batch import Batch
from rlsuite.approximation.batch.fitted_iteration import FittedQ, FittedValueIteration
from rlsuite.approximation.batch.lspi import LSPI
from rlsuite.approximation.batch.lstd import LSTD
from rlsuite.approximation.batch.regressors import LocallyWeightedRegression
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
