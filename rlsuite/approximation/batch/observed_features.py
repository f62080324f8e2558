"""The features of a batch: any transformer of scikit-learn, or none."""

from contextlib import AbstractContextManager, suppress

import numpy as np
import sklearn.frozen
from gymnasium.spaces import Discrete
from numpy.typing import ArrayLike, NDArray

from rlsuite import errors
from rlsuite.approximation.batch.batch import Batch
from rlsuite.environments.observation_view import encoding
from rlsuite.features.checks import check_observations, naming, shown
from rlsuite.features.estimators import Matrix, Transformer, clone
from rlsuite.features.feature_map import FeatureMap


class ObservedFeatures:
    """A feature map fitted to all observations of a batch, before and after; for ids, to all that there are if it can.

    Parameters
    ----------
    features : transformer or None
        Anything with ``fit(X)`` and ``transform(X)``; it is cloned. None leaves the observations as they are.
    batch : Batch
        What to fit it to.
    owner : str
        Who asks, for the messages.

    Raises
    ------
    ParameterError
        If it is not a transformer, or cannot be fitted to the batch.
    """

    def __init__(self, features: Transformer | None, batch: Batch, owner: str):
        self.owner = owner
        self.width = batch.observation.shape[1]
        self.map: Transformer | None = None
        if features is not None:
            if isinstance(features, type) or not (hasattr(features, "fit") and hasattr(features, "transform")):
                raise errors.ParameterError(
                    f"{owner}: features={shown(features)} is not a transformer; give an instance with fit and "
                    "transform, such as TileCoding(), or a Pipeline of scikit-learn"
                )
            self.map = clone(features)
            if not isinstance(features, sklearn.frozen.FrozenEstimator):  # its fit does nothing, but would need targets
                with self._naming("be fitted to"):
                    self._fit(self.map, batch)

    @staticmethod
    def _fit(features: Transformer, batch: Batch) -> None:
        if (
            isinstance(features, FeatureMap)
            and not features.is_fitted
            and isinstance(batch.observation_space, Discrete)
        ):
            known = encoding(batch.observation_space)
            with suppress(errors.NotLearned):  # bounds are not enough for maps that learn from data
                features.fit_bounds(known.low, known.high)
                return
        features.fit(np.concatenate([batch.observation, batch.next_observation]))

    def __call__(self, observations: ArrayLike) -> Matrix:
        """Return the features (n, k) of observations (n, d): an array, or a sparse matrix in row form.

        Raises
        ------
        ParameterError
            If the observations are not finite or of another width, or the transformer refuses them.
        """
        seen: NDArray[np.float64] = check_observations(observations, self.width, self.owner)
        if self.map is None:
            return seen
        with self._naming("transform"):
            found: Matrix = self.map.transform(seen)
        return found.tocsr() if hasattr(found, "tocsr") else np.asarray(found, dtype=np.float64)

    def _naming(self, what: str) -> AbstractContextManager[None]:
        """Raise errors of a third-party transformer as ours, with its name."""
        name = type(self.map).__name__
        return naming(
            f"{self.owner}: features: {name} cannot {what} observations of {self.width} numbers", errors.ParameterError
        )
