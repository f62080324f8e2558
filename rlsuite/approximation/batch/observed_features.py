"""The features of a batch: any transformer of scikit-learn, or none."""

from contextlib import AbstractContextManager

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
from rlsuite.features.learned import (
    AsFeatures,
    Seen,
    fit_estimator,
    gives_features,
    one_thread,
    seeds_of_features,
    set_open_seeds,
    sums_to_the_end,
)


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
    seed : int
        Of what is random in the features, and leaves its seed open.

    Raises
    ------
    ParameterError
        If it gives no features, or cannot be fitted to the batch.
    """

    def __init__(self, features: Transformer | None, batch: Batch, owner: str, seed: int):
        self.owner = owner
        self.width = batch.observation.shape[1]
        self.map: AsFeatures | None = None
        if features is not None:
            if isinstance(features, type) or not (hasattr(features, "fit") and gives_features(features)):
                raise errors.ParameterError(
                    f"{owner}: features={shown(features)} is not a transformer; give an instance with fit and "
                    "transform, apply or predict_proba, such as TileCoding(), or a Pipeline of scikit-learn"
                )
            self.map = AsFeatures(features)  # named in messages
            if not isinstance(features, sklearn.frozen.FrozenEstimator):  # its fit does nothing, but would need targets
                with self._naming("be fitted to"):
                    self.map = AsFeatures(_fitted(features, batch, np.random.default_rng(seeds_of_features(seed))))

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
            found: Matrix = self.map(seen)
        return found.tocsr() if hasattr(found, "tocsr") else np.asarray(found, dtype=np.float64)

    def _naming(self, what: str) -> AbstractContextManager[None]:
        """Raise errors of a third-party transformer as ours, with its name."""
        name = "" if self.map is None else type(self.map.estimator).__name__
        return naming(
            f"{self.owner}: features: {name} cannot {what} observations of {self.width} numbers", errors.ParameterError
        )


def _fitted(features: Transformer, batch: Batch, rng: np.random.Generator) -> Transformer:
    """A fitted copy: of ids, to all that there are, if that is enough; else to what the batch has seen."""
    observations = np.concatenate([batch.observation, batch.next_observation])
    if isinstance(features, FeatureMap):
        fitted = clone(features)
        if not features.is_fitted and isinstance(batch.observation_space, Discrete):
            known = encoding(batch.observation_space)
            return fitted.fit_seen(known.low, known.high, lambda: observations, rng)
        set_open_seeds(fitted, rng)
        with one_thread():
            return fitted.fit(observations)
    returns = sums_to_the_end(batch.reward, np.append(batch.first[1:], True))
    return fit_estimator(features, Seen(observations, np.concatenate([returns, returns - batch.reward])), rng)
